#include "base/json.h"

#include "base/fs.h"

namespace cutegen {

Result<Json> parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    return Error{Errc::invalid_input, std::string(what) + " is not valid JSON (byte " + std::to_string(e.byte) + ")", "", e.what()};
  }
}

Result<Json> read_json_file(const std::filesystem::path& path) {
  CUTEGEN_TRY(const std::string text, read_file(path));
  return parse_json(text, path.string());
}

}  // namespace cutegen
