// Writes the playbook's candidates for a task: playbook_dump TASK.json FOLDER [--all].
//
// FOLDER gets task.h and default.cu; with --all also one file for each configuration one factor away from the default.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/fs.h"
#include "base/json.h"
#include "propose/playbook/playbook.h"
#include "task/analysis.h"

namespace {

using namespace cutegen;

Result<int> dump(const std::filesystem::path& task_file, const std::filesystem::path& folder, bool all) {
  CUTEGEN_TRY(const Json j, read_json_file(task_file));
  CUTEGEN_TRY(const Task task, task_from_json(j));
  CUTEGEN_CHECK(write_file_atomic(folder / "task.h", task_header(task)));
  CUTEGEN_TRY(const std::filesystem::path home, data_dir());
  const auto playbook = make_playbook(home / "kernels");
  const Analysis analysis;
  std::vector<Attempt> attempts;
  while (true) {
    CUTEGEN_TRY(auto proposal, playbook->propose({task, analysis, attempts, "sm_90a", 132}));
    if (!proposal) break;
    const int id = static_cast<int>(attempts.size());
    const std::string move = id == 0 ? "default" : proposal->candidate.origin.substr(proposal->candidate.origin.find('/') + 1);
    CUTEGEN_CHECK(write_file_atomic(folder / (move + ".cu"), proposal->candidate.source));
    std::printf("%s %s: %s\n", task.name.c_str(), proposal->candidate.origin.c_str(), proposal->rationale.c_str());
    // The default counts as the best, so that every move starts from it.
    attempts.push_back(
        {id, proposal->parent, proposal->candidate, id == 0, id == 0 ? std::optional(1.0) : std::nullopt, "", Json::object()});
    if (!all) break;
  }
  return static_cast<int>(attempts.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: playbook_dump TASK.json FOLDER [--all]\n");
    return 2;
  }
  const auto n = dump(argv[1], argv[2], argc > 3 && std::string(argv[3]) == "--all");
  if (n.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], n.error().message.c_str());
  return 1;
}
