// Errors as values: Result<T> holds a T or an Error.
//
// Nothing under src/ except src/cli prints, exits or throws to report a failure; a function that can fail
// returns a Result. Expected outcomes of the domain (a kernel that faults, a wrong answer) are not errors:
// they are values of their own types (device/outcome.h, judge/verdict.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace cutegen {

enum class Errc {
  invalid_input,       // the user's file, flag or candidate is wrong; message says what and where
  missing_dependency,  // the machine lacks something; hint says what to install
  io,                  // file system, pipe, database
  timeout,             // a deadline passed
  compile_failed,      // nvcc or ptxas rejected the source
  device,              // the device or its driver failed in a way that is not the candidate's doing
  protocol,            // a child process said something that it must not say
  cancelled,           // the user asked to stop
  unsupported,         // a valid request that this build or device cannot serve
  internal,            // a bug in cutegen
};

// The stable lower-case name of a code, as it appears in JSON ("invalid_input").
constexpr const char* to_string(Errc code) {
  switch (code) {
    case Errc::invalid_input: return "invalid_input";
    case Errc::missing_dependency: return "missing_dependency";
    case Errc::io: return "io";
    case Errc::timeout: return "timeout";
    case Errc::compile_failed: return "compile_failed";
    case Errc::device: return "device";
    case Errc::protocol: return "protocol";
    case Errc::cancelled: return "cancelled";
    case Errc::unsupported: return "unsupported";
    case Errc::internal: return "internal";
  }
  return "internal";
}

struct Error {
  Errc code = Errc::internal;
  std::string message;  // what went wrong and where, one sentence
  std::string hint;     // what to do about it; may be empty
  std::string detail;   // long text kept for logs (a traceback, a compiler's output); may be empty
};

// A T or an Error. Asking for the one that is not there throws std::bad_variant_access: a bug, never a silent wrong value.
// Discarding one is a compile-time warning (and warnings are errors).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::move(std::get<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::move(std::get<1>(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
template <>
class [[nodiscard]] Result<void> : public Result<Unit> {
 public:
  Result() : Result<Unit>(Unit{}) {}
  Result(Error error) : Result<Unit>(std::move(error)) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace cutegen

#define CUTEGEN_CONCAT_(a, b) a##b
#define CUTEGEN_CONCAT(a, b) CUTEGEN_CONCAT_(a, b)

// CUTEGEN_TRY(auto x, make_x()); declares x from the value, or returns the error from the enclosing function.
#define CUTEGEN_TRY(declaration, ...) CUTEGEN_TRY_(CUTEGEN_CONCAT(cutegen_try_, __LINE__), declaration, __VA_ARGS__)
#define CUTEGEN_TRY_(tmp, declaration, ...)     \
  auto tmp = (__VA_ARGS__);                     \
  if (!tmp.ok()) return std::move(tmp).error(); \
  declaration = std::move(tmp).value()

// CUTEGEN_CHECK(do_it()); returns the error from the enclosing function, or goes on.
#define CUTEGEN_CHECK(...)                                                                                \
  do {                                                                                                    \
    if (auto cutegen_check = (__VA_ARGS__); !cutegen_check.ok()) return std::move(cutegen_check).error(); \
  } while (false)
