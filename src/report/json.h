// JSON for programs: every document of a --json option starts here, so that each carries "schema".
#pragma once

#include "base/json.h"
#include "judge/verdict.h"

namespace cutegen {

inline constexpr int kReportSchema = 1;  // a change is in the changelog

// `body`, an object, with "schema" set. Errc::internal for anything but an object: it could not carry one.
Result<Json> report_document(Json body);

// One verdict: {"schema", "verified", "reached", "incomplete", "why", "device", "kernel", "error_ratio", "suite_allclose", "time": {"ms",
// "measured", "samples", "floor_ms", "share_of_floor", "speedups": [{"over", "ratio", "ci95": [lo, hi], "baseline_ms", "note"}]} | null,
// "verdict": the whole of it (judge/verdict.h)}. Numbers that are not finite are null. Predicted times have "measured": false.
Json verdict_document(const Verdict& verdict, const std::string& kernel);

// A finite number, or null.
Json finite_or_null(double value);

}  // namespace cutegen
