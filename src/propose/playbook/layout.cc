#include "propose/playbook/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace cutegen::playbook {
namespace {

int64_t wrap(int64_t dim, size_t rank) { return dim < 0 ? dim + static_cast<int64_t>(rank) : dim; }

Layout strided(const Shape& shape, const Shape& strides, int64_t offset = 0) {
  Layout layout;
  layout.offset = offset;
  for (size_t i = 0; i < shape.size(); ++i) layout.modes.push_back({shape[i], strides[i], 0});
  return layout;
}

// The pieces into which one inner mode falls on the outer modes, innermost first. Adds each piece's reach to `reach`, by outer mode.
std::optional<std::vector<Mode>> place(const Layout& outer, const Mode& mode, std::vector<int64_t>& reach) {
  if (mode.size == 1 || mode.stride == 0) return std::vector<Mode>{{mode.size, 0, mode.group}};
  std::vector<Mode> pieces;
  int64_t size = mode.size, stride = mode.stride;
  for (size_t k = outer.modes.size(); k-- > 0 && size > 1;) {
    const Mode& o = outer.modes[k];
    if (stride % o.size == 0 && k > 0) {
      stride /= o.size;
      continue;
    }
    if (k > 0 && o.size % stride != 0) return std::nullopt;
    const int64_t room = k > 0 ? o.size / stride : size;
    const int64_t taken = std::min(room, size);
    if (size % taken != 0) return std::nullopt;
    pieces.push_back({taken, o.stride * stride, mode.group});
    reach[k] += (taken - 1) * stride;
    size /= taken;
    stride = 1;
  }
  if (size > 1) return std::nullopt;
  return pieces;
}

}  // namespace

int64_t Layout::size() const {
  int64_t n = 1;
  for (const Mode& m : modes) n *= m.size;
  return n;
}

int64_t Layout::operator()(int64_t linear) const {
  int64_t index = offset;
  for (size_t k = modes.size(); k-- > 0;) {
    index += linear % modes[k].size * modes[k].stride;
    linear /= modes[k].size;
  }
  return index;
}

Layout dense(const Shape& shape) { return strided(shape, contiguous_strides(shape)); }

Layout coalesce(const Layout& layout) {
  Layout out;
  out.offset = layout.offset;
  for (const Mode& m : layout.modes) {
    if (m.size == 1) continue;
    if (!out.modes.empty()) {
      Mode& last = out.modes.back();
      if (last.group == m.group && last.stride == m.size * m.stride) {
        last = {last.size * m.size, m.stride, m.group};
        continue;
      }
    }
    out.modes.push_back(m);
  }
  return out;
}

std::optional<Layout> compose(const Layout& outer_in, const Layout& inner) {
  if (outer_in.size() == 0 || inner.size() == 0) {  // no element: any strides will do
    Layout out = inner;
    for (Mode& m : out.modes) m.stride = 0;
    return out;
  }
  Layout outer = outer_in;
  std::erase_if(outer.modes, [](const Mode& m) { return m.size == 1; });
  Layout out;
  out.offset = outer(inner.offset);
  if (outer.modes.empty()) {  // a single element
    for (const Mode& m : inner.modes) out.modes.push_back({m.size, 0, m.group});
    return out;
  }
  std::vector<int64_t> reach(outer.modes.size(), 0);
  for (int64_t k = static_cast<int64_t>(outer.modes.size()) - 1, rest = inner.offset; k >= 0; --k) {
    reach[static_cast<size_t>(k)] = rest % outer.modes[static_cast<size_t>(k)].size;
    rest /= outer.modes[static_cast<size_t>(k)].size;
  }
  for (const Mode& m : inner.modes) {
    auto pieces = place(outer, m, reach);
    if (!pieces) return std::nullopt;
    out.modes.insert(out.modes.end(), pieces->rbegin(), pieces->rend());
  }
  // No carry from one outer mode into the next, or the sum of the parts would not be the index of the sum.
  for (size_t k = 0; k < reach.size(); ++k)
    if (reach[k] >= outer.modes[k].size) return std::nullopt;
  return out;
}

std::optional<Layout> broadcast(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return std::nullopt;
  const Shape strides = contiguous_strides(from);
  Layout layout;
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t skipped = to.size() - from.size();
    if (i < skipped) {
      layout.modes.push_back({to[i], 0, 0});
      continue;
    }
    const int64_t size = from[i - skipped];
    if (size != to[i] && size != 1) return std::nullopt;
    layout.modes.push_back({to[i], size == 1 ? 0 : strides[i - skipped], 0});
  }
  return layout;
}

bool is_view(const std::string& op) {
  static const std::vector<std::string> same_order{"view",      "reshape", "_unsafe_view", "unsqueeze",      "squeeze",    "flatten",
                                                   "unflatten", "view_as", "reshape_as",   "_reshape_alias", "unsafe_view"};
  static const std::vector<std::string> moving{"expand", "expand_as", "permute", "transpose", "t", "slice", "select", "broadcast_to"};
  return std::ranges::find(same_order, op) != same_order.end() || std::ranges::find(moving, op) != moving.end();
}

std::optional<Layout> view_layout(const Node& node, const Shape& from) {
  if (!is_view(node.op) || node.outputs.empty()) return std::nullopt;
  const Shape& to = node.outputs.front().shape;
  const Shape strides = contiguous_strides(from);
  const auto rank = from.size();
  if (node.op == "expand" || node.op == "expand_as" || node.op == "broadcast_to") return broadcast(from, to);
  if (node.op == "t") return rank == 2 ? strided(to, {strides[1], strides[0]}) : dense(to);
  if (node.op == "transpose") {
    Shape s = strides;
    const auto a = wrap(json_or<int64_t>(node.attrs, "dim0", 0), rank), b = wrap(json_or<int64_t>(node.attrs, "dim1", 1), rank);
    std::swap(s.at(static_cast<size_t>(a)), s.at(static_cast<size_t>(b)));
    return strided(to, s);
  }
  if (node.op == "permute") {
    Shape s;
    for (const int64_t d : json_or<std::vector<int64_t>>(node.attrs, "dims", {}))
      s.push_back(strides.at(static_cast<size_t>(wrap(d, rank))));
    return s.size() == to.size() ? std::optional(strided(to, s)) : std::nullopt;
  }
  if (node.op == "slice" || node.op == "select") {
    const auto dim = static_cast<size_t>(wrap(json_or<int64_t>(node.attrs, "dim", 0), rank));
    int64_t start = json_or<int64_t>(node.attrs, node.op == "slice" ? "start" : "index", 0);
    if (start < 0) start += from.at(dim);
    start = std::clamp<int64_t>(start, 0, from.at(dim));
    Shape s = strides;
    const int64_t offset = start * strides.at(dim);
    if (node.op == "select")
      s.erase(s.begin() + static_cast<int64_t>(dim));
    else
      s[dim] *= json_or<int64_t>(node.attrs, "step", 1);
    return strided(to, s, offset);
  }
  return dense(to);  // the same elements in the same order
}

Layout only(const Layout& layout, int group) {
  Layout out;
  for (const Mode& m : layout.modes)
    if (m.group == group) out.modes.push_back(m);
  return coalesce(out);
}

namespace {

std::string cute_int(int64_t v) { return v > INT32_MAX ? fmt::format("C<{}L>", v) : fmt::format("Int<{}>", v); }

std::string cute_tuple(const std::vector<Mode>& modes, const char* what, int64_t Mode::*member, int64_t scalar) {
  if (modes.empty()) return cute_int(scalar);
  if (modes.size() == 1) return cute_int(modes[0].*member);
  std::vector<std::string> parts;
  for (auto it = modes.rbegin(); it != modes.rend(); ++it) parts.push_back(cute_int((*it).*member));
  return fmt::format("{}<{}>", what, fmt::join(parts, ", "));
}

}  // namespace

std::string cute_shape(const std::vector<Mode>& modes) { return cute_tuple(modes, "Shape", &Mode::size, 1); }
std::string cute_stride(const std::vector<Mode>& modes) { return cute_tuple(modes, "Stride", &Mode::stride, 0); }

const char* to_string(Access access) {
  switch (access) {
    case Access::vector: return "vector";
    case Access::splat: return "splat";
    case Access::gather: return "gather";
  }
  return "gather";
}

Access access_of(const Layout& layout, int group, int vec) {
  const Layout along = only(layout, group);
  if (along.modes.empty()) return Access::splat;
  const Mode& innermost = along.modes.back();
  if (innermost.stride == 0 && innermost.size % vec == 0) return Access::splat;
  if (innermost.stride != 1 || innermost.size % vec != 0 || layout.offset % vec != 0) return Access::gather;
  const Layout whole = coalesce(layout);
  for (const Mode& m : whole.modes)
    if (!(m == innermost) && m.stride % vec != 0) return Access::gather;
  return Access::vector;
}

}  // namespace cutegen::playbook
