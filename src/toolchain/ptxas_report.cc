#include "toolchain/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace cutegen {
namespace {

// The number directly in front of `unit` ("0 bytes spill stores"), or 0.
int number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int v = 0;
  std::from_chars(line.data() + begin, line.data() + at, v);
  return v;
}

// The text between the first pair of quotes.
std::string quoted(std::string_view line) {
  const size_t open = line.find('\'');
  const size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
  return close == std::string_view::npos ? "" : std::string(line.substr(open + 1, close - open - 1));
}

}  // namespace

std::vector<KernelResources> parse_ptxas_report(std::string_view log) {
  std::vector<KernelResources> kernels;
  bool in_entry = false;  // "Function properties" of the entry just named, not of a function that it calls
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("Compiling entry function '") != std::string_view::npos) {
      kernels.push_back({});
      kernels.back().name = quoted(line);
    } else if (const size_t at = line.find("Function properties for "); at != std::string_view::npos) {
      in_entry = !kernels.empty() && line.substr(at + 24) == kernels.back().name;
    } else if (kernels.empty()) {
      continue;
    } else if (in_entry && line.find("bytes stack frame") != std::string_view::npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (line.find(": Used ") != std::string_view::npos) {
      kernels.back().registers = number_before(line, " registers");
      kernels.back().barriers = number_before(line, " barriers");
      kernels.back().smem_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

}  // namespace cutegen
