#include "toolchain/nvcc.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "toolchain/build_cache.h"
#include "toolchain/build_record.h"
#include "toolchain/build_slots.h"
#include "toolchain/compile.h"
#include "toolchain/diagnostics.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

constexpr Seconds kStaleWork{3600};

// The regular files under a folder, relative, sorted.
std::vector<fs::path> files_under(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink, ec), end; !ec && it != end;
       it.increment(ec))
    if (it->is_regular_file(ec)) files.push_back(it->path().lexically_relative(folder));
  std::sort(files.begin(), files.end());
  return files;
}

// cutegen's own headers, by content: they change with every edit of a building block.
Result<std::string> content_hash(const fs::path& folder) {
  Hasher hash;
  for (const fs::path& file : files_under(folder)) {
    CUTEGEN_TRY(const std::string content, read_file(folder / file));
    hash.add(file.string()).add(content);
  }
  return hash.hex();
}

// CuTe's headers (some 30 MB), by name, size and time: an edited checkout is noticed without reading it.
std::string stamp_hash(const fs::path& folder) {
  Hasher hash;
  for (const char* part : {"cute", "cutlass"})
    for (const fs::path& file : files_under(folder / part)) {
      std::error_code ec;
      hash.add(file.string());
      hash.add(static_cast<int64_t>(fs::file_size(folder / part / file, ec)));
      hash.add(static_cast<int64_t>(fs::last_write_time(folder / part / file, ec).time_since_epoch().count()));
    }
  return hash.hex();
}

BuildOutcome policy_failure(const std::vector<PolicyFinding>& findings, const Candidate& candidate) {
  auto failure = std::make_shared<BuildFailure>();
  failure->stage = "policy";
  std::vector<std::string_view> lines;
  for (std::string_view rest = candidate.source; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const PolicyFinding& f : findings) {
    Diagnostic d;
    d.severity = "error";
    d.file = f.line > 0 ? kSourceName : "";
    d.line = f.line;
    d.message = f.rule + ": " + f.message;
    if (f.line > 0 && static_cast<size_t>(f.line) <= lines.size()) {
      const std::string_view text = lines[static_cast<size_t>(f.line) - 1];
      d.user_line = fmt::format("{}:{}: {}", kSourceName, f.line, text.substr(std::min(text.find_first_not_of(" \t"), text.size())));
    }
    failure->diagnostics.push_back(std::move(d));
  }
  BuildOutcome outcome;
  outcome.failure = std::move(failure);
  return outcome;
}

class NvccToolchain : public Toolchain {
 public:
  NvccToolchain(Tools tools, std::string arch, BuildCache cache, BuildSlots slots)
      : tools_(std::move(tools)),
        arch_(std::move(arch)),
        cache_(std::move(cache)),
        slots_(std::move(slots)),
        cutlass_stamp_(stamp_hash(tools_.cutlass)) {
    cache_.sweep(kStaleWork);
  }

  std::string version() const override { return fmt::format("nvcc {}, CUTLASS {}", tools_.nvcc_version, tools_.cutlass_version); }

  Result<BuildOutcome> build(const Task& task, const Candidate& candidate, Deadline deadline) override {
    if (const auto findings = check_policy(candidate); !findings.empty()) return policy_failure(findings, candidate);
    CUTEGEN_TRY(const std::string key, key_of(task, candidate));
    if (auto outcome = cached(key)) return std::move(*outcome);
    CUTEGEN_TRY(const Fd lock, cache_.lock(key, deadline, system_clock()));
    if (auto outcome = cached(key)) return std::move(*outcome);  // somebody else built it while this waited
    CUTEGEN_TRY(const Fd slot, slots_.acquire(deadline, system_clock()));
    CUTEGEN_TRY(const TempDir work, cache_.work_dir());
    CUTEGEN_TRY(Compiled compiled, compile(tools_, arch_, task, candidate.source, work.path(), deadline));
    const Json facts = compiled.outcome.build ? build_facts(*compiled.outcome.build) : failure_facts(*compiled.outcome.failure);
    CUTEGEN_TRY(const CacheEntry entry, cache_.publish(key, facts, std::move(compiled.files)));
    return outcome_of(entry, key, false);
  }

 private:
  Result<std::string> key_of(const Task& task, const Candidate& candidate) const {
    CUTEGEN_TRY(const std::string kernels, content_hash(tools_.kernels));
    Hasher hash;
    hash.add("build-1").add(candidate.source).add(task_header(task)).add(kernels).add(cutlass_stamp_).add(version());
    hash.add(tools_.nvcc.string()).add(tools_.host_compiler.string());
    for (const std::string& flag : compile_flags(arch_)) hash.add(flag);
    return hash.hex();
  }

  std::optional<BuildOutcome> cached(const std::string& key) const {
    const auto entry = cache_.find(key);
    if (!entry) return std::nullopt;
    auto outcome = outcome_of(*entry, key, true);
    if (outcome.ok()) return std::move(*outcome);
    spdlog::warn("rebuilding {}: {}", key, outcome.error().message);
    return std::nullopt;
  }

  Tools tools_;
  std::string arch_;
  BuildCache cache_;
  BuildSlots slots_;
  std::string cutlass_stamp_;
};

}  // namespace

Result<std::unique_ptr<Toolchain>> make_nvcc_toolchain(const ToolchainConfig& config) {
  CUTEGEN_TRY(Tools tools, locate_tools(config.places));
  const fs::path root = config.cache.empty() ? cache_dir() / "build" : config.cache;
  BuildSlots slots = config.slots ? BuildSlots(root / "slots", config.slots) : BuildSlots::of_machine(root / "slots");
  return std::unique_ptr<Toolchain>(std::make_unique<NvccToolchain>(std::move(tools), config.arch, BuildCache(root), std::move(slots)));
}

}  // namespace cutegen
