#include "cli/inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cutegen::cli {
namespace {

std::string describe(const TensorSpec& t) { return fmt::format("{} [{}] {}", t.name, fmt::join(t.shape, ", "), to_string(t.dtype)); }

std::string tensors(const char* what, const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) text += fmt::format("{:<10}{}\n", what, describe(spec));
  return text;
}

std::string describe(const Arg& arg) {
  if (const auto* value = std::get_if<ValueRef>(&arg))
    return value->index == 0 ? fmt::format("%{}", value->node) : fmt::format("%{}.{}", value->node, value->index);
  if (const auto* number = std::get_if<double>(&arg)) return fmt::format("{}", *number);
  return "none";
}

std::string describe(const Graph& graph) {
  std::string text;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<std::string> args;
    for (const Arg& arg : node.args) args.push_back(describe(arg));
    for (const auto& [key, value] : node.attrs.items()) args.push_back(key + "=" + value.dump());
    const std::string shape = node.outputs.empty() ? ""
                                                   : fmt::format(" -> [{}] {}", fmt::join(node.outputs.front().shape, ", "),
                                                                 to_string(node.outputs.front().dtype));
    text += fmt::format("  %{} = {}({}){}\n", i, node.op, fmt::join(args, ", "), shape);
  }
  return text;
}

}  // namespace

Inspection inspect_task(const Task& task, const OracleInfo& oracle) {
  const GpuRates& rates = rates_for(oracle.device_name);
  Inspection inspection{task, analyse(task, rates), rates, oracle.on_gpu, task.warnings};
  for (Warning& warning : graph_warnings(task)) inspection.warnings.push_back(std::move(warning));
  return inspection;
}

std::string to_text(const Inspection& i) {
  std::string text = fmt::format("{:<10}{} ({})\n", "task", i.task.name, i.analysis.op_class);
  text += tensors("input", i.task.inputs) + tensors("param", i.task.params) + tensors("output", i.task.outputs);
  text += i.task.graph ? fmt::format("{:<10}{} nodes\n{}", "graph", i.task.graph->nodes.size(), describe(*i.task.graph))
                       : fmt::format("{:<10}none: {}\n", "graph", i.task.opaque_reason);
  text += fmt::format("{:<10}{:.4g} MB in, {:.4g} MB out\n", "bytes", 1e-6 * static_cast<double>(i.analysis.input_bytes),
                      1e-6 * static_cast<double>(i.analysis.output_bytes));
  text += fmt::format("{:<10}{:.4g} GFLOP, {:.4g} of them in contractions\n", "work", 1e-9 * i.analysis.flops,
                      1e-9 * i.analysis.contraction_flops);
  text +=
      fmt::format("{:<10}{:.4g} ms on {}{} (memory {:.4g} ms, arithmetic {:.4g} ms)\n", "floor", 1e3 * i.analysis.floor_s(), i.rates.name,
                  i.gpu_here ? "" : ", which is not here", 1e3 * i.analysis.memory_floor_s, 1e3 * i.analysis.compute_floor_s);
  for (const Warning& warning : i.warnings) text += fmt::format("{:<10}{}: {}\n", "warning", warning.code, warning.message);
  text.pop_back();
  return text;
}

Json to_json(const Inspection& i) {
  Json warnings = Json::array();
  for (const Warning& warning : i.warnings) warnings.push_back(Json{{"code", warning.code}, {"message", warning.message}});
  return Json{{"task", to_json(i.task)},
              {"task_hash", i.task.hash()},
              {"analysis",
               {{"op_class", i.analysis.op_class},
                {"input_bytes", i.analysis.input_bytes},
                {"output_bytes", i.analysis.output_bytes},
                {"flops", i.analysis.flops},
                {"contraction_flops", i.analysis.contraction_flops},
                {"memory_floor_ms", 1e3 * i.analysis.memory_floor_s},
                {"compute_floor_ms", 1e3 * i.analysis.compute_floor_s},
                {"floor_ms", 1e3 * i.analysis.floor_s()}}},
              {"gpu", {{"name", i.rates.name}, {"here", i.gpu_here}}},
              {"warnings", warnings}};
}

}  // namespace cutegen::cli
