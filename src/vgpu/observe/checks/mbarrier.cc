// What is not an mbarrier, or not one any more, used as one.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "vgpu/observe/checks/list.h"
#include "vgpu/observe/traits.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "mbarrier-misuse",
    FaultKind::mbarrier_misuse,
    Checks::checked,
    "an mbarrier is used before mbarrier.init, after something else was stored over it, or initialised with a count that it cannot have",
    "an mbarrier is 8 bytes of shared memory that only its own operations may touch; anything else leaves waits that never end or end at "
    "once",
    "initialise it once, by one thread, before a barrier; keep tiles off its bytes; count the arrivals of one phase",
};
constexpr u32 kMaxCount = (1u << 20) - 1;  // PTX ISA 9.7.13.15.9: mbarrier.init
constexpr u32 kBytes = 8;

class MbarrierUse : public Check {
 public:
  explicit MbarrierUse(const CheckContext& c) : Check(c), traits_(traits_of(c.image)) {}
  void cta_end(const Cta& cta) override { ctas_.erase(&cta); }

  void access(const MemoryEvent& e) override {
    const InstTraits& t = traits_[e.inst.id];
    if (!t.mbarrier && (ctas_.empty() || e.access == Access::load)) return;
    if (e.space == Space::global || e.space == Space::local || e.space == Space::constant || e.space == Space::param) return;
    for (u32 m = e.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      u64 address = e.addresses[lane];
      if (e.space == Space::generic) {
        if (address >> kWindowBits << kWindowBits != kSharedWindow) continue;
        address -= kSharedWindow;
      }
      const u64 rank = address >> kRankShift;
      if (rank > e.warp.cta->peers->size()) continue;
      const Cta* cta = rank == 0 ? e.warp.cta : (*e.warp.cta->peers)[rank - 1];
      address &= (1u << kRankShift) - 1;
      if (!t.mbarrier)
        overwrite(cta, address, e.bytes, e.inst.id);
      else if (t.mbarrier_init)
        initialise(e, lane, cta, address);
      else
        use(e, lane, cta, address);
    }
  }
  void async_range(u64, const AsyncRange& r) override {
    if (r.access != Access::load && r.space == Space::shared && r.cta != nullptr && !ctas_.empty())
      overwrite(r.cta, r.address & ((1u << kRankShift) - 1), r.bytes, 0);
  }

 private:
  struct State {
    bool live = false;
    s32 overwritten_by = -1;  // pc
  };
  using Barriers = std::map<u64, State>;  // by shared address

  void initialise(const MemoryEvent& e, u32 lane, const Cta* cta, u64 address) {
    const bool inval = image_.pcs[e.inst.id].opcode.starts_with("mbarrier.inval");
    if (inval) {
      ctas_[cta].erase(address);
      return;
    }
    const u32 count = e.warp.lanes<u32>(e.inst.op[2])[lane];
    if (count == 0 || count > kMaxCount)
      report(e, lane, address,
             fmt::format("mbarrier at shared address {:#x} initialised for {} arrivals: it can count 1 to {}", address, count, kMaxCount));
    ctas_[cta][address] = {true, -1};
  }
  void use(const MemoryEvent& e, u32 lane, const Cta* cta, u64 address) {
    State& s = ctas_[cta][address];
    if (s.live) return;
    const std::string why =
        s.overwritten_by < 0 ? "has not been initialised" : "was overwritten at " + source_of(image_, static_cast<u32>(s.overwritten_by));
    report(e, lane, address, fmt::format("the mbarrier at shared address {:#x} {}", address, why), s.overwritten_by);
    s.live = true;  // once is enough
  }
  void overwrite(const Cta* cta, u64 address, u64 bytes, u32 pc) {
    const auto found = ctas_.find(cta);
    if (found == ctas_.end()) return;
    Barriers& b = found->second;
    for (auto at = b.lower_bound(address < kBytes ? 0 : address - kBytes + 1); at != b.end() && at->first < address + bytes; ++at)
      if (at->second.live) at->second = {false, static_cast<s32>(pc)};
  }
  void report(const MemoryEvent& e, u32 lane, u64 address, std::string what, s32 other = -1) {
    log_.add(e.warp, e.inst.id, {&kRecord, std::move(what), lane, address, "shared", 0, other});
  }
  std::vector<InstTraits> traits_;
  std::unordered_map<const Cta*, Barriers> ctas_;
};

}  // namespace

CheckEntry mbarrier_check() {
  return {{&kRecord}, [](const CheckContext& c) -> std::unique_ptr<Observer> {
            for (const PcInfo& pc : c.image.pcs)
              if (traits_of(pc.opcode).mbarrier) return std::make_unique<MbarrierUse>(c);
            return nullptr;
          }};
}

}  // namespace cutegen::vgpu
