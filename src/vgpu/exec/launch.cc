#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <random>
#include <thread>

#include "vgpu/exec/report.h"
#include "vgpu/exec/unit.h"
#include "vgpu/exec/watch.h"
#include "vgpu/isa/registry.h"
#include "vgpu/observe/check.h"
#include "vgpu/observe/counters.h"
#include "vgpu/observe/observer_list.h"

namespace cutegen::vgpu {
namespace {

constexpr u32 kMaxThreads = 1024;

std::string check_launch(const Image& image, const LaunchConfig& c, const LaunchOptions& o, Dim3 cluster, u32 smem) {
  const KernelInfo& k = image.info;
  auto text = [](Dim3 d) { return fmt::format("({},{},{})", d.x, d.y, d.z); };
  if (c.grid.count() == 0 || c.block.count() == 0)
    return "grid and block must not be empty: grid " + text(c.grid) + ", block " + text(c.block);
  if (c.block.count() > kMaxThreads)
    return fmt::format("block {} has {} threads; the limit is {}", text(c.block), c.block.count(), kMaxThreads);
  if (c.block.z > 64 || c.grid.y > 65535 || c.grid.z > 65535)
    return "dimension over its limit: grid " + text(c.grid) + ", block " + text(c.block);
  if (k.max_threads.count() != 0 && c.block.count() > k.max_threads.count())
    return fmt::format("block {} has {} threads; the kernel was compiled for at most {}", text(c.block), c.block.count(),
                       k.max_threads.count());
  if (k.required_threads.count() != 0 &&
      (c.block.x != k.required_threads.x || c.block.y != k.required_threads.y || c.block.z != k.required_threads.z))
    return "block " + text(c.block) + "; the kernel requires " + text(k.required_threads);
  if (cluster.count() > 16) return fmt::format("cluster {} has {} CTAs; the limit is 16", text(cluster), cluster.count());
  if (c.grid.x % cluster.x != 0 || c.grid.y % cluster.y != 0 || c.grid.z % cluster.z != 0)
    return "grid " + text(c.grid) + " is not a multiple of the cluster " + text(cluster);
  if (smem > o.max_smem_bytes) return fmt::format("{} bytes of shared memory; the limit is {}", smem, o.max_smem_bytes);
  if (c.arguments.size() != k.argument_bytes)
    return fmt::format("{} bytes of arguments; the kernel takes {}", c.arguments.size(), k.argument_bytes);
  return {};
}

Fault invalid_launch(const std::string& kernel, const std::string& why) {
  Fault f;
  f.kind = FaultKind::invalid_launch;
  f.kernel = kernel;
  f.message = "invalid launch of '" + kernel + "': " + why;
  return f;
}

// Workers take units in order. The fault of the lowest unit wins, whatever the order in which they are found.
struct Run {
  const Grid& grid;
  const LaunchOptions& options;
  const Watch& watch;
  const Memory& memory;
  const Memory* module;
  const LaunchConfig& config;
  Deadline deadline;
  u64 units;
  std::atomic<u64> next{0};
  std::atomic<u64> instructions{0};
  std::atomic<u64> first_fault{~0ull};
  std::mutex mutex;
  std::optional<Fault> fault;
  std::map<u64, std::string> outputs;
  Counters counters;
  std::atomic<int> busy_workers{1};
  FindingLog findings{*grid.image, grid};

  void record(Fault f, u64 unit) {
    const std::lock_guard lock(mutex);
    if (unit >= first_fault.load()) return;
    first_fault = unit;
    fault = std::move(f);
  }
  void keep_output(Unit& unit) {
    if (unit.output.empty()) return;
    const std::lock_guard lock(mutex);
    outputs[unit.index()] = std::move(unit.output);
  }
  void check_limits(Port& port) {
    const u64 total = instructions.load(std::memory_order_relaxed) + port.instructions;
    if (options.max_warp_instructions != 0 && total > options.max_warp_instructions)
      port.fault(FaultKind::instruction_limit, fmt::format("more than {} warp instructions", options.max_warp_instructions), 0);
    if (options.time_limit.count() > 0 && deadline.passed(system_clock()))
      port.fault(FaultKind::time_limit, fmt::format("still running after {} s", options.time_limit.count()), 0);
  }
  // One pass over a unit. `done` when it has ended, well or not.
  Progress step(Unit& unit, Port& port) {
    try {
      const Progress p = unit.step(port);
      if (p == Progress::done && port.observer != nullptr)
        for (const CtaState& cta : unit.ctas()) port.observer->cta_end(cta);
      if (p != Progress::done) check_limits(port);
      if (p == Progress::done) keep_output(unit);
      return p;
    } catch (GuestFault& g) {
      fail(unit, std::move(g));
      return Progress::done;
    }
  }
  void report_deadlock(Unit& unit, Port& port) {
    try {
      unit.report_deadlock(port);
    } catch (GuestFault& g) {
      fail(unit, std::move(g));
    }
  }
  void fail(Unit& unit, GuestFault guest) {
    keep_output(unit);
    record(describe_fault(*grid.image, grid, unit, std::move(guest)), unit.index());
  }
  // Whether a worker waits for others, so that all of them together can notice a deadlock.
  void busy(bool& waiting, bool now) {
    if (waiting == !now) return;
    waiting = !now;
    now ? ++busy_workers : --busy_workers;
  }
  void work();
};

// The units that one worker has under way, and their turns.
class Residents {
 public:
  Residents(Run& run, Port& port) : run_(run), port_(port), random_(run.grid.random_schedule.value_or(0)) {
    wanted_ = run.grid.cooperative ? run.units : run.grid.random_schedule ? kTogether : 1;
  }
  void work() {
    while (admit(), !units_.empty()) {
      if (pass())
        run_.busy(waiting_, true);
      else if (!admit_another())
        give_up_or_wait();
    }
    if (!waiting_) --run_.busy_workers;
  }

 private:
  static constexpr u64 kTogether = 16, kMost = 1024;  // units: in a random schedule; while they wait for others

  void admit() {
    while (units_.size() < wanted_) {
      const u64 index = run_.next.fetch_add(1);
      if (index >= run_.units || index >= run_.first_fault.load()) return;
      if (run_.watch.only && !run_.watch.only(index)) continue;
      units_.push_back(std::make_unique<Unit>(run_.grid, index));
      if (port_.observer != nullptr)
        for (const CtaState& cta : units_.back()->ctas()) port_.observer->cta_begin(cta);
    }
  }
  // One turn for each unit. False when all of them are blocked.
  bool pass() {
    if (run_.grid.random_schedule)
      for (size_t i = units_.size(); i > 1; --i) std::swap(units_[i - 1], units_[random_() % i]);
    bool progress = false;
    std::erase_if(units_, [&](auto& unit) {
      const Progress p = run_.first_fault.load() <= unit->index() ? Progress::done : run_.step(*unit, port_);
      progress = progress || p != Progress::blocked;
      return p == Progress::done;
    });
    return progress;
  }
  // CTAs that poll memory may be waiting for ones that have not begun.
  bool admit_another() {
    const bool polls = std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->polls_memory(); });
    if (!polls || units_.size() >= kMost || run_.next.load() >= run_.units) return false;
    wanted_ = std::min<u64>(kMost, 2 * units_.size());
    admit();
    return true;
  }
  // Nobody here can go on. When no other worker can either, or none could help, the lowest unit says so.
  void give_up_or_wait() {
    run_.busy(waiting_, false);
    const auto lowest = std::min_element(units_.begin(), units_.end(), [](auto& a, auto& b) { return a->index() < b->index(); });
    if ((*lowest)->polls_memory() && run_.busy_workers.load() > 0) return std::this_thread::yield();
    run_.report_deadlock(**lowest, port_);
    units_.erase(lowest);
  }

  Run& run_;
  Port& port_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Unit>> units_;
  u64 wanted_ = 1;
  bool waiting_ = false;
};

void Run::work() {
  Port port(memory, grid.image->code.size());
  CounterObserver counter(*grid.image);
  const auto checks = make_checks({*grid.image, grid, memory, module, findings, options.checks});
  ObserverList observers;
  if (options.count) observers.add(&counter);
  for (const auto& check : checks) observers.add(check.get());
  if (watch.observer != nullptr) observers.add(watch.observer);
  port.observer = observers.as_one();
  port.params = reinterpret_cast<const char*>(config.arguments.data());
  port.param_bytes = static_cast<u32>(config.arguments.size());
  port.module = module;
  Residents(*this, port).work();
  instructions += port.instructions;
  const std::lock_guard lock(mutex);
  if (options.count) counters.add(counter.counters());
}

int worker_count(const Image& image, const LaunchOptions& o, bool cooperative, u64 units) {
  if (o.random_schedule) return 1;
  if (o.checks == Checks::full) return 1;  // accesses of all CTAs are compared
  if (o.deterministic && (image.order_sensitive || cooperative)) return 1;
  const u64 wanted = o.threads > 0 ? static_cast<u64>(o.threads) : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::min(wanted, units));
}

}  // namespace

// The program's own variables in this Memory: initialised once, kept between launches.
class ModuleVariables {
 public:
  // What Port::module shall be: nullptr when they are buffers of `memory` itself.
  static std::unique_ptr<Memory> open(const ptx::Module& module, const ModuleLayout& layout, Memory& memory) {
    const auto [it, fresh] = memory.modules_.try_emplace(layout.id);
    if (fresh && layout.host == nullptr) it->second.assign(layout.bytes, 0);
    char* host = layout.host == nullptr ? it->second.data() : layout.host;
    if (fresh) initialise(module, layout, host);
    if (layout.host != nullptr) {
      if (fresh) list(module, layout, host, memory);
      return nullptr;
    }
    auto view = std::make_unique<Memory>();
    list(module, layout, host, *view);
    return view;
  }

 private:
  static void list(const ptx::Module& module, const ModuleLayout& layout, char* host, Memory& into) {
    for (size_t i = 0; i < module.variables.size(); ++i) {
      const ptx::Variable& v = module.variables[i];
      if (v.space == ptx::Space::shared) continue;
      const u64 address = layout.address[i];
      into.add(v.name, address, host + (address - layout.base), v.bytes, v.space == ptx::Space::global);
    }
  }
  static void initialise(const ptx::Module& module, const ModuleLayout& layout, char* host) {
    const auto& variables = module.variables;
    for (size_t i = 0; i < variables.size(); ++i) {
      const ptx::Variable& v = variables[i];
      if (v.space == ptx::Space::shared) continue;
      char* at = host + (layout.address[i] - layout.base);
      std::copy_n(v.init.begin(), std::min<u64>(v.init.size(), v.bytes), at);
      for (const ptx::Relocation& r : v.relocations) {
        for (size_t k = 0; k < variables.size(); ++k) {
          if (variables[k].name != r.symbol) continue;
          const u64 value = layout.address[k] + static_cast<u64>(r.addend);
          std::memcpy(at + r.offset, &value, 8);
        }
      }
    }
  }
};

void place_variables(const Program& program, Memory& memory) { ModuleVariables::open(*program.module_, *program.layout_, memory); }

Result<std::optional<uint64_t>> parse_schedule(const std::string& text) {
  if (text == "default") return std::optional<uint64_t>{};
  constexpr std::string_view kRandom = "random:";
  uint64_t seed = 0;
  if (text.starts_with(kRandom)) {
    const auto [end, ec] = std::from_chars(text.data() + kRandom.size(), text.data() + text.size(), seed);
    if (ec == std::errc() && end == text.data() + text.size()) return std::optional<uint64_t>{seed};
  }
  return Error{Errc::invalid_input, "schedule '" + text + "' is neither 'default' nor 'random:SEED'", "", ""};
}

LaunchResult launch(const Program& program, Memory& memory, const LaunchConfig& config, const LaunchOptions& options) {
  return launch_watched(program, memory, config, options, {});
}

LaunchResult launch_watched(const Program& program, Memory& memory, const LaunchConfig& config, const LaunchOptions& options,
                            const Watch& watch) {
  LaunchResult result;
  const Image* image = program.image(config.kernel);
  if (image == nullptr) {
    result.fault = invalid_launch(config.kernel, "the program has no such kernel");
    return result;
  }
  Grid grid;
  grid.image = image;
  grid.grid = config.grid, grid.block = config.block, grid.cluster = config.cluster;
  if (config.cluster.count() <= 1 && image->info.cluster.count() != 0) grid.cluster = image->info.cluster;
  const u64 dynamic_start =
      (u64{image->shared_static_end} + image->dynamic_shared_align - 1) / image->dynamic_shared_align * image->dynamic_shared_align;
  grid.dynamic_smem = config.dynamic_smem_bytes;
  grid.shared_end = config.dynamic_smem_bytes == 0 ? image->shared_static_end
                                                   : static_cast<u32>(std::min<u64>(dynamic_start + config.dynamic_smem_bytes, 1u << 24));
  const std::string problem = check_launch(*image, config, options, grid.cluster, grid.shared_end - kSharedStart);
  if (!problem.empty()) {
    result.fault = invalid_launch(config.kernel, problem);
    return result;
  }
  std::vector<u64> constants(image->constants.size() + 8);
  char* aligned = reinterpret_cast<char*>(constants.data()) + (64 - reinterpret_cast<uintptr_t>(constants.data()) % 64) % 64;
  std::copy(image->constants.begin(), image->constants.end(), reinterpret_cast<u64*>(aligned));
  grid.constants = aligned;
  grid.cooperative = config.cooperative;
  grid.late_async = options.late_async, grid.random_schedule = options.random_schedule;
  if (config.cooperative) grid.workspace = memory.allocate("grid barrier", 8);
  const std::unique_ptr<Memory> module = ModuleVariables::open(*image->module, *image->layout, memory);

  const Deadline deadline = options.time_limit.count() > 0 ? Deadline::in(system_clock(), options.time_limit) : Deadline::never();
  Run run{grid, options, watch, memory, module.get(), config, deadline, config.grid.count() / grid.cluster.count(),
          {},   {},      {},    {},     {},           {},     {}};
  run.first_fault = ~0ull;
  const int workers = watch.observer != nullptr || watch.only ? 1 : worker_count(*image, options, config.cooperative, run.units);
  run.busy_workers = workers;
  std::vector<std::thread> threads;
  for (int i = 1; i < workers; ++i) threads.emplace_back([&] { run.work(); });
  run.work();
  for (std::thread& t : threads) t.join();
  if (config.cooperative) memory.release(grid.workspace);
  result.fault = std::move(run.fault);
  result.findings = run.findings.take();
  result.counters = std::move(run.counters);
  result.warp_instructions = run.instructions;
  for (auto& [unit, text] : run.outputs) result.output += text;
  return result;
}

}  // namespace cutegen::vgpu
