#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace cutegen {
namespace {

std::string field(std::string_view name, std::string_view value) { return fmt::format("\n  {:<9} {}", name, value); }

// What a candidate that reached `stage` failed to do next.
const char* stopped_at(Stage stage) {
  switch (stage) {
    case Stage::none: return "the build";
    case Stage::built: return "running";
    case Stage::ran: return "accuracy";
    case Stage::accurate: return "honesty";
    case Stage::honest: return "timing";
    case Stage::timed: return "nothing";
  }
  return "the build";
}

std::string state(const Verdict& verdict) {
  if (verdict.verified()) return "VERIFIED";
  if (verdict.incomplete) return fmt::format("UNFINISHED before {}", stopped_at(verdict.reached));
  return fmt::format("FAILED at {}", stopped_at(verdict.reached));
}

std::string accuracy(const Verdict& verdict) {
  const auto compared = std::count_if(verdict.trials.begin(), verdict.trials.end(), [](const TrialEvidence& t) { return !t.dropped; });
  const auto dropped = static_cast<std::ptrdiff_t>(verdict.trials.size()) - compared;
  std::string text = fmt::format("worst error {:.3g}x the reference's own, {} trials", verdict.worst_error_ratio, compared);
  if (dropped > 0) text += fmt::format(" ({} dropped: the reference is not finite)", dropped);
  return text + (verdict.suite_allclose ? ", the suite's own check passes" : ", the suite's own check FAILS");
}

std::string skipped_checks(const Verdict& verdict) {
  std::string names;
  for (const CheckEvidence& check : verdict.checks) {
    if (check.skipped) names += (names.empty() ? "" : ", ") + check.name;
  }
  return names;
}

std::string timing_lines(const TimingEvidence& timing) {
  std::string text = field("time", fmt::format("{}, {} samples, IQR {:.2g} ms", format_ms(timing.candidate_ms, timing.measured),
                                               timing.samples, timing.candidate_spread_ms));
  for (const TimedAgainst& against : timing.against) text += field("speedup", format_speedup(against, timing.measured));
  if (timing.floor_ms > 0) {
    text += field("floor", fmt::format("{:.0f}% of the {:.4g} ms floor reached{}", 100 * timing.share_of_floor, timing.floor_ms,
                                       timing.measured ? "" : " (predicted)"));
  }
  if (timing.after.throttle_reasons != 0) {
    text += field("clocks", fmt::format("{:.0f} to {:.0f} MHz, throttle reasons {:#x}", timing.before.sm_mhz, timing.after.sm_mhz,
                                        timing.after.throttle_reasons));
  }
  return text;
}

// Code points of UTF-8: every byte but continuation bytes.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string table_line(const std::vector<Column>& columns, const std::vector<size_t>& widths, const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i < cells.size() ? cells[i] : "";
    const std::string padding(widths[i] - std::min(widths[i], width(cell)), ' ');
    if (i > 0) line += "  ";
    line += columns[i].align == Align::right ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string format_ms(double ms, bool measured) { return fmt::format("{:.4g} ms{}", ms, measured ? "" : " (predicted)"); }

std::string format_speedup(const TimedAgainst& against, bool measured) {
  if (against.samples == 0) return fmt::format("not known over {}: {}", to_string(against.baseline), against.note);
  return fmt::format("{:.3g}x [{:.3g}, {:.3g}] over {} ({:.4g} ms){}", against.speedup.ratio, against.speedup.low, against.speedup.high,
                     to_string(against.baseline), against.baseline_ms, measured ? "" : " (predicted)") +
         (against.note.empty() ? "" : "; " + against.note);
}

const TimedAgainst* headline(const TimingEvidence& timing) {
  const auto first = std::find_if(timing.against.begin(), timing.against.end(), [](const TimedAgainst& a) { return a.samples > 0; });
  return first == timing.against.end() ? nullptr : &*first;
}

std::string verdict_summary(const Verdict& verdict, const std::string& kernel) {
  std::string text = state(verdict);
  if (!verdict.device_name.empty()) text += fmt::format(" on {} ({})", verdict.device_name, verdict.device_kind);
  if (!verdict.why.empty()) text += field("why", verdict.why);
  if (verdict.reached >= Stage::accurate) text += field("accuracy", accuracy(verdict));
  if (verdict.timing) text += timing_lines(*verdict.timing);
  if (const std::string skipped = skipped_checks(verdict); verdict.verified() && !skipped.empty()) text += field("skipped", skipped);
  if (!kernel.empty()) text += field("kernel", kernel);
  return text;
}

std::string verdict_line(const Verdict& verdict) {
  if (!verdict.verified()) return state(verdict) + ": " + verdict.why.substr(0, verdict.why.find('\n'));
  if (!verdict.timing) return "verified, not timed";
  std::string line = format_ms(verdict.timing->candidate_ms, verdict.timing->measured);
  if (const TimedAgainst* against = headline(*verdict.timing)) {
    line += fmt::format(", {:.3g}x over {}{}", against->speedup.ratio, to_string(against->baseline),
                        verdict.timing->measured ? "" : " (predicted)");
  }
  return line;
}

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  std::vector<std::string> titles, rules;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t widest = width(columns[i].title);
    for (const auto& row : rows) widest = std::max(widest, i < row.size() ? width(row[i]) : 0);
    widths.push_back(widest);
    titles.push_back(columns[i].title);
    rules.emplace_back(widest, '-');
  }
  std::string text = table_line(columns, widths, titles) + table_line(columns, widths, rules);
  for (const auto& row : rows) text += table_line(columns, widths, row);
  return text;
}

std::string progress_line(const ProgressFacts& facts) {
  std::string line = fmt::format("[{:6.1f} s] #{} {}", facts.elapsed_s, facts.node, facts.origin);
  if (facts.verdict == nullptr) return line + "  " + facts.what;
  line += "  " + verdict_line(*facts.verdict);
  if (facts.what != "verdict") line += "  (" + facts.what + ")";
  return line + (facts.best ? "  (best)" : "");
}

}  // namespace cutegen
