// Reads of registers that nothing has written. Only those that some path reads first, which the linker names, are followed.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "vgpu/observe/checks/list.h"
#include "vgpu/observe/operands.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "uninitialised-register",
    FaultKind::uninitialised,
    Checks::checked,
    "an instruction reads a register that no path of this thread has written",
    "a variable was used without a value; the compiler may have put anything there",
    "give the variable a value on every path, or do not read it where it has none",
};

class Registers : public Check {
 public:
  explicit Registers(const CheckContext& c) : Check(c), uses_(c.image.code.size()) {
    every_instruction = true;
    for (u32 pc = 0; pc < uses_.size(); ++pc) {
      const RegisterUse use = registers_of(c.image, pc);
      uses_[pc] = {followed(use.reads), followed(use.writes)};
    }
  }

  void instruction(const Warp& w, const Inst& in, u32 mask) override {
    const Use& use = uses_[in.id];
    if (use.reads.empty() && use.writes.empty()) return;
    std::vector<u32>& defined = defined_.try_emplace(&w, image_.maybe_undefined.size(), 0u).first->second;
    const u32 reading = use.reads.empty() || ignores_destination(w, in) ? 0 : mask;
    for (u32 r : use.reads) {
      const u32 missing = reading & looked_at(w, in, image_.maybe_undefined[r].slot) & ~defined[r];
      if (missing == 0) continue;
      const auto lane = static_cast<u32>(std::countr_zero(missing));
      log_.add(w, in.id,
               {&kRecord, fmt::format("register {} is read and has never been written", image_.maybe_undefined[r].name), lane, 0,
                image_.maybe_undefined[r].name});
      defined[r] |= reading;
    }
    for (u32 r : use.writes) defined[r] |= mask;
  }
  void cta_end(const Cta& cta) override {
    std::erase_if(defined_, [&](const auto& d) { return d.first->cta == &cta; });
  }

 private:
  struct Use {
    std::vector<u32> reads, writes;  // indices into Image::maybe_undefined
  };
  std::vector<u32> followed(const std::vector<Ref>& refs) const {
    std::vector<u32> found;
    for (u32 i = 0; i < image_.maybe_undefined.size(); ++i)
      if (std::find(refs.begin(), refs.end(), image_.maybe_undefined[i].slot) != refs.end()) found.push_back(i);
    return found;
  }
  // selp leaves the value that it does not choose alone.
  u32 looked_at(const Warp& w, const Inst& in, Ref slot) const {
    if (!image_.pcs[in.id].form->name.starts_with("selp.") || (in.op[3] & ~kNotRef) == slot) return ~0u;
    const u32 chosen = w.predicate(in.op[3]);
    return (in.op[1] == slot ? chosen : 0) | (in.op[2] == slot ? ~chosen : 0);
  }
  // wgmma with scale-d false does not add to its accumulators.
  bool ignores_destination(const Warp& w, const Inst& in) const {
    const Form& form = *image_.pcs[in.id].form;
    if (!form.name.starts_with("wgmma.mma_async")) return false;
    u32 at = form.operands[0].count;
    for (size_t i = 1; i < form.operands.size(); ++i) {
      if (form.operands[i].type == Value::Pred) return (w.predicate(in.op[at]) & 1) == 0;
      at += form.operands[i].role == Role::vec_src ? form.operands[i].count : 1;
    }
    return false;
  }
  std::vector<Use> uses_;                                      // by pc
  std::unordered_map<const Warp*, std::vector<u32>> defined_;  // lanes, by followed register
};

}  // namespace

CheckEntry registers_check() {
  return {{&kRecord}, [](const CheckContext& c) -> std::unique_ptr<Observer> {
            return c.image.maybe_undefined.empty() ? nullptr : std::make_unique<Registers>(c);
          }};
}

}  // namespace cutegen::vgpu
