// Compiler output boiled down. Understands nvcc's device compiler (an EDG front end), the gcc and clang preprocessors in front of it,
// ptxas, and nvcc's own words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidate/build.h"

namespace cutegen {

// The candidate as the compilers see it; messages name it so.
inline constexpr const char* kSourceName = "candidate.cu";

struct DiagnosticContext {
  std::string_view source;  // the candidate's text: user lines are quoted from it
  std::string_view ptx;     // with .loc lines, to lead ptxas' messages back to the source; may be empty
};

// Errors in order of appearance (so that the first is the real one), then warnings, then advisories ("(C7510) Potential Performance Loss
// ..."). Duplicates are folded; notes and follow-up chatter are left to the raw log.
std::vector<Diagnostic> parse_diagnostics(std::string_view log, const DiagnosticContext& context);

// "cute/atom/copy_atom.hpp" for ".../include/cute/atom/copy_atom.hpp".
std::string as_included(std::string_view path);

// "cute::Copy_Atom<...>::call" for a signature as compilers print it.
std::string short_function(std::string_view signature);

// The line of the candidate that PTX line `line` (1-based) comes from, through inlined functions; 0 when the PTX does not tell.
int source_line_of_ptx(std::string_view ptx, int line);

}  // namespace cutegen
