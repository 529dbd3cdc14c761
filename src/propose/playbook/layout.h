// A small layout algebra on the host: how the linear index of one tensor follows from the linear index of another.
//
// The same idea as CuTe's layouts (shape : stride, composition, coalescing), so that what is found here is printed into a kernel as
// a CuTe layout. Modes are listed outermost first (row-major, as PyTorch writes shapes); CuTe lists them innermost first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/graph.h"

namespace cutegen::playbook {

struct Mode {
  int64_t size = 1;
  int64_t stride = 0;  // elements
  int group = 0;       // a label that survives composition: which part of the domain this mode came from
  bool operator==(const Mode&) const = default;
};

// index = offset + sum over modes of coordinate * stride; the coordinates are those of a row-major linear index over the sizes.
struct Layout {
  std::vector<Mode> modes;
  int64_t offset = 0;
  bool operator==(const Layout&) const = default;

  int64_t size() const;
  int64_t operator()(int64_t linear) const;  // for tests and checks
};

Layout dense(const Shape& shape);  // the identity over a row-major tensor, one mode a dimension

// Drops modes of size 1 and merges neighbours of the same group that run on.
Layout coalesce(const Layout& layout);

// outer(inner(i)): nullopt when the result is not a layout (an inner mode straddles outer modes unevenly).
std::optional<Layout> compose(const Layout& outer, const Layout& inner);

// Row-major index over `to` -> row-major index of the tensor of shape `from`, PyTorch's broadcasting. nullopt when it does not broadcast.
std::optional<Layout> broadcast(const Shape& from, const Shape& to);

// For an operator that only views its argument (view, unsqueeze, expand, permute, slice ...): its output's index -> its argument's
// index. nullopt when the operator is not a view.
std::optional<Layout> view_layout(const Node& node, const Shape& from);
bool is_view(const std::string& op);

// Only the modes of one group (offset dropped).
Layout only(const Layout& layout, int group);

// As a CuTe type, innermost mode first: "Layout<Shape<Int<8>, Int<4>>, Stride<Int<1>, Int<0>>>". `group` -1: all modes.
std::string cute_shape(const std::vector<Mode>& modes);
std::string cute_stride(const std::vector<Mode>& modes);

// How V neighbours along the innermost modes of `group` lie in memory.
enum class Access {
  vector,  // contiguous and V-aligned: one wide access
  splat,   // all the same element
  gather,  // anything else: V scalar accesses
};
const char* to_string(Access access);
Access access_of(const Layout& layout, int group, int vec);

}  // namespace cutegen::playbook
