// Registers of wgmma: accumulators and register operands belong to the tensor core from wgmma.mma_async until wgmma.wait_group, and what
// was written to them before needs wgmma.fence.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "vgpu/observe/checks/list.h"
#include "vgpu/observe/operands.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kWait{
    "wgmma-registers",
    FaultKind::missing_wait,
    Checks::full,
    "an accumulator of wgmma is read or written, or a register operand overwritten, before wgmma.wait_group",
    "the tensor core works on the registers of the warpgroup while the threads run on",
    "call warpgroup_wait<N>() (wgmma.wait_group) before touching the accumulators",
};
constexpr CheckRecord kFence{
    "wgmma-fence",
    FaultKind::missing_fence,
    Checks::full,
    "wgmma uses registers that were written since the last wgmma.fence",
    "without the fence the tensor core may see the registers before they are written",
    "call warpgroup_arrive() (wgmma.fence) after writing accumulators or register operands and before the first wgmma",
};

enum class Part : uint8_t { other, product, fence, commit, wait, copy, constant };

class WgmmaRegisters : public Check {
 public:
  explicit WgmmaRegisters(const CheckContext& c) : Check(c) {
    every_instruction = true;
    for (u32 pc = 0; pc < c.image.code.size(); ++pc) {
      uses_.push_back(registers_of(c.image, pc));
      parts_.push_back(part_of(c.image.pcs[pc].form->name, uses_.back()));
    }
  }
  void cta_end(const Cta& cta) override {
    std::erase_if(warps_, [&](const auto& w) { return w.first->cta == &cta; });
  }

  void instruction(const Warp& w, const Inst& in, u32 mask) override {
    if (mask == 0) return;
    State& s = warps_.try_emplace(&w, State{std::vector<Slot>(image_.register_bytes / 4 + 1), {}, {}}).first->second;
    const RegisterUse& use = uses_[in.id];
    switch (parts_[in.id]) {
      case Part::product: return product(w, in, s);
      case Part::fence:
        for (Slot& slot : s.slots) slot.dirty = false;
        return;
      case Part::commit:
        s.committed.push_back(std::move(s.current));
        s.current.clear();
        return;
      case Part::wait:
        while (s.committed.size() > in.op[0]) {
          for (const Held& h : s.committed.front()) --(h.read_only ? s.slots[h.slot / 4].read : s.slots[h.slot / 4].written);
          s.committed.pop_front();
        }
        return;
      case Part::copy: {  // the compiler moves accumulators about; the values are not looked at
        const Ref source = root(s, use.reads[0]);
        Slot& to = s.slots[use.writes[0] / 4];
        to.alias = use.writes[0] == source ? 0 : source;
        to.dirty = s.slots[source / 4].dirty;
        return;
      }
      case Part::constant:  // the compiler may move one past the fence
        s.slots[use.writes[0] / 4].alias = 0, s.slots[use.writes[0] / 4].dirty = false;
        return;
      case Part::other: break;
    }
    for (Ref r : use.reads)
      if (s.slots[root(s, r) / 4].written != 0) touched(w, in, mask, "reads");
    for (Ref r : use.writes) {
      Slot& slot = s.slots[r / 4];
      if (slot.written != 0 || slot.read != 0) touched(w, in, mask, "writes");
      slot.alias = 0;
      slot.dirty = true;
    }
  }

 private:
  struct Slot {
    u16 written = 0, read = 0;  // operations in flight that write or read it
    bool dirty = true;          // written since the last fence
    Ref alias = 0;              // a copy of this register's value
  };
  struct Held {
    Ref slot;
    bool read_only;
  };
  struct State {
    std::vector<Slot> slots;  // by offset / 4
    std::vector<Held> current;
    std::deque<std::vector<Held>> committed;
  };
  static Part part_of(const std::string& name, const RegisterUse& use) {
    if (name.starts_with("wgmma.mma_async")) return Part::product;
    if (name == "wgmma.fence") return Part::fence;
    if (name == "wgmma.commit_group") return Part::commit;
    if (name == "wgmma.wait_group") return Part::wait;
    if (!name.starts_with("mov.") || use.writes.size() != 1) return Part::other;
    return use.reads.size() == 1 ? Part::copy : use.reads.empty() ? Part::constant : Part::other;
  }
  static Ref root(const State& s, Ref r) {
    const Ref alias = s.slots[r / 4].alias;
    return alias != 0 ? alias : r;
  }

  void product(const Warp& w, const Inst& in, State& s) {
    const Form& form = *image_.pcs[in.id].form;
    const u32 accumulators = form.operands[0].count;
    const u32 from_registers = form.operands[1].role == Role::vec_src ? form.operands[1].count : 0;
    bool dirty = false;
    for (u32 i = 0; i < accumulators + from_registers; ++i) {
      const Ref r = in.op[i] & ~kNotRef;
      if ((in.op[i] & kConstRef) != 0) continue;
      Slot& slot = s.slots[r / 4];
      dirty = dirty || slot.dirty;
      slot.alias = 0;
      ++(i < accumulators ? slot.written : slot.read);
      s.current.push_back({r, i >= accumulators});
    }
    if (!dirty || !reported_.insert({in.id, in.id}).second) return;
    log_.add(w, in.id, {&kFence, "wgmma uses registers written since the last wgmma.fence", 0, 0, {}});
  }
  void touched(const Warp& w, const Inst& in, u32 mask, const char* how) {
    if (!reported_.insert({in.id, ~0u}).second) return;
    log_.add(w, in.id,
             {&kWait,
              fmt::format("{} a register of a wgmma that is in flight: wgmma.wait_group has not been executed since", how),
              static_cast<u32>(std::countr_zero(mask)),
              0,
              {}});
  }
  std::vector<RegisterUse> uses_;  // by pc
  std::vector<Part> parts_;
  std::unordered_map<const Warp*, State> warps_;
  std::set<std::pair<u32, u32>> reported_;
};

}  // namespace

CheckEntry wgmma_registers_check() {
  return {{&kWait, &kFence}, [](const CheckContext& c) -> std::unique_ptr<Observer> {
            for (const PcInfo& pc : c.image.pcs)
              if (pc.form->name.starts_with("wgmma.mma_async")) return std::make_unique<WgmmaRegisters>(c);
            return nullptr;
          }};
}

}  // namespace cutegen::vgpu
