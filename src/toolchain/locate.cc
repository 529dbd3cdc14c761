#include "toolchain/locate.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "base/fs.h"
#include "base/subprocess.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? fs::path(value) : fs::path{};
}

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}

Error missing(std::string what, std::string hint) { return Error{Errc::missing_dependency, std::move(what), std::move(hint), ""}; }

// A program that was named must exist; only when none was named is it searched for.
Result<fs::path> named_program(const fs::path& name, const char* what) {
  const fs::path found = find_program(name.string());
  if (found.empty())
    return missing(fmt::format("{} '{}' is not an executable file", what, name.string()),
                   "correct the path, or unset it to let cutegen search");
  return found;
}

Result<fs::path> find_nvcc(const fs::path& asked, const fs::path& data) {
  const fs::path named = !asked.empty() ? asked : from_environment("CUTEGEN_NVCC");
  if (!named.empty()) return named_program(named, "the CUDA compiler");
  const fs::path wheels = data / ".toolchain/cuda/bin/nvcc";
  for (const fs::path& path : {find_program(wheels.string()), find_program("nvcc"), find_program("/usr/local/cuda/bin/nvcc")})
    if (!path.empty()) return path;
  return missing(fmt::format("nvcc was not found: not in {}, on PATH or in /usr/local/cuda/bin", wheels.string()),
                 "run scripts/setup, or install a CUDA toolkit 13 and set CUTEGEN_NVCC");
}

Result<fs::path> find_host_compiler(const fs::path& asked) {
  const fs::path named = !asked.empty() ? asked : from_environment("CUTEGEN_HOST_CXX");
  if (!named.empty()) return named_program(named, "the host compiler");
  for (const char* name : {"g++", "g++-14", "g++-13", "g++-12", "clang++", "clang++-20", "clang++-19", "clang++-18", "clang++-17",
                           "clang++-16", "clang++-15", "clang++-14", "c++"})
    if (const fs::path path = find_program(name); !path.empty()) return path;
  return missing("no C++ compiler was found on PATH; nvcc needs one to preprocess (g++ 12 or newer, or clang++)",
                 "run scripts/setup, or install g++ and set CUTEGEN_HOST_CXX");
}

Result<fs::path> find_cutlass(const fs::path& asked, const fs::path& data) {
  const fs::path named = !asked.empty() ? asked : from_environment("CUTEGEN_CUTLASS");
  const fs::path base = !named.empty() ? named : data / ".toolchain/cutlass/include";
  for (const fs::path& dir : {base, base / "include"})
    if (is_file(dir / "cute/tensor.hpp")) {
      std::error_code ec;
      const fs::path real = fs::canonical(dir, ec);
      return ec ? dir : real;
    }
  return missing(fmt::format("CuTe's headers were not found: {} holds no cute/tensor.hpp", base.string()),
                 "run scripts/setup, or set CUTEGEN_CUTLASS to a CUTLASS 4 checkout");
}

// Where ptxas of the same toolkit is: beside nvcc (a wheel's nvcc may be reached through a link).
Result<fs::path> find_ptxas(const fs::path& nvcc) {
  std::error_code ec;
  const fs::path real = fs::canonical(nvcc, ec);
  for (const fs::path& dir : {nvcc.parent_path(), real.parent_path()})
    if (const fs::path path = find_program((dir / "ptxas").string()); !path.empty()) return path;
  return missing(fmt::format("ptxas was not found beside {}", nvcc.string()), "run scripts/setup, or install the whole CUDA toolkit");
}

Result<std::string> nvcc_version(const fs::path& nvcc) {
  Command command;
  command.argv = {nvcc.string(), "--version"};
  CUTEGEN_TRY(const Finished done, run(command, Deadline::in(system_clock(), Seconds(30))));
  const std::string version = parse_nvcc_version(done.out);
  if (!done.status.success() || version.empty())
    return Error{Errc::missing_dependency,
                 fmt::format("{} --version does not answer as nvcc does ({})", nvcc.string(), done.status.describe()), "run scripts/setup",
                 done.out + done.err};
  return version;
}

}  // namespace

std::string parse_nvcc_version(const std::string& text) {
  const size_t at = text.find(", V");
  if (at == std::string::npos) return "";
  const size_t end = text.find_first_not_of("0123456789.", at + 3);
  return text.substr(at + 3, end == std::string::npos ? end : end - at - 3);
}

std::string parse_cutlass_version(const std::string& header) {
  std::string version;
  for (const char* part : {"CUTLASS_MAJOR", "CUTLASS_MINOR", "CUTLASS_PATCH"}) {
    const std::string define = std::string("#define ") + part + " ";
    const size_t at = header.find(define);
    if (at == std::string::npos) return "";
    const size_t begin = header.find_first_not_of(' ', at + define.size());
    const size_t end = header.find_first_not_of("0123456789", begin);
    version += (version.empty() ? "" : ".") + header.substr(begin, end - begin);
  }
  return version;
}

Result<Tools> locate_tools(const ToolchainPlaces& places) {
  Tools tools;
  fs::path data = places.data;
  if (data.empty()) {
    CUTEGEN_TRY(data, data_dir());
  }
  tools.kernels = data / "kernels/include";
  if (!is_file(tools.kernels / "cutegen/kernel.cuh"))
    return missing(fmt::format("cutegen's device headers were not found: {} holds no cutegen/kernel.cuh", tools.kernels.string()),
                   "set CUTEGEN_HOME to the checkout or to share/cutegen");
  CUTEGEN_TRY(tools.nvcc, find_nvcc(places.nvcc, data));
  CUTEGEN_TRY(tools.ptxas, find_ptxas(tools.nvcc));
  CUTEGEN_TRY(tools.host_compiler, find_host_compiler(places.host_compiler));
  CUTEGEN_TRY(tools.cutlass, find_cutlass(places.cutlass, data));
  CUTEGEN_TRY(tools.nvcc_version, nvcc_version(tools.nvcc));
  CUTEGEN_TRY(const std::string version_header, read_file(tools.cutlass / "cutlass/version.h"));
  tools.cutlass_version = parse_cutlass_version(version_header);
  if (tools.cutlass_version.empty()) tools.cutlass_version = "unknown";
  return tools;
}

}  // namespace cutegen
