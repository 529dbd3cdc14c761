#include "cli/checkup.h"

#include <unistd.h>

#include "base/fs.h"
#include "base/subprocess.h"
#include "device/cuda/cuda_device.h"
#include "device/lease.h"
#include "oracle/python_oracle.h"
#include "toolchain/locate.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

Finding missing(const std::string& what, const Error& error, bool essential = true) {
  return {what, false, essential, "", error.message, error.hint};
}

void add_data(std::vector<Finding>& out) {
  const auto dir = data_dir();
  out.push_back(dir.ok() ? Finding{"data folder", true, true, "", dir->string(), ""} : missing("data folder", dir.error()));
}

void add_tools(std::vector<Finding>& out) {
  const auto tools = locate_tools({});
  if (!tools.ok()) {
    out.push_back(missing("toolchain", tools.error()));
    return;
  }
  out.push_back({"nvcc", true, true, tools->nvcc_version, tools->nvcc.string(), ""});
  out.push_back({"ptxas", true, true, tools->nvcc_version, tools->ptxas.string(), ""});
  out.push_back({"host compiler", true, true, "", tools->host_compiler.string(), ""});
  out.push_back({"CuTe headers", true, true, tools->cutlass_version, tools->cutlass.string(), ""});
}

void add_python(std::vector<Finding>& out) {
  const auto python = find_python();
  if (!python.ok()) {
    out.push_back(missing("Python, torch", python.error()));
    return;
  }
  const char* ask =
      "import sys, torch; print(sys.version.split()[0], torch.__version__, 'CUDA ' + torch.version.cuda if torch.version.cuda else 'CPU', "
      "sep='\\n')";
  const auto said = run({{*python, "-c", ask}, {}, {}, {}}, Deadline::in(system_clock(), Seconds(60)));
  if (!said.ok() || !said->status.success()) {
    out.push_back({"torch", false, true, "", *python + ": " + (said.ok() ? said->err.substr(0, 200) : said.error().message),
                   "run scripts/setup, or name a Python with $CUTEGEN_PYTHON"});
    return;
  }
  const size_t first = said->out.find('\n'), second = said->out.find('\n', first + 1);
  out.push_back({"Python", true, true, said->out.substr(0, first), *python, ""});
  out.push_back({"torch", true, true, said->out.substr(first + 1, second - first - 1),
                 said->out.substr(second + 1, said->out.find('\n', second + 1) - second - 1), ""});
}

void add_gpu(std::vector<Finding>& out) {
  const auto device = open_cuda_device({});
  if (!device.ok()) {
    out.push_back(missing("GPU", device.error(), false));
    out.back().hint = "without one, candidates run on the virtual GPU: their times are predicted, not measured";
    return;
  }
  const DeviceInfo info = (*device)->info();
  out.push_back({"GPU", true, false, info.arch, info.name, ""});
  out.push_back({"driver", true, false, info.driver, "", ""});
}

void add_folder(std::vector<Finding>& out, const std::string& what, const fs::path& dir, const std::string& hint) {
  std::error_code ec;
  fs::create_directories(dir, ec);
  const bool usable = ::access(dir.c_str(), W_OK) == 0;
  out.push_back({what, usable, true, "", dir.string() + (usable ? "" : ": cannot be written to"), hint});
}

}  // namespace

std::vector<Finding> check_machine() {
  std::vector<Finding> out;
  add_data(out);
  add_tools(out);
  add_python(out);
  add_gpu(out);
  add_folder(out, "cache folder", cache_dir(), "name another one with $CUTEGEN_CACHE");
  add_folder(out, "lock folder", lease_path("0").parent_path(), "name another one with $CUTEGEN_LOCK_DIR");
  return out;
}

}  // namespace cutegen::cli
