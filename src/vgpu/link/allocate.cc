#include "vgpu/link/allocate.h"

#include <algorithm>
#include <map>
#include <set>

namespace cutegen::vgpu {
namespace {

using Bits = std::vector<u64>;

bool test(const Bits& b, int i) { return (b[static_cast<size_t>(i) / 64] >> (i % 64)) & 1; }
void set(Bits& b, int i) { b[static_cast<size_t>(i) / 64] |= 1ull << (i % 64); }

struct Liveness {
  std::vector<Bits> in, out;  // by block
};

// A lane follows a path of the graph like a scalar thread, and writes touch active lanes only: scalar liveness holds for each lane.
Liveness live_registers(const Cfg& g, const std::vector<Accesses>& accesses, size_t registers) {
  const size_t words = (registers + 63) / 64, n = g.blocks.size();
  std::vector<Bits> reads(n, Bits(words)), kills(n, Bits(words));
  for (size_t b = 0; b < n; ++b) {
    for (int i = g.blocks[b].first; i < g.blocks[b].last; ++i) {
      const Accesses& a = accesses[static_cast<size_t>(i)];
      for (int r : a.reads)
        if (!test(kills[b], r)) set(reads[b], r);
      for (int r : a.writes) {
        if (a.conditional && !test(kills[b], r)) set(reads[b], r);  // the old value may survive
        if (!a.conditional) set(kills[b], r);
      }
    }
  }
  Liveness l{std::vector<Bits>(n, Bits(words)), std::vector<Bits>(n, Bits(words))};
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = n; b-- > 0;) {
      for (size_t k = 0; k < words; ++k) {
        u64 out = 0;
        for (int s : g.blocks[b].next) out |= l.in[static_cast<size_t>(s)][k];
        const u64 in = reads[b][k] | (out & ~kills[b][k]);
        changed = changed || in != l.in[b][k];
        l.out[b][k] = out, l.in[b][k] = in;
      }
    }
  }
  return l;
}

struct Interval {
  int reg = 0, first = 0, last = -1;
};

std::vector<Interval> intervals(const ptx::Function& f, const Cfg& g, const std::vector<Accesses>& accesses, const Liveness& live) {
  std::vector<Interval> v(f.registers.size());
  for (size_t r = 0; r < v.size(); ++r) v[r] = {static_cast<int>(r), 1 << 30, -1};
  auto extend = [&](size_t r, int at) { v[r].first = std::min(v[r].first, at), v[r].last = std::max(v[r].last, at); };
  for (size_t b = 0; b < g.blocks.size(); ++b) {
    for (size_t k = 0; k < live.in[b].size(); ++k) {
      for (u64 m = live.in[b][k]; m != 0; m &= m - 1) extend(k * 64 + static_cast<size_t>(std::countr_zero(m)), g.blocks[b].first);
      for (u64 m = live.out[b][k]; m != 0; m &= m - 1) extend(k * 64 + static_cast<size_t>(std::countr_zero(m)), g.blocks[b].last);
    }
  }
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (int r : accesses[i].reads) extend(static_cast<size_t>(r), static_cast<int>(i));
    for (int r : accesses[i].writes) extend(static_cast<size_t>(r), static_cast<int>(i));
  }
  std::erase_if(v, [](const Interval& i) { return i.last < 0; });
  std::sort(v.begin(), v.end(),
            [](const Interval& a, const Interval& b) { return a.first != b.first ? a.first < b.first : a.reg < b.reg; });
  return v;
}

int size_class(ptx::Type type) { return type == ptx::Type::pred ? 0 : ptx::size_bytes(type) <= 4 ? 1 : ptx::size_bytes(type) == 8 ? 2 : 3; }

}  // namespace

Slots allocate_registers(const ptx::Function& f, const Cfg& g, const std::vector<Accesses>& accesses, u32 base) {
  constexpr u32 kBytes[] = {4, 128, 256, 512};
  std::vector<int> slot(f.registers.size(), -1);
  std::set<int> free[4];
  int used[4] = {0, 0, 0, 0};
  std::multimap<int, int> active;  // last use to register
  const Liveness live = live_registers(g, accesses, f.registers.size());
  for (const Interval& i : intervals(f, g, accesses, live)) {
    // A register whose last read is this very instruction keeps its slot: bodies may write before they have read everything.
    while (!active.empty() && active.begin()->first < i.first) {
      const int r = active.begin()->second;
      free[size_class(f.registers[static_cast<size_t>(r)].type)].insert(slot[static_cast<size_t>(r)]);
      active.erase(active.begin());
    }
    const int c = size_class(f.registers[static_cast<size_t>(i.reg)].type);
    if (free[c].empty()) free[c].insert(used[c]++);
    slot[static_cast<size_t>(i.reg)] = *free[c].begin();
    free[c].erase(free[c].begin());
    active.emplace(i.last, i.reg);
  }
  u32 start[4], at = base;
  for (int c : {0, 1, 2, 3}) {
    start[c] = at;
    at += static_cast<u32>(used[c]) * kBytes[c];
    at = (at + 63) / 64 * 64;
  }
  Slots s{std::vector<u32>(f.registers.size(), base), at, {}};
  for (size_t r = 0; r < f.registers.size() && !live.in.empty(); ++r)
    if (test(live.in[0], static_cast<int>(r))) s.maybe_undefined.push_back(static_cast<int>(r));
  for (size_t r = 0; r < slot.size(); ++r) {
    const int c = size_class(f.registers[r].type);
    if (slot[r] >= 0) s.offset[r] = start[c] + static_cast<u32>(slot[r]) * kBytes[c];
  }
  return s;
}

}  // namespace cutegen::vgpu
