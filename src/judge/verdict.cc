#include "judge/verdict.h"

#include "judge/records.h"

namespace cutegen {

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::none: return "none";
    case Stage::built: return "built";
    case Stage::ran: return "ran";
    case Stage::accurate: return "accurate";
    case Stage::honest: return "honest";
    case Stage::timed: return "timed";
  }
  return "none";
}

Json to_json(const Verdict& verdict) {
  Json j = archive::write(verdict);
  j["schema"] = kVerdictSchema;
  j["verified"] = verdict.verified();
  return j;
}

Result<Verdict> verdict_from_json(const Json& j) {
  CUTEGEN_TRY(const int schema, json_get<int>(j, "schema"));
  if (schema != kVerdictSchema) {
    return Error{Errc::unsupported,
                 "a verdict of schema " + std::to_string(schema) + "; this build reads schema " + std::to_string(kVerdictSchema),
                 "use the version of cutegen that wrote it", ""};
  }
  return archive::read<Verdict>(j, archive::Reader::Absent::error, Errc::protocol);
}

}  // namespace cutegen
