// PTX ISA 9.7.12, 9.7.13, 9.7.19: control flow, barriers, fences. The machine (exec/) does the work for every kind but plain.
#include "vgpu/exec/kinds.h"
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

constexpr auto nothing = [](Warp&, const Inst&, u32) {};

Form& control(Section& s, const std::string& name, Kind kind, std::vector<OperandSpec> operands = {}, u32 param = 0) {
  Form& f = s.whole<nothing>(name, std::move(operands), Pipe::control);
  f.kind = kind;
  f.param = param;
  return f;
}

// bar.sync a{, b}; barrier.sync.aligned is the same; without .aligned lanes may come one by one.
void cta_barriers(Section& s) {
  const OperandSpec id{Role::src}, count{Role::src, Value::U32, 1, true};
  struct Spelling {
    const char* prefix;
    const char* suffix;
    u32 flags;
  };
  for (const Spelling& p : {Spelling{"bar", "", kAligned},
                            {"bar.cta", "", kAligned},
                            {"barrier", ".aligned", kAligned},
                            {"barrier.cta", ".aligned", kAligned},
                            {"barrier", "", 0},
                            {"barrier.cta", "", 0}}) {
    const std::string prefix = p.prefix, suffix = p.suffix;
    control(s, prefix + ".sync" + suffix, Kind::barrier, {id, count}, p.flags);
    control(s, prefix + ".arrive" + suffix, Kind::barrier, {id, {Role::src}}, p.flags | kArriveOnly);
    struct Red {
      const char* op;
      const char* type;
      u32 flag;
    };
    for (const Red& r : {Red{".popc", ".u32", kRedPopc}, {".and", ".pred", kRedAnd}, {".or", ".pred", kRedOr}}) {
      const OperandSpec d{Role::dst, r.flag == kRedPopc ? Value::U32 : Value::Pred};
      const std::string name = prefix + ".red" + r.op + suffix + r.type;
      control(s, name + "/3", Kind::barrier, {d, id, {Role::src, Value::Pred}}, p.flags | r.flag);
      control(s, name + "/4", Kind::barrier, {d, id, {Role::src}, {Role::src, Value::Pred}}, p.flags | r.flag | kCounted);
    }
  }
}

}  // namespace

std::vector<Form> control_forms() {
  Section s("Control flow, barriers, fences");
  control(s, "bra", Kind::bra, {{Role::label}});
  control(s, "call", Kind::call, {{Role::list}});
  control(s, "ret", Kind::ret);
  control(s, "exit", Kind::exit);
  control(s, "trap", Kind::trap);
  control(s, "brkpt", Kind::trap);
  cta_barriers(s);
  for (const char* suffix : {"", ".aligned"}) {
    control(s, std::string("barrier.cluster.arrive") + suffix, Kind::cluster_arrive);
    control(s, std::string("barrier.cluster.wait") + suffix, Kind::cluster_wait);
  }
  // Memory is sequentially consistent: fences order what is ordered already, and only observers look at them.
  for (const char* name : {"membar", "fence"}) s.whole<[](Warp& w, const Inst&, u32 mask) { w.fenced |= mask; }>(name, {}, Pipe::control);
  for (const char* name : {"fence.proxy", "fence.mbarrier_init", "griddepcontrol.wait", "griddepcontrol.launch_dependents"})
    control(s, name, Kind::plain);
  control(s, "nanosleep.u32", Kind::yield, {{Role::src}});
  control(s, "pmevent", Kind::plain, {{Role::imm}});
  for (const char* name : {"setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32"})
    control(s, name, Kind::plain, {{Role::imm}});
  return s.take();
}

}  // namespace cutegen::vgpu
