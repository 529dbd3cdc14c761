// The kernels of the differential suite, made from the registry of instruction forms.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "vgpu/differential/cases_matrix.h"
#include "vgpu/differential/kernel.h"
#include "vgpu/isa/registry.h"

namespace cutegen::differential {

using vgpu::Form;
using vgpu::Role;

inline bool contains(const std::string& s, const char* part) { return s.find(part) != std::string::npos; }
inline bool starts(const std::string& s, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* p) { return s.starts_with(p); });
}
inline bool is_approximate(const std::string& name) { return contains(name, ".approx") || contains(name, ".full"); }

// Registers in, registers out: one destination, then sources (vectors included, for mov).
inline bool is_register_form(const Form& f) {
  if (f.operands.size() < 2 || f.kind != vgpu::Kind::plain || f.collective) return false;
  if (starts(f.name, {"vgpu.", "createpolicy", "mma.", "wgmma.", "cvta", "isspacep", "mapa", "movmatrix", "ld", "st", "mov.clock",
                      "prefetch", "mbarrier."}))
    return false;
  if (contains(f.name, ".cc.") || starts(f.name, {"addc.", "subc.", "madc."})) return false;
  for (size_t i = 0; i < f.operands.size(); ++i) {
    const Role r = f.operands[i].role;
    const bool destination = r == Role::dst || r == Role::pair_dst || r == Role::vec_dst, source = r == Role::src || r == Role::vec_src;
    if (i == 0 ? !destination : !source) return false;
    if (r != Role::pair_dst && f.operands[i].count > 1 && f.operands[i].type == Value::U8) return false;  // .b8 registers
  }
  return true;
}
inline std::string source_kind(const Form& f, size_t operand) {
  const Value v = f.operands[operand].type;
  const bool amount = (starts(f.name, {"shl.", "shr."}) && operand == 2) || (starts(f.name, {"shf."}) && operand == 3) ||
                      (starts(f.name, {"bfe."}) && operand >= 2) || (starts(f.name, {"bfi."}) && operand >= 3);
  if (amount) return "shift";
  const bool every = f.operands.size() == 2 && (is_approximate(f.name) || starts(f.name, {"cvt.f32.", "cvt.rn.f16x2."}));
  if (every && vgpu::size_bytes(v) == 2) return "all16";
  if (every && (v == Value::F16x2 || v == Value::BF16x2)) return "all16";
  return kind_of(v);
}
inline size_t rows_of(const Form& f, const Case& c) {
  if (c.kinds[0] == "all16" || is_approximate(f.name)) return 65536;
  if (starts(f.name, {"set", "selp", "slct"})) return 1024;
  return c.kinds.size() > 2 ? 8192 : 4096;
}
inline std::string opcode_of(const Form& f) {
  const size_t pack = f.name.find("pack"), dot = pack == std::string::npos ? pack : f.name.rfind('.');
  return f.name.substr(0, dot);
}

inline Case register_case(const Form& f) {
  Kernel k(f.name);
  std::vector<std::string> operands{""};
  for (size_t i = 1; i < f.operands.size(); ++i) {
    std::vector<std::string> regs;
    for (int n = 0; n < f.operands[i].count; ++n) regs.push_back(k.source(f.operands[i].type, source_kind(f, i)));
    operands.push_back(f.operands[i].role == Role::vec_src ? braces(regs) : regs[0]);
  }
  if (f.name == "lop3.b32") operands.back() = "0xca";
  const vgpu::OperandSpec& d = f.operands[0];
  const Value type = d.role == Role::pair_dst ? Value::Pred : d.type;
  std::vector<std::string> regs;
  const bool pair = d.role == Role::pair_dst && !f.name.ends_with("f16");  // ptxas: setp of .f16 and .bf16 has one destination
  for (int n = 0; n < (pair ? 2 : d.role == Role::pair_dst ? 1 : d.count); ++n) regs.push_back(k.fresh(type));
  operands[0] = pair ? regs[0] + "|" + regs[1] : d.role == Role::vec_dst ? braces(regs) : regs[0];
  k.line(opcode_of(f) + " " + join(operands));
  for (const std::string& r : regs) k.result(r, type);
  Case c = k.take();
  c.rows = rows_of(f, c);
  return c;
}

// Every pattern of a three-input table at once would be 256 kernels; eight show the numbering of its bits.
inline void lop3_cases(std::vector<Case>& all) {
  for (int table : {0x01, 0x02, 0x04, 0x10, 0x80, 0x96, 0xe8, 0xb8}) {
    Kernel k("lop3.b32/" + std::to_string(table));
    const std::string a = k.source(Value::U32, "int"), b = k.source(Value::U32, "int"), c = k.source(Value::U32, "int"),
                      d = k.fresh(Value::U32);
    k.line("lop3.b32 " + join({d, a, b, c, std::to_string(table)}));
    k.result(d, Value::U32);
    all.push_back(k.take());
  }
}

// Extended precision: the carry is set by an addition (or subtraction) before and read by one after.
inline Case carry_case(const Form& f) {
  Kernel k(f.name);
  const bool wide = vgpu::is_wide(f.operands[0].type), subtracts = f.name.starts_with("sub");
  const std::string t = wide ? ".u64" : ".u32", op = subtracts ? "sub" : "add";
  const Value v = f.operands[0].type;
  std::vector<std::string> operands{k.fresh(v)};
  for (size_t i = 1; i < f.operands.size(); ++i) operands.push_back(k.source(f.operands[i].type, "int"));
  const std::string x = k.source(v, "int"), y = k.source(v, "int"), sink = k.fresh(v), after = k.fresh(v), zero = k.fresh(v);
  k.line(std::string(wide ? "mov.b64 " : "mov.b32 ") + zero + ", 0");
  k.line(op + ".cc" + t + " " + join({sink, x, y}));
  k.line(f.name + " " + join(operands));
  k.line(op + "c" + t + " " + join({after, zero, zero}));
  k.result(sink, v);
  k.result(operands[0], v);
  k.result(after, v);
  return k.take();
}

// Warp-wide forms with all lanes, and with the odd ones alone.
inline Case warp_case(const Form& f, bool odd) {
  Kernel k(f.name + (odd ? "/odd" : ""));
  std::string guard;
  if (odd) {
    k.line(".reg .pred %odd; .reg .b32 %bit");
    k.line("and.b32 %bit, %me, 1");
    k.line("setp.ne.u32 %odd, %bit, 0");
    guard = "@%odd ";
  }
  std::vector<std::string> sources;
  const size_t mask = f.operands.size() - 1;
  const char* shuffle[] = {"", "int", "lane", "segment"};
  for (size_t i = 1; i < mask; ++i)
    sources.push_back(k.source(f.operands[i].type, f.name.starts_with("shfl")          ? shuffle[i]
                                                   : f.operands[i].type == Value::Pred ? "pred"
                                                                                       : "few"));
  sources.push_back(odd ? "0xaaaaaaaa" : "0xffffffff");
  const vgpu::OperandSpec& d = f.operands[0];
  const std::string r = k.fresh(d.type), p = k.fresh(Value::Pred);
  k.line(d.type == Value::Pred ? "setp.ne.u32 " + r + ", %me, %me" : std::string("mov.") + register_class(d.type) + " " + r + ", 0");
  k.line("setp.ne.u32 " + p + ", %me, %me");
  k.line(guard + f.name + " " + r + (d.role == Role::reg_pred ? "|" + p : "") + ", " + join(sources));
  k.result(r, d.type);
  if (d.role == Role::reg_pred) k.result(p, Value::Pred);
  return k.take();
}

// Memory forms work on a row's own 32 bytes ("slot") in the form's space.
struct Slot {
  std::string space;  // ".global", "" for generic, ...
  std::string address;
};
inline std::optional<std::string> space_of(const std::string& name) {
  for (const char* s : {".global", ".shared::cluster", ".shared", ".local"})
    if (contains(name, s)) return s;
  for (const char* s : {".const", ".param", ".global", ".async", ".bulk"})
    if (contains(name, s)) return std::nullopt;
  return "";
}
inline Slot make_slot(Kernel& k, const std::string& space) {
  if (space.empty() || space == ".global") return {space, "%scratch"};
  const std::string r = k.fresh(Value::U64);
  if (space == ".local") {
    k.line(".local .align 16 .b8 slot[32]");
    k.line("mov.u64 " + r + ", slot");
  } else {
    k.line(".shared .align 16 .b8 slots[4096]; .reg .b64 %base");
    k.line("mov.u64 %base, slots");
    k.line("mul.wide.u32 " + r + ", %me, 32");
    k.line("add.u64 " + r + ", " + r + ", %base");
  }
  return {space == ".shared::cluster" ? ".shared" : space, r};
}
inline void fill_slot(Kernel& k, const Slot& s, const std::string& kind, int words) {
  for (int i = 0; i < 4; ++i) {
    const std::string v = i < words ? k.source(Value::U64, kind) : "0";
    k.line("st" + s.space + ".u64 [" + s.address + "+" + std::to_string(8 * i) + "], " + v);
  }
}
inline void show_slot(Kernel& k, const Slot& s, int words) {
  for (int i = 0; i < words; ++i) {
    const std::string v = k.fresh(Value::U64);
    k.line("ld" + s.space + ".u64 " + v + ", [" + s.address + "+" + std::to_string(8 * i) + "]");
    k.result(v, Value::U64);
  }
}
inline std::string vector_of(Kernel& k, const vgpu::OperandSpec& o, const std::string& kind, std::vector<std::string>& regs) {
  for (int n = 0; n < o.count; ++n) regs.push_back(kind.empty() ? k.fresh(o.type) : k.source(o.type, kind));
  return o.count == 1 ? regs[0] : braces(regs);
}
inline Case load_case(const Form& f, const std::string& space) {
  Kernel k(f.name);
  const Slot s = make_slot(k, space);
  fill_slot(k, s, "int", 4);
  std::vector<std::string> regs;
  k.line(f.name + " " + vector_of(k, f.operands[0], "", regs) + ", [" + s.address + "]");
  const bool narrow = vgpu::size_bytes(f.operands[0].type) == 1;  // loads extend to the register: show all of it
  for (const std::string& r : regs) k.result(r, narrow ? Value::U16 : f.operands[0].type);
  k.with_rows(512);
  return k.take();
}
inline Case store_case(const Form& f, const std::string& space) {
  Kernel k(f.name);
  const Slot s = make_slot(k, space);
  fill_slot(k, s, "int", 4);
  std::vector<std::string> regs;
  const std::string v = vector_of(k, f.operands[1], "int", regs);
  k.line(f.name + " [" + s.address + "], " + v);
  show_slot(k, s, 4);
  k.with_rows(512);
  return k.take();
}
inline Case atomic_case(const Form& f, const std::string& space) {
  Kernel k(f.name);
  const Slot s = make_slot(k, space);
  const bool returns = f.name.starts_with("atom");
  const vgpu::OperandSpec& o = f.operands[returns ? 2 : 1];
  const bool cas = contains(f.name, ".cas."), counts = contains(f.name, ".inc.") || contains(f.name, ".dec.");
  const std::string kind = cas || counts ? "few" : kind_of(o.type);
  const int words = (vgpu::size_bytes(o.type) * o.count + 7) / 8;
  for (int i = 0; i < std::max(words, 1); ++i) k.line("st" + s.space + ".u64 [" + s.address + "+" + std::to_string(8 * i) + "], 0");
  for (int i = 0; i < o.count; ++i) {
    const std::string v = k.source(o.type, kind);
    k.line("st" + s.space + ".b" + std::to_string(8 * vgpu::size_bytes(o.type)) + " [" + s.address + "+" +
           std::to_string(i * vgpu::size_bytes(o.type)) + "], " + v);
  }
  std::vector<std::string> old, operand, second;
  std::string opcode = f.name;
  if (o.type == Value::F16 || o.type == Value::F16x2 || o.type == Value::BF16 || o.type == Value::BF16x2)
    opcode.insert(opcode.find(".add") + 4, ".noftz");
  std::string text = opcode + " " + (returns ? vector_of(k, f.operands[0], "", old) + ", " : "") + "[" + s.address + "], ";
  text += vector_of(k, o, kind, operand);
  if (cas) text += ", " + vector_of(k, f.operands[3], kind, second);
  k.line(text);
  for (const std::string& r : old) k.result(r, o.type);
  show_slot(k, s, std::max(words, 1));
  k.with_rows(o.type == Value::F32 || o.type == Value::F64 || kind.find("f16") != std::string::npos ? 4096 : 1024);
  return k.take();
}

inline std::optional<Case> memory_case(const Form& f) {
  const std::optional<std::string> space = space_of(f.name);
  if (!space) return std::nullopt;
  if (f.name.starts_with("ld.") && f.operands.size() == 2) return load_case(f, *space);
  if (f.name.starts_with("st.") && f.operands.size() == 2) return store_case(f, *space);
  if (starts(f.name, {"atom.", "red."}) && !contains(f.name, ".async")) return atomic_case(f, *space);
  return std::nullopt;
}

inline std::optional<Case> case_of(const Form& f) {
  if (is_register_form(f)) return register_case(f);
  if (contains(f.name, ".cc.") || starts(f.name, {"addc.", "subc.", "madc."})) return carry_case(f);
  if (starts(f.name, {"shfl.", "vote.", "match.", "redux.", "elect."})) return warp_case(f, false);
  if (starts(f.name, {"ld.", "st.", "atom.", "red."})) return memory_case(f);
  if (f.name.starts_with("ldmatrix") || f.name.starts_with("stmatrix") || f.name.starts_with("movmatrix")) return matrix_move_case(f);
  return std::nullopt;
}

// All of them, by name. Some names are of instructions that the registry does not have: the hardware's results are kept for the day it
// does.
inline std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const Form& f : vgpu::all_forms()) {
    if (auto c = case_of(f)) all.push_back(std::move(*c));
    if (starts(f.name, {"vote.", "match.", "redux.", "elect."})) all.push_back(warp_case(f, true));
  }
  lop3_cases(all);
  matrix_cases(all);
  std::sort(all.begin(), all.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return all;
}

}  // namespace cutegen::differential
