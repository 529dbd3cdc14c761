// What doctor looks for.
#pragma once

#include <string>
#include <vector>

namespace cutegen::cli {

struct Finding {
  std::string what;  // "nvcc", "GPU", ...
  bool found = false;
  bool essential = true;  // without it no candidate can be built, or no task be read
  std::string version;
  std::string where;  // path, or why it was not found
  std::string hint;   // what to do when it is missing
};

// Every finding, in the order in which they are needed. Starts Python and, where there is one, reaches for the GPU: takes seconds.
std::vector<Finding> check_machine();

}  // namespace cutegen::cli
