// The virtual GPU: executes PTX on the host's cores. Exact about memory and synchronisation errors, faithful in numerics, deterministic by
// default. It depends on base/ alone and can be used without the rest of cutegen.
//
//   auto program = vgpu::load_ptx(text, "axpy.ptx");           // Result: unknown instructions are refused here
//   vgpu::Memory memory;
//   uint64_t x = memory.map("x", host_x, bytes);               // host memory becomes a device buffer, without a copy
//   vgpu::LaunchConfig launch{.kernel = "axpy", .grid = {132}, .block = {256}, .arguments = ...};
//   vgpu::LaunchResult result = vgpu::launch(**program, memory, launch);
//   if (result.fault) ...                                      // kernel, source line, thread, address, buffer, distance
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace cutegen::vgpu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// A formal parameter of a kernel: where its bytes lie in LaunchConfig::arguments.
struct KernelParameter {
  std::string name;
  uint32_t offset = 0, bytes = 0, align = 1;
};

struct KernelInfo {
  std::string name;
  std::vector<KernelParameter> parameters;
  uint32_t argument_bytes = 0;  // size of the packed parameters
  uint32_t static_smem_bytes = 0;
  uint32_t local_bytes = 0;    // a thread's local memory
  uint32_t ptx_registers = 0;  // virtual registers, in 32-bit units; not what ptxas would allocate
  uint32_t instructions = 0;
  Dim3 max_threads{0, 0, 0};       // .maxntid, zeros when not given
  Dim3 required_threads{0, 0, 0};  // .reqntid
  Dim3 cluster{0, 0, 0};           // .reqnctapercluster
};

struct Image;         // link/image.h
struct ModuleLayout;  // link/image.h
class WrittenBytes;   // mem/written.h
namespace ptx {
struct Module;
}  // namespace ptx

// A .global or .const variable of a program, at its device address.
struct ProgramVariable {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

// Where a program's variables live. By default in the Memory that launches it, at addresses that other programs use too. Given host memory,
// they live there and their device addresses are their host addresses, so that several programs and the host can share them. It must be
// zeroed, aligned to 256 and outlive the Memory.
struct VariableSpace {
  char* host = nullptr;
  uint64_t bytes = 0;
};

// A loaded PTX module. Immutable; shared between threads and launches. Module-scope variables (.global) belong to a Memory, not to the
// Program.
class Program {
 public:
  ~Program();
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  const KernelInfo* find_kernel(const std::string& name) const;  // nullptr when absent
  const Image* image(const std::string& kernel) const;           // for the machine
  std::vector<ProgramVariable> variables() const;

 private:
  friend Result<std::shared_ptr<const Program>> load_ptx(std::string text, std::string name, VariableSpace variables);
  friend void place_variables(const Program& program, class Memory& memory);
  Program();
  std::shared_ptr<const ptx::Module> module_;
  std::shared_ptr<const ModuleLayout> layout_;
  std::vector<KernelInfo> kernels_;
  std::vector<std::unique_ptr<const Image>> images_;  // one a kernel
};

// Parses and links every kernel of `text`. Errors are invalid_input with "NAME:LINE: ...": syntax, an unknown or unsupported instruction
// with its text, recursion, an indirect call, variables that do not fit into their space.
Result<std::shared_ptr<const Program>> load_ptx(std::string text, std::string name, VariableSpace variables = {});

// Device memory: named buffers at addresses that do not depend on the host, with wide gaps between them; freed ones are remembered.
class Memory {
 public:
  struct Buffer {
    std::string name;
    uint64_t base = 0, bytes = 0;
    char* host = nullptr;
    bool writable = true;
    bool freed = false;
    std::unique_ptr<char[]> owned;
    std::shared_ptr<WrittenBytes> written;  // nullptr: all of it counts as initialised
  };
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A new buffer, filled with `fill`. Its address is a multiple of 256.
  uint64_t allocate(std::string name, uint64_t bytes, uint8_t fill = 0);
  // Host memory as a device buffer; the caller keeps it alive until release().
  uint64_t map(std::string name, void* host, uint64_t bytes);
  uint64_t map_read_only(std::string name, const void* host, uint64_t bytes);
  // The same at the device address that is its host address: memory that host and device share. False when a live buffer overlaps it.
  bool map_shared(std::string name, void* host, uint64_t bytes, bool writable = true);
  void release(uint64_t address);
  void* host(uint64_t address) const;  // nullptr when no live buffer holds it

  // From now on the buffer's bytes count as undefined until a kernel or mark_written() writes them; the checks report reads of them.
  void mark_undefined(uint64_t address);
  bool has_undefined() const;                           // whether any live buffer was marked so
  void mark_written(uint64_t address, uint64_t bytes);  // by a copy or fill from the host

  const Buffer* find(uint64_t address) const;     // the live or freed buffer that holds the address
  const Buffer* nearest(uint64_t address) const;  // for messages; nullptr when there is none

 private:
  friend class ModuleVariables;
  Buffer& add(std::string name, uint64_t base, char* host, uint64_t bytes, bool writable);
  uint64_t take_addresses(uint64_t bytes);
  std::vector<std::unique_ptr<Buffer>> buffers_;  // by address
  uint64_t next_ = 0x1000'0000'0000;
  std::map<uint64_t, std::vector<char>>
      modules_;  // by ModuleLayout::id: .global and .const variables of programs that have run on this memory
};

struct LaunchConfig {
  std::string kernel;
  Dim3 grid, block, cluster;
  uint32_t dynamic_smem_bytes = 0;
  bool cooperative = false;        // all CTAs resident at once
  std::vector<uint8_t> arguments;  // packed as KernelInfo::parameters says
};

// What is looked for beyond memory safety (bounds, alignment, lifetime), barriers and deadlock, which every mode checks. The checks and
// what they cost are listed in docs/vgpu-checks.md.
enum class Checks {
  fast,     // nothing more
  checked,  // what costs little
  full,     // everything; on one host thread
};

struct LaunchOptions {
  int threads = 0;  // host threads; 0: the machine's
  bool deterministic =
      true;  // a kernel whose result may depend on the order of CTAs (atomics that return a value or add floats) runs on one thread
  Checks checks = Checks::checked;
  // Copies (not wgmma) take effect as late as they may: when they are waited for, not when they are issued. A missing wait shows as a wrong
  // result; an operation that nobody waits for reads 0xa5 from shared memory.
  bool late_async = false;
  // The seed of a random order of warps, CTAs and (without late_async) completions; on one thread, the same every time.
  std::optional<uint64_t> random_schedule;
  bool count = false;                    // fill LaunchResult::counters
  uint64_t max_warp_instructions = 0;    // 0: no limit
  Seconds time_limit{0};                 // 0: none
  uint32_t max_smem_bytes = 227 * 1024;  // a CTA's static + dynamic
};

// LaunchOptions::random_schedule from what users write: "default" or "random:SEED".
Result<std::optional<uint64_t>> parse_schedule(const std::string& text);

enum class FaultKind {
  out_of_bounds,
  use_after_free,
  misaligned,
  read_only,
  barrier_divergence,
  deadlock,
  trap,
  assertion,
  illegal_instruction,
  instruction_limit,
  time_limit,
  invalid_launch,
  // Found by the checks; execution goes on.
  uninitialised,
  race,
  missing_wait,      // for an asynchronous operation
  missing_fence,     // between proxies
  unfinished_async,  // at the end of the thread that started it
  mbarrier_misuse,
};
const char* to_string(FaultKind kind);  // "out_of_bounds"

// Why a launch ended early, of its first faulting thread.
struct Fault {
  FaultKind kind = FaultKind::trap;
  std::string message;  // one sentence with everything below in it
  std::string kernel;
  std::string file;  // from .loc, innermost frame; empty without -lineinfo
  uint32_t line = 0;
  std::string inlined_at;   // "file:line" of the outermost frame, when the instruction was inlined
  std::string instruction;  // the PTX text
  uint32_t ptx_line = 0;
  Dim3 cta{0, 0, 0}, thread{0, 0, 0};
  uint64_t address = 0;
  std::string buffer;    // nearest buffer, for memory faults
  int64_t distance = 0;  // bytes past its end (positive) or before its start (negative); 0 inside
};

// What a check has found: the first of all the occurrences with the same kind, instruction and partner.
struct Finding : Fault {
  std::string check;    // which check found it: "shared-race"
  std::string related;  // "file:line" of the other side (the earlier access, the copy), empty when there is none
  uint64_t count = 1;   // how often
};

// PTX instructions are counted, not machine instructions. Names follow Nsight Compute where it has one.
struct Counters {
  uint64_t warp_instructions = 0;    // smsp__inst_executed, in PTX instructions
  uint64_t thread_instructions = 0;  // smsp__thread_inst_executed
  uint64_t branches = 0, divergent_branches = 0;
  uint64_t global_load_requests = 0, global_load_sectors = 0;  // l1tex__t_requests/sectors_pipe_lsu_mem_global_op_ld
  uint64_t global_store_requests = 0, global_store_sectors = 0;
  uint64_t global_load_bytes = 0, global_store_bytes = 0;  // asked for by threads
  uint64_t shared_load_requests = 0, shared_store_requests = 0;
  uint64_t shared_wavefronts = 0, shared_bank_conflicts = 0;  // l1tex__data_bank_conflicts_pipe_lsu
  uint64_t local_requests = 0, atomic_requests = 0;
  uint64_t barriers = 0;
  uint64_t tensor_macs = 0;  // multiply-accumulates of mma and wgmma
  uint64_t async_copy_bytes = 0;
  std::map<std::string, uint64_t> by_opcode;  // warp instructions
  std::map<std::string, uint64_t> by_pipe;
  std::map<std::pair<std::string, uint32_t>, uint64_t> by_line;  // (file, line): warp instructions
  void add(const Counters& other);
};

struct LaunchResult {
  std::optional<Fault> fault;
  std::vector<Finding> findings;  // of the checks, in order of source line; the launch has run to its end all the same
  Counters counters;              // filled when LaunchOptions::count
  uint64_t warp_instructions = 0;
  std::string output;  // printf, CTA by CTA
  bool ok() const { return !fault.has_value(); }
  bool clean() const { return ok() && findings.empty(); }
};

// Initialises the program's variables in `memory`, unless that has been done. Otherwise its first launch does.
void place_variables(const Program& program, Memory& memory);

// Runs one kernel to its end. Safe to call from several threads with different Memory objects.
LaunchResult launch(const Program& program, Memory& memory, const LaunchConfig& config, const LaunchOptions& options = {});

// "avx512", "avx2" or "portable": what instruction bodies run as on this machine.
const char* host_isa();

}  // namespace cutegen::vgpu
