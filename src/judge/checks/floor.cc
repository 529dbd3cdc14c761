// No kernel is faster than memory. A time under what the compulsory traffic takes means that the timed work was not the work.
//
// The floor used here is kinder than the one that reports show, because a false accusation costs more than a missed one:
//  - the bandwidth is 1.25 times what a copy reaches, which is above every datasheet;
//  - what is written last may still sit in L2 when the clock stops, so output bytes up to the size of L2 are free;
//  - inputs count only when the graph shows that they are read in whole, and when the truth depends on them (a module whose result is
//    constant need not read them);
//  - arithmetic does not count: algebra may remove it (a product with a diagonal, a sum over a product's columns).
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "judge/check.h"
#include "task/analysis.h"

namespace cutegen {
namespace {

constexpr double kBandwidthHeadroom = 1.25;

bool truth_depends_on_inputs(const CheckContext& context) {
  if (context.executions.size() < 2) return true;
  const Execution& first = context.executions.front();
  return std::any_of(context.executions.begin() + 1, context.executions.end(), [&](const Execution& other) {
    for (size_t i = 0; i < first.comparisons.size() && i < other.comparisons.size(); ++i) {
      if (first.comparisons[i].norm_truth != other.comparisons[i].norm_truth) return true;
    }
    return false;
  });
}

bool one_of(const std::string& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Whether some op takes in every element of the node: not one that picks a part of it, alone or behind views.
bool read_in_whole(const Graph& graph, const std::vector<std::vector<int>>& readers, int node) {
  for (const int reader : readers[static_cast<size_t>(node)]) {
    const std::string& op = graph.nodes[static_cast<size_t>(reader)].op;
    if (one_of(op, {"slice", "select", "narrow", "split", "split_with_sizes", "unbind", "index", "index_select", "gather", "take_along_dim",
                    "embedding", "diagonal", "triu", "tril", "as_strided", "unfold"})) {
      continue;
    }
    const bool view = one_of(
        op, {"t", "transpose", "permute", "view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze", "alias", "detach", "clone"});
    if (!view || read_in_whole(graph, readers, reader)) return true;
  }
  return false;
}

int64_t bytes_to_read(const CheckContext& context) {
  if (!context.task.graph || !truth_depends_on_inputs(context)) return 0;
  const Graph& graph = *context.task.graph;
  const std::vector<std::vector<int>> readers = graph.readers();
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op == "input" && read_in_whole(graph, readers, static_cast<int>(i))) bytes += node.outputs.at(0).bytes();
  }
  return bytes;
}

double least_ms(const CheckContext& context, const GpuRates& rates) {
  const int64_t written = std::max<int64_t>(0, analyse(context.task, rates).output_bytes - context.device.l2_bytes);
  return 1e3 * static_cast<double>(bytes_to_read(context) + written) / (kBandwidthHeadroom * rates.dram_bytes_per_s);
}

Result<CheckEvidence> look(const CheckContext& context) {
  if (!context.timing->measured) return not_made("the time is not measured");
  const GpuRates& rates = rates_for(context.device.name);
  if (context.device.name.find(rates.name) == std::string::npos) return not_made("the rates of " + context.device.name + " are not known");
  const double least = least_ms(context, rates);
  const std::string sentence =
      fmt::format("{:.4g} ms; the bytes that must move take {:.4g} ms at the very least", context.timing->candidate_ms, least);
  return context.timing->candidate_ms >= least ? held(sentence) : broken("impossibly fast: " + sentence);
}

}  // namespace

extern const Check kFloorCheck;
const Check kFloorCheck{"floor", Phase::after_timing, look};

}  // namespace cutegen
