// Runs the corpus on the virtual GPU: counters, terms of the time model and predicted times as JSON on standard output.
//
//   corpus_predict PROFILE CASES DIR [FIRST_LETTERS_OF_NAMES]
#include "vgpu/time/predict.h"

#include <cstdio>
#include <cstring>

#include "base/fs.h"
#include "base/json.h"
#include "cases.h"
#include "fill.h"

using namespace cutegen;

namespace {

Result<std::vector<uint8_t>> packed(const vgpu::KernelInfo& kernel, const corpus::Case& c, const std::map<int, uint64_t>& address) {
  if (kernel.parameters.size() != c.args.size()) return Error{Errc::invalid_input, c.name + ": wrong number of arguments", "", ""};
  std::vector<uint8_t> bytes(kernel.argument_bytes);
  for (size_t i = 0; i < c.args.size(); ++i) {
    const corpus::Argument& a = c.args[i];
    const uint64_t value = a.is_buffer ? address.at(a.buffer) + a.offset : a.value;
    std::memcpy(bytes.data() + kernel.parameters[i].offset, &value, kernel.parameters[i].bytes);
  }
  return bytes;
}

Json json_of(const vgpu::Forecast& f) {
  const vgpu::LevelCounts& m = f.work.memory;
  const vgpu::Terms& t = f.terms;
  Json pipes = Json::array();
  for (double p : f.work.pipe_cycles) pipes.push_back(p);
  return {{"us", 1e6 * f.seconds},
          {"limiter", f.limiter},
          {"sampled", f.sampled_share},
          {"occupancy", f.occupancy.ctas},
          {"ptx_instructions", f.work.ptx_instructions},
          {"thread_instructions", f.work.thread_instructions},
          {"machine_instructions", f.machine_instructions},
          {"machine_unscaled", f.work.machine_instructions},
          {"pipes", pipes},
          {"cta_cycles", f.work.ctas > 0 ? f.work.cta_cycles / f.work.ctas : 0},
          {"barrier_cycles", f.work.barrier_cycles},
          {"shared_requests", f.work.shared_requests},
          {"shared_wavefronts", f.work.shared_wavefronts},
          {"shared_conflicts", f.work.shared_conflicts},
          {"bulk_bytes", f.work.bulk_bytes},
          {"requests", m.l1_requests},
          {"lines", m.l1_lines},
          {"load_sectors", m.load_sectors},
          {"load_hits", m.load_hits},
          {"store_sectors", m.store_sectors},
          {"atomic_sectors", m.atomic_sectors},
          {"l2_reads", m.l2_reads},
          {"l2_read_hits", m.l2_read_hits},
          {"l2_writes", m.l2_writes},
          {"dram_reads", m.dram_reads},
          {"dram_writes", m.dram_writes},
          {"foreign_writes", m.foreign_writes},
          {"terms",
           {{"launch", t.launch},
            {"start", t.start},
            {"latency", t.latency},
            {"issue", t.issue},
            {"alu", t.alu},
            {"fma", t.fma},
            {"fp64", t.fp64},
            {"xu", t.xu},
            {"lsu", t.lsu},
            {"shared", t.shared},
            {"tensor", t.tensor},
            {"sm_l2", t.sm_l2},
            {"l2", t.l2},
            {"dram", t.dram},
            {"atomics", t.atomics}}}};
}

Result<Json> run(const vgpu::GpuProfile& gpu, const corpus::Case& c, const std::filesystem::path& dir) {
  CUTEGEN_TRY(std::string ptx, read_file(dir / (c.source + ".ptx")));
  CUTEGEN_TRY(const std::string cubin, read_file(dir / (c.source + ".cubin")));
  CUTEGEN_TRY(const auto code, vgpu::read_cubin(cubin));
  CUTEGEN_TRY(const auto program, vgpu::load_ptx(std::move(ptx), c.source + ".ptx"));
  const vgpu::KernelInfo* kernel = program->find_kernel(c.kernel);
  if (kernel == nullptr) return Error{Errc::invalid_input, c.name + ": no kernel " + c.kernel, "", ""};
  vgpu::Memory memory;
  std::map<int, uint64_t> address;
  for (const auto& [id, b] : c.buffers) {
    address[id] = memory.allocate("b" + std::to_string(id), (b.bytes + 3) / 4 * 4);
    corpus::fill(static_cast<uint32_t*>(memory.host(address[id])), (b.bytes + 3) / 4, b.fill, b.count);
  }
  vgpu::LaunchConfig launch;
  launch.kernel = c.kernel;
  launch.grid = {c.grid[0], c.grid[1], c.grid[2]}, launch.block = {c.block[0], c.block[1], c.block[2]};
  launch.cluster = {c.cluster[0], c.cluster[1], c.cluster[2]};
  launch.dynamic_smem_bytes = c.smem;
  CUTEGEN_TRY(launch.arguments, packed(*kernel, c, address));
  const Nanoseconds begin = system_clock().now();
  const vgpu::Forecast f = vgpu::forecast(gpu, *program, memory, launch, &code.at(c.kernel));
  if (!f.ok()) return Error{Errc::invalid_input, c.name + ": " + f.fault->message, "", ""};
  Json j = json_of(f);
  j["name"] = c.name;
  j["tensor_ops"] = f.work.tensor_ops;
  // Two cases are the same when kernel code and launch are.
  const vgpu::MachineCode& code_of = code.at(c.kernel);
  j["identity"] = Json{c.kernel, c.grid, c.block, c.smem, code_of.instructions, code_of.registers, c.cluster}.dump();
  j["host_s"] = Seconds(system_clock().now() - begin).count();
  return j;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: corpus_predict PROFILE CASES DIR [PREFIX]\n"), 2;
  const auto gpu = vgpu::load_gpu_profile(argv[1]);
  if (!gpu.ok()) return std::fprintf(stderr, "%s\n", gpu.error().message.c_str()), 1;
  int failed = 0;
  std::printf("[");
  const char* comma = "\n";
  for (const corpus::Case& c : corpus::read_cases(argv[2])) {
    if (argc > 4 && c.name.rfind(argv[4], 0) != 0) continue;
    const auto j = run(*gpu, c, argv[3]);
    if (!j.ok())
      std::fprintf(stderr, "%s\n", j.error().message.c_str()), ++failed;
    else
      std::printf("%s%s", std::exchange(comma, ",\n"), j->dump().c_str()), std::fflush(stdout);
  }
  std::printf("\n]\n");
  return failed != 0;
}
