// A toolchain without compilers: deterministic builds whose PTX and cubin are short files, failures on request.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/hash.h"
#include "toolchain/toolchain.h"

namespace cutegen {

class FakeToolchain : public Toolchain {
 public:
  // Files go under `folder` (a TempDir of the test).
  explicit FakeToolchain(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Every source that contains `text` fails at `stage` ("policy", "nvcc", "ptxas", "plan") with `message`.
  void fail_when(std::string text, std::string stage, std::string message) {
    failures_.push_back({std::move(text), std::move(stage), std::move(message)});
  }
  // Every source that contains `text` gives this error instead of an outcome.
  void error_when(std::string text, Error error) { errors_.emplace_back(std::move(text), std::move(error)); }
  // Changes the plan that builds get. Without it: one launch "kernel" of 1 CTA of 32 threads with every input, parameter and output as
  // arguments.
  void set_plan(std::function<Plan(const Task&, const Candidate&)> make) { make_plan_ = std::move(make); }

  int builds() const { return builds_; }  // calls that were not served from the cache
  int calls() const { return calls_; }

  std::string version() const override { return "fake 1"; }

  Result<BuildOutcome> build(const Task& task, const Candidate& candidate, Deadline) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    for (const auto& [text, error] : errors_)
      if (candidate.source.find(text) != std::string::npos) return error;
    const std::string key = Hasher().add("fake-build").add(candidate.hash()).add(task.hash()).hex();
    for (const Failure& f : failures_)
      if (candidate.source.find(f.text) != std::string::npos) return failed(key, f);
    if (const auto known = known_.find(key); known != known_.end()) {
      auto again = std::make_shared<Build>(*known->second);
      again->cached = true;
      return BuildOutcome{again, nullptr};
    }
    ++builds_;
    auto build = std::make_shared<Build>();
    build->key = key;
    build->ptx = folder_ / key / "candidate.ptx";
    build->cubin = folder_ / key / "candidate.cubin";
    build->arch = "sm_90a";
    build->plan = make_plan_ ? make_plan_(task, candidate) : default_plan(task);
    for (const Launch& l : build->plan.launches) {
      KernelResources r;
      r.name = l.kernel;
      r.registers = 32;
      build->kernels.push_back(r);
    }
    build->ptx_hash = hash_hex(candidate.source);
    build->seconds = 1.0;
    CUTEGEN_CHECK(write_file_atomic(build->ptx, "// fake PTX of\n" + candidate.source));
    CUTEGEN_CHECK(write_file_atomic(build->cubin, "fake cubin " + key));
    known_[key] = build;
    return BuildOutcome{build, nullptr};
  }

 private:
  struct Failure {
    std::string text, stage, message;
  };

  Result<BuildOutcome> failed(const std::string& key, const Failure& f) {
    auto failure = std::make_shared<BuildFailure>();
    failure->stage = f.stage;
    Diagnostic d;
    d.severity = "error";
    d.file = "candidate.cu";
    d.line = 1;
    d.message = f.message;
    failure->diagnostics = {d};
    failure->raw_log = folder_ / key / "log.txt";
    CUTEGEN_CHECK(write_file_atomic(failure->raw_log, f.message + "\n"));
    return BuildOutcome{nullptr, failure};
  }

  static Plan default_plan(const Task& task) {
    Launch launch;
    launch.kernel = "kernel";
    launch.block = {32, 1, 1};
    const auto add = [&](ArgKind kind, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        PlanArg arg;
        arg.kind = kind;
        arg.index = static_cast<uint32_t>(i);
        launch.args.push_back(arg);
      }
    };
    add(ArgKind::input, task.inputs.size());
    add(ArgKind::param, task.params.size());
    add(ArgKind::output, task.outputs.size());
    Plan plan;
    plan.launches.push_back(launch);
    return plan;
  }

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::vector<Failure> failures_;
  std::vector<std::pair<std::string, Error>> errors_;
  std::function<Plan(const Task&, const Candidate&)> make_plan_;
  std::map<std::string, std::shared_ptr<const Build>> known_;
  int builds_ = 0, calls_ = 0;
};

}  // namespace cutegen
