// Pieces of template parameters that every fusing schema needs: the file's head, the kernel's buffers, the tensors that it loads.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "propose/playbook/fusion.h"
#include "task/task.h"

namespace cutegen::playbook {

// {"title", "facts": [{"text"}]} for the head partial: the task, its shapes, the strategy, the configuration.
Json head(const Task& task, const std::string& strategy, const Json& config);

// A kernel identifier made from the task's name: "softmax_23" from "23_Softmax".
std::string kernel_name(const Task& task);

std::string shape_text(const Shape& shape);  // "[4096, 393216]"

// The kernel's pointer parameters: every input and parameter that `fusion` loads, then every output.
struct Buffers {
  Json params = Json::array();  // {"declaration": "float const* __restrict__ x"}
  Json args = Json::array();    // {"arg": "cutegen::input(0)"}
};
Buffers buffers(const Task& task, const Fusion& fusion);
std::string buffer_name(const Fusion& fusion, ValueRef leaf);
std::string output_name(size_t index);

// How `vec` neighbours along `group` of a leaf are loaded: "Streaming", "Cached", "Splat", "Gather" (tile.cuh).
std::string load_how(const Fusion& fusion, const Expr& leaf, int group, int vec);

// A tuple over the groups of an [outer, R, inner] domain as CuTe writes it: `what` is "Shape" or "Stride".
std::string rows_tuple(const Layout& layout, const char* what);
// A leaf of such a domain, for a template: {"name", "type", "shape", "stride", "buffer", "offset", "how"}.
Json rows_leaf(const Fusion& fusion, const Expr& leaf, int vec_group, int vec);

// C++ strings as one-member objects for a section: [{"line": "..."}].
Json lines(const std::vector<std::string>& text);
// The statements of `ops`, in order.
Result<Json> statements(const Fusion& fusion, const std::vector<int>& ops);

// "int" when every index up to `reach` (elements, with room for one tile) fits, else "int64_t".
const char* index_type(int64_t reach);

}  // namespace cutegen::playbook
