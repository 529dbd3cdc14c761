#include "cli/summary.h"

#include <fmt/format.h>

#include "base/fs.h"
#include "report/json.h"
#include "report/terminal.h"
#include "search/history.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

std::string field(const std::string& name, const std::string& value) { return fmt::format("{:<10}{}\n", name, value); }

std::string describe_device(const Json& device) {
  if (json_or<std::string>(device, "kind", "none") == "none") return "none (" + json_or<std::string>(device, "why", "not opened") + ")";
  return json_or<std::string>(device, "kind", "") + " (" + json_or<std::string>(device, "name", "") + ")";
}

Json node_json(const StoredNode& node) {
  const Json verdict = node.verdict.value_or(Json::object());
  const Json timing = verdict.value("timing", Json());
  return Json{{"id", node.id},
              {"parent", node.parent},
              {"origin", node.origin},
              {"rationale", node.rationale},
              {"candidate_hash", node.candidate_hash},
              {"judged", node.verdict.has_value()},
              {"reached", json_or<std::string>(verdict, "reached", "none")},
              {"verified", json_or(verdict, "verified", false)},
              {"ms", timing.is_object() ? timing.value("candidate_ms", Json()) : Json()},
              {"why", json_or<std::string>(verdict, "why", "")},
              {"seconds", node.seconds},
              {"duplicate_of", node.duplicate_of ? Json(*node.duplicate_of) : Json()}};
}

}  // namespace

ExitCode Summary::exit_code() const {
  if (!best || !verdict) return ExitCode::no_kernel;
  const TimedAgainst* over = verdict->timing ? headline(*verdict->timing) : nullptr;
  const bool slower = over != nullptr && verdict->timing->measured && over->speedup.ratio <= 1;  // a prediction decides nothing
  return slower ? ExitCode::no_kernel : ExitCode::done;
}

std::string Summary::stopped() const { return result ? result->stopped : "unfinished"; }

Result<Summary> summarise(const Store& store) {
  Summary s;
  s.run = store.dir();
  CUTEGEN_TRY(const std::optional<Json> task, store.meta("task"));
  CUTEGEN_TRY(const std::optional<Json> config, store.meta("config"));
  CUTEGEN_TRY(const std::optional<Json> device, store.meta("device"));
  CUTEGEN_TRY(const std::optional<Json> tools, store.meta("tools"));
  CUTEGEN_TRY(const std::optional<Json> result, store.meta("result"));
  s.task = task ? json_or<std::string>(*task, "name", "") : "";
  s.task_file = config ? json_or<std::string>(*config, "task", "") : "";
  s.device = device.value_or(Json::object());
  s.tools = tools.value_or(Json::object());
  CUTEGEN_TRY(s.nodes, store.nodes());
  CUTEGEN_TRY(s.seconds, store.seconds_spent());
  CUTEGEN_TRY(const History history, History::load(store));
  s.best = history.best();
  if (result) {
    CUTEGEN_TRY(s.result, search_result_from_json(*result));
    if (s.result->nodes == history.size()) {
      s.best = s.result->best;
      s.verdict = s.result->final_verdict;
      s.final = s.verdict.has_value();
    }
  }
  for (const StoredNode& node : s.nodes) {
    if (node.verdict && json_or<std::string>(*node.verdict, "reached", "") == "built")
      s.built_kernel = store.object_path(node.source_object).string();
  }
  if (!s.best) return s;
  s.kernel_object = history.node(*s.best).source_object;
  if (!s.verdict) {
    CUTEGEN_TRY(s.verdict, verdict_from_json(*history.node(*s.best).verdict));
  }
  return s;
}

Result<fs::path> write_best(const Summary& summary, const Store& store) {
  if (!summary.best) return fs::path();
  CUTEGEN_TRY(const std::string source, store.object(summary.kernel_object));
  const fs::path path = summary.run / "best.cu";
  CUTEGEN_CHECK(write_file_atomic(path, source));
  return path;
}

std::string to_text(const Summary& s) {
  std::string text = field("task", s.task + (s.task_file.empty() ? "" : " (" + s.task_file + ")"));
  text += field("device", describe_device(s.device));
  text += field("nodes", fmt::format("{} in {:.1f} s ({})", s.nodes.size(), s.seconds, s.stopped()));
  if (s.verdict) {
    text += field("best", fmt::format("node {}{}", *s.best, s.final ? "" : ", not yet timed at length"));
    text += verdict_summary(*s.verdict, (s.run / "best.cu").string()) + "\n";
  } else if (json_or<std::string>(s.device, "kind", "none") == "none") {
    text += field("verified:", "no (no device)");
    text += field("why", s.result ? s.result->why_none : "nothing was executed");
    if (!s.built_kernel.empty()) text += field("built", s.built_kernel);
  } else {
    text += field("verified:", "no");
    text += field("why", s.result ? s.result->why_none : "no candidate has been verified yet");
  }
  return text + "run       " + s.run.string();
}

Json to_json(const Summary& s) {
  Json nodes = Json::array();
  for (const StoredNode& node : s.nodes) nodes.push_back(node_json(node));
  Json best;
  if (s.best) {
    best = verdict_document(*s.verdict, (s.run / "best.cu").string());
    best["node"] = *s.best;
    best["final"] = s.final;
  }
  return Json{{"run", s.run.string()},    {"task", s.task},
              {"task_file", s.task_file}, {"device", s.device},
              {"tools", s.tools},         {"verified", s.verified()},
              {"stopped", s.stopped()},   {"why_none", s.result ? s.result->why_none : ""},
              {"seconds", s.seconds},     {"best", best},
              {"nodes", nodes},           {"exit", static_cast<int>(s.exit_code())}};
}

}  // namespace cutegen::cli
