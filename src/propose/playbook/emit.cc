#include "propose/playbook/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace cutegen::playbook {

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Json head(const Task& task, const std::string& strategy, const Json& config) {
  auto tensors = [](const std::vector<TensorSpec>& specs) {
    std::vector<std::string> parts;
    for (const TensorSpec& s : specs) parts.push_back(fmt::format("{} {} {}", s.name, to_string(s.dtype), shape_text(s.shape)));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  std::vector<std::string> knobs;
  for (const auto& [key, value] : config.items())
    if (key != "schema") knobs.push_back(fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  Json facts = Json::array();
  facts.push_back({{"text", "Inputs:   " + tensors(task.inputs)}});
  if (!task.params.empty()) facts.push_back({{"text", "Params:   " + tensors(task.params)}});
  facts.push_back({{"text", "Outputs:  " + tensors(task.outputs)}});
  facts.push_back({{"text", "Strategy: " + strategy}});
  facts.push_back({{"text", fmt::format("Config:   {}", fmt::join(knobs, ", "))}});
  return {{"title", task.name}, {"facts", facts}};
}

std::string kernel_name(const Task& task) {
  std::string out;
  for (const char c : task.name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "k" + out;
  return out;
}

std::string output_name(size_t index) { return fmt::format("out{}", index); }

namespace {

int leaf_slot(const Fusion& fusion, ValueRef leaf) {
  return json_or<int>(fusion.graph().nodes[static_cast<size_t>(leaf.node)].attrs, "index", 0);
}

}  // namespace

std::string buffer_name(const Fusion& fusion, ValueRef leaf) {
  const Node& node = fusion.graph().nodes[static_cast<size_t>(leaf.node)];
  return fmt::format("{}{}", node.op == "input" ? "in" : "param", leaf_slot(fusion, leaf));
}

Buffers buffers(const Task& task, const Fusion& fusion) {
  Buffers out;
  std::set<std::string> seen;
  for (const Expr& expr : fusion.exprs()) {
    if (expr.kind != Expr::Kind::leaf || !seen.insert(buffer_name(fusion, expr.ref)).second) continue;
    const Node& node = fusion.graph().nodes[static_cast<size_t>(expr.ref.node)];
    out.params.push_back({{"declaration", fmt::format("{} const* __restrict__ {}", cuda_type(expr.dtype), buffer_name(fusion, expr.ref))}});
    out.args.push_back({{"arg", fmt::format("cutegen::{}({})", node.op, leaf_slot(fusion, expr.ref))}});
  }
  for (size_t i = 0; i < task.outputs.size(); ++i) {
    out.params.push_back({{"declaration", fmt::format("{}* __restrict__ {}", cuda_type(task.outputs[i].dtype), output_name(i))}});
    out.args.push_back({{"arg", fmt::format("cutegen::output({})", i)}});
  }
  return out;
}

std::string load_how(const Fusion& fusion, const Expr& leaf, int group, int vec) {
  const Access access = access_of(leaf.layout, group, vec);
  if (access == Access::splat) return "Splat";
  if (access == Access::gather && vec > 1) return "Gather";
  int64_t distinct = 1;
  for (const Mode& m : leaf.layout.modes)
    if (m.stride != 0) distinct *= m.size;
  const bool once = distinct == leaf.layout.size() && distinct == fusion.domain().whole.size();
  return once ? "Streaming" : "Cached";
}

std::string rows_tuple(const Layout& layout, const char* what) {
  auto part = [&](int group) {
    const std::vector<Mode> modes = only(layout, group).modes;
    return std::string_view(what) == "Shape" ? cute_shape(modes) : cute_stride(modes);
  };
  return fmt::format("{}<{}, {}, {}>", what, part(kOuter), part(kReduced), part(kInner));
}

Json rows_leaf(const Fusion& fusion, const Expr& leaf, int vec_group, int vec) {
  return {{"name", leaf.name},
          {"type", value_type(leaf.dtype)},
          {"shape", rows_tuple(leaf.layout, "Shape")},
          {"stride", rows_tuple(leaf.layout, "Stride")},
          {"buffer", buffer_name(fusion, leaf.ref)},
          {"offset", leaf.layout.offset == 0 ? "" : fmt::format(" + {}", leaf.layout.offset)},
          {"how", load_how(fusion, leaf, vec_group, vec)}};
}

Json lines(const std::vector<std::string>& text) {
  Json out = Json::array();
  for (const std::string& line : text) out.push_back({{"line", line}});
  return out;
}

Result<Json> statements(const Fusion& fusion, const std::vector<int>& ops) {
  Json out = Json::array();
  for (const int id : ops) {
    CUTEGEN_TRY(const std::string line, fusion.statement(id));
    out.push_back({{"line", line}});
  }
  return out;
}

const char* index_type(int64_t reach) { return reach < (int64_t{1} << 31) - (int64_t{1} << 22) ? "int" : "int64_t"; }

}  // namespace cutegen::playbook
