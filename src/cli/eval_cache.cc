#include "cli/eval_cache.h"

#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/fs.h"
#include "base/hash.h"
#include "base/subprocess.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Driver and GPUs as the kernel module lists them: no library is loaded for it.
std::string machine() {
  std::string text = environment("CUDA_VISIBLE_DEVICES") + "\n";
  if (const auto driver = read_file("/proc/driver/nvidia/version"); driver.ok()) text += *driver;
  std::error_code ec;
  for (fs::directory_iterator it("/proc/driver/nvidia/gpus", ec), end; !ec && it != end; it.increment(ec))
    text += it->path().filename().string() + "\n";
  return text;
}

std::string interpreter() {
  const std::string named = environment("CUTEGEN_PYTHON");
  std::error_code ec;
  return fs::canonical(named.empty() ? find_program("python3") : fs::path(named), ec).string() + environment("PYTHONPATH");
}

std::vector<fs::path> module_folders(const fs::path& folder) {
  std::vector<fs::path> folders{folder};
  std::istringstream entries(environment("PYTHONPATH"));
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (!entry.empty()) folders.emplace_back(entry);
  }
  return folders;
}

bool is_own_module(const std::string& name, const std::vector<fs::path>& folders) {
  std::error_code ec;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / (name + ".py"), ec) || fs::is_directory(folder / name, ec)) return true;
  }
  return false;
}

// The top-level modules that one line imports; "." for a relative import.
std::vector<std::string> imported_by(const std::string& line) {
  std::istringstream words(line);
  std::string keyword, rest;
  words >> keyword;
  if (keyword != "import" && keyword != "from") return {};
  std::vector<std::string> names;
  if (keyword == "from") {
    words >> rest;
    names.push_back(rest.substr(0, rest.starts_with('.') ? 1 : rest.find('.')));
    return names;
  }
  std::getline(words, rest);
  std::istringstream list(rest);
  for (std::string item; std::getline(list, item, ',');) {
    std::istringstream first(item);
    std::string name;
    first >> name;
    names.push_back(name.substr(0, name.find_first_of(".;")));
  }
  return names;
}

}  // namespace

bool imports_own_files(const std::string& source, const fs::path& folder) {
  // What is not a plain import statement could be anything.
  for (const char* dynamic : {"importlib", "__import__", "exec(", "open("}) {
    if (source.find(dynamic) != std::string::npos) return true;
  }
  const std::vector<fs::path> folders = module_folders(folder);
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& name : imported_by(line)) {
      if (name == "." || is_own_module(name, folders)) return true;
    }
  }
  return false;
}

EvalCache::EvalCache(const RunConfig& config, const Candidate& candidate) : verdicts_(cache_dir() / "verdicts") {
  const auto source = read_file(config.task);
  std::error_code ec;
  if (!source.ok() || imports_own_files(*source, fs::absolute(config.task, ec).parent_path())) return;
  JudgePolicy policy = config.explore_policy();
  policy.secret_seed = 0;
  const std::string key = Hasher()
                              .add("cutegen eval")
                              .add(CUTEGEN_VERSION)
                              .add(kJudgeVersion)
                              .add(config.task.stem().string())
                              .add(*source)
                              .add(candidate.hash())
                              .add(to_json(policy).dump())
                              .add(config.device)
                              .add(machine())
                              .add(interpreter())
                              .hex();
  alias_ = cache_dir() / "evals" / (key + ".json");
}

std::optional<VerdictCache::Entry> EvalCache::find() const {
  if (alias_.empty()) return std::nullopt;
  const auto alias = read_json_file(alias_);
  if (!alias.ok()) return std::nullopt;
  return verdicts_.find(json_or<std::string>(*alias, "key", ""));
}

Result<void> EvalCache::remember(const std::string& key) const {
  if (alias_.empty()) return {};
  return write_file_atomic(alias_, Json{{"schema", 1}, {"key", key}}.dump() + "\n");
}

}  // namespace cutegen::cli
