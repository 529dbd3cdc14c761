// A small world for the search: results follow from the candidate's hash alone, so that a resumed run can be compared with an undisturbed
// one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "device/device.h"
#include "oracle/oracle.h"
#include "propose/proposer.h"
#include "toolchain/toolchain.h"

namespace cutegen::fakes {

inline Task small_task() {
  Task task;
  task.name = "small";
  task.source = "class Model: ...";
  task.inputs = {{"x", DType::f32, {64, 32}}};
  task.outputs = {{"out0", DType::f32, {64, 32}}};
  return task;
}

inline Candidate candidate(const std::string& body) {
  Candidate c;
  c.backend = Backend::cuda;
  c.origin = "fake:move";
  c.source = "#include <cutegen/kernel.cuh>\n#include <task.h>\nextern \"C\" __global__ void k(float const* x, float* y) { /* " + body +
             " */ }\nCUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(k).grid(1).block(32).args(cutegen::input(0), cutegen::output(0))));\n";
  return c;
}

// A number in [0, below) that depends on `what` and the hash alone.
inline uint64_t draw(const std::string& what, const std::string& hash, uint64_t below) {
  return std::stoull(hash_hex(what + hash).substr(0, 12), nullptr, 16) % below;
}

class FakeToolchain : public Toolchain {
 public:
  std::function<Result<void>()> on_build;                            // what a compiler process would do
  std::function<std::optional<std::string>(const Candidate&)> fail;  // a message: the build fails with it
  std::function<std::string(const Candidate&)> ptx_hash = [](const Candidate& c) { return hash_hex("ptx" + c.source); };
  int builds = 0;

  Result<BuildOutcome> build(const Task&, const Candidate& candidate, Deadline) override {
    ++builds;
    if (on_build) CUTEGEN_CHECK(on_build());
    if (fail) {
      if (const auto message = fail(candidate)) {
        BuildFailure failure;
        failure.stage = "nvcc";
        failure.diagnostics.push_back({"error", "candidate.cu", 3, *message, "", "", 1});
        return BuildOutcome{nullptr, std::make_shared<BuildFailure>(std::move(failure))};
      }
    }
    auto build = std::make_shared<Build>();
    build->key = candidate.hash();
    build->arch = "sm_90a";
    build->ptx_hash = ptx_hash(candidate);
    return BuildOutcome{std::move(build), nullptr};
  }
  std::string version() const override { return "fake toolchain"; }
};

// Runs nothing: whether a candidate faults, is wrong, and how fast it is, follows from its build key.
class FakeDevice : public Device {
 public:
  std::function<Result<void>()> on_call;  // what an executor process would do
  std::optional<Error> broken;            // the device itself cannot be used

  DeviceInfo info() const override {
    DeviceInfo info;
    info.kind = DeviceKind::fake;
    info.name = "fake device";
    info.sm_count = 4;
    return info;
  }
  Result<RunResult> run(const RunRequest& request) override {
    CUTEGEN_CHECK(call());
    RunResult result;
    if (draw("fault", request.build->key, 9) == 0) {
      result.outcome = {OutcomeKind::illegal_address, "launch 0 (k)"};
      return result;
    }
    const bool wrong = draw("wrong", request.build->key, 7) == 0;
    const std::string inputs = request.inputs.empty() ? "" : request.inputs.front().handle;
    for (const TensorSpec& spec : request.outputs) {
      SharedTensor output;
      output.spec = spec;
      output.handle = wrong ? "wrong" : "right";
      result.outputs.push_back(std::move(output));
      result.output_hashes.push_back(draw("output" + inputs, request.build->key, 1u << 30));
    }
    return result;
  }
  Result<TimeResult> time(const TimeRequest& request) override {
    CUTEGEN_CHECK(call());
    TimeResult result;
    result.ms.assign(static_cast<size_t>(request.repeats), 1.0 + 0.001 * static_cast<double>(draw("ms", request.build->key, 1000)));
    return result;
  }
  bool measures_time() const override { return false; }

 private:
  Result<void> call() const {
    if (broken) return *broken;
    return on_call ? on_call() : Result<void>();
  }
};

class FakeOracle : public Oracle {
 public:
  std::function<Result<void>()> on_call;

  OracleInfo info() const override { return {}; }
  const Task& task() const override { return task_; }
  Result<Trial> trial(const TrialSpec& spec, Precision) override {
    if (on_call) CUTEGEN_CHECK(on_call());
    Trial trial;
    trial.id = ++trials_;
    trial.spec = spec;
    for (const TensorSpec& input : task_.inputs) {
      SharedTensor tensor;
      tensor.spec = input;
      tensor.handle = "seed " + std::to_string(spec.seed) + " " + to_string(spec.distribution);
      trial.inputs.push_back(std::move(tensor));
    }
    return trial;
  }
  Result<Trial> timing_inputs(uint64_t seed) override { return trial({seed, Distribution::as_given, false}, Precision::match); }
  Result<std::vector<OutputComparison>> compare(int, const std::vector<SharedTensor>& outputs) override {
    std::vector<OutputComparison> comparisons;
    for (const SharedTensor& output : outputs) {
      OutputComparison c;
      c.elements = output.spec.elements();
      c.norm_truth = 10;
      c.norm_reference = c.norm_error = 1e-6;
      c.max_reference = c.max_error = 1e-7;
      c.floor_norm = c.floor_max = 1e-8;
      if (output.handle == "wrong") c.norm_error = c.max_error = 0.5;
      comparisons.push_back(std::move(c));
    }
    return comparisons;
  }
  Result<BaselineSamples> time_baseline(Baseline, int, int repeats, Deadline) override {
    return BaselineSamples{std::vector<double>(static_cast<size_t>(repeats), 2.0), ""};
  }
  void release(int) override {}

 private:
  Task task_ = small_task();
  int trials_ = 0;
};

// Every proposal depends on everything that the context says of every attempt before it: a resumed run that sees anything else goes astray.
class FakeProposer : public Proposer {
 public:
  explicit FakeProposer(int count) : count_(count) {}
  Result<std::optional<Proposal>> propose(const ProposeContext& context) override {
    const auto number = static_cast<int>(context.attempts.size());
    if (number >= count_) return std::optional<Proposal>();
    Hasher seen;
    int parent = -1;
    double best_ms = 0;
    for (const Attempt& attempt : context.attempts) {
      seen.add(attempt.candidate.source).add(attempt.why).add(attempt.verified ? 1 : 0).add(attempt.candidate.config.dump());
      seen.add(Json(attempt.ms.value_or(-1)).dump());
      if (attempt.verified && attempt.ms && (parent < 0 || *attempt.ms < best_ms)) {
        parent = attempt.id;
        best_ms = *attempt.ms;
      }
    }
    Proposal proposal;
    // Every fifth is the first one again: duplicates are part of a run.
    proposal.candidate =
        number % 5 == 4 ? context.attempts.front().candidate : fakes::candidate(std::to_string(number) + " after " + seen.hex());
    proposal.candidate.config = Json{{"number", number}};
    proposal.parent = parent;
    proposal.rationale = "number " + std::to_string(number);
    return std::optional<Proposal>(std::move(proposal));
  }
  std::string name() const override { return "fake"; }

 private:
  int count_;
};

}  // namespace cutegen::fakes
