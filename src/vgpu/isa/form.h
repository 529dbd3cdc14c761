// One instruction form: mnemonic with qualifiers, operands, and the body that executes it for one warp.
//
// To add an instruction, add one record to the file of its PTX-manual section and one line to that section's test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

struct Warp;
struct Inst;

// Executes one instruction for the lanes set in `mask` (never 0).
using Body = void (*)(Warp& warp, const Inst& in, u32 mask);

// The same body compiled for three instruction sets of the host; see isa/builder.h.
struct Bodies {
  Body portable = nullptr, avx2 = nullptr, avx512 = nullptr;
};

// How the interpreter treats an instruction. Everything that only computes or moves data is plain.
enum class Kind : uint8_t {
  plain,
  bra,
  brx,
  call,
  ret,
  exit,
  trap,
  barrier,
  warp_sync,
  cluster_arrive,
  cluster_wait,
  join,
  yield,    // lets other warps run
  poll,     // tests an mbarrier; the same when it is not complete
  ordered,  // a strong store or an atomic
  async,    // asynchronous operations, and what groups and awaits them
};

// The part of an instruction of Kind::async.
enum class Async : uint8_t { issue, commit, wait, wait_all, arrive };
// What tells that an operation is complete: groups of cp.async, bulk copies and wgmma, or an mbarrier.
enum class Completion : uint8_t { copy_group, bulk_group, matrix_group, barrier };

// How an access to memory orders others (PTX ISA 8.9): atomics, and loads and stores stronger than .weak.
inline constexpr uint8_t kAcquires = 1, kReleasesFenced = 2, kReleases = 4;

// Execution pipes, for counters and the time model.
enum class Pipe : uint8_t { alu, fma, fp64, xu, lsu, tensor, tma, control, uniform };
const char* to_string(Pipe pipe);

enum class Role : uint8_t {
  dst,       // register or sink
  src,       // register, immediate, special register or address of a variable
  pair_dst,  // p|q or p: two predicates
  reg_pred,  // r|p or r: a 32-bit register and a predicate
  address,   // [base + offset]: two references, base and offset
  vec_dst,   // {a, b, ...} of `count` registers, or one register when count is 1
  vec_src,
  imm,     // an integer known at load: the reference is its value
  coords,  // [base, {c0, c1, ...}]: base, offset, then `count` coordinates
  label,   // target of a branch
  list,    // whatever is there, for call
};

struct OperandSpec {
  Role role = Role::src;
  Value type = Value::U32;
  uint8_t count = 1;
  bool optional = false;  // may be absent at the end; then its reference is kAbsent
};

struct Form {
  std::string name;     // canonical: cache hints and the like removed
  std::string section;  // of the PTX ISA manual: "Integer arithmetic"
  std::vector<OperandSpec> operands;
  Bodies bodies;
  Pipe pipe = Pipe::alu;
  Kind kind = Kind::plain;
  bool collective = false;  // .sync with a member mask: all named lanes take part at once; `mask_operand` says which operand it is
  int8_t mask_operand = -1;
  uint32_t param = 0;  // a number for the body: Inst::param
  Async async = Async::issue;
  Completion completion = Completion::copy_group;
  int8_t barrier_operand = -1;  // Kind::async: which operand is the mbarrier that it completes on
};

// Where an operand lives: an offset into the warp's registers, or into the constants (bit 31). Bit 30 negates a predicate.
using Ref = u32;
inline constexpr Ref kConstRef = 1u << 31;
inline constexpr Ref kNotRef = 1u << 30;
inline constexpr Ref kAbsent = ~0u;

// An instruction ready to run.
struct Inst {
  Body body = nullptr;
  const Ref* op = nullptr;
  u32 guard = 0;       // register-file offset of the guard predicate; offset 0 holds "all lanes"
  u32 guard_flip = 0;  // ~0 for @!p
  Kind kind = Kind::plain;
  Pipe pipe = Pipe::alu;
  bool collective = false;
  u8 order = 0;  // kAcquires, ...
  u8 count = 0;  // operands in `op`
  Async async = Async::issue;
  Completion completion = Completion::copy_group;
  s8 address_op = -1;   // index in `op` of the address of an ordered access, or of the mbarrier of an asynchronous one
  u32 param = 0;        // Form::param
  u32 id = 0;           // its pc
  s32 target = -1;      // branch: pc; call: pc of the function
  s32 reconverge = -1;  // branch: pc where the paths meet again, -1 at the function's end
  s32 mask_op = -1;     // collective: index in `op` of the member mask
};

}  // namespace cutegen::vgpu
