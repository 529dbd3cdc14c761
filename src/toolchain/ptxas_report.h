// What `ptxas -v` says about each kernel.
#pragma once

#include <string_view>
#include <vector>

#include "candidate/build.h"

namespace cutegen {

// One record an entry function, in order of appearance.
std::vector<KernelResources> parse_ptxas_report(std::string_view log);

}  // namespace cutegen
