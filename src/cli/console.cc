#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "report/json.h"

namespace cutegen::cli {
namespace {

bool line_is_open = false;  // a rewritten line that has no newline yet

void close_line() {
  if (line_is_open) std::fputs("\r\033[K", stderr);
  line_is_open = false;
}

size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

}  // namespace

ExitCode exit_code_for(const Error& error) {
  switch (error.code) {
    case Errc::invalid_input:
    case Errc::io: return ExitCode::usage;
    case Errc::missing_dependency:
    case Errc::device:
    case Errc::unsupported: return ExitCode::machine;
    case Errc::cancelled: return ExitCode::interrupted;
    default: return ExitCode::no_kernel;
  }
}

void print(const std::string& text) {
  close_line();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void print_json(const Json& value) {
  Json out = value;
  out["schema"] = kReportSchema;
  print(out.dump(2, ' ', false, Json::error_handler_t::replace));
}

void note(const std::string& text) {
  close_line();
  fmt::print(stderr, "{}\n", text);
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void rewrite_line(const std::string& text) {
  close_line();
  std::fputs(text.substr(0, terminal_columns() - 1).c_str(), stderr);
  std::fflush(stderr);
  line_is_open = true;
}

ExitCode fail(const Error& error, bool json) {
  const ExitCode code = exit_code_for(error);
  note("error: " + error.message);
  if (!error.detail.empty() && error.detail.find('\n') != std::string::npos) note(error.detail);
  if (!error.hint.empty()) note("  hint: " + error.hint);
  if (json)
    print_json(Json{{"error", {{"code", to_string(error.code)}, {"message", error.message}, {"hint", error.hint}}},
                    {"exit", static_cast<int>(code)}});
  return code;
}

ExitCode explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty() && !unknown.empty() && !unknown.front().starts_with('-')) {
    note("error: there is no command '" + unknown.front() + "'\n  hint: cutegen --help lists them");
    return ExitCode::usage;
  }
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  if (!out.str().empty()) fmt::print("{}", out.str());
  if (!err.str().empty()) fmt::print(stderr, "error: {}", err.str());
  return code == 0 ? ExitCode::done : ExitCode::usage;
}

}  // namespace cutegen::cli
