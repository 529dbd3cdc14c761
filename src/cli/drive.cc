#include "cli/drive.h"

#include "base/fs.h"
#include "base/log.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/summary.h"

namespace cutegen::cli {
namespace {

Result<void> record_session(const Session& session, Store& store) {
  CUTEGEN_TRY(const std::optional<Json> task, store.meta("task"));
  if (!task) CUTEGEN_CHECK(store.set_meta("task", cutegen::to_json(session.oracle->task())));
  CUTEGEN_CHECK(store.set_meta("device", session.device_json()));
  return store.set_meta("tools", session.tools_json());
}

// What is said when a step outlasts the patience after Ctrl-C: read from the store by a connection of its own.
void last_words(const std::filesystem::path& run) {
  if (auto store = Store::open(run, true); store.ok()) {
    if (auto summary = summarise(**store); summary.ok()) note(to_text(*summary));
  }
  note("go on with: cutegen resume " + run.string());
}

}  // namespace

ExitCode conclude(const Store& store, bool json) {
  const auto summary = summarise(store);
  if (!summary.ok()) return fail(summary.error(), json);
  json ? print_json(to_json(*summary)) : print(to_text(*summary));
  return summary->exit_code();
}

ExitCode drive(Session& session, Store& store, const RunConfig& config, bool use_cached, Interrupt& interrupt, bool json) {
  const std::filesystem::path run = store.dir();
  if (auto opened = open_log(run / "log.txt"); !opened.ok()) note("warning: " + opened.error().message);
  if (auto recorded = record_session(session, store); !recorded.ok()) return fail(recorded.error(), json);
  if (session.build_only) note("no device: candidates are built and checked, nothing is executed (" + session.no_device + ")");
  interrupt.set_last_words([run] { last_words(run); });
  const VerdictCache cache(cache_dir() / "verdicts");
  SearchConfig search = config.search(session.build_only);
  search.hold = session.hold;
  if (use_cached) search.cache = &cache;
  Progress progress(stderr_is_terminal());
  const auto result =
      Search(*session.oracle, *session.toolchain, *session.device, *session.proposer, store).run(search, std::ref(progress), [&] {
        return interrupt.requested();
      });
  interrupt.set_last_words({});
  if (!result.ok()) {
    const ExitCode code = fail(result.error(), json);
    note("the run is kept; go on with: cutegen resume " + run.string());
    return code;
  }
  if (auto summary = summarise(store); summary.ok()) {
    if (auto written = write_best(*summary, store); !written.ok()) return fail(written.error(), json);
  }
  const ExitCode code = conclude(store, json);
  if (result->stopped != "cancelled") return code;
  note("interrupted; go on with: cutegen resume " + run.string());
  return ExitCode::interrupted;
}

}  // namespace cutegen::cli
