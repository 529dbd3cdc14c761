#include "report/json.h"

#include <cmath>

namespace cutegen {
namespace {

Json speedup(const TimedAgainst& against) {
  const bool known = against.samples > 0;
  return {{"over", to_string(against.baseline)},
          {"ratio", known ? finite_or_null(against.speedup.ratio) : Json()},
          {"ci95", known ? Json{finite_or_null(against.speedup.low), finite_or_null(against.speedup.high)} : Json()},
          {"baseline_ms", known ? finite_or_null(against.baseline_ms) : Json()},
          {"note", against.note}};
}

Json time_of(const TimingEvidence& timing) {
  Json speedups = Json::array();
  for (const TimedAgainst& against : timing.against) speedups.push_back(speedup(against));
  return {{"ms", finite_or_null(timing.candidate_ms)},
          {"measured", timing.measured},
          {"samples", timing.samples},
          {"floor_ms", finite_or_null(timing.floor_ms)},
          {"share_of_floor", finite_or_null(timing.share_of_floor)},
          {"speedups", speedups}};
}

}  // namespace

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Result<Json> report_document(Json body) {
  if (!body.is_object()) return Error{Errc::internal, "a JSON report must be an object to carry its schema", "", ""};
  body["schema"] = kReportSchema;
  return body;
}

Json verdict_document(const Verdict& verdict, const std::string& kernel) {
  return {{"schema", kReportSchema},
          {"verified", verdict.verified()},
          {"reached", to_string(verdict.reached)},
          {"incomplete", verdict.incomplete},
          {"why", verdict.why},
          {"device", {{"kind", verdict.device_kind}, {"name", verdict.device_name}}},
          {"kernel", kernel},
          {"error_ratio", finite_or_null(verdict.worst_error_ratio)},
          {"suite_allclose", verdict.suite_allclose},
          {"time", verdict.timing ? time_of(*verdict.timing) : Json()},
          {"verdict", to_json(verdict)}};
}

}  // namespace cutegen
