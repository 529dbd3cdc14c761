// Writes the playbook's candidates for a task: playbook_dump TASK.json FOLDER [--all] [MOVE...].
//
// FOLDER gets task.h and default.cu; with --all also one file for each configuration one factor away from the default. With moves
// ("threads=128") they are made one after the other as a search would that found each of them faster; the files are named
// after the path: "threads=128+stores=plain.cu". With --all the neighbours are those of the path's end, and only they are written.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "propose/playbook/playbook.h"
#include "task/analysis.h"

namespace {

using namespace cutegen;

// Every proposal until there is none, or until `path` is walked and `all` is false.
Result<int> dump(const std::filesystem::path& task_file, const std::filesystem::path& folder, bool all,
                 const std::vector<std::string>& path) {
  CUTEGEN_TRY(const Json j, read_json_file(task_file));
  CUTEGEN_TRY(const Task task, task_from_json(j));
  CUTEGEN_CHECK(write_file_atomic(folder / "task.h", task_header(task)));
  CUTEGEN_TRY(const std::filesystem::path home, data_dir());
  const auto playbook = make_playbook(home / "kernels");
  const Analysis analysis;
  std::vector<Attempt> attempts;
  std::string prefix;
  size_t walked = 0;
  while (all || attempts.empty() || walked < path.size()) {
    CUTEGEN_TRY(auto proposal, playbook->propose({task, analysis, attempts, "sm_90a", 132}));
    if (!proposal) break;
    const int id = static_cast<int>(attempts.size());
    const std::string move = id == 0 ? "default" : proposal->candidate.origin.substr(proposal->candidate.origin.find('/') + 1);
    const bool step = id > 0 && walked < path.size() && move == path[walked];
    if (walked == path.size() || step || (id == 0 && path.empty())) {
      const std::string name = prefix + move;
      CUTEGEN_CHECK(write_file_atomic(folder / (name + ".cu"), proposal->candidate.source));
      std::printf("%s %s: %s\n", task.name.c_str(), name.c_str(), proposal->rationale.c_str());
    }
    if (step) prefix += move + "+", ++walked;
    // The default counts as the best, then each step of the path, so that every move starts from there.
    const std::optional<double> ms = id == 0 ? std::optional(1.0)
                                     : step  ? std::optional(1.0 / static_cast<double>(1 + walked))
                                             : std::nullopt;
    attempts.push_back({id, proposal->parent, proposal->candidate, ms.has_value(), ms, "", Json::object()});
  }
  if (walked < path.size()) return Error{Errc::invalid_input, "there is no move " + path[walked], "", ""};
  return static_cast<int>(attempts.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: playbook_dump TASK.json FOLDER [--all] [MOVE...]\n");
    return 2;
  }
  std::vector<std::string> path(argv + 3, argv + argc);
  const bool all = std::erase(path, "--all") > 0;
  const auto n = dump(argv[1], argv[2], all, path);
  if (n.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], n.error().message.c_str());
  return 1;
}
