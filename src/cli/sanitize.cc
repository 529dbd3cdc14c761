#include "cli/sanitize.h"

#include <fmt/format.h>

#include <sstream>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/session.h"
#include "device/virtual/virtual_device.h"
#include "toolchain/nvcc.h"

namespace cutegen::cli {
namespace {

constexpr double kBuildSeconds = 600, kRunSeconds = 3600;
constexpr int kContext = 2;  // lines of source before and after

// The lines around one, numbered, with a mark at it. Empty when the file is not at hand.
std::string excerpt(const DeviceFinding& f, const Candidate& candidate) {
  std::string text = candidate.source;
  if (std::filesystem::path(f.file).filename() != "candidate.cu") {
    auto read = read_file(f.file);
    if (!read.ok()) return {};
    text = *std::move(read);
  }
  std::istringstream lines(text);
  std::string line, out;
  for (int n = 1; std::getline(lines, line); ++n)
    if (n >= f.line - kContext && n <= f.line + kContext) out += fmt::format("  {} {:>5} | {}\n", n == f.line ? ">" : " ", n, line);
  return out;
}

}  // namespace

std::string to_text(const Sanitized& s, const Candidate& candidate) {
  if (!s.build_failure.empty()) return s.build_failure;
  if (s.findings.empty()) return fmt::format("clean: {} runs under full checks, {:.1f} s", s.runs, s.seconds);
  std::string out;
  for (const DeviceFinding& f : s.findings) {
    out += f.message + (f.count > 1 ? fmt::format(" ({} times)", f.count) : "") + "\n" + excerpt(f, candidate);
    if (!f.why.empty()) out += "  why: " + f.why + "\n  fix: " + f.fix + "\n";
    out += "\n";
  }
  return out +
         fmt::format("{} {} in {} runs, {:.1f} s", s.findings.size(), s.findings.size() == 1 ? "finding" : "findings", s.runs, s.seconds);
}

Json to_json(const Sanitized& s) {
  Json findings = Json::array();
  for (const DeviceFinding& f : s.findings)
    findings.push_back({{"kind", f.kind},
                        {"check", f.check},
                        {"message", f.message},
                        {"kernel", f.kernel},
                        {"file", f.file},
                        {"line", f.line},
                        {"inlined_at", f.inlined_at},
                        {"related", f.related},
                        {"buffer", f.buffer},
                        {"address", f.address},
                        {"distance", f.distance},
                        {"cta", f.cta},
                        {"thread", f.thread},
                        {"count", f.count},
                        {"why", f.why},
                        {"fix", f.fix}});
  return Json{{"clean", s.clean()}, {"findings", findings}, {"build_failure", s.build_failure}, {"runs", s.runs}, {"seconds", s.seconds}};
}

Result<Sanitized> sanitize(const std::filesystem::path& task, const Candidate& candidate, uint64_t seed) {
  CUTEGEN_TRY(const auto device, open_virtual_device({.checks = DeviceChecks::full}));
  ToolchainConfig tools;
  tools.arch = device->info().arch;
  CUTEGEN_TRY(const auto toolchain, make_nvcc_toolchain(tools));
  CUTEGEN_TRY(const auto oracle, open_oracle(task, "cpu", {}));
  CUTEGEN_TRY(const BuildOutcome built, toolchain->build(oracle->task(), candidate, Deadline::in(system_clock(), Seconds(kBuildSeconds))));
  Sanitized result;
  if (built.failure) {
    result.build_failure = built.failure->summary();
    return result;
  }
  const Nanoseconds start = system_clock().now();
  for (const Distribution distribution : {Distribution::as_given, Distribution::sign_symmetric}) {
    CUTEGEN_TRY(const Trial trial, oracle->trial({seed, distribution, distribution != Distribution::as_given}, Precision::match));
    RunRequest request;
    request.build = built.build;
    request.inputs = trial.inputs, request.params = trial.params, request.outputs = oracle->task().outputs;
    request.time_limit = Seconds(kRunSeconds);
    CUTEGEN_TRY(RunResult run, device->run(request));
    ++result.runs;
    oracle->release(trial.id);
    result.findings = std::move(run.findings);
    if (!run.outcome.ok() && result.findings.empty()) {
      DeviceFinding refused;
      refused.kind = to_string(run.outcome.kind), refused.message = run.outcome.detail;
      result.findings.push_back(std::move(refused));
    }
    if (!result.findings.empty()) break;
  }
  result.seconds = Seconds(system_clock().now() - start).count();
  return result;
}

}  // namespace cutegen::cli
