#include "vgpu/isa/registry.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "vgpu/vgpu.h"

namespace cutegen::vgpu {
namespace {

using Parts = std::vector<std::string>;

Parts split(std::string_view opcode) {
  Parts parts;
  while (!opcode.empty()) {
    const size_t dot = opcode.find('.');
    parts.emplace_back(opcode.substr(0, dot));
    opcode = dot == std::string_view::npos ? std::string_view{} : opcode.substr(dot + 1);
  }
  return parts;
}
std::string join(const Parts& parts) {
  std::string s;
  for (const std::string& p : parts) s += (s.empty() ? "" : ".") + p;
  return s;
}
bool one_of(const std::string& p, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* s) { return p == s; });
}
bool has(const Parts& parts, const char* p) { return std::find(parts.begin(), parts.end(), p) != parts.end(); }
void drop(Parts& parts, std::initializer_list<const char*> list) {
  parts.erase(std::remove_if(parts.begin(), parts.end(), [&](const std::string& p) { return one_of(p, list); }), parts.end());
}
void drop_hints(Parts& parts) {
  parts.erase(
      std::remove_if(parts.begin(), parts.end(), [](const std::string& p) { return p.starts_with("L1::") || p.starts_with("L2::"); }),
      parts.end());
}
void rename(Parts& parts, const char* from, const char* to) {
  std::replace(parts.begin(), parts.end(), std::string(from), std::string(to));
}

// Memory order and scope.
void drop_order(Parts& parts) {
  drop(parts, {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "sc", "cta", "cluster", "gpu", "sys"});
}

void canonical_load_store(Parts& parts) {
  drop_order(parts);
  drop_hints(parts);
  drop(parts, {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"});
  rename(parts, "shared::cta", "shared");
  rename(parts, "param::entry", "param");
  rename(parts, "param::func", "param");
  std::string& type = parts.back();
  const bool extends = parts[0] == "ld" && type[0] == 's' && type != "s64";
  if (!extends && type.size() > 1) type = "u" + type.substr(type.find_first_of("0123456789"));
}

void canonical_atomic(Parts& parts) {
  drop_order(parts);
  drop_hints(parts);
  drop(parts, {"noftz"});
  rename(parts, "shared::cta", "shared");
  std::string& type = parts.back();
  if (has(parts, "and") || has(parts, "or") || has(parts, "xor") || has(parts, "exch") || has(parts, "cas")) type[0] = 'b';
  if (has(parts, "add") && type == "s64") type = "u64";
}

void canonical_remote(Parts& parts) {  // st.async, red.async
  drop_order(parts);
  drop_hints(parts);
  if (parts[0] == "st" && parts.back().size() > 1) parts.back()[0] = 'u';
}

void canonical_fence(Parts& parts) {
  const bool proxy = has(parts, "proxy"), init = has(parts, "mbarrier_init");
  const bool tensormap = std::any_of(parts.begin(), parts.end(), [](const std::string& p) { return p.starts_with("tensormap::"); });
  parts.resize(1);
  if (tensormap)
    parts.insert(parts.end(), {"proxy", "tensormap"});
  else if (proxy)
    parts.push_back("proxy");
  else if (init)
    parts.push_back("mbarrier_init");
}

void canonical_matrix_move(Parts& parts) {  // ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16, in either order
  Parts kept{parts[0]};
  for (const char* p : {"x1", "x2", "x4", "trans"})
    if (has(parts, p)) kept.emplace_back(p);
  if (!has(parts, "m8n8") || !has(parts, "b16")) kept.emplace_back("other");
  if (!has(parts, "shared") && !has(parts, "shared::cta")) kept.emplace_back("generic");
  parts = kept;
}

}  // namespace

std::string canonical_opcode(std::string_view opcode) {
  Parts parts = split(opcode);
  if (parts.empty()) return {};
  const std::string base = parts[0];
  const bool async_copy = base == "cp" || (base == "mbarrier");
  if ((base == "st" || base == "red") && has(parts, "async")) {
    canonical_remote(parts);
  } else if ((base == "ld" || base == "st" || base == "ldu") && parts.size() > 1 && parts[1] != "async" && parts[1] != "bulk") {
    parts[0] = base == "ldu" ? "ld" : base;
    canonical_load_store(parts);
  } else if (base == "atom" || (base == "red" && parts[1] != "async")) {
    canonical_atomic(parts);
  } else if (async_copy) {
    drop_order(parts);
    drop_hints(parts);
    drop(parts, {"ca", "cg", "tile"});
    if (base == "mbarrier" || has(parts, "async")) rename(parts, "shared::cta", "shared");
  } else if (base == "tensormap") {
    rename(parts, "shared::cta", "shared");
    if (has(parts, "cp_fenceproxy")) parts.resize(2);
  } else if (base == "fence" || base == "membar") {
    canonical_fence(parts);
  } else if (base == "ldmatrix" || base == "stmatrix") {
    canonical_matrix_move(parts);
  } else if (base == "mma" || base == "wgmma") {
    drop(parts, {"sync", "aligned"});
  } else if (base == "bra" || base == "call" || base == "ret") {
    drop(parts, {"uni"});
  } else if (base == "barrier" && parts.size() > 1 && parts[1] == "cluster") {
    drop(parts, {"release", "acquire", "relaxed"});
  }
  return join(parts);
}

bool polls_memory(std::string_view opcode) {
  const Parts parts = split(opcode);
  return parts[0] == "ld" && (has(parts, "volatile") || has(parts, "acquire") || has(parts, "relaxed"));
}

uint8_t memory_order(std::string_view opcode) {
  const Parts parts = split(opcode);
  if (parts[0] == "redux" || has(parts, "async")) return 0;
  const bool atomic = parts[0] == "atom" || parts[0] == "red", load = parts[0] == "ld", store = parts[0] == "st";
  const bool releases = has(parts, "release") || has(parts, "acq_rel");
  const bool strong = atomic || releases || has(parts, "acquire") || has(parts, "relaxed") || has(parts, "volatile") || has(parts, "mmio");
  if (!strong || has(parts, "local") || has(parts, "param")) return 0;
  uint8_t order = 0;
  if (load || parts[0] == "atom") order |= kAcquires;
  if (store || atomic) order |= releases ? kReleases : kReleasesFenced;
  return order;
}

const std::vector<Form>& all_forms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    for (auto section :
         {integer_forms, carry_forms,   float32_forms,     float64_forms,    approximate_forms, half_forms,    logic_forms,  compare_forms,
          move_forms,    convert_forms, memory_forms,      atomic_forms,     warp_forms,        control_forms, matrix_forms, wgmma_forms,
          async_forms,   bulk_forms,    tensor_copy_forms, tensor_map_forms, mbarrier_forms,    builtin_forms}) {
      std::vector<Form> part = section();
      std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(), [](const Form& a, const Form& b) { return a.name < b.name; });
    return all;
  }();
  return forms;
}

const Form* find_form(std::string_view opcode) {
  static const std::unordered_map<std::string_view, const Form*> index = [] {
    std::unordered_map<std::string_view, const Form*> m;
    for (const Form& f : all_forms()) m.emplace(f.name, &f);
    return m;
  }();
  if (const auto it = index.find(opcode); it != index.end()) return it->second;
  const auto it = index.find(canonical_opcode(opcode));
  return it == index.end() ? nullptr : it->second;
}

const char* to_string(Pipe pipe) {
  constexpr const char* kNames[] = {"alu", "fma", "fp64", "xu", "lsu", "tensor", "tma", "control", "uniform"};
  return kNames[static_cast<int>(pipe)];
}

const char* host_isa() {
  static const char* isa = [] {
    const char* asked = std::getenv("CUTEGEN_VGPU_ISA");
    const std::string_view want = asked == nullptr ? "avx512" : asked;
#if defined(__x86_64__) && !defined(__clang__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    if (avx512 && want == "avx512") return "avx512";
    if (avx2 && want != "portable") return "avx2";
#endif
    return "portable";
  }();
  return isa;
}

Body choose_body(const Bodies& bodies) {
  const std::string_view isa = host_isa();
  return isa == "avx512" ? bodies.avx512 : isa == "avx2" ? bodies.avx2 : bodies.portable;
}

}  // namespace cutegen::vgpu
