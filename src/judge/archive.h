// Records to JSON and back from one list of their fields, so that the two directions cannot drift apart.
//
// A record R offers, in its own namespace, `template <class V, ConstOr<R> S> void fields(V& visit, S& record)` that calls
// visit("name", record.member) for each member. Doubles that JSON cannot hold are the strings "inf", "-inf" and "nan".
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"

namespace cutegen::archive {

template <class S, class R>
concept ConstOr = std::same_as<std::remove_const_t<S>, R>;

// The enumerators of E; specialised beside the records that hold an E. Their names come from to_string(E).
template <class E>
inline constexpr std::span<const E> enumerators{};

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value) {
    out_[key] = encode(value);
  }
  Json take() { return std::move(out_); }

  template <class T>
  static Json encode(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return encode_double(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return encode_text(value);
    } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
      return encode_text(value.string());
    } else {
      Writer nested;
      fields(nested, value);
      return nested.take();
    }
  }
  template <class T>
  static Json encode(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(encode(value));
    return list;
  }
  template <class T>
  static Json encode(const std::optional<T>& value) {
    return value ? encode(*value) : Json(nullptr);
  }

 private:
  static Json encode_double(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  // Compilers quote a candidate's bytes, whatever they are, and writing JSON throws at what is not UTF-8: such bytes become U+FFFD.
  static Json encode_text(const std::string& text) { return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)); }
  Json out_ = Json::object();
};

// Reads members of one object; the first thing wrong is kept and the rest is skipped.
class Reader {
 public:
  enum class Absent { error, keep_default };
  Reader(const Json& in, Absent absent, Errc code, std::string path = "") : in_(in), absent_(absent), code_(code), path_(std::move(path)) {
    if (!in_.is_object()) fail("an object");
  }

  template <class T>
  void operator()(const char* key, T& value) {
    if (error_) return;
    const auto it = in_.find(key);
    if (it != in_.end()) return decode(*it, value, path_.empty() ? key : path_ + "." + key);
    if (absent_ == Absent::error) error_ = Error{code_, "missing JSON member '" + (path_.empty() ? key : path_ + "." + key) + "'", "", ""};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  void decode(const Json& j, T& value, const std::string& path) {
    if constexpr (std::is_enum_v<T>) {
      decode_enum(j, value, path);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!j.is_boolean()) return fail("a boolean", path);
      value = j.template get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!j.is_number_integer()) return fail("an integer", path);
      value = j.template get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      decode_double(j, value, path);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
      if (!j.is_string()) return fail("a string", path);
      value = j.template get<std::string>();
    } else {
      Reader nested(j, absent_, code_, path);
      fields(nested, value);
      if (nested.error_) error_ = nested.error_;
    }
  }
  template <class T>
  void decode(const Json& j, std::vector<T>& values, const std::string& path) {
    if (!j.is_array()) return fail("an array", path);
    values.clear();
    for (const Json& element : j) {
      T value{};
      decode(element, value, path + "[" + std::to_string(values.size()) + "]");
      if (error_) return;
      values.push_back(std::move(value));
    }
  }
  template <class T>
  void decode(const Json& j, std::optional<T>& value, const std::string& path) {
    value.reset();
    if (!j.is_null()) decode(j, value.emplace(), path);
  }
  template <class E>
  void decode_enum(const Json& j, E& value, const std::string& path) {
    for (const E candidate : enumerators<E>) {
      if (!j.is_string() || j.get_ref<const std::string&>() != to_string(candidate)) continue;
      value = candidate;
      return;
    }
    fail("a known name", path);
  }
  void decode_double(const Json& j, double& value, const std::string& path) {
    if (j.is_number()) {
      value = j.get<double>();
    } else if (j == "inf" || j == "-inf") {
      value = j == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    } else if (j == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      fail("a number", path);
    }
  }
  void fail(const char* expected) { fail(expected, path_); }
  void fail(const char* expected, const std::string& path) {
    if (!error_) error_ = Error{code_, "JSON member '" + path + "' is not " + expected, "", ""};
  }

  const Json& in_;
  Absent absent_;
  Errc code_;
  std::string path_;
  std::optional<Error> error_;
};

template <class T>
Json write(const T& record) {
  return Writer::encode(record);
}

template <class T>
Result<T> read(const Json& j, Reader::Absent absent, Errc code) {
  T record{};
  Reader reader(j, absent, code);
  fields(reader, record);
  if (reader.error()) return *reader.error();
  return record;
}

}  // namespace cutegen::archive
