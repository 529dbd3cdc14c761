// The only place that prints. Results go to stdout, progress and errors to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/exit_code.h"

namespace cutegen::cli {

void print(const std::string& text);  // to stdout, with a newline
void print_json(const Json& value);   // to stdout; `value` is an object and gets "schema" (report/json.h)
void note(const std::string& text);   // to stderr, with a newline
bool stderr_is_terminal();
void rewrite_line(const std::string& text);  // on a terminal: replaces the last line of stderr

// Says what went wrong, on stderr and, with `json`, as {"schema", "error": {...}} on stdout.
ExitCode fail(const Error& error, bool json = false);
// For --help, --version and wrong options.
ExitCode explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cutegen::cli
