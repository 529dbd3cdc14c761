// Writes the suite as PTX modules and a manifest for scripts/gpu/differential_run.cc.
#pragma once

#include <filesystem>
#include <fstream>

#include "vgpu/differential/cases.h"

namespace cutegen::differential {

// A unary function of 32-bit words over a range of bit patterns: all mantissas of some binades, for the tables of the approximations.
struct Sweep {
  const char* name;
  const char* opcode;
  unsigned start, stride, count;
  bool upper_word = false;  // of a double
};
inline const std::vector<Sweep>& sweeps() {
  constexpr unsigned kBinade = 1u << 23;
  static const std::vector<Sweep> all = {
      {"rcp_1", "rcp.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"rsqrt_1", "rsqrt.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"rsqrt_2", "rsqrt.approx.ftz.f32", 0x40000000, 1, kBinade},
      {"sqrt_1", "sqrt.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"sqrt_2", "sqrt.approx.ftz.f32", 0x40000000, 1, kBinade},
      {"ex2_half", "ex2.approx.ftz.f32", 0x3f000000, 1, kBinade},
      {"ex2_1", "ex2.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"ex2_minus1", "ex2.approx.ftz.f32", 0xbf800000, 1, kBinade},
      {"ex2_minus_half", "ex2.approx.ftz.f32", 0xbf000000, 1, kBinade},
      {"lg2_1", "lg2.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"lg2_half", "lg2.approx.ftz.f32", 0x3f000000, 1, kBinade},
      {"lg2_2", "lg2.approx.ftz.f32", 0x40000000, 4, kBinade / 4},
      {"sin_half", "sin.approx.ftz.f32", 0x3f000000, 1, kBinade},
      {"sin_1", "sin.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"sin_2", "sin.approx.ftz.f32", 0x40000000, 1, kBinade},
      {"sin_4", "sin.approx.ftz.f32", 0x40800000, 1, kBinade},
      {"cos_1", "cos.approx.ftz.f32", 0x3f800000, 1, kBinade},
      {"cos_2", "cos.approx.ftz.f32", 0x40000000, 2, kBinade / 2},
      {"sin_small", "sin.approx.ftz.f32", 0x3c000000, 8, 6 * kBinade / 8},
      {"tanh_small", "tanh.approx.f32", 0x38800000, 16, 8 * kBinade / 16},
      {"tanh", "tanh.approx.f32", 0x3c800000, 4, 10 * kBinade / 4},
      {"rcp64", "rcp.approx.ftz.f64", 0x3ff00000, 1, 1u << 20, true},
      {"rsqrt64", "rsqrt.approx.ftz.f64", 0x3ff00000, 1, 1u << 21, true},
  };
  return all;
}
inline std::string sweep_text(const Sweep& s, const std::string& entry) {
  std::string t = ".visible .entry " + entry +
                  "(.param .u64 out, .param .u32 start, .param .u32 stride)\n{\n.reg .b32 %i, %n, %t, %v, %r; .reg .b64 %o, %at, %d;\n"
                  "mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, %n, %t;\n"
                  "ld.param.u64 %o, [out]; ld.param.u32 %v, [start]; ld.param.u32 %n, [stride]; mad.lo.u32 %v, %i, %n, %v;\n";
  t += s.upper_word ? std::string("mov.u32 %r, 0; mov.b64 %d, {%r, %v};\n") + s.opcode + " %d, %d;\nmov.b64 {%t, %r}, %d;\n"
                    : std::string(s.opcode) + " %r, %v;\n";
  return t + "mul.wide.u32 %at, %i, 4; add.u64 %o, %o, %at; st.global.u32 [%o], %r;\nret;\n}\n";
}

inline std::string comma_list(const std::vector<std::string>& v) {
  std::string s;
  for (const std::string& x : v) s += (s.empty() ? "" : ",") + x;
  return s.empty() ? "-" : s;
}
inline std::string manifest_line(const Case& c, const std::string& entry) {
  std::vector<std::string> bytes;
  for (int b : c.result_bytes) bytes.push_back(std::to_string(b));
  return "case " + entry + " " + std::to_string(c.rows) + " " + std::to_string(c.block) + " " + std::to_string(c.tile) + " " +
         comma_list(c.kinds) + " " + comma_list(bytes) + " " + c.name + "\n";
}

// The candidates of templates/, by name.
inline std::vector<std::string> template_names(const std::string& source) {
  std::vector<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(source))
    if (e.path().extension() == ".launch") names.push_back(e.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// DIR/manifest and DIR/MODULE.ptx, `per_module` kernels a module; matrix kernels are modules of their own.
inline void render(const std::string& folder, const std::string& templates, size_t per_module = 120) {
  std::filesystem::create_directories(folder);
  std::ofstream manifest(folder + "/manifest");
  std::string text;
  int modules = 0;
  size_t kernels = 0;
  auto module_name = [&] { return "m" + std::string(modules < 10 ? "0" : "") + std::to_string(modules); };
  auto close = [&] {
    if (kernels == 0) return;
    std::ofstream(folder + "/" + module_name() + ".ptx") << ptx_header() << text;
    ++modules, kernels = 0, text.clear();
  };
  auto open = [&] {
    if (kernels == 0) manifest << "module " << module_name() << "\n";
  };
  bool matrix = false;
  size_t index = 0;
  for (const Case& c : all_cases()) {
    const bool is_matrix = c.name.starts_with("mma") || c.name.starts_with("wgmma");
    if (kernels == per_module || is_matrix != matrix) close();
    open();
    matrix = is_matrix;
    const std::string entry = "k" + std::to_string(index++);
    text += entry_text(c, entry);
    manifest << manifest_line(c, entry);
    ++kernels;
  }
  close();
  for (const Sweep& s : sweeps()) {
    open();
    const std::string entry = "s" + std::to_string(kernels++);
    text += sweep_text(s, entry);
    manifest << "sweep " << entry << " " << s.start << " " << s.stride << " " << s.count << " " << s.name << "\n";
    if (kernels == 4) close();
  }
  close();
  for (const std::string& name : template_names(templates)) {
    manifest << "module " << name << "\nprogram " << name << " " << name << "\n";
    for (const char* extension : {".ptx", ".launch"})
      std::filesystem::copy_file(templates + "/" + name + extension, folder + "/" + name + extension,
                                 std::filesystem::copy_options::overwrite_existing);
  }
}

}  // namespace cutegen::differential
