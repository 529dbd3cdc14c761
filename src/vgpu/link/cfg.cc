#include "vgpu/link/cfg.h"

#include <algorithm>

namespace cutegen::vgpu {
namespace {

bool ends_block(Kind kind) { return kind == Kind::bra || kind == Kind::ret || kind == Kind::exit || kind == Kind::trap; }

void add_successors(const ptx::Function& f, const std::vector<const Form*>& forms, Cfg& g) {
  const auto n = static_cast<int>(f.body.size());
  for (Block& b : g.blocks) {
    const ptx::Instruction& in = f.body[static_cast<size_t>(b.last - 1)];
    const Kind kind = forms[static_cast<size_t>(b.last - 1)]->kind;
    if (kind == Kind::bra && in.operands[0].index < n) b.next.push_back(g.block_of[static_cast<size_t>(in.operands[0].index)]);
    const bool falls_through = !ends_block(kind) || in.guard >= 0;
    if (falls_through && b.last < n) b.next.push_back(g.block_of[static_cast<size_t>(b.last)]);
  }
}

// Post-order of the reversed graph, from the exits; -1 for blocks that reach no exit.
struct Order {
  std::vector<int> number;    // by block
  std::vector<int> reversed;  // blocks, exits first
};
Order order_from_exits(const Cfg& g) {
  const size_t n = g.blocks.size();
  std::vector<std::vector<int>> before(n);
  for (size_t b = 0; b < n; ++b)
    for (int s : g.blocks[b].next) before[static_cast<size_t>(s)].push_back(static_cast<int>(b));
  Order o{std::vector<int>(n, -1), {}};
  std::vector<bool> seen(n, false);
  for (size_t e = 0; e < n; ++e) {
    if (!g.blocks[e].next.empty() || seen[e]) continue;
    std::vector<std::pair<int, size_t>> stack{{static_cast<int>(e), 0}};
    seen[e] = true;
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      if (i < before[static_cast<size_t>(b)].size()) {
        const int p = before[static_cast<size_t>(b)][i++];
        if (!seen[static_cast<size_t>(p)]) seen[static_cast<size_t>(p)] = true, stack.push_back({p, 0});
        continue;
      }
      o.number[static_cast<size_t>(b)] = static_cast<int>(o.reversed.size());
      o.reversed.push_back(b);
      stack.pop_back();
    }
  }
  std::reverse(o.reversed.begin(), o.reversed.end());
  return o;
}

// Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, on the reversed graph. The virtual end is -1 and dominates everything.
void find_post_dominators(Cfg& g) {
  const Order order = order_from_exits(g);
  constexpr int kUnknown = -2, kEnd = -1;
  std::vector<int> idom(g.blocks.size(), kUnknown);
  auto number = [&](int b) { return b == kEnd ? static_cast<int>(g.blocks.size()) : order.number[static_cast<size_t>(b)]; };
  auto meet = [&](int a, int b) {
    while (a != b) {
      while (number(a) < number(b)) a = idom[static_cast<size_t>(a)];
      while (number(b) < number(a)) b = idom[static_cast<size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (int b : order.reversed) {
      int meet_point = g.blocks[static_cast<size_t>(b)].next.empty() ? kEnd : kUnknown;
      for (int s : g.blocks[static_cast<size_t>(b)].next) {
        if (idom[static_cast<size_t>(s)] == kUnknown) continue;
        meet_point = meet_point == kUnknown ? s : meet(meet_point, s);
      }
      if (meet_point != kUnknown && idom[static_cast<size_t>(b)] != meet_point) idom[static_cast<size_t>(b)] = meet_point, changed = true;
    }
  }
  for (size_t b = 0; b < g.blocks.size(); ++b) g.blocks[b].post_dominator = idom[b] == kUnknown ? kEnd : idom[b];
}

}  // namespace

Cfg build_cfg(const ptx::Function& f, const std::vector<const Form*>& forms) {
  const size_t n = f.body.size();
  std::vector<bool> leader(n + 1, false);
  leader[0] = true;
  for (size_t i = 0; i < n; ++i) {
    if (forms[i]->kind == Kind::bra) leader[static_cast<size_t>(f.body[i].operands[0].index)] = true;
    if (ends_block(forms[i]->kind)) leader[i + 1] = true;
  }
  Cfg g;
  g.block_of.resize(n);
  for (size_t i = 0; i < n; ++i) {
    if (leader[i]) g.blocks.push_back({static_cast<int>(i), static_cast<int>(i), {}, -1});
    g.blocks.back().last = static_cast<int>(i) + 1;
    g.block_of[i] = static_cast<int>(g.blocks.size()) - 1;
  }
  add_successors(f, forms, g);
  find_post_dominators(g);
  return g;
}

}  // namespace cutegen::vgpu
