// The CUDA device on a real GPU: one line a case, exit code 1 when one failed, 77 when there is no GPU.
//
//   device_gpu_test task-header          prints the task.h that the kernels beside this file are built with
//   device_gpu_test arch                 prints what to build them for
//   device_gpu_test run DIRECTORY        DIRECTORY holds NAME.ptx and NAME.cubin of each NAME.cu
// scripts/gpu/device_check.sh does all three.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>

#include "base/fs.h"
#include "candidate/plan.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/executor.h"
#include "device/lease.h"
#include "device/shm.h"
#include "oracle.h"

namespace cutegen::test {
namespace {

constexpr int kExitSkipped = 77;
constexpr int64_t kElements = int64_t{1} << 20;

Task task() {
  Task t;
  t.name = "device_check";
  for (const char* name : {"a", "b"}) t.inputs.push_back(TensorSpec{name, DType::f32, {kElements}});
  t.outputs = {TensorSpec{"y", DType::f32, {kElements}}};
  return t;
}

class Suite {
 public:
  Suite(std::filesystem::path kernels, std::unique_ptr<CudaDevice> device, std::unique_ptr<GpuOracle> oracle)
      : kernels_(std::move(kernels)), device_(std::move(device)), oracle_(std::move(oracle)) {}
  int run_all();

 private:
  // What a case saw, or why it failed.
  using Seen = Result<std::string>;
  static Error failed(std::string why) { return Error{Errc::internal, std::move(why), "", ""}; }

  void check(const std::string& name, const std::function<Seen()>& body) {
    const auto begin = std::chrono::steady_clock::now();
    const Seen seen = body();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    failures_ += seen.ok() ? 0 : 1;
    fmt::print("{} {:<28} {:8.1f} ms  {}\n", seen.ok() ? "PASS" : "FAIL", name, ms, seen.ok() ? *seen : seen.error().message);
    std::fflush(stdout);
  }

  Result<std::shared_ptr<Build>> build(const std::string& name, const std::string& kernel = "") {
    auto made = std::make_shared<Build>();
    made->key = name;  // the cubin is the same whatever kernel of it is launched
    made->ptx = kernels_ / (name + ".ptx");
    made->cubin = kernels_ / (name + ".cubin");
    CUTEGEN_TRY(const std::string ptx, read_file(made->ptx));
    CUTEGEN_TRY(made->plan, plan_from_ptx(ptx));
    CUTEGEN_CHECK(validate_plan(made->plan, task()));
    if (!kernel.empty()) {
      made->plan.launches.at(0).kernel = kernel;
      made->key += ":" + kernel;
    }
    return made;
  }

  Result<RunRequest> request(const std::string& name, const std::string& kernel = "") {
    RunRequest r;
    CUTEGEN_TRY(r.build, build(name, kernel));
    r.inputs = {a_, b_};
    r.outputs = task().outputs;
    return r;
  }

  // A run that must come out right.
  Seen expect_values(const RunRequest& r, const std::function<float(size_t)>& want) {
    CUTEGEN_TRY(const RunResult result, device_->run(r));
    if (!result.outcome.ok()) return failed(std::string(to_string(result.outcome.kind)) + ": " + result.outcome.detail);
    CUTEGEN_TRY(const std::vector<float> y, oracle_->read(result.outputs.at(0)));
    for (size_t i = 0; i < y.size(); ++i)
      if (!(y[i] == want(i))) return failed(fmt::format("y[{}] is {}, not {}", i, y[i], want(i)));
    return fmt::format("{} elements right, hash {:016x}", y.size(), result.output_hashes.at(0));
  }
  Seen right(const std::string& name, const std::function<float(size_t)>& want, bool graph = false) {
    CUTEGEN_TRY(RunRequest r, request(name));
    r.graph = graph;
    return expect_values(r, want);
  }

  // A run that must end in one of these ways; then a right one, to see the recovery.
  Seen ends(const RunRequest& r, const std::vector<OutcomeKind>& wanted) {
    CUTEGEN_TRY(const RunResult result, device_->run(r));
    const OutcomeKind got = result.outcome.kind;
    const std::string said = fmt::format("{}: {}", to_string(got), result.outcome.detail);
    if (std::find(wanted.begin(), wanted.end(), got) == wanted.end()) return failed(said);
    if (auto after = right("vector_add", sum_); !after.ok()) return failed("no recovery after " + said + ": " + after.error().message);
    return said;
  }
  Seen ends(const std::string& kernel, const std::vector<OutcomeKind>& wanted, double limit_s = 20) {
    CUTEGEN_TRY(RunRequest r, request("faults", kernel));
    r.time_limit = Seconds(limit_s);
    return ends(r, wanted);
  }

  Result<TimeRequest> copy_request(int64_t elements, int sets);
  Seen time_copy();
  Seen time_small();
  Seen through_shared_memory();
  Seen unwritten();
  Seen too_much(const std::function<void(Plan&)>& change, OutcomeKind wanted);
  Seen lease();
  Seen start_up();
  void check_kernels();
  void check_faults();

  std::filesystem::path kernels_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<GpuOracle> oracle_;
  SharedTensor a_, b_;
  std::vector<float> a_values_;
  std::function<float(size_t)> sum_;
  int failures_ = 0;
};

Suite::Seen Suite::unwritten() {
  CUTEGEN_TRY(const RunRequest r, request("faults", "nothing"));
  CUTEGEN_TRY(const RunResult result, device_->run(r));
  if (!result.outcome.ok()) return failed(result.outcome.detail);
  CUTEGEN_TRY(const std::vector<float> y, oracle_->read(result.outputs.at(0)));
  for (const float value : y)
    if (uint32_t bits = 0; std::memcpy(&bits, &value, 4), bits != r.poison) return failed("an element that nobody wrote is not the poison");
  return std::string("all elements hold the poison");
}

Suite::Seen Suite::through_shared_memory() {
  std::vector<std::string> names;
  CUTEGEN_TRY(RunRequest r, request("vector_add"));
  for (SharedTensor& t : r.inputs) {
    t.where = SharedTensor::Where::shm;
    t.handle = fmt::format("/cutegen-check-{}-{}", ::getpid(), names.size());
    names.push_back(t.handle);
    CUTEGEN_TRY(const Shm object, Shm::create(t.handle, t.spec.bytes()));
    std::memcpy(object.bytes().data(), a_values_.data(), object.bytes().size());
  }
  Seen seen = expect_values(r, [&](size_t i) { return 2 * a_values_[i]; });
  for (const std::string& name : names) Shm::unlink(name);
  return seen;
}

Suite::Seen Suite::too_much(const std::function<void(Plan&)>& change, OutcomeKind wanted) {
  CUTEGEN_TRY(RunRequest r, request("vector_add"));
  auto changed = std::make_shared<Build>(*r.build);
  changed->key += ":changed";
  change(changed->plan);
  r.build = changed;
  return ends(r, {wanted});
}

Suite::Seen Suite::lease() {
  const std::string uuid = device_->info().uuid;
  CUTEGEN_TRY(const auto held, acquire_gpu_lease(uuid, Deadline::in(system_clock(), Seconds(5))));
  const auto second = acquire_gpu_lease(uuid, Deadline::in(system_clock(), Seconds(0)));
  if (second.ok()) return failed("two leases of one GPU");
  return second.error().message;
}

Suite::Seen Suite::start_up() {
  CUTEGEN_TRY(const auto second, CudaDevice::open(CudaDeviceConfig{}));
  return std::string("a second executor beside the first: process start, context, own kernels");
}

// `copy` of faults.cu over other sizes than the task's.
Result<TimeRequest> Suite::copy_request(int64_t elements, int sets) {
  CUTEGEN_TRY(const auto made, build("faults"));
  made->key += fmt::format(":{}", elements);
  made->plan.launches.at(0).args.at(2).value = static_cast<uint64_t>(elements);
  TimeRequest r;
  r.build = made;
  r.outputs = {TensorSpec{"y", DType::f32, {elements}}};
  CUTEGEN_TRY(const SharedTensor x, oracle_->share_zeroes("x", elements));
  r.input_sets.assign(static_cast<size_t>(sets), {x});
  return r;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

Suite::Seen Suite::time_copy() {
  constexpr int64_t kCopyElements = int64_t{1} << 28;  // 1 GiB in, 1 GiB out
  CUTEGEN_TRY(const TimeRequest r, copy_request(kCopyElements, 2));
  CUTEGEN_TRY(const TimeResult result, device_->time(r));
  if (!result.outcome.ok()) return failed(result.outcome.detail);
  const double ms = median(result.ms);
  const double gb_per_s = 2.0 * static_cast<double>(kCopyElements) * 4 / (ms * 1e6);
  if (!(gb_per_s > 100 && gb_per_s < 20000)) return failed(fmt::format("{} GB/s is no plausible rate", gb_per_s));
  return fmt::format(
      "1 GiB in, 1 GiB out: median {:.4f} ms, {:.0f} GB/s read and written; SM {} -> {} MHz, memory {} MHz, {} C, {:.0f} W, throttle {:#x}",
      ms, gb_per_s, result.before.sm_mhz, result.after.sm_mhz, result.after.memory_mhz, result.after.temperature_c, result.after.power_w,
      result.after.throttle_reasons);
}

Suite::Seen Suite::time_small() {
  CUTEGEN_TRY(TimeRequest r, copy_request(kElements, 3));
  r.repeats = 30;
  CUTEGEN_TRY(const TimeResult cold, device_->time(r));
  const auto begin = std::chrono::steady_clock::now();
  CUTEGEN_TRY(const TimeResult again, device_->time(r));
  const double second_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  r.cold_l2 = false;
  CUTEGEN_TRY(const TimeResult warm, device_->time(r));
  for (const TimeResult* t : {&cold, &again, &warm})
    if (!t->outcome.ok()) return failed(t->outcome.detail);
  if (!(median(warm.ms) < median(cold.ms))) return failed("a warm L2 is no faster than a cold one");
  return fmt::format("4 MiB copy: cold {:.4f} ms, again {:.4f} ms, warm {:.4f} ms; a second time() of 30 repeats took {:.1f} ms",
                     median(cold.ms), median(again.ms), median(warm.ms), second_ms);
}

void Suite::check_kernels() {
  check("vector_add", [&] { return right("vector_add", sum_); });
  check("vector_add again", [&] { return right("vector_add", sum_); });
  check("vector_add by graph", [&] { return right("vector_add", sum_, true); });
  check("vector_add through shm", [&] { return through_shared_memory(); });
  check("vector_add from PTX", [&]() -> Seen {
    CUTEGEN_TRY(RunRequest r, request("vector_add"));
    auto jit = std::make_shared<Build>(*r.build);
    jit->key += ":ptx";
    jit->cubin.clear();
    r.build = jit;
    return expect_values(r, sum_);
  });
  check("cooperative", [&] { return right("cooperative", [&](size_t i) { return a_values_[a_values_.size() - 1 - i]; }); });
  check("cluster", [&] { return right("cluster", [&](size_t i) { return a_values_[i ^ 256]; }); });
  check("pdl", [&] { return right("pdl", [&](size_t i) { return 2 * a_values_[i] + 1; }); });
  check("pdl by graph", [&] {
    return right(
        "pdl", [&](size_t i) { return 2 * a_values_[i] + 1; }, true);
  });
  check("tma_copy", [&] { return right("tma_copy", [&](size_t i) { return a_values_[i]; }); });
  check("unwritten output", [&] { return unwritten(); });
}

void Suite::check_faults() {
  using K = OutcomeKind;
  check("past_end", [&] { return ends("past_end", {K::canary_broken}); });
  check("before_start", [&] { return ends("before_start", {K::canary_broken}); });
  check("write_input", [&] { return ends("write_input", {K::input_modified}); });
  check("illegal_address", [&] { return ends("illegal_address", {K::illegal_address}); });
  check("misaligned", [&] { return ends("misaligned", {K::misaligned_address}); });
  check("endless", [&] { return ends("endless", {K::timeout}, 2); });
  // Drivers report a trap as a launch failure or as an illegal instruction.
  check("trap", [&] { return ends("trap", {K::launch_failure, K::illegal_instruction, K::assert_or_trap}); });
  check("failed_assert", [&] { return ends("failed_assert", {K::assert_or_trap}); });
  check("too much smem", [&] { return too_much([](Plan& p) { p.launches[0].smem_bytes = 300 << 10; }, K::invalid_launch); });
  check("too many threads", [&] { return too_much([](Plan& p) { p.launches[0].block = {2048, 1, 1}; }, K::invalid_launch); });
  check("too big a cluster", [&] { return too_much([](Plan& p) { p.launches[0].cluster = {32, 1, 1}; }, K::invalid_launch); });
  check("cooperative too large", [&] {
    return too_much([](Plan& p) { p.launches[0].grid = {100000, 1, 1}, p.launches[0].cooperative = true; }, K::invalid_launch);
  });
  check("wrong argument count", [&] { return too_much([](Plan& p) { p.launches[0].args.pop_back(); }, K::invalid_launch); });
  check("no such kernel", [&] { return too_much([](Plan& p) { p.launches[0].kernel = "absent"; }, K::load_failure); });
  check("too much workspace", [&] { return too_much([](Plan& p) { p.workspace_bytes = uint64_t{1} << 50; }, K::out_of_memory); });
  check("most of the memory", [&] {
    const auto total = static_cast<uint64_t>(device_->info().memory_bytes);
    return too_much([&](Plan& p) { p.workspace_bytes = total - (1u << 20); }, K::out_of_memory);
  });
}

int Suite::run_all() {
  const DeviceInfo info = device_->info();
  fmt::print("{} ({}), driver {}, {}, {} SMs, {} MiB, L2 {} MiB\n", info.name, info.uuid, info.driver, info.arch, info.sm_count,
             info.memory_bytes >> 20, info.l2_bytes >> 20);
  a_values_.resize(static_cast<size_t>(kElements));
  std::vector<float> b_values(a_values_.size());
  for (size_t i = 0; i < a_values_.size(); ++i) {  // small integers: every sum is exact
    a_values_[i] = static_cast<float>(i % 1021);
    b_values[i] = static_cast<float>(i % 509);
  }
  sum_ = [this](size_t i) { return a_values_[i] + static_cast<float>(i % 509); };
  auto a = oracle_->share("a", a_values_);
  auto b = oracle_->share("b", b_values);
  check("share tensors by CUDA IPC", [&]() -> Seen {
    if (!a.ok() || !b.ok()) return failed(a.ok() ? b.error().message : a.error().message);
    return std::string("two inputs of 4 MiB");
  });
  if (failures_ > 0) return 1;
  a_ = *a;
  b_ = *b;
  check_kernels();
  check_faults();
  check("time 4 MiB copy", [&] { return time_small(); });
  check("time 1 GiB copy", [&] { return time_copy(); });
  check("lease", [&] { return lease(); });
  check("start-up", [&] { return start_up(); });
  fmt::print("{}: {} failed, {} executors started\n", failures_ == 0 ? "PASS" : "FAIL", failures_, device_->executors_started());
  return failures_ == 0 ? 0 : 1;
}

int skip(const Error& error) {
  fmt::print("SKIP {} {}\n", error.message, error.hint);
  return error.code == Errc::missing_dependency ? kExitSkipped : 1;
}

int run(const std::filesystem::path& kernels) {
  auto device = CudaDevice::open(CudaDeviceConfig{});
  if (!device.ok()) return skip(device.error());
  auto oracle = GpuOracle::open(0);
  if (!oracle.ok()) return skip(oracle.error());
  return Suite(kernels, std::move(device).value(), std::move(oracle).value()).run_all();
}

int print_arch() {
  auto device = CudaDevice::open(CudaDeviceConfig{});
  if (!device.ok()) return skip(device.error());
  fmt::print("{}\n", (*device)->info().arch);
  return 0;
}

int usage() {
  fmt::print("usage: device_gpu_test task-header | arch | run DIRECTORY\n");
  return 2;
}

}  // namespace
}  // namespace cutegen::test

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "__executor") return cutegen::run_executor(3);
  if (command == "task-header") return fmt::print("{}", cutegen::task_header(cutegen::test::task())), 0;
  if (command == "arch") return cutegen::test::print_arch();
  if (command == "run" && argc > 2) return cutegen::test::run(argv[2]);
  return cutegen::test::usage();
}
