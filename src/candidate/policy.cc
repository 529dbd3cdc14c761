// The static policy: one function a rule, one line in the table at the end. docs/candidate.md explains each rule to those who write
// candidates.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "candidate/candidate.h"
#include "candidate/tokens.h"

namespace cutegen {
namespace {

using Tokens = std::vector<Token>;
using Findings = std::vector<PolicyFinding>;

const Token kNone{TokenKind::directive_end, "", 0};

// The token at i, or one that matches nothing.
const Token& at(const Tokens& tokens, size_t i) { return i < tokens.size() ? tokens[i] : kNone; }

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The index behind the bracket that matches the one at i.
size_t skip_group(const Tokens& tokens, size_t i) {
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if ((t.is(")") || t.is("]") || t.is("}")) && --depth == 0) return i + 1;
  }
  return i;
}

// --- includes and directives
// ---------------------------------------------------------------------------------------------------------------

bool allowed_header(std::string_view path) {
  if (path.find("..") != std::string_view::npos || path.starts_with('/') || path.find('\\') != std::string_view::npos) return false;
  for (const std::string_view folder : {"cutegen/", "cute/", "cutlass/", "cuda/", "cooperative_groups/"})
    if (path.starts_with(folder)) return true;
  if (path.starts_with("cuda_") && path.ends_with(".h") && path.find('/') == std::string_view::npos) return true;
  return one_of(path, {"task.h",
                       "cuda.h",
                       "mma.h",
                       "cooperative_groups.h",
                       "cstdint",
                       "cstddef",
                       "cfloat",
                       "climits",
                       "cmath",
                       "limits",
                       "type_traits",
                       "utility",
                       "initializer_list",
                       "array",
                       "tuple",
                       "algorithm",
                       "numeric",
                       "bit",
                       "stdint.h",
                       "stddef.h",
                       "float.h",
                       "limits.h",
                       "math.h",
                       "cassert",
                       "assert.h"});
}

void include_allowed(const Candidate&, const Tokens& tokens, Findings& out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind != TokenKind::directive || !one_of(t.text, {"include", "include_next", "import", "embed"})) continue;
    const Token& header = at(tokens, i + 1);
    if (t.text != "include") {
      out.push_back({"", "#" + t.text + " is not allowed", t.line});
    } else if (header.kind != TokenKind::header) {
      out.push_back({"", "#include must name its header directly", t.line});
    } else if (header.text.size() < 3 || !allowed_header(std::string_view(header.text).substr(1, header.text.size() - 2))) {
      out.push_back(
          {"",
           fmt::format("{} is not one of the headers that a candidate may include (cutegen/, cute/, cutlass/, cuda/, cuda_*.h, task.h)",
                       header.text),
           t.line});
    }
  }
}

void directive_allowed(const Candidate&, const Tokens& tokens, Findings& out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    const bool pragma = t.kind == TokenKind::directive && t.text == "pragma";
    if (pragma || (t.is("_Pragma") && at(tokens, i + 1).is("("))) {
      const std::string name = pragma ? at(tokens, i + 1).text : at(tokens, i + 2).text;
      if (!one_of(std::string_view(name).substr(0, name.find_first_of(" (")),
                  {"unroll", "nounroll", "once", "GCC", "clang", "nv_diag_suppress", "nv_diag_default", "nv_diagnostic",
                   "nv_exec_check_disable"}))
        out.push_back({"", fmt::format("#pragma {} is not allowed", name), t.line});
    } else if (t.kind == TokenKind::directive && one_of(t.text, {"line", "ident", "sccs", "unassert", "assert"})) {
      out.push_back({"", "#" + t.text + " is not allowed", t.line});
    } else if (t.is("##")) {
      out.push_back({"", "token pasting (##) is not allowed: the policy reads tokens as they are written", t.line});
    } else if (t.kind == TokenKind::directive && (t.text == "define" || t.text == "undef") &&
               (at(tokens, i + 1).text.starts_with("CUTEGEN_") || at(tokens, i + 1).text.starts_with("__"))) {
      out.push_back(
          {"",
           fmt::format("#{} {}: names that begin with CUTEGEN_ or __ belong to cutegen and the compiler", t.text, at(tokens, i + 1).text),
           t.line});
    }
  }
}

// --- host code
// -----------------------------------------------------------------------------------------------------------------------------

void no_host_code(const Candidate&, const Tokens& tokens, Findings& out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    const bool call = at(tokens, i + 1).is("(");
    if (t.is("<<<")) {
      out.push_back({"", "<<<...>>> is host code: launches are stated in CUTEGEN_PLAN, cutegen performs them", t.line});
    } else if (t.is("__host__") && !at(tokens, i + 1).is("__device__") && !(i > 0 && tokens[i - 1].is("__device__"))) {
      out.push_back({"", "a __host__ function never runs: a candidate is device code and a plan", t.line});
    } else if (t.kind == TokenKind::word && call && t.text == "main" && i > 0 && tokens[i - 1].is("int")) {
      out.push_back({"", "main() never runs: a candidate is device code and a plan", t.line});
    } else if (t.kind == TokenKind::word && call && t.text.size() > 5 && t.text.starts_with("cuda") && t.text[4] >= 'A' &&
               t.text[4] <= 'Z' && !one_of(t.text, {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"})) {
      out.push_back(
          {"", t.text + "() is a call to the CUDA runtime; cutegen performs allocations, copies and launches from the plan", t.line});
    } else if (t.kind == TokenKind::word && call &&
               one_of(t.text, {"getenv", "system", "popen", "fopen", "dlopen", "dlsym", "fork", "pthread_create", "PYBIND11_MODULE",
                               "TORCH_LIBRARY"})) {
      out.push_back({"", t.text + "() is host code: a candidate is device code and a plan", t.line});
    } else if (t.is("torch") && at(tokens, i + 1).is("::")) {
      out.push_back({"", "torch:: is host code: a candidate is device code and a plan", t.line});
    }
  }
}

// --- inline assembly
// -----------------------------------------------------------------------------------------------------------------------

bool holds_word(std::string_view text, std::string_view word) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '.' || c == '$'; };
  for (size_t p = text.find(word); p != std::string_view::npos; p = text.find(word, p + 1)) {
    // An escape such as \n or \t may touch the word.
    const bool begins = p == 0 || !part(text[p - 1]) || (p > 1 && text[p - 2] == '\\');
    const size_t end = p + word.size();
    if (begins && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

void no_asm_exit(const Candidate&, const Tokens& tokens, Findings& out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("asm") && !tokens[i].is("__asm__") && !tokens[i].is("__asm")) continue;
    size_t open = i + 1;
    while (at(tokens, open).is("volatile") || at(tokens, open).is("__volatile__") || at(tokens, open).is("goto") ||
           at(tokens, open).is("inline"))
      ++open;
    if (!at(tokens, open).is("(")) continue;
    const size_t end = skip_group(tokens, open);
    std::string text;  // adjacent literals are one
    for (size_t k = open; k < end; ++k) {
      if (tokens[k].is(":")) break;
      if (tokens[k].kind == TokenKind::string) text += tokens[k].text;
    }
    for (const std::string_view word : {"exit", "trap", "brkpt"})
      if (holds_word(text, word))
        out.push_back({"", fmt::format("inline asm with '{}': a kernel ends by returning", word), tokens[i].line});
  }
}

// --- state that outlives a launch
// ------------------------------------------------------------------------------------------------------------

// Macros of the candidate whose replacement holds one of the memory-space words.
std::set<std::string> space_words(const Tokens& tokens) {
  std::set<std::string> words{"__device__", "__managed__", "CUTE_DEVICE", "CUTE_HOST_DEVICE", "CUTLASS_DEVICE", "CUTLASS_HOST_DEVICE"};
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != TokenKind::directive || tokens[i].text != "define") continue;
      for (size_t k = i + 2; k < tokens.size() && tokens[k].kind != TokenKind::directive_end; ++k)
        if (words.contains(tokens[k].text) && words.insert(at(tokens, i + 1).text).second) grew = true;
    }
  }
  return words;
}

// What a declaration with a memory-space word declares.
struct Declaration {
  bool variable = false;
  bool constant = false;
  bool shared = false;
  std::string name;
};

// Specifiers that carry parentheses of their own.
bool takes_parentheses(const Token& t) {
  return t.kind == TokenKind::word && one_of(t.text, {"__align__", "alignas", "__attribute__", "decltype", "__launch_bounds__",
                                                      "__maxnreg__", "__cluster_dims__", "explicit", "noexcept", "requires"});
}

// Does the group in parentheses behind a declared name hold initial values rather than parameter declarations?
bool looks_like_values(const Tokens& tokens, size_t open) {
  const Token& first = at(tokens, open + 1);
  return first.kind == TokenKind::number || first.kind == TokenKind::string || first.kind == TokenKind::character || first.is("-") ||
         first.is("+") || first.is("!") || first.is("~") || first.is("(") || first.is("sizeof") || first.is("true") || first.is("false") ||
         first.is("nullptr");
}

// The declaration that the specifier at i belongs to.
Declaration classify(const Tokens& tokens, size_t i) {
  Declaration d;
  if (i > 0 && tokens[i - 1].is("]")) return d;  // a lambda
  if (tokens[i].text.find("__") != 0 &&
      at(tokens, i + 1).is("(")) {  // a macro with arguments; initialised or an array, it declares a variable
    const Token& behind = at(tokens, skip_group(tokens, i + 1));
    d.variable = behind.is("=") || behind.is("[");
    d.name = tokens[i].text;
    return d;
  }
  while (i > 0 && (tokens[i - 1].kind == TokenKind::word || tokens[i - 1].kind == TokenKind::string)) --i;
  int angle = 0;
  for (; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (takes_parentheses(t) && at(tokens, i + 1).is("(")) {
      i = skip_group(tokens, i + 1) - 1;
    } else if (t.is("<")) {
      ++angle;
    } else if (t.is(">") && angle > 0) {
      --angle;
    } else if (angle > 0) {
      continue;
    } else if (t.is("constexpr") || t.is("operator")) {
      return {};  // immutable, or a function
    } else if (t.is("const")) {
      d.constant = true;
    } else if (t.is("*") || t.is("&")) {
      d.constant = false;  // what it points to is constant, it is not
    } else if (t.is("__shared__")) {
      d.shared = true;
    } else if (t.is("(") && !looks_like_values(tokens, i)) {
      return {};  // a function
    } else if (t.is("(") || t.is("=") || t.is(";") || t.is("[") || t.is("{")) {
      d.variable = true;
      return d;
    } else if (t.kind == TokenKind::word) {
      d.name = t.text;
    } else if (t.is("}") || t.kind == TokenKind::directive || t.kind == TokenKind::directive_end) {
      return {};
    }
  }
  return {};
}

void no_persistent_state(const Candidate&, const Tokens& tokens, Findings& out) {
  const std::set<std::string> spaces = space_words(tokens);
  int depth = 0;
  int last_line = 0;
  bool in_define = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind == TokenKind::directive) in_define = t.text == "define";
    if (t.kind == TokenKind::directive_end) in_define = false;
    if (t.is("{")) ++depth;
    if (t.is("}")) --depth;
    const bool local_static = t.is("static") && depth > 0 && !in_define;
    if (t.kind != TokenKind::word || (!spaces.contains(t.text) && !local_static)) continue;
    if ((t.text == "__device__" || t.text == "__managed__") && (at(tokens, i + 1).is(",") || at(tokens, i + 1).is(")")))
      out.push_back({"", t.text + " as the argument of a macro hides what is declared", t.line});
    const Declaration d = classify(tokens, i);
    if (!d.variable || d.constant || d.shared || t.line == last_line) continue;
    last_line = t.line;
    out.push_back({"", fmt::format("'{}' keeps its value between launches; use cutegen::workspace() or make it const", d.name), t.line});
  }
}

// --- what a candidate must hold
// ----------------------------------------------------------------------------------------------------------------

void has_plan(const Candidate&, const Tokens& tokens, Findings& out) {
  int plans = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("CUTEGEN_PLAN") || !at(tokens, i + 1).is("(")) continue;
    if (++plans == 2) out.push_back({"", "a second CUTEGEN_PLAN: a candidate has exactly one", tokens[i].line});
  }
  if (plans == 0) out.push_back({"", "no CUTEGEN_PLAN(cutegen::plan(...)): nothing says what to launch", 0});
}

bool is_cute_name(std::string_view name) {
  for (const std::string_view prefix :
       {"SM75_", "SM80_", "SM89_", "SM90_", "SM100_", "make_tiled_", "make_tma_", "make_gmem_ptr", "make_smem_ptr", "GMMA"})
    if (name.starts_with(prefix)) return true;
  return one_of(name, {"make_tensor",
                       "make_tensor_like",
                       "make_fragment_like",
                       "make_layout",
                       "make_identity_tensor",
                       "make_counting_tensor",
                       "make_rmem_tensor",
                       "Layout",
                       "ComposedLayout",
                       "Tensor",
                       "Copy_Atom",
                       "MMA_Atom",
                       "TiledMMA",
                       "TiledCopy",
                       "local_tile",
                       "local_partition",
                       "flat_divide",
                       "logical_divide",
                       "zipped_divide",
                       "tiled_divide",
                       "composition",
                       "tile_to_shape",
                       "recast",
                       "cosize",
                       "cosize_v",
                       "copy_aligned",
                       "Swizzle",
                       "UniversalCopy",
                       "UniversalFMA",
                       "AutoVectorizingCopy",
                       "AutoVectorizingCopyWithAssumedAlignment"});
}

// Layouts, tensors or atoms in code that names them as CuTe's. An included header, a comment or a using directive is not enough.
void uses_cute(const Candidate& candidate, const Tokens& tokens, Findings& out) {
  if (candidate.backend != Backend::cute) return;
  bool included = false;
  bool opened = false;  // using namespace cute
  int uses = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind == TokenKind::header && (t.text.find("cute/") != std::string::npos || t.text.find("cutlass/") != std::string::npos ||
                                        t.text.find("cutegen/") != std::string::npos))
      included = true;
    if (t.is("using") && at(tokens, i + 1).is("namespace") && at(tokens, i + 2).is("cute")) opened = true;
    if (t.kind != TokenKind::word || !is_cute_name(t.text)) continue;
    const bool qualified = i >= 2 && tokens[i - 1].is("::") && tokens[i - 2].is("cute");
    const bool foreign = i >= 1 && ((tokens[i - 1].is("::") && !qualified) || tokens[i - 1].is("struct") || tokens[i - 1].is("class"));
    const bool used = at(tokens, i + 1).is("(") || at(tokens, i + 1).is("<") || at(tokens, i + 1).is("{") || at(tokens, i + 1).is("::") ||
                      at(tokens, i + 1).is(",") || at(tokens, i + 1).is(">");
    if (used && !foreign && (qualified || opened)) ++uses;
  }
  if (!included || uses == 0)
    out.push_back({"",
                   "the backend is 'cute', but the code uses none of CuTe's layouts, tensors or atoms (cute::make_tensor, "
                   "cute::make_layout, cute::Copy_Atom ...)",
                   0});
}

struct Rule {
  const char* name;
  void (*check)(const Candidate&, const Tokens&, Findings&);
};

constexpr std::array kRules = {
    Rule{"has_plan", has_plan},         Rule{"include_allowed", include_allowed}, Rule{"directive_allowed", directive_allowed},
    Rule{"no_host_code", no_host_code}, Rule{"no_asm_exit", no_asm_exit},         Rule{"no_persistent_state", no_persistent_state},
    Rule{"uses_cute", uses_cute},
};

}  // namespace

std::vector<PolicyFinding> check_policy(const Candidate& candidate) {
  const Tokens tokens = tokenize_cuda(candidate.source);
  Findings all;
  for (const Rule& rule : kRules) {
    const size_t before = all.size();
    rule.check(candidate, tokens, all);
    for (size_t i = before; i < all.size(); ++i) all[i].rule = rule.name;
  }
  return all;
}

}  // namespace cutegen
