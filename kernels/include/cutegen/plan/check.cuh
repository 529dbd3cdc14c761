// Checks of a whole plan against the task. A broken rule becomes a static_assert with a sentence; the template arguments that the compiler
// prints with it name the launch and the argument (counted from 0).
#pragma once

#include "plan.cuh"

namespace cutegen::detail {

// The shape of the task: what CUTEGEN_PLAN takes out of task.h.
struct Tensor {
  int64_t bytes = 0;
  ElementClass element = ElementClass::any;
};
template <class List>
struct Tensors;
template <template <class...> class List, class... T>
struct Tensors<List<T...>> {
  static constexpr int count = sizeof...(T);
  static constexpr Tensor all[count + 1] = {Tensor{T::bytes, element_class<typename T::type>()}..., Tensor{}};
};

enum class Problem {
  none, no_args, grid_empty, grid_too_large, block_empty, block_too_large, block_shape, smem_negative, smem_too_large, cluster_empty, cluster_too_large,
  cluster_divides_grid, scalar_value, input_index, param_index, output_index, offset_outside, workspace_missing, workspace_size, pointee_type,
  output_unwritten, too_many_maps, map_rank, map_ranks_differ, map_shape, map_strides, map_box, map_box_row, map_swizzle, map_offset, map_outside, map_options,
};

struct Finding {
  Problem problem = Problem::none;
  int launch = -1;
  int arg = -1;
};

constexpr bool fits(Dim3 const& d, int64_t x, int64_t y, int64_t z) { return d.x <= x && d.y <= y && d.z <= z; }
constexpr bool positive(Dim3 const& d) { return d.x >= 1 && d.y >= 1 && d.z >= 1; }
constexpr int64_t volume(Dim3 const& d) { return d.x * d.y * d.z; }

// Limits: CUDA C++ Programming Guide, "Compute Capabilities", technical specifications of 9.0.
constexpr Problem check_shape(LaunchRecord const& l) {
  if (l.num_args < 0 && l.arity > 0) return Problem::no_args;
  if (!positive(l.grid)) return Problem::grid_empty;
  if (!fits(l.grid, 2147483647, 65535, 65535)) return Problem::grid_too_large;
  if (!positive(l.block)) return Problem::block_empty;
  if (!fits(l.block, 1024, 1024, 64)) return l.block.z > 64 && l.block.x <= 1024 ? Problem::block_shape : Problem::block_too_large;
  if (volume(l.block) > 1024) return Problem::block_too_large;
  if (l.smem < 0) return Problem::smem_negative;
  if (l.smem > 227 * 1024) return Problem::smem_too_large;
  if (!positive(l.cluster)) return Problem::cluster_empty;
  if (!fits(l.cluster, 16, 16, 16) || volume(l.cluster) > 16) return Problem::cluster_too_large;
  if (l.grid.x % l.cluster.x != 0 || l.grid.y % l.cluster.y != 0 || l.grid.z % l.cluster.z != 0) return Problem::cluster_divides_grid;
  return Problem::none;
}

template <class Inputs, class Params, class Outputs>
struct Checker {
  // The buffer that a pointer names; bytes -1: there is no such buffer.
  static constexpr Tensor buffer(Kind kind, uint32_t index, int64_t workspace_bytes) {
    constexpr Tensor none{-1, ElementClass::any};
    switch (kind) {
      case Kind::input: return int64_t{index} < Inputs::count ? Inputs::all[index] : none;
      case Kind::param: return int64_t{index} < Params::count ? Params::all[index] : none;
      case Kind::output: return int64_t{index} < Outputs::count ? Outputs::all[index] : none;
      case Kind::workspace: return {workspace_bytes, ElementClass::any};
      default: return none;
    }
  }

  static constexpr Problem check_buffer(Kind kind, uint32_t index, uint64_t offset, uint32_t pointee, int64_t workspace_bytes) {
    const Tensor t = buffer(kind, index, workspace_bytes);
    if (kind == Kind::workspace && workspace_bytes == 0) return Problem::workspace_missing;
    if (t.bytes < 0) return kind == Kind::input ? Problem::input_index : kind == Kind::param ? Problem::param_index : Problem::output_index;
    if (offset > static_cast<uint64_t>(t.bytes)) return Problem::offset_outside;
    if (!may_point_to(static_cast<ElementClass>(pointee), t.element)) return Problem::pointee_type;
    return Problem::none;
  }

  static constexpr Problem check_arg(Arg const& a, int64_t workspace_bytes) {
    if (a.kind == Kind::scalar) return a.bad_value ? Problem::scalar_value : Problem::none;
    if (a.kind == Kind::tensor_map || a.kind == Kind::none) return Problem::none;  // maps are checked as a whole; none: .args() has complained
    return check_buffer(a.kind, a.index, a.offset, a.pointee, workspace_bytes);
  }

  // CUDA driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled.
  static constexpr Problem check_map(tensor_map const& m, int64_t workspace_bytes) {
    const int rank = m.shape_.count;
    if (rank < 1 || rank > 5 || (m.interleave_ != 0 && rank < 3)) return Problem::map_rank;
    if (m.strides_.count != rank - 1 || m.box_.count != rank || (m.steps_.count != 0 && m.steps_.count != rank)) return Problem::map_ranks_differ;
    if (m.interleave_ > 2 || m.l2_ > 3) return Problem::map_options;
    const Problem p = check_buffer(m.buffer_.kind, m.buffer_.index, m.buffer_.offset, 0, workspace_bytes);
    if (p != Problem::none) return p;
    if (m.buffer_.offset % 16 != 0) return Problem::map_offset;
    const uint64_t element = element_bytes(m.type_);
    uint64_t last = element;  // bytes from the start of the tensor to behind its last element
    for (int d = 0; d < rank; ++d) {
      if (m.shape_.value[d] < 1 || m.shape_.value[d] > (1ull << 32)) return Problem::map_shape;
      if (m.box_.value[d] < 1 || m.box_.value[d] > 256) return Problem::map_box;
      if (m.steps_.count != 0 && (m.steps_.value[d] < 1 || m.steps_.value[d] > 8)) return Problem::map_options;
      const uint64_t stride = d == 0 ? element : m.strides_.value[d - 1];
      if (d > 0 && (stride % 16 != 0 || stride >= (1ull << 40))) return Problem::map_strides;
      last += (m.shape_.value[d] - 1) * stride;
    }
    const uint64_t row = m.box_.value[0] * element;
    if (m.interleave_ == 0 && row % 16 != 0) return Problem::map_box_row;
    const uint64_t span = m.swizzle_ == swizzle::b32 ? 32 : m.swizzle_ == swizzle::b64 ? 64 : m.swizzle_ == swizzle::b128 ? 128 : ~0ull;
    if (row > span) return Problem::map_swizzle;
    if (m.buffer_.offset + last > static_cast<uint64_t>(buffer(m.buffer_.kind, m.buffer_.index, workspace_bytes).bytes)) return Problem::map_outside;
    return Problem::none;
  }

  template <class Plan>
  static constexpr bool passes_output(Plan const& plan, uint32_t index) {
    for (int l = 0; l < Plan::num_launches; ++l)
      for (int a = 0; a < plan.launches[l].num_args; ++a) {
        const Arg& arg = plan.launches[l].args[a];
        if (arg.kind == Kind::output && arg.index == index) return true;
        if (arg.kind != Kind::tensor_map) continue;
        const Pointer& through = plan.maps[arg.index].buffer_;
        if (through.kind == Kind::output && through.index == index) return true;
      }
    return false;
  }

  template <class Plan>
  static constexpr Finding check(Plan const& plan) {
    if (plan.num_maps > kMaxTensorMaps) return {Problem::too_many_maps};
    if (plan.workspace_bytes < 0) return {Problem::workspace_size};
    for (int l = 0; l < Plan::num_launches; ++l) {
      const LaunchRecord& launch = plan.launches[l];
      if (const Problem p = check_shape(launch); p != Problem::none) return {p, l};
      for (int a = 0; a < launch.num_args; ++a) {
        const Arg& arg = launch.args[a];
        const Problem p = arg.kind == Kind::tensor_map ? check_map(plan.maps[arg.index], plan.workspace_bytes) : check_arg(arg, plan.workspace_bytes);
        if (p != Problem::none) return {p, l, a};
      }
    }
    for (int i = 0; i < Outputs::count; ++i)
      if (!passes_output(plan, i)) return {Problem::output_unwritten, -1, i};
    return {};
  }
};

// Instantiated with the finding of a plan; the sentence of a broken rule is what the compiler prints.
template <Problem problem, int launch, int argument>
struct Verify {
  static constexpr bool ok = true;
#define CUTEGEN_PLAN_RULE(name, sentence) static_assert(problem != Problem::name, "cutegen plan: " sentence)
  CUTEGEN_PLAN_RULE(no_args, "a launch gives no .args() although its kernel has parameters");
  CUTEGEN_PLAN_RULE(grid_empty, "a grid dimension is smaller than 1");
  CUTEGEN_PLAN_RULE(grid_too_large, "a grid is over the limit of 2147483647 x 65535 x 65535 CTAs");
  CUTEGEN_PLAN_RULE(block_empty, "a block dimension is smaller than 1");
  CUTEGEN_PLAN_RULE(block_too_large, "a block has more than 1024 threads");
  CUTEGEN_PLAN_RULE(block_shape, "the z dimension of a block is over 64");
  CUTEGEN_PLAN_RULE(smem_negative, "the dynamic shared memory of a launch is negative");
  CUTEGEN_PLAN_RULE(smem_too_large, "the dynamic shared memory of a launch is over 227 KB (232448 bytes)");
  CUTEGEN_PLAN_RULE(cluster_empty, "a cluster dimension is smaller than 1");
  CUTEGEN_PLAN_RULE(cluster_too_large, "a cluster has more than 16 CTAs");
  CUTEGEN_PLAN_RULE(cluster_divides_grid, "a grid dimension is not a multiple of the cluster's");
  CUTEGEN_PLAN_RULE(scalar_value, "the value of a scalar argument does not fit its kernel parameter's type");
  CUTEGEN_PLAN_RULE(input_index, "cutegen::input(i) names an input that the task does not have (see task::num_inputs)");
  CUTEGEN_PLAN_RULE(param_index, "cutegen::param(i) names a parameter that the task does not have (see task::num_params)");
  CUTEGEN_PLAN_RULE(output_index, "cutegen::output(i) names an output that the task does not have (see task::num_outputs)");
  CUTEGEN_PLAN_RULE(offset_outside, "a byte offset lies outside its buffer");
  CUTEGEN_PLAN_RULE(workspace_missing, "a launch uses cutegen::workspace() but the plan reserves none; add .workspace(bytes)");
  CUTEGEN_PLAN_RULE(workspace_size, "the workspace size is negative");
  CUTEGEN_PLAN_RULE(pointee_type, "the element type of a pointer parameter differs from the tensor's (see task::inN::type)");
  CUTEGEN_PLAN_RULE(output_unwritten, "no launch is given one of the task's outputs; pass every cutegen::output(i) to a kernel");
  CUTEGEN_PLAN_RULE(too_many_maps, "a plan has at most 8 different tensor maps");
  CUTEGEN_PLAN_RULE(map_rank, "cutegen::tma takes 1 to 5 dimensions (3 to 5 when interleaved)");
  CUTEGEN_PLAN_RULE(map_ranks_differ, "cutegen::tma needs as many box sizes as dimensions, and one stride (in bytes) less");
  CUTEGEN_PLAN_RULE(map_shape, "a dimension of cutegen::tma is outside 1 to 2^32");
  CUTEGEN_PLAN_RULE(map_strides, "a stride of cutegen::tma is in bytes and must be a multiple of 16 below 2^40");
  CUTEGEN_PLAN_RULE(map_box, "a box size of cutegen::tma is outside 1 to 256 elements");
  CUTEGEN_PLAN_RULE(map_box_row, "the innermost box size of cutegen::tma must be a multiple of 16 bytes");
  CUTEGEN_PLAN_RULE(map_swizzle, "the innermost box size of cutegen::tma is wider than its swizzle (32, 64 or 128 bytes)");
  CUTEGEN_PLAN_RULE(map_offset, "the byte offset of a buffer given to cutegen::tma must be a multiple of 16");
  CUTEGEN_PLAN_RULE(map_outside, "the tensor described to cutegen::tma reaches behind the end of its buffer");
  CUTEGEN_PLAN_RULE(map_options, "an interleave, L2 promotion or element stride of cutegen::tma is not one that the hardware knows");
#undef CUTEGEN_PLAN_RULE
};

}  // namespace cutegen::detail
