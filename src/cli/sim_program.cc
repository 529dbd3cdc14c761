#include "cli/sim_program.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/fs.h"
#include "base/subprocess.h"
#include "cli/console.h"
#include "cli/sim_counters.h"
#include "sim/elf.h"
#include "sim/settings.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

constexpr int kCannotExecute = 127, kSignalBase = 128;

// bin/sim/ beside the running binary, in a build tree and wherever the two are moved together.
Result<fs::path> runtime_dir() {
  std::error_code ec;
  const fs::path dir = fs::read_symlink("/proc/self/exe", ec).parent_path() / "sim";
  if (!fs::exists(dir / "libcudart.so.13", ec))
    return Error{Errc::missing_dependency, "the stand-in CUDA runtime is not at " + (dir / "libcudart.so.13").string(),
                 "keep the folder sim/ beside the cutegen binary", ""};
  return dir;
}

Error unfit(const fs::path& program, const std::string& why, const std::string& hint) {
  return Error{Errc::invalid_input, program.string() + " " + why, hint, ""};
}

struct Plan {
  fs::path program;
  fs::path runtime;
  bool preload = false;  // an RPATH in the program would find NVIDIA's runtime first
};

// Scripts and programs without device code are run too: what they load or start may use CUDA.
Result<Plan> plan_for(const std::string& name) {
  Plan plan;
  plan.program = find_program(name);
  if (plan.program.empty()) return unfit(name, "is no program, here or on PATH", "");
  CUTEGEN_TRY(plan.runtime, runtime_dir());
  CUTEGEN_TRY(const std::string content, read_file(plan.program));
  const auto elf = sim::read_elf(content);
  if (!elf.ok()) return plan;
  if (elf->holds_device_code && !elf->needs("libcudart.so"))
    return unfit(plan.program,
                 "holds device code but does not load libcudart.so: it was linked with the static CUDA runtime, which needs a driver",
                 "link it with nvcc -cudart shared");
  if (elf->needs("libcudart.so") && !elf->needs("libcudart.so.13"))
    return unfit(plan.program, "was built for another version of the CUDA runtime than 13", "build it with CUDA 13");
  plan.preload = !elf->rpath.empty();
  return plan;
}

void prepend(const char* variable, const std::string& value, char separator) {
  const char* old = std::getenv(variable);
  ::setenv(variable, old != nullptr && *old != '\0' ? (value + separator + old).c_str() : value.c_str(), 1);
}

void set_environment(const Plan& plan, const SimOptions& options, const std::string& counters_folder) {
  prepend("LD_LIBRARY_PATH", plan.runtime.string(), ':');
  if (plan.preload) prepend("LD_PRELOAD", (plan.runtime / "libcudart.so.13").string(), ' ');
  ::setenv(sim::kEnvThreads, std::to_string(options.threads).c_str(), 1);
  ::setenv(sim::kEnvChecks, options.checks.c_str(), 1);
  ::setenv(sim::kEnvSchedule, options.schedule.c_str(), 1);
  ::setenv(sim::kEnvLateAsync, options.late_async ? "1" : "0", 1);
  counters_folder.empty() ? ::unsetenv(sim::kEnvCounters) : ::setenv(sim::kEnvCounters, counters_folder.c_str(), 1);
}

// Only returns when the program cannot be started.
Error become(const Plan& plan, const SimOptions& options) {
  std::vector<char*> argv;
  for (const std::string& argument : options.program) argv.push_back(const_cast<char*>(argument.c_str()));  // execv does not write to them
  argv.push_back(nullptr);
  ::execv(plan.program.c_str(), argv.data());
  return unfit(plan.program, std::string("cannot be executed: ") + std::strerror(errno), "");
}

volatile std::sig_atomic_t running_pid = 0;
extern "C" void pass_on(int signal) { ::kill(running_pid, signal); }

// Runs the program as a child in our own process group and session: it keeps the terminal, and dies with us.
Result<int> run_child(const Plan& plan, const SimOptions& options) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error{Errc::io, std::string("fork: ") + std::strerror(errno), "", ""};
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kCannotExecute);  // it died before
    note("error: " + become(plan, options).message);
    ::_exit(kCannotExecute);
  }
  running_pid = pid;
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) std::signal(s, pass_on);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

}  // namespace

ExitCode simulate(const SimOptions& options) {
  const auto plan = plan_for(options.program.front());
  if (!plan.ok()) return fail(plan.error());
  if (!options.counters && options.json.empty()) {
    set_environment(*plan, options, "");
    return fail(become(*plan, options));
  }
  const auto folder = TempDir::make("cutegen-sim-");
  if (!folder.ok()) return fail(folder.error());
  set_environment(*plan, options, folder->path().string());
  const auto code = run_child(*plan, options);
  if (!code.ok()) return fail(code.error());
  const auto counters = collect_counters(folder->path());
  if (!counters.ok()) return fail(counters.error());
  if (options.counters) note(counters_table(*counters));
  if (!options.json.empty())
    if (const auto written = write_counters(*counters, options.json); !written.ok()) return fail(written.error());
  return static_cast<ExitCode>(*code);
}

}  // namespace cutegen::cli
