// A deterministic Device inside the test's own process: outputs from a callback, outcomes and times from a script.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/shm.h"

namespace cutegen::test {

class FakeDevice : public Device {
 public:
  // What the "kernel" computes. The spans have the sizes of the request's specs; outputs hold the poison pattern at first.
  struct Call {
    const RunRequest& request;
    std::vector<std::span<const std::byte>> inputs, params;
    std::vector<std::span<std::byte>> outputs;
  };
  using Compute = std::function<void(const Call&)>;

  FakeDevice() {
    info_.kind = DeviceKind::fake;
    info_.name = "fake";
    info_.sm_count = 1;
    info_.memory_bytes = int64_t{1} << 30;
    info_.l2_bytes = 1 << 20;
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice() override { unlink_outputs(); }

  // The computation of every build, or of the build with this key.
  void compute(Compute compute) { compute_ = std::move(compute); }
  void compute(const std::string& build_key, Compute compute) { compute_by_key_[build_key] = std::move(compute); }
  // The next calls of run() end so, in this order; later ones are ok. An outcome for a build key holds for every run of it.
  void next_outcome(Outcome outcome) { run_script_.push_back(std::move(outcome)); }
  void outcome(const std::string& build_key, Outcome outcome) { outcome_by_key_[build_key] = std::move(outcome); }
  void next_time_outcome(Outcome outcome) { time_script_.push_back(std::move(outcome)); }
  // Milliseconds of every repeat: of any build, or of the build with this key. Repeats cycle through the list.
  void times(std::vector<double> ms) { ms_ = std::move(ms); }
  void times(const std::string& build_key, std::vector<double> ms) { ms_by_key_[build_key] = std::move(ms); }
  void clocks(ClockReading before, ClockReading after) { clocks_ = {before, after}; }
  // Whether run() fills RunResult::output_hashes and honours RunRequest::graph.
  void offers_hashes(bool yes) { hashes_ = yes; }
  void offers_graphs(bool yes) { graphs_ = yes; }
  // The next call of run() or time() returns this Error: the device itself is unusable.
  void next_error(Error error) { error_script_.push_back(std::move(error)); }
  DeviceInfo& mutable_info() { return info_; }

  int runs() const { return runs_; }
  int timings() const { return timings_; }
  const std::vector<std::string>& run_keys() const { return run_keys_; }  // build key of each run, in order

  DeviceInfo info() const override { return info_; }
  bool measures_time() const override { return false; }

  Result<RunResult> run(const RunRequest& request) override {
    ++runs_;
    run_keys_.push_back(request.build->key);
    unlink_outputs();
    if (auto error = pop(error_script_)) return *std::move(error);
    RunResult result;
    if (const auto it = outcome_by_key_.find(request.build->key); it != outcome_by_key_.end()) result.outcome = it->second;
    if (auto scripted = pop(run_script_)) result.outcome = *std::move(scripted);
    if (!result.outcome.ok()) return result;
    CUTEGEN_CHECK(compute_outputs(result, request));
    result.used_graph = request.graph && graphs_;
    return result;
  }

  Result<TimeResult> time(const TimeRequest& request) override {
    ++timings_;
    unlink_outputs();
    if (auto error = pop(error_script_)) return *std::move(error);
    TimeResult result;
    result.before = clocks_.first;
    result.after = clocks_.second;
    if (auto scripted = pop(time_script_)) result.outcome = *std::move(scripted);
    if (!result.outcome.ok()) return result;
    const auto it = ms_by_key_.find(request.build->key);
    const std::vector<double>& ms = it != ms_by_key_.end() ? it->second : ms_;
    for (int i = 0; i < request.repeats; ++i) result.ms.push_back(ms[static_cast<size_t>(i) % ms.size()]);
    return result;
  }

 private:
  template <class T>
  static std::optional<T> pop(std::deque<T>& script) {
    if (script.empty()) return std::nullopt;
    T front = std::move(script.front());
    script.pop_front();
    return front;
  }

  static Result<void> open_all(std::vector<Shm>& objects, std::vector<std::span<const std::byte>>& spans,
                               const std::vector<SharedTensor>& tensors) {
    for (const SharedTensor& t : tensors) {
      if (t.where != SharedTensor::Where::shm) return Error{Errc::unsupported, "the fake device reads shm tensors only", "", ""};
      CUTEGEN_TRY(Shm object, Shm::open_readable(t.handle));
      CUTEGEN_TRY(const auto bytes, tensor_bytes(object, t));
      spans.push_back(bytes);
      objects.push_back(std::move(object));
    }
    return {};
  }

  Result<void> compute_outputs(RunResult& result, const RunRequest& request) {
    Call call{request, {}, {}, {}};
    std::vector<Shm> objects;
    CUTEGEN_CHECK(open_all(objects, call.inputs, request.inputs));
    CUTEGEN_CHECK(open_all(objects, call.params, request.params));
    static std::atomic<int> serial{0};
    for (const TensorSpec& spec : request.outputs) {
      SharedTensor out{spec, SharedTensor::Where::shm, "/cutegen-fake-" + std::to_string(::getpid()) + "-" + std::to_string(serial++), 0};
      CUTEGEN_TRY(Shm object, Shm::create(out.handle, spec.bytes()));
      output_names_.push_back(out.handle);
      CUTEGEN_TRY(const auto bytes, tensor_bytes(object, out));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(request.poison >> (8 * (i % 4)));
      call.outputs.push_back(bytes);
      objects.push_back(std::move(object));
      result.outputs.push_back(std::move(out));
    }
    const auto it = compute_by_key_.find(request.build->key);
    const Compute& compute = it != compute_by_key_.end() ? it->second : compute_;
    if (compute) compute(call);
    if (hashes_)
      for (const auto& bytes : call.outputs) result.output_hashes.push_back(hash_bytes(bytes));
    return {};
  }

  static uint64_t hash_bytes(std::span<const std::byte> bytes) {  // FNV-1a
    uint64_t h = 0xcbf29ce484222325ULL;
    for (const std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 0x100000001b3ULL;
    return h;
  }

  void unlink_outputs() {
    for (const std::string& name : output_names_) Shm::unlink(name);
    output_names_.clear();
  }

  DeviceInfo info_;
  Compute compute_;
  std::map<std::string, Compute> compute_by_key_;
  std::deque<Outcome> run_script_, time_script_;
  std::deque<Error> error_script_;
  std::map<std::string, Outcome> outcome_by_key_;
  std::vector<double> ms_{1.0};
  std::map<std::string, std::vector<double>> ms_by_key_;
  std::pair<ClockReading, ClockReading> clocks_;
  bool hashes_ = true, graphs_ = true;
  int runs_ = 0, timings_ = 0;
  std::vector<std::string> run_keys_, output_names_;
};

// Reads and writes the bytes of a Call as elements.
template <class T>
std::span<const T> elements(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template <class T>
std::span<T> elements(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace cutegen::test
