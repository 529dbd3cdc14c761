// JSON as used everywhere in cutegen: nlohmann::json, plus accessors that return errors instead of throwing.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cutegen {

using Json = nlohmann::json;

// Parses text; the error names `what` (a file, a message) and the position.
Result<Json> parse_json(std::string_view text, std::string_view what);

// Reads and parses a file.
Result<Json> read_json_file(const std::filesystem::path& path);

// The member `key` of object `j` as a T. The error names the key and the type found.
template <class T>
Result<T> json_get(const Json& j, const char* key) {
  if (!j.is_object()) return Error{Errc::protocol, std::string("expected a JSON object holding '") + key + "'", "", ""};
  const auto it = j.find(key);
  if (it == j.end()) return Error{Errc::protocol, std::string("missing JSON member '") + key + "'", "", ""};
  try {
    return it->template get<T>();
  } catch (const Json::exception& e) {
    return Error{Errc::protocol, std::string("JSON member '") + key + "' has the wrong type: " + it->type_name(), "", e.what()};
  }
}

// The member `key`, or `fallback` when it is absent, null or of another type.
template <class T>
T json_or(const Json& j, const char* key, T fallback) {
  if (!j.is_object()) return fallback;
  const auto it = j.find(key);
  if (it == j.end() || it->is_null()) return fallback;
  try {
    return it->template get<T>();
  } catch (const Json::exception&) {
    return fallback;
  }
}

}  // namespace cutegen
