#include "task/task.h"

#include <fmt/format.h>

#include <iterator>

#include "base/hash.h"

namespace cutegen {
namespace {

Result<std::vector<TensorSpec>> specs_from_json(const Json& j, const char* key) {
  std::vector<TensorSpec> specs;
  const auto list = j.find(key);
  if (list == j.end() || !list->is_array()) return Error{Errc::protocol, std::string("a task needs an array '") + key + "'", "", ""};
  for (const Json& item : *list) {
    CUTEGEN_TRY(TensorSpec spec, tensor_spec_from_json(item));
    specs.push_back(std::move(spec));
  }
  return specs;
}

void append_struct(std::string& out, const std::string& id, const TensorSpec& spec) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "struct {} {{  // {}\n", id, spec.name.empty() ? "unnamed" : spec.name);
  fmt::format_to(to, "  using type = {};\n", cuda_type(spec.dtype));
  fmt::format_to(to, "  static constexpr int rank = {};\n", spec.shape.size());
  // A zero-length array is no C++: a scalar has one entry that nothing may read.
  fmt::format_to(to, "  static constexpr int64_t shape[{}] = {{{}}};\n", spec.shape.empty() ? 1 : spec.shape.size(),
                 spec.shape.empty() ? std::string("1") : fmt::format("{}", fmt::join(spec.shape, ", ")));
  fmt::format_to(to, "  static constexpr int64_t elements = {};\n", spec.elements());
  fmt::format_to(to, "  static constexpr int64_t bytes = {};\n}};\n", spec.bytes());
}

void append_list(std::string& out, const char* list, const char* id, size_t count) {
  fmt::format_to(std::back_inserter(out), "using {} = tensors<", list);
  for (size_t i = 0; i < count; ++i) fmt::format_to(std::back_inserter(out), "{}{}{}", i == 0 ? "" : ", ", id, i);
  out += ">;\n";
}

}  // namespace

std::string Task::hash() const {
  Json facts = to_json(*this);
  facts.erase("path");
  facts.erase("warnings");
  return Hasher().add("task-1").add(facts.dump()).hex();
}

Json to_json(const Task& task) {
  Json warnings = Json::array();
  for (const Warning& w : task.warnings) warnings.push_back(Json{{"code", w.code}, {"message", w.message}});
  Json j{{"name", task.name},
         {"path", task.path.string()},
         {"source", task.source},
         {"inputs", task.inputs},
         {"params", task.params},
         {"outputs", task.outputs},
         {"train_mode", task.train_mode},
         {"stochastic", task.stochastic},
         {"tf32_matmul", task.tf32_matmul},
         {"tf32_conv", task.tf32_conv},
         {"opaque_reason", task.opaque_reason},
         {"warnings", warnings}};
  if (task.graph) j["graph"] = to_json(*task.graph);
  return j;
}

Result<Task> task_from_json(const Json& j) {
  if (!j.is_object()) return Error{Errc::protocol, "a task is a JSON object", "", ""};
  Task task;
  CUTEGEN_TRY(task.name, json_get<std::string>(j, "name"));
  task.path = json_or<std::string>(j, "path", "");
  task.source = json_or<std::string>(j, "source", "");
  CUTEGEN_TRY(task.inputs, specs_from_json(j, "inputs"));
  CUTEGEN_TRY(task.params, specs_from_json(j, "params"));
  CUTEGEN_TRY(task.outputs, specs_from_json(j, "outputs"));
  task.train_mode = json_or(j, "train_mode", true);
  task.stochastic = json_or(j, "stochastic", false);
  task.tf32_matmul = json_or(j, "tf32_matmul", false);
  task.tf32_conv = json_or(j, "tf32_conv", true);
  task.opaque_reason = json_or<std::string>(j, "opaque_reason", "");
  if (const auto graph = j.find("graph"); graph != j.end() && !graph->is_null()) {
    CUTEGEN_TRY(task.graph, graph_from_json(*graph));
    if (task.graph->outputs.size() != task.outputs.size())
      return Error{Errc::protocol, "the graph's outputs do not match the task's", "", ""};
  }
  if (const auto warnings = j.find("warnings"); warnings != j.end() && warnings->is_array())
    for (const Json& w : *warnings) task.warnings.push_back({json_or<std::string>(w, "code", ""), json_or<std::string>(w, "message", "")});
  return task;
}

std::string task_header(const Task& task) {
  std::string out = fmt::format(
      "// Facts of the task {}, generated: shapes are row-major and dense.\n#pragma once\n\n#include <cuda_bf16.h>\n#include "
      "<cuda_fp16.h>\n\n#include <cstdint>\n\nnamespace task {{\n",
      task.name);
  fmt::format_to(std::back_inserter(out),
                 "inline constexpr int num_inputs = {};\ninline constexpr int num_params = {};\ninline constexpr int num_outputs = {};\n",
                 task.inputs.size(), task.params.size(), task.outputs.size());
  for (size_t i = 0; i < task.inputs.size(); ++i) append_struct(out, fmt::format("in{}", i), task.inputs[i]);
  for (size_t i = 0; i < task.params.size(); ++i) append_struct(out, fmt::format("param{}", i), task.params[i]);
  for (size_t i = 0; i < task.outputs.size(); ++i) append_struct(out, fmt::format("out{}", i), task.outputs[i]);
  // kernels/include/cutegen/kernel.cuh checks a candidate's plan against these lists.
  out += "template <class... Tensors>\nstruct tensors {};\n";
  append_list(out, "inputs", "in", task.inputs.size());
  append_list(out, "params", "param", task.params.size());
  append_list(out, "outputs", "out", task.outputs.size());
  return out + "}  // namespace task\n";
}

}  // namespace cutegen
