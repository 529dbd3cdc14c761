#include "candidate/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace cutegen {
namespace {

constexpr size_t kShown = 3;

void append(std::string& out, const Diagnostic& d) {
  auto to = std::back_inserter(out);
  const std::string place = d.file.empty() ? "" : d.line > 0 ? fmt::format("{}:{}: ", d.file, d.line) : d.file + ": ";
  fmt::format_to(to, "{}{}: {}{}\n", place, d.severity, d.message, d.repeats > 1 ? fmt::format(" ({} times)", d.repeats) : "");
  if (!d.user_line.empty()) fmt::format_to(to, "  at {}\n", d.user_line);
  if (!d.cute_frame.empty()) fmt::format_to(to, "  in {}\n", d.cute_frame);
}

}  // namespace

std::string BuildFailure::summary() const {
  std::string out = fmt::format("build failed ({})\n", stage);
  const auto is_error = [](const Diagnostic& d) { return d.severity == "error"; };
  const auto errors = static_cast<size_t>(std::count_if(diagnostics.begin(), diagnostics.end(), is_error));
  size_t shown = 0;
  for (const Diagnostic& d : diagnostics)
    if (is_error(d) && shown < kShown) {
      append(out, d);
      ++shown;
    }
  if (errors > shown) fmt::format_to(std::back_inserter(out), "and {} more\n", errors - shown);
  return out;
}

}  // namespace cutegen
