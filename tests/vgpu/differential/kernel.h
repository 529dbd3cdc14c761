// Writes the kernels of the differential suite: one instruction over rows of operands. All have one signature,
//   (in, out, bytes, scratch): operand c of row i is the 64-bit word at in + c * bytes + 8 i, result r of row i goes to out + r * bytes + 8
//   i; scratch has 32 bytes of zeros a row.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vgpu/isa/form.h"

namespace cutegen::differential {

using vgpu::Value;

// What one kernel is, reads and writes. `rows` is a multiple of `block`; rows of one `tile` share a class of matrix operands (inputs.h).
struct Case {
  std::string name;                // of the form, and a variant after a slash
  std::string body;                // PTX of the kernel, from its opening brace
  std::vector<std::string> kinds;  // of the operands, see inputs.h
  std::vector<int> result_bytes;
  size_t rows = 4096;
  unsigned block = 128, tile = 32;
};

inline const char* register_class(Value v) {
  return v == Value::Pred ? "pred" : vgpu::size_bytes(v) <= 2 ? "b16" : vgpu::size_bytes(v) == 8 ? "b64" : "b32";
}
inline std::string kind_of(Value v) {
  switch (v) {
    case Value::Pred: return "pred";
    case Value::F16: return "f16";
    case Value::BF16: return "bf16";
    case Value::F16x2: return "f16x2";
    case Value::BF16x2: return "bf16x2";
    case Value::F32: return "f32";
    case Value::F64: return "f64";
    default: return "int";
  }
}

class Kernel {
 public:
  explicit Kernel(std::string name) { case_.name = std::move(name); }

  std::string fresh(Value v) {
    std::string r = "%r" + std::to_string(registers_++);
    line(std::string(".reg .") + register_class(v) + " " + r);
    return r;
  }
  // A register with the next operand.
  std::string source(Value v, const std::string& kind) {
    case_.kinds.push_back(kind);
    std::string r = fresh(v);
    line("ld.global.u64 %v, [%in]");
    line("add.u64 %in, %in, %bytes");
    line(v == Value::Pred           ? "setp.ne.u64 " + r + ", %v, 0"
         : vgpu::size_bytes(v) <= 2 ? "cvt.u16.u64 " + r + ", %v"
         : vgpu::size_bytes(v) == 8 ? "mov.b64 " + r + ", %v"
                                    : "cvt.u32.u64 " + r + ", %v");
    return r;
  }
  void result(const std::string& r, Value v) {
    case_.result_bytes.push_back(v == Value::Pred ? 1 : std::max(vgpu::size_bytes(v), 1));
    line(v == Value::Pred           ? "selp.u64 %v, 1, 0, " + r
         : vgpu::size_bytes(v) <= 2 ? "cvt.u64.u16 %v, " + r
         : vgpu::size_bytes(v) == 8 ? "mov.b64 %v, " + r
                                    : "cvt.u64.u32 %v, " + r);
    line("st.global.u64 [%out], %v");
    line("add.u64 %out, %out, %bytes");
  }
  void line(const std::string& text) { text_ += text + ";\n"; }
  Case& with_rows(size_t rows) {
    case_.rows = rows;
    return case_;
  }
  Case take() {
    case_.body = std::string("{\n.reg .b32 %row, %me, %n32; .reg .b64 %at, %in, %out, %bytes, %scratch, %v;\n") +
                 "mov.u32 %me, %tid.x; mov.u32 %row, %ctaid.x; mov.u32 %n32, %ntid.x; mad.lo.u32 %row, %row, %n32, %me;\n"
                 "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %bytes, [bytes]; ld.param.u64 %scratch, [scratch];\n"
                 "mul.wide.u32 %at, %row, 8; add.u64 %in, %in, %at; add.u64 %out, %out, %at; mul.wide.u32 %at, %row, 32; "
                 "add.u64 %scratch, %scratch, %at;\n" +
                 text_ + "ret;\n}\n";
    return std::move(case_);
  }

 private:
  Case case_;
  std::string text_;
  int registers_ = 0;
};

inline const char* ptx_header() { return ".version 8.7\n.target sm_90a\n.address_size 64\n"; }
// `entry` is the kernel's name in a module that may hold many.
inline std::string entry_text(const Case& c, const std::string& entry) {
  return ".visible .entry " + entry + "(.param .u64 in, .param .u64 out, .param .u64 bytes, .param .u64 scratch)\n" + c.body;
}

inline std::string join(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
  return s;
}
inline std::string braces(const std::vector<std::string>& names) { return "{" + join(names) + "}"; }

}  // namespace cutegen::differential
