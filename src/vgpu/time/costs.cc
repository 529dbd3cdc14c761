#include "vgpu/time/costs.h"

#include <algorithm>

namespace cutegen::vgpu {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct Expansion {
  std::string_view prefix, part;  // of the opcode; part may be empty
  float instructions;
};

// The first match counts. What is not here becomes one instruction.
constexpr Expansion kExpansions[] = {
    {"ld.param", "", 0},
    {"ld.const", "", 0.5f},
    {"cvta", "", 0},
    {"mov", "", 0.25f},
    {"cvt.u32.u64", "", 0},
    {"cvt.u64.u32", "", 0.3f},
    {"cvt.s64.s32", "", 0.5f},
    {"add", "64", 1.2f},
    {"sub", "64", 2},
    {"add.f64", "", 1},
    {"mul.wide", "", 0.9f},
    {"mul.lo", "64", 4},
    {"mad.lo", "64", 4},
    {"mul.hi", "", 2},
    {"shl", "64", 1.2f},
    {"shr", "64", 2},
    {"setp", "64", 2},
    {"setp", ".f64", 1},
    {"and.pred", "", 0.3f},
    {"or.pred", "", 0.3f},
    {"not.pred", "", 0.1f},
    {"and", "64", 1.6f},
    {"or", "64", 1.6f},
    {"xor", "64", 2},
    {"div.rn.f32", "", 9},
    {"div.full", "", 6},
    {"div.approx", "", 4},
    {"div", "f64", 30},
    {"div", "64", 70},
    {"div", "16", 12},
    {"div", "", 20},
    {"rem", "64", 75},
    {"rem", "", 20},
    {"sqrt.rn.f32", "", 9},
    {"sqrt", "f64", 25},
    {"sqrt.approx", "", 3},
    {"rcp.rn", "", 7},
    {"rcp", "f64", 20},
    {"rsqrt.approx.f32", "", 3},
    {"sin.approx", "", 2},
    {"cos.approx", "", 2},
    {"ex2.approx.ftz", "", 1},
    {"ex2.approx.f32", "", 3.5f},
    {"lg2.approx.f32", "", 3.5f},
    {"bra", "", 0.9f},
    {"ret", "", 1},
    {"selp", "64", 2},
    {"wgmma.fence", "", 1},
    {"fence", "", 1},
    {"mapa", "", 2},
    {"elect", "", 2},
    {"mbarrier.try_wait", "", 2},
};

float instructions_of(std::string_view opcode) {
  for (const Expansion& e : kExpansions)
    if (opcode.starts_with(e.prefix) && (e.part.empty() || has(opcode.substr(e.prefix.size()), e.part))) return e.instructions;
  return 1;
}

double pipe_cycles(const GpuProfile& g, Pipe pipe) {
  switch (pipe) {
    case Pipe::alu: return g.alu_cycles;
    case Pipe::fma: return g.fma_cycles;
    case Pipe::fp64: return g.fp64_cycles;
    case Pipe::xu: return g.xu_cycles;
    case Pipe::lsu: return g.lsu_cycles;
    default: return g.control_cycles;
  }
}

double pipe_latency(const GpuProfile& g, Pipe pipe) {
  switch (pipe) {
    case Pipe::alu: return g.alu_latency;
    case Pipe::fma: return g.fma_latency;
    case Pipe::fp64: return g.fp64_latency;
    case Pipe::xu: return g.xu_latency;
    case Pipe::lsu: return g.shuffle_latency;
    case Pipe::tensor: return g.tensor_latency;
    default: return g.alu_latency;
  }
}

// Cycles of one scheduler's tensor core: multiply-accumulates of one warp over its rate, which depends on the operands' width.
double tensor_cycles(const GpuProfile& g, std::string_view opcode, u32 macs) {
  double rate = g.tensor_macs / 4;
  if (has(opcode, ".tf32"))
    rate /= 2;
  else if (has(opcode, ".e4m3") || has(opcode, ".e5m2") || has(opcode, ".s8") || has(opcode, ".u8"))
    rate *= 2;
  else if (has(opcode, ".f64"))
    rate /= 16;
  if (opcode.starts_with("mma")) rate *= g.mma_sync_share;
  return macs / rate;
}

bool is_anchor(std::string_view op) {
  for (std::string_view p :
       {"fma.rn.f32", "mul.f32", "mul.rn.f32", "add.f32", "add.rn.f32", "sub.f32", "ld.global", "ld.shared", "st.global", "st.shared",
        "mma", "ldmatrix", "cp.async.c", "shfl", "fma.rn.f64", "fma.rn.f16x2", "ld.volatile"})
    if (op.starts_with(p)) return !op.starts_with("cp.async.commit");
  return false;
}

void classify(PcCost& c, std::string_view op) {
  c.anchor = is_anchor(op);
  c.bypasses_l1 =
      has(op, ".cg") || has(op, ".cv") || has(op, "volatile") || has(op, ".relaxed") || has(op, ".acquire") || has(op, ".L1::no_allocate");
  c.read_only = has(op, ".nc");
  c.is_constant = op.starts_with("ld.const");
  c.is_bulk = op.starts_with("cp.async.bulk.shared") || op.starts_with("cp.async.bulk.global") || op.starts_with("cp.async.bulk.tensor");
  c.is_wgmma = op.starts_with("wgmma.mma_async");
  c.starts_copy =
      op.starts_with("cp.async") && !op.starts_with("cp.async.bulk") && !has(op, "commit") && !has(op, "wait") && !has(op, "mbarrier");
  c.commits_copies = op == "cp.async.commit_group";
  c.commits_matrices = op.starts_with("wgmma.commit_group");
  c.arrives = op.starts_with("mbarrier.arrive");
  if (op.starts_with("cp.async.wait_")) c.waits = Waits::copies;
  if (op.starts_with("wgmma.wait_group")) c.waits = Waits::matrices;
  if (op.starts_with("mbarrier.try_wait") || op.starts_with("mbarrier.test_wait")) c.waits = Waits::mbarrier;
}

void add_register(std::vector<Ref>& to, Ref ref) {
  if (ref == kAbsent || (ref & kConstRef) != 0) return;
  to.push_back(ref & (kNotRef - 1));
}

// Which registers an instruction reads and writes: operands lie in `op` in the order of the form's roles (link/operands.cc).
void registers_of(PcCost& c, const Form& form, const Inst& in) {
  if (in.guard != 0) c.sources.push_back(in.guard);
  size_t at = 0;
  for (const OperandSpec& o : form.operands) {
    switch (o.role) {
      case Role::dst:
      case Role::vec_dst:
        for (u8 i = 0; i < o.count && at < in.count; ++i) add_register(c.destinations, in.op[at++]);
        break;
      case Role::pair_dst:
      case Role::reg_pred:
        for (int i = 0; i < 2 && at < in.count; ++i) add_register(c.destinations, in.op[at++]);
        break;
      case Role::src:
      case Role::vec_src:
        for (u8 i = 0; i < o.count && at < in.count; ++i) add_register(c.sources, in.op[at++]);
        break;
      case Role::address:
      case Role::coords:
        if (at < in.count) add_register(c.sources, in.op[at]);
        at += 2;
        if (o.role == Role::coords)
          for (u8 i = 0; i < o.count && at < in.count; ++i) add_register(c.sources, in.op[at++]);
        break;
      case Role::imm: ++at; break;
      case Role::label:
      case Role::list: break;
    }
  }
}

PcCost cost_of(const Image& image, size_t pc, const GpuProfile& g) {
  const Inst& in = image.code[pc];
  PcCost c;
  if (in.kind == Kind::join || image.pcs[pc].form == nullptr) {
    c.instructions = c.issue = c.pipe = c.latency = 0;
    return c;
  }
  const std::string_view op = image.pcs[pc].opcode;
  c.instructions = instructions_of(op);
  const bool tensor = in.pipe == Pipe::tensor;
  c.pipe =
      static_cast<float>(tensor ? tensor_cycles(g, op, in.param) : pipe_cycles(g, in.pipe) * (in.pipe == Pipe::xu ? 1 : c.instructions));
  c.issue = std::max(c.instructions, tensor ? 1 : c.pipe);
  c.latency = static_cast<float>(pipe_latency(g, in.pipe) * std::max(1.0f, c.instructions / 2));
  if (c.instructions < 0.5f) c.latency = c.instructions * static_cast<float>(g.alu_latency);
  if (in.kind == Kind::barrier) c.waits = Waits::barrier;
  classify(c, op);
  registers_of(c, *image.pcs[pc].form, in);
  return c;
}

}  // namespace

std::vector<PcCost> pc_costs(const Image& image, const GpuProfile& gpu) {
  std::vector<PcCost> out;
  for (size_t pc = 0; pc < image.code.size(); ++pc) out.push_back(cost_of(image, pc, gpu));
  return out;
}

}  // namespace cutegen::vgpu
