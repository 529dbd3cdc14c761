#include "toolchain/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "base/subprocess.h"
#include "candidate/candidate.h"
#include "toolchain/build_record.h"
#include "toolchain/diagnostics.h"
#include "toolchain/ptxas_report.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMaxSmemBytes = 227 * 1024;  // of a CTA, sm_90
constexpr int64_t kRegistersOfSm = 65536;

Diagnostic error_of(std::string message) {
  Diagnostic d;
  d.severity = "error";
  d.message = std::move(message);
  return d;
}

BuildOutcome failed(const std::string& stage, std::vector<Diagnostic> diagnostics) {
  auto failure = std::make_shared<BuildFailure>();
  failure->stage = stage;
  failure->diagnostics = std::move(diagnostics);
  BuildOutcome outcome;
  outcome.failure = std::move(failure);
  return outcome;
}

// Runs a compiler in `work`, its own temporary files included.
Result<Finished> run_tool(std::vector<std::string> argv, const fs::path& work, Deadline deadline) {
  Command command;
  command.argv = std::move(argv);
  command.cwd = work;
  // Messages in English; no flags from the user's environment behind the cache key's back.
  command.env = {{"LC_ALL", "C"}, {"TMPDIR", work.string()}, {"NVCC_PREPEND_FLAGS", ""}, {"NVCC_APPEND_FLAGS", ""}};
  CUTEGEN_TRY(Finished done, run(command, deadline));
  if (done.status.timed_out)
    return Error{Errc::timeout,
                 fmt::format("{} was stopped at the deadline after {:.1f} s", fs::path(command.argv[0]).filename().string(), done.seconds),
                 "", done.out + done.err};
  return done;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A failure that is not the candidate's doing, as an error. `diagnostics` is what was understood of the log.
Result<void> check_environment(const Finished& done, const std::string& log, const std::vector<Diagnostic>& diagnostics) {
  if (holds(log, "nvcc fatal"))
    return Error{Errc::missing_dependency, "nvcc cannot work on this machine: " + std::string(log.substr(log.find("nvcc fatal"), 200)),
                 "run scripts/setup", log};
  if (holds(log, "No space left on device"))
    return Error{Errc::io, "no space left on the device while compiling", "free some space, or set CUTEGEN_CACHE", log};
  if (done.status.signal == 9 || holds(log, "due to signal 9"))
    return Error{Errc::io, "the compiler was killed by the system, most likely for lack of memory", "a CuTe build takes up to 2.5 GB", log};
  if (holds(log, "fatal error: cuda_runtime.h"))
    return Error{Errc::missing_dependency, "nvcc does not find its own cuda_runtime.h",
                 "run scripts/setup, or install the CUDA runtime's headers", log};
  const bool no_file = !diagnostics.empty() &&
                       (holds(diagnostics[0].message, "No such file or directory") || holds(diagnostics[0].message, "file not found"));
  if (no_file && diagnostics[0].file != kSourceName && !diagnostics[0].file.starts_with("cutegen/"))
    return Error{Errc::missing_dependency,
                 fmt::format("a header of the compilers is missing: {} (included by {})", diagnostics[0].message, diagnostics[0].file),
                 "run scripts/setup, or install the C++ library's headers", log};
  return {};
}

// What a compiler said, never empty: some failures come without a message.
std::vector<Diagnostic> diagnose(const std::string& log, const DiagnosticContext& context, const ExitStatus& status) {
  std::vector<Diagnostic> all = parse_diagnostics(log, context);
  if (status.success() || (!all.empty() && all[0].severity == "error")) return all;
  all.insert(all.begin(), error_of(fmt::format("the compiler ended without an error message ({})", status.describe())));
  return all;
}

// .file lines name headers as they are included, so that PTX and cubin do not depend on where things lie.
std::string with_short_file_names(const std::string& ptx) {
  std::string out;
  out.reserve(ptx.size());
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string_view line = std::string_view(ptx).substr(begin, end - begin);
    begin = end;
    const size_t open = line.find('"');
    const size_t close = line.rfind('"');
    if (line.starts_with("\t.file") && open != std::string_view::npos && close > open) {
      out.append(line.substr(0, open + 1)).append(as_included(line.substr(open + 1, close - open - 1))).append(line.substr(close));
    } else {
      out.append(line);
    }
  }
  return out;
}

std::vector<Diagnostic> policy_errors(const std::vector<PolicyFinding>& findings) {
  std::vector<Diagnostic> out;
  for (const PolicyFinding& f : findings) out.push_back(error_of(f.rule + ": " + f.message));
  return out;
}

// Does the log of nvcc hold complaints of the ptxas that it runs over its PTX?
bool ptxas_complained(const std::vector<Diagnostic>& diagnostics, const std::string& log) {
  return !diagnostics.empty() && (diagnostics[0].file == kPtxName || (diagnostics[0].file.empty() && holds(log, "ptxas fatal")));
}

class Compilation {
 public:
  Compilation(const Tools& tools, const std::string& arch, const Task& task, const std::string& source, fs::path work, Deadline deadline)
      : tools_(tools), arch_(arch), task_(task), source_(source), work_(std::move(work)), deadline_(deadline) {}

  Result<Compiled> run() {
    CUTEGEN_CHECK(to_ptx());
    if (!over()) CUTEGEN_CHECK(check_plan());
    if (!over()) CUTEGEN_CHECK(to_cubin());
    result_.files[kLogName] = log_;
    return std::move(result_);
  }

 private:
  bool over() const { return result_.outcome.failure != nullptr; }
  void fail(const std::string& stage, std::vector<Diagnostic> diagnostics) { result_.outcome = failed(stage, std::move(diagnostics)); }
  DiagnosticContext context() const { return {source_, ptx_}; }

  Result<void> add_file(const std::string& name, const std::string& content) {
    result_.files[name] = content;
    return write_file_atomic(work_ / name, content);
  }

  void log_command(const Finished& done, const std::string& tool) {
    log_ += fmt::format("== {}: {}, {:.2f} s\n{}{}", tool, done.status.describe(), done.seconds, done.out, done.err);
    build_.seconds += done.seconds;
  }

  Result<void> to_ptx() {
    CUTEGEN_CHECK(add_file(kSourceName, source_));
    CUTEGEN_CHECK(add_file("task.h", task_header(task_)));
    std::vector<std::string> argv{tools_.nvcc.string(), "-ccbin", tools_.host_compiler.string()};
    const std::vector<std::string> flags = compile_flags(arch_);
    argv.insert(argv.end(), flags.begin(), flags.end());
    for (const fs::path& dir : {fs::path("."), tools_.kernels}) argv.insert(argv.end(), {"-I", dir.string()});
    argv.insert(argv.end(), {"-isystem", tools_.cutlass.string(), kSourceName, "-o", kPtxName});
    CUTEGEN_TRY(const Finished done, run_tool(std::move(argv), work_, deadline_));
    log_command(done, "nvcc");
    const auto ptx = read_file(work_ / kPtxName);
    if (ptx.ok()) {
      ptx_ = with_short_file_names(*ptx);
      CUTEGEN_CHECK(add_file(kPtxName, ptx_));
    }
    const std::string said = done.out + done.err;
    if (done.status.success() && ptx.ok()) return {};
    std::vector<Diagnostic> diagnostics = diagnose(said, context(), done.status);
    CUTEGEN_CHECK(check_environment(done, said, diagnostics));
    const std::string stage = ptxas_complained(diagnostics, said) ? "ptxas" : "nvcc";
    fail(stage, std::move(diagnostics));
    return {};
  }

  Result<void> check_plan() {
    const auto plan = plan_from_ptx(ptx_);
    if (!plan.ok())
      return fail("plan", {error_of(plan.error().message + (plan.error().hint.empty() ? "" : "; " + plan.error().hint))}), Result<void>();
    build_.plan = *plan;
    if (const auto valid = validate_plan(*plan, task_); !valid.ok()) return fail("plan", {error_of(valid.error().message)}), Result<void>();
    if (const auto findings = check_ptx_policy(ptx_); !findings.empty()) fail("policy", policy_errors(findings));
    return {};
  }

  Result<void> to_cubin() {
    CUTEGEN_TRY(const Finished done,
                run_tool({tools_.ptxas.string(), "-v", "-lineinfo", "-arch=" + arch_, kPtxName, "-o", kCubinName}, work_, deadline_));
    log_command(done, "ptxas");
    const std::string said = done.out + done.err;
    std::vector<Diagnostic> diagnostics = diagnose(said, context(), done.status);
    if (!done.status.success()) {
      CUTEGEN_CHECK(check_environment(done, said, diagnostics));
      return fail("ptxas", std::move(diagnostics)), Result<void>();
    }
    build_.kernels = parse_ptxas_report(said);
    if (auto excess = check_resources(build_.plan, build_.kernels); !excess.empty()) return fail("plan", std::move(excess)), Result<void>();
    CUTEGEN_TRY(result_.files[kCubinName], read_file(work_ / kCubinName));
    build_.arch = arch_;
    build_.advisories = std::move(diagnostics);
    build_.ptx_hash = normalised_ptx_hash(ptx_);
    result_.outcome.build = std::make_shared<Build>(build_);
    return {};
  }

  const Tools& tools_;
  const std::string& arch_;
  const Task& task_;
  const std::string& source_;
  fs::path work_;
  Deadline deadline_;
  std::string log_, ptx_;
  Build build_;
  Compiled result_;
};

}  // namespace

std::vector<std::string> compile_flags(const std::string& arch) {
  // -lineinfo costs nothing measurable (2.6 s with and without, CuTe elementwise) and leads counters back to source lines. NDEBUG drops the
  // run-time assertions of the CuTe headers, as in every release build of CUTLASS.
  return {"-ptx", "-arch=" + arch, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-lineinfo", "-DNDEBUG", "-allow-unsupported-compiler"};
}

std::vector<Diagnostic> check_resources(const Plan& plan, const std::vector<KernelResources>& kernels) {
  std::vector<Diagnostic> out;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelResources& k) { return k.name == launch.kernel; });
    if (kernel == kernels.end()) continue;
    const int64_t smem = int64_t{launch.smem_bytes} + kernel->smem_bytes;
    if (smem > kMaxSmemBytes)
      out.push_back(error_of(fmt::format("launch {} ({}) needs {} bytes of shared memory ({} static + {} dynamic), over the limit of {}", i,
                                         launch.kernel, smem, kernel->smem_bytes, launch.smem_bytes, kMaxSmemBytes)));
    // Registers are given to whole warps, in units of 8 a thread (CUDA occupancy rules of sm_90).
    const int64_t threads = int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    const int64_t registers = (kernel->registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
    if (registers > kRegistersOfSm)
      out.push_back(error_of(fmt::format(
          "launch {} ({}) needs {} registers ({} a thread, {} threads), over the {} of an SM; give the kernel __launch_bounds__({})", i,
          launch.kernel, registers, kernel->registers, threads, kRegistersOfSm, threads)));
  }
  return out;
}

Result<Compiled> compile(const Tools& tools, const std::string& arch, const Task& task, const std::string& source, const fs::path& work,
                         Deadline deadline) {
  return Compilation(tools, arch, task, source, work, deadline).run();
}

}  // namespace cutegen
