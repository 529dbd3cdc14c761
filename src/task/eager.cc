#include "task/eager.h"

#include <algorithm>
#include <string_view>

namespace cutegen {
namespace {

// Shares of a GPU's rates that PyTorch's kernels reach, and passes that they make over their tensors. Chosen on the 100 of 200 KernelBench
// tasks whose names' FNV-1a hash is even, measured on an H200 (PyTorch 2.11, CUDA 13); the other 100 were only looked at for the error.
constexpr double kLaunchSeconds = 2.5e-6;
constexpr double kStreamShare = 0.988;      // of a copy's bandwidth, pointwise operators
constexpr double kMatmulShare = 0.769;      // of fp32
constexpr double kConvolutionShare = 0.66;  // of TF32, up to two dimensions
constexpr double kConvolution3dShare = 0.0518, kTransposed3dShare = 0.0755;
constexpr double kConvolutionPasses = 3.64;  // over operand and result: layouts are changed before and after
constexpr double kDepthwiseShare = 0.0345;   // of fp32
constexpr double kWindowShare = 0.0127;      // of fp32: elements a second that pools look at
constexpr double kNormPasses = 4.04, kLayerNormPasses = 1.5, kSoftmaxPasses = 2, kScanPasses = 2.08, kArgPasses = 1.27,
                 kNormReducePasses = 1.35,
                 kSmoothLossPasses = 1.8;     // relative to reading operands and writing results once
constexpr double kRowBytesPerSecond = 4.5e9;  // one CTA that normalises a long row alone
constexpr double kCtasAtOnce = 1056;
constexpr double kAttentionShare = 0.33;  // of fp32

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool costs_nothing(std::string_view op) {
  return is_one_of(op, {"input", "param", "t", "transpose", "permute", "view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze",
                        "slice", "select", "alias", "detach"});
}

double product(const std::vector<int64_t>& v) {
  double p = 1;
  for (const int64_t x : v) p *= static_cast<double>(x);
  return p;
}

// An attribute that is a number or one number a dimension; one number stands for all.
double window_of(const Json& attrs, size_t dimensions) {
  const auto it = attrs.find("kernel_size");
  if (it == attrs.end()) return 1;
  std::vector<int64_t> sizes;
  if (it->is_number_integer())
    sizes = {it->get<int64_t>()};
  else if (it->is_array())
    sizes = it->get<std::vector<int64_t>>();
  if (sizes.size() == 1) sizes.resize(dimensions, sizes[0]);
  return product(sizes);
}

class OpTime {
 public:
  OpTime(const Graph& graph, const Node& node, const GpuRates& rates) : node_(node), rates_(rates) {
    for (const Arg& arg : node.args)
      if (const auto* ref = std::get_if<ValueRef>(&arg)) operands_.push_back(&graph.spec(*ref));
    double bytes = 0;
    for (const TensorSpec* s : operands_) bytes += static_cast<double>(s->bytes());
    for (const TensorSpec& s : node.outputs) bytes += static_cast<double>(s.bytes());
    once_ = bytes / stream();
  }

  double seconds() const {
    const std::string_view op = node_.op;
    if (operands_.empty() || node_.outputs.empty()) return once_;
    if (is_one_of(op, {"mm", "bmm", "mv", "addmm", "baddbmm"})) return matmul(op.starts_with("add") || op == "baddbmm" ? 1 : 0);
    if (op == "convolution" && operands_.size() > 1) return convolution();
    if (op == "native_layer_norm") return layer_norm();
    if (op.find("attention") != std::string_view::npos) return attention();
    if (op.find("pool") != std::string_view::npos && op.find("adaptive") == std::string_view::npos) return pool();
    return once_ * passes(op);
  }

 private:
  static double passes(std::string_view op) {
    if (is_one_of(op, {"_softmax", "_log_softmax"})) return kSoftmaxPasses;
    if (is_one_of(op, {"native_batch_norm", "native_group_norm"})) return kNormPasses;
    if (is_one_of(op, {"cumsum", "cumprod"})) return kScanPasses;
    if (is_one_of(op, {"max", "min", "argmax", "argmin"})) return kArgPasses;
    if (op == "linalg_vector_norm") return kNormReducePasses;
    if (op == "smooth_l1_loss") return kSmoothLossPasses;
    return 1;
  }
  double stream() const { return kStreamShare * rates_.dram_bytes_per_s; }
  double elements(const TensorSpec& s) const { return static_cast<double>(s.elements()); }

  double matmul(size_t left) const {
    if (operands_.size() <= left || operands_[left]->shape.empty()) return once_;
    const double flops = 2 * elements(node_.outputs[0]) * static_cast<double>(operands_[left]->shape.back());
    return std::max(once_, flops / (kMatmulShare * rates_.fp32_flops));
  }

  double convolution() const {
    const TensorSpec &x = *operands_[0], &w = *operands_[1], &y = node_.outputs[0];
    if (w.shape.size() < 3 || x.shape.size() < 2) return once_;
    const bool transposed = json_or(node_.attrs, "transposed", false);
    const double flops = 2 * elements(w) / static_cast<double>(w.shape[0]) * elements(transposed ? x : y);
    const auto groups = json_or<int64_t>(node_.attrs, "groups", 1);
    if (groups > 1 && groups == x.shape[1]) return std::max(once_, flops / (kDepthwiseShare * rates_.fp32_flops));
    const bool deep = w.shape.size() > 4;
    const double share = !deep ? kConvolutionShare : transposed ? kTransposed3dShare : kConvolution3dShare;
    const double compute = flops / (share * rates_.tf32_flops);
    if (product({w.shape.begin() + 2, w.shape.end()}) == 1) return std::max(once_, compute);
    const double bias = operands_.size() > 2 ? 2 * static_cast<double>(y.bytes()) / stream() : 0;
    return compute + kConvolutionPasses * static_cast<double>(x.bytes() + y.bytes()) / stream() + bias;
  }

  // One CTA a row: few rows leave most of the machine idle.
  double layer_norm() const {
    const auto shape = json_or<std::vector<int64_t>>(node_.attrs, "normalized_shape", {});
    const double rows = std::max(1.0, elements(*operands_[0]) / std::max(1.0, product(shape)));
    const double row = static_cast<double>(operands_[0]->bytes()) / rows;
    return std::max(once_ * kLayerNormPasses, row / kRowBytesPerSecond * std::max(1.0, rows / kCtasAtOnce));
  }

  double attention() const {
    const TensorSpec& q = *operands_[0];
    if (q.shape.size() < 2) return once_;
    return 4 * elements(q) * static_cast<double>(q.shape[q.shape.size() - 2]) / (kAttentionShare * rates_.fp32_flops);
  }

  double pool() const {
    const size_t dimensions = operands_[0]->shape.size() > 2 ? operands_[0]->shape.size() - 2 : 1;
    return std::max(once_, elements(node_.outputs[0]) * window_of(node_.attrs, dimensions) / (kWindowShare * rates_.fp32_flops));
  }

  const Node& node_;
  const GpuRates& rates_;
  std::vector<const TensorSpec*> operands_;
  double once_ = 0;  // operands read and results written once
};

}  // namespace

std::optional<double> eager_seconds(const Task& task, const GpuRates& rates) {
  if (!task.graph) return std::nullopt;
  double seconds = 0;
  for (const Node& node : task.graph->nodes)
    if (!costs_nothing(node.op)) seconds += kLaunchSeconds + OpTime(*task.graph, node, rates).seconds();
  return std::max(seconds, kLaunchSeconds);
}

}  // namespace cutegen
