// A run over fakes that are real processes where the real parts are: what the kill test kills. Creates RUN or goes on with it, then prints
// all that the run came to, wall times left out.
//
//   fake_run_main RUN TAG [CANDIDATES]     TAG: an argument of every process of the run, to find orphans by
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/fs.h"
#include "base/subprocess.h"
#include "search/fakes.h"
#include "search/search.h"

namespace cutegen {
namespace {

constexpr auto kStepTime = std::chrono::milliseconds(2);

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// The long-lived child: answers frames, and has a child of its own that would outlive it if nobody cared.
int executor_main() {
  if (::fork() == 0) {
    for (;;) ::pause();
  }
  for (;;) {
    auto request = receive_frame(3, Deadline::never());
    if (!request.ok()) return 0;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (!send_frame(3, *request).ok()) return 0;
  }
}

int compiler_main() {
  std::this_thread::sleep_for(kStepTime);
  return 0;
}

Result<void> ask(Child& child) {
  CUTEGEN_CHECK(send_frame(child.channel(), Json{{"op", "step"}}));
  CUTEGEN_CHECK(receive_frame(child.channel(), Deadline::in(system_clock(), Seconds(30))));
  return {};
}

Json without_wall_times(Json verdict) {
  if (verdict.is_object()) verdict.erase("seconds");
  return verdict;
}

Result<Json> summary(const SearchResult& result, const Store& store) {
  Json out{{"result", to_json(result)}, {"nodes", Json::array()}};
  if (out["result"]["final_verdict"].is_object()) out["result"]["final_verdict"].erase("seconds");
  CUTEGEN_TRY(const std::vector<StoredNode> nodes, store.nodes());
  for (const StoredNode& node : nodes) {
    CUTEGEN_TRY(const std::string source, store.object(node.source_object));
    out["nodes"].push_back(Json{{"id", node.id},
                                {"parent", node.parent},
                                {"source", hash_hex(source)},
                                {"candidate", node.candidate},
                                {"ptx_hash", node.ptx_hash},
                                {"duplicate_of", node.duplicate_of ? Json(*node.duplicate_of) : Json(nullptr)},
                                {"verdict", node.verdict ? without_wall_times(*node.verdict) : Json(nullptr)}});
  }
  return out;
}

Result<Json> fake_run(const std::filesystem::path& dir, const std::string& tag, int candidates) {
  auto opened =
      std::filesystem::exists(dir / "run.db") ? Store::open(dir, false) : Store::create(dir, {{"task", to_json(fakes::small_task())}});
  CUTEGEN_TRY(const std::unique_ptr<Store> store, std::move(opened));
  CUTEGEN_TRY(Child oracle_process, Child::spawn({{self(), "--executor", tag}, {}, {}, {}}, dir / "oracle.log"));
  CUTEGEN_TRY(Child device_process, Child::spawn({{self(), "--executor", tag}, {}, {}, {}}, dir / "device.log"));
  fakes::FakeOracle oracle;
  oracle.on_call = [&] { return ask(oracle_process); };
  fakes::FakeDevice device;
  device.on_call = [&] { return ask(device_process); };
  fakes::FakeToolchain toolchain;
  toolchain.fail = [](const Candidate& c) {
    return fakes::draw("build", c.hash(), 8) == 0 ? std::optional<std::string>("no such atom") : std::nullopt;
  };
  toolchain.on_build = [&]() -> Result<void> {
    CUTEGEN_CHECK(cutegen::run({{self(), "--compiler", tag}, {}, {}, {}}, Deadline::in(system_clock(), Seconds(30))));
    return {};
  };
  fakes::FakeProposer proposer(candidates);
  SearchConfig config;
  config.budget = {Seconds(1e6), 1000};
  config.explore.trials = {{1, Distribution::as_given, true}, {2, Distribution::negated, true}};
  config.explore.secret_seed = 7;
  config.final = config.explore;
  config.final.baselines = {Baseline::eager, Baseline::compile};
  CUTEGEN_TRY(const SearchResult result, Search(oracle, toolchain, device, proposer, *store).run(config, {}, {}));
  return summary(result, *store);
}

}  // namespace
}  // namespace cutegen

int main(int argc, char** argv) {
  using namespace cutegen;
  if (argc < 3) return 2;
  const std::string first = argv[1];
  if (first == "--executor") return executor_main();
  if (first == "--compiler") return compiler_main();
  const auto out = fake_run(first, argv[2], argc > 3 ? std::atoi(argv[3]) : 12);
  if (!out.ok()) {
    std::fprintf(stderr, "%s\n", out.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", out->dump(1).c_str());
  return 0;
}
