// What nvcc calls instead of emitting instructions: vprintf and __assertfail; and the copies that calls make of their parameters.
#include <fmt/format.h>

#include <cstdio>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

constexpr size_t kMaxText = 1 << 16;

template <class T>
T read(Warp& w, Space space, u64 address, u32 lane) {
  T value;
  std::memcpy(&value, w.port->at(w, space, address, sizeof(T), 1, Access::load, lane), sizeof(T));
  return value;
}
std::string read_text(Warp& w, u64 address, u32 lane) {
  std::string s;
  for (char c; s.size() < kMaxText && (c = read<char>(w, Space::generic, address + s.size(), lane)) != 0;) s += c;
  return s;
}

// One conversion of printf: its specification without length modifiers, and whether the argument is 8 bytes.
std::string format_one(Warp& w, std::string spec, char conversion, bool wide, u64& args, u32 lane) {
  const bool is_float = std::string_view("aAeEfFgG").find(conversion) != std::string_view::npos;
  const bool eight = wide || is_float || conversion == 's' || conversion == 'p';
  args = (args + (eight ? 7 : 3)) & ~(eight ? 7ull : 3ull);
  const u64 at = args;
  args += eight ? 8 : 4;
  char out[512] = {};
  if (is_float) {
    std::snprintf(out, sizeof out, (spec + conversion).c_str(), read<f64>(w, Space::generic, at, lane));
  } else if (conversion == 's') {
    return read_text(w, read<u64>(w, Space::generic, at, lane), lane);
  } else if (conversion == 'p') {
    return fmt::format("{:#x}", read<u64>(w, Space::generic, at, lane));
  } else if (conversion == 'c') {
    return std::string(1, static_cast<char>(read<u32>(w, Space::generic, at, lane)));
  } else {
    const s64 value = eight                                    ? read<s64>(w, Space::generic, at, lane)
                      : conversion == 'd' || conversion == 'i' ? read<s32>(w, Space::generic, at, lane)
                                                               : static_cast<s64>(read<u32>(w, Space::generic, at, lane));
    std::snprintf(out, sizeof out, (spec + "ll" + conversion).c_str(), static_cast<long long>(value));
  }
  return out;
}

std::string format_text(Warp& w, const std::string& format, u64 args, u32 lane) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string spec = "%";
    bool wide = false;
    for (++i; i < format.size() && std::string_view("-+ #0123456789.*hlLzjt").find(format[i]) != std::string_view::npos; ++i) {
      if (format[i] == '*') {
        args = (args + 3) & ~3ull;
        spec += std::to_string(read<s32>(w, Space::generic, args, lane));
        args += 4;
      } else if (std::string_view("hlLzjt").find(format[i]) == std::string_view::npos) {
        spec += format[i];
      } else {
        wide = wide || format[i] != 'h';
      }
    }
    if (i >= format.size() || spec.size() > 32) break;
    if (format[i] == '%')
      out += '%';
    else if (std::string_view("aAeEfFgGspcdiuxXo").find(format[i]) != std::string_view::npos)
      out += format_one(w, spec, format[i], wide, args, lane);
  }
  return out;
}

void print(Warp& w, const Inst& in, u32 mask) {  // local offsets of: format, arguments, result
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const std::string text =
        format_text(w, read_text(w, read<u64>(w, Space::local, in.op[0], lane), lane), read<u64>(w, Space::local, in.op[1], lane), lane);
    if (w.port->output != nullptr) *w.port->output += text;
    const u32 one = 1;
    if (in.op[2] != kAbsent) std::memcpy(w.port->at(w, Space::local, in.op[2], 4, 4, Access::store, lane), &one, 4);
  }
}

void assert_failed(Warp& w, const Inst& in, u32 mask) {  // local offsets of: message, file, line, function
  const auto lane = static_cast<u32>(std::countr_zero(mask));
  auto text = [&](int i) { return read_text(w, read<u64>(w, Space::local, in.op[i], lane), lane); };
  w.port->fault(FaultKind::assertion,
                fmt::format("assertion `{}` failed at {}:{} in {}", text(0), text(1), read<u32>(w, Space::local, in.op[2], lane), text(3)),
                lane);
}

void copy_local(Warp& w, const Inst& in, u32 mask) {  // destination, source, bytes: offsets in local memory
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const char* src = w.port->at(w, Space::local, in.op[1], in.op[2], 1, Access::load, lane);
    std::memcpy(w.port->at(w, Space::local, in.op[0], in.op[2], 1, Access::store, lane), src, in.op[2]);
  }
}

}  // namespace

std::vector<Form> builtin_forms() {
  Section s("Calls");
  const OperandSpec literal{Role::imm};
  s.whole<[](Warp& w, const Inst& in, u32 mask) { print(w, in, mask); }>("vgpu.vprintf", {literal, literal, literal}, Pipe::control);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { assert_failed(w, in, mask); }>("vgpu.__assertfail", {literal, literal, literal, literal},
                                                                                 Pipe::control);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { copy_local(w, in, mask); }>("vgpu.copy_local", {literal, literal, literal},
                                                                              Pipe::control);
  Form& join = s.whole<[](Warp&, const Inst&, u32) {}>("vgpu.join", {}, Pipe::control);
  join.kind = Kind::join;
  return s.take();
}

}  // namespace cutegen::vgpu
