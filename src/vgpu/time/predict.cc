#include "vgpu/time/predict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "vgpu/exec/watch.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

constexpr u64 kGroup = 64;  // CTAs that are sampled together, so that neighbours' common data meet in the caches
constexpr double kSchedulers = 4;
constexpr double kNoLimit = 1e300;
constexpr u32 kUsualRegisters = 32;       // a thread, when there is no cubin to tell
constexpr double kSharedBytesACycle = 1;  // wavefronts

// Runs the first CTAs, and of the others as many groups as the budget allows.
class Sampler {
 public:
  Sampler(const Profiler& profiler, double budget, u64 units, u64 head)
      : profiler_(profiler), budget_(budget), units_(units), head_(head) {}
  bool operator()(u64 unit) {
    const double used = profiler_.head().ptx_instructions + profiler_.body().ptx_instructions;
    if (unit < head_) {
      if (unit >= 4 && used > budget_) return false;
      return true;
    }
    if (share_ < 0) {
      const double each = used / std::max(1.0, profiler_.head().ctas);
      share_ = std::clamp((budget_ - used) / (each * static_cast<double>(units_ - head_)), 0.0, 1.0);
    }
    const auto group = static_cast<double>((unit - head_) / kGroup);
    return std::floor((group + 1) * share_) > std::floor(group * share_);
  }

 private:
  const Profiler& profiler_;
  double budget_;
  u64 units_, head_;
  double share_ = -1;
};

// What the cubin's static counts say about the estimate. Anchors (products, loads, stores ...) are neither added nor removed by ptxas: as
// many in the machine code as in PTX means that loops are as they were; then what each warp runs once becomes as many instructions as there
// are, and only rounds of loops rest on the table of expansions. More means that ptxas unrolled: the rest of a loop, its index and branch,
// is shared by several rounds. kRound and kShared are fitted.
double machine_estimate(const Work& work, const Image& image, const std::vector<PcCost>& costs, const MachineCode& code) {
  constexpr double kRound = 0.9, kShared = 0.78;
  double estimate = 0, anchors = 0, machine_anchors = 0;
  for (size_t pc = 0; pc < image.code.size(); ++pc) estimate += costs[pc].instructions, anchors += costs[pc].anchor;
  for (u16 op : {sass::kFfma, sass::kFmul, sass::kFadd, sass::kLdg, sass::kStg, sass::kLds, sass::kSts, sass::kLdsm, sass::kHmma,
                 sass::kLdgsts, sass::kShfl, sass::kDfma, sass::kHfma2})
    if (const auto it = code.opcodes.find(op); it != code.opcodes.end()) machine_anchors += it->second;
  if (estimate <= 0 || anchors <= 0) return work.machine_instructions;
  const double ratio = machine_anchors / anchors;
  if (ratio > 1.25) return work.anchor_instructions + kShared * (work.machine_instructions - work.anchor_instructions);
  if (ratio < 0.8) return work.machine_instructions;
  const double once = std::min(work.machine_instructions, estimate * work.warps);
  return once * std::clamp(code.instructions / estimate, 0.5, 2.0) + kRound * (work.machine_instructions - once);
}

u64 cluster_size(const LaunchConfig& config, const Image& image) {
  const u64 size = config.cluster.count() > 1 ? config.cluster.count() : image.info.cluster.count();
  return std::max<u64>(1, size);
}

// Of all CTAs, from those that ran. The first ones found the caches cold and stand for themselves.
Work extrapolated(const Profiler& profiler, double all) {
  const Work &head = profiler.head(), &body = profiler.body();
  if (body.ctas > 0) {
    Work w = head;
    w += body.scaled((all - head.ctas) / body.ctas);
    return w;
  }
  return head.ctas > 0 && head.ctas < all ? head.scaled(all / head.ctas) : head;
}

// Bytes of the buffers that the arguments point into.
double argument_bytes(const Program& program, const Memory& memory, const LaunchConfig& config) {
  std::map<uint64_t, double> buffers;
  for (const KernelParameter& p : program.find_kernel(config.kernel)->parameters) {
    uint64_t address = 0;
    if (p.bytes != 8 || p.offset + 8 > config.arguments.size()) continue;
    std::memcpy(&address, config.arguments.data() + p.offset, 8);
    if (const Memory::Buffer* b = memory.find(address)) buffers[b->base] = static_cast<double>(b->bytes);
  }
  double sum = 0;
  for (const auto& [base, bytes] : buffers) sum += bytes;
  return sum;
}

// A sample sees the cold misses of data that all CTAs share as if every part of the grid had them: together no more than the data there is,
// when it fits into the L2. And it evicts less than the whole would, or less of what others wrote.
void limit_dram(LevelCounts& c, const GpuProfile& gpu, double footprint_bytes) {
  const auto capacity = static_cast<double>(gpu.l2_bytes / kSectorBytes);
  if (footprint_bytes < static_cast<double>(gpu.l2_bytes)) c.dram_reads = std::min(c.dram_reads, footprint_bytes / kSectorBytes);
  const double written = std::min(c.l2_writes, footprint_bytes / kSectorBytes), held = c.dram_reads + written;
  c.foreign_writes = std::min(held, capacity);
  c.dram_writes = held > 0 ? std::max(0.0, held - capacity) * written / held : 0;
}

double sum_of(const std::array<std::pair<double, const char*>, 12>& all, double exponent, const char** name) {
  double sum = 0, largest = 0;
  for (const auto& [t, n] : all) {
    sum += std::pow(t, exponent);
    if (t > largest) largest = t, *name = n;
  }
  return std::pow(sum, 1 / exponent);
}

}  // namespace

Terms terms_of(const GpuProfile& gpu, const Work& w, double machine_instructions, uint64_t grid, uint32_t threads, const Occupancy& o) {
  Terms t;
  const double cycle = 1 / gpu.clock_hz, ctas = static_cast<double>(grid);
  const double busiest = std::ceil(ctas / gpu.sms);  // CTAs on the SM that has most
  const double resident = std::min<double>(std::max(1u, o.ctas), busiest);
  t.launch = gpu.launch_s;
  t.start = std::max(ctas / gpu.ctas_per_cycle, busiest / resident * gpu.cta_cycles) * cycle;
  // Whole waves while they are few; many even out.
  const double waves = busiest / resident;
  t.latency = (waves < 4 ? std::ceil(waves) : waves + 0.5) * (w.ctas > 0 ? w.cta_cycles / w.ctas : 0) * cycle;
  // Work of the busiest SM. A CTA with fewer warps than schedulers leaves some idle unless others fill them.
  const double warps = std::max(1.0, std::ceil(threads / 32.0)) * resident;
  const double schedulers = std::min(kSchedulers, warps);
  const double part = w.ctas > 0 ? busiest / w.ctas : 0;
  auto pipe = [&](Pipe p) { return w.pipe_cycles[static_cast<size_t>(p)] * part / schedulers * cycle; };
  t.issue = machine_instructions * part / schedulers * cycle;
  t.alu = pipe(Pipe::alu), t.fma = pipe(Pipe::fma), t.fp64 = pipe(Pipe::fp64), t.xu = pipe(Pipe::xu), t.lsu = pipe(Pipe::lsu);
  t.tensor = pipe(Pipe::tensor);
  t.shared = (w.shared_wavefronts / kSharedBytesACycle + w.memory.l1_lines + w.local_sectors / 4) * part * cycle;
  const LevelCounts& m = w.memory;
  const double l2_bytes = kSectorBytes * (m.l2_reads + m.l2_writes + m.l2_atomics);
  t.sm_l2 = l2_bytes * part / gpu.sm_l2_bytes * cycle;
  t.l2 = l2_bytes / gpu.l2_bytes_per_s + m.l2_partial_writes / gpu.partial_writes_per_cycle * cycle;
  t.dram = kSectorBytes * (m.dram_reads + gpu.dram_write_cost * m.dram_writes + gpu.foreign_write_cost * m.foreign_writes) /
           gpu.dram_bytes_per_s;
  t.atomics = m.l2_atomics / gpu.atomics_per_cycle * cycle;
  return t;
}

double seconds_of(const GpuProfile& gpu, const Terms& t, const char** limiter) {
  const char* name = "launch";
  const double work = sum_of({{{t.latency, "latency"},
                               {t.issue, "issue"},
                               {t.alu, "alu"},
                               {t.fma, "fma"},
                               {t.fp64, "fp64"},
                               {t.xu, "xu"},
                               {t.shared, "shared"},
                               {t.tensor, "tensor"},
                               {t.sm_l2, "sm_l2"},
                               {t.l2, "l2"},
                               {t.dram, "dram"},
                               {std::max(t.atomics, t.start), t.atomics > t.start ? "atomics" : "start"}}},
                             gpu.overlap_exponent, &name);
  *limiter = work > t.launch ? name : "launch";
  return t.launch + work;
}

Forecast forecast(const GpuProfile& gpu, const Program& program, Memory& memory, const LaunchConfig& config, const MachineCode* code,
                  const ForecastOptions& options) {
  Forecast f;
  LaunchOptions run;
  run.checks = Checks::fast;
  run.time_limit = options.time_limit;
  const Image* image = program.image(config.kernel);
  if (image == nullptr) {
    f.fault = launch(program, memory, config, run).fault;
    return f;
  }
  const auto threads = static_cast<u32>(config.block.count());
  const u32 smem = config.dynamic_smem_bytes + image->shared_static_end - kSharedStart;
  f.occupancy = occupancy(gpu, {threads, code != nullptr ? code->registers : kUsualRegisters, smem});
  const u64 cluster = cluster_size(config, *image), units = config.grid.count() / cluster, head = std::max<u64>(1, gpu.sms / cluster);
  Profiler profiler(*image, gpu, std::max(1u, f.occupancy.ctas), smem + gpu.smem_cta_reserved, head * cluster);
  Watch watch{&profiler, {}};
  if (!config.cooperative) watch.only = Sampler(profiler, options.budget, units, head);
  LaunchResult result = launch_watched(program, memory, config, run, watch);
  const auto all = static_cast<double>(config.grid.count());
  const double ran = profiler.head().ctas + profiler.body().ctas;
  if (!result.ok() && ran < all && options.budget < kNoLimit) {  // CTAs may wait for others that were left out
    ForecastOptions whole = options;
    whole.budget = kNoLimit;
    return forecast(gpu, program, memory, config, code, whole);
  }
  if (!result.ok()) {
    f.fault = std::move(result.fault);
    return f;
  }
  f.sampled_share = ran / all;
  f.work = extrapolated(profiler, all);
  if (ran < all) limit_dram(f.work.memory, gpu, argument_bytes(program, memory, config));
  f.machine_instructions = f.work.machine_instructions;
  if (code != nullptr && code->instructions > 0) f.machine_instructions = machine_estimate(f.work, *image, pc_costs(*image, gpu), *code);
  f.terms = terms_of(gpu, f.work, f.machine_instructions, config.grid.count(), threads, f.occupancy);
  f.seconds = seconds_of(gpu, f.terms, &f.limiter);
  return f;
}

}  // namespace cutegen::vgpu
