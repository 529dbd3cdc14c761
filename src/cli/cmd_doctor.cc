#include <fmt/format.h>

#include <memory>

#include "cli/checkup.h"
#include "cli/command.h"
#include "cli/console.h"

namespace cutegen::cli {
namespace {

ExitCode doctor(bool json) {
  const std::vector<Finding> findings = check_machine();
  bool fit = true;
  Json list = Json::array();
  for (const Finding& f : findings) {
    fit = fit && (f.found || !f.essential);
    list.push_back(Json{
        {"what", f.what}, {"found", f.found}, {"essential", f.essential}, {"version", f.version}, {"where", f.where}, {"hint", f.hint}});
  }
  const ExitCode code = fit ? ExitCode::done : ExitCode::machine;
  if (json) {
    print_json(Json{{"findings", list}, {"fit", fit}, {"exit", static_cast<int>(code)}});
    return code;
  }
  for (const Finding& f : findings) {
    print(fmt::format("{:<8}{:<16}{:<14}{}", f.found ? "ok" : f.essential ? "MISSING" : "none", f.what, f.version, f.where));
    if (!f.found && !f.hint.empty()) print("        -> " + f.hint);
  }
  print(fit ? "cutegen can work here." : "cutegen cannot work here yet.");
  return code;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "what this machine has, and what to install");
  command->add_flag("--json", *json, "as JSON on stdout");
  command->callback([json, &action] { action = [json] { return doctor(*json); }; });
}

}  // namespace cutegen::cli
