#include "judge/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "device/shm.h"
#include "judge/records.h"
#include "judge/room.h"

namespace cutegen {
namespace {

Fingerprint from_checksums(const std::vector<uint64_t>& hashes) {
  Fingerprint print{{}, Fingerprint::Means::device_checksum};
  for (const uint64_t hash : hashes) print.outputs.push_back(std::to_string(hash));
  return print;
}

Result<Fingerprint> from_contents(const std::vector<SharedTensor>& outputs) {
  Fingerprint print{{}, Fingerprint::Means::content_hash};
  for (const SharedTensor& output : outputs) {
    CUTEGEN_TRY(const Shm object, Shm::open_readable(output.handle));
    CUTEGEN_TRY(const std::span<std::byte> bytes, tensor_bytes(object, output));
    print.outputs.push_back(hash_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return print;
}

bool in_shared_memory(const SharedTensor& tensor) { return tensor.where == SharedTensor::Where::shm; }

}  // namespace

Result<std::optional<Fingerprint>> fingerprint(const RunResult& run) {
  if (!run.output_hashes.empty() && run.output_hashes.size() == run.outputs.size()) return std::optional(from_checksums(run.output_hashes));
  if (!std::all_of(run.outputs.begin(), run.outputs.end(), in_shared_memory)) return std::optional<Fingerprint>();
  CUTEGEN_TRY(Fingerprint print, from_contents(run.outputs));
  return std::optional(std::move(print));
}

Fingerprint fingerprint(const std::vector<OutputComparison>& comparisons) {
  Fingerprint print{{}, Fingerprint::Means::error_statistics};
  for (const OutputComparison& comparison : comparisons) print.outputs.push_back(archive::write(comparison).dump());
  return print;
}

TrialExecutor::TrialExecutor(Oracle& oracle, Device& device, std::shared_ptr<const Build> build, Precision precision, const Clock& clock,
                             Deadline deadline)
    : oracle_(oracle), device_(device), build_(std::move(build)), precision_(precision), clock_(clock), deadline_(deadline) {}

Result<Execution> TrialExecutor::execute(const TrialSpec& spec, const ExecutionOptions& options) {
  if (deadline_.passed(clock_)) return deadline_error("a repeated run");
  CUTEGEN_TRY(const Trial trial, with_room(device_, [&] { return oracle_.trial(spec, precision_); }));
  return execute(trial, options);
}

Result<Execution> TrialExecutor::execute(const Trial& trial, const ExecutionOptions& options) {
  if (deadline_.passed(clock_)) return deadline_error("a run");
  RunRequest request;
  request.build = build_;
  request.inputs = trial.inputs;
  request.params = trial.params;
  request.outputs = oracle_.task().outputs;
  request.poison = options.poison;
  request.graph = options.graph;
  request.time_limit = std::min(request.time_limit, deadline_.left(clock_));
  CUTEGEN_TRY(const RunResult run, device_.run(request));
  Execution execution;
  execution.spec = trial.spec;
  execution.outcome = run.outcome;
  execution.used_graph = run.used_graph;
  execution.findings = run.findings;
  if (!run.outcome.ok()) {
    // A time limit that the deadline shortened says nothing about the candidate.
    if (run.outcome.kind == OutcomeKind::timeout && deadline_.passed(clock_)) return deadline_error("a run ended");
    return execution;
  }
  if (run.outputs.size() != request.outputs.size()) {
    return Error{Errc::device, fmt::format("the device returned {} outputs of {}", run.outputs.size(), request.outputs.size()), "", ""};
  }
  CUTEGEN_TRY(std::optional<Fingerprint> print, fingerprint(run));
  if (options.compare || !print) {
    CUTEGEN_TRY(execution.comparisons, oracle_.compare(trial.id, run.outputs));
  }
  execution.fingerprint = print ? *std::move(print) : fingerprint(execution.comparisons);
  return execution;
}

Error deadline_error(const std::string& before_what) {
  return Error{Errc::timeout, "the deadline passed before " + before_what, "allow more time", ""};
}

}  // namespace cutegen
