// Pointwise and reduction tasks, built by hand as the oracle would trace them.
#pragma once

#include "propose/gemm_tasks.h"

namespace cutegen::testing {

inline Task named(Task task, const char* name) {
  task.name = name;
  return task;
}

inline Task relu(const Shape& shape) {
  TaskBuilder b;
  return named(b.result({b.op("relu", {b.input(shape)}, shape)}), "19_ReLU");
}

// diag(a) @ b, as KernelBench level 1, task 12 has it.
inline Task row_scale(int64_t n, int64_t m) {
  TaskBuilder b;
  const ValueRef a = b.input({n}), x = b.input({n, m});
  return named(b.result({b.op("mul", {b.op("unsqueeze", {a}, {n, 1}, {{"dim", 1}}), x}, {n, m})}), "12_Diagonal");
}

// The same written with torch.diag.
inline Task diagonal_product(int64_t n, int64_t m) {
  TaskBuilder b;
  const ValueRef a = b.input({n}), x = b.input({n, m});
  return named(b.result({b.op("mm", {b.op("diag", {a}, {n, n}, {{"diagonal", 0}}), x}, {n, m})}), "diagonal_product");
}

inline Task softmax(const Shape& shape, int64_t dim, DType dtype = DType::f32) {
  TaskBuilder b;
  return named(b.result({b.op("_softmax", {b.input(shape, dtype)}, shape, {{"dim", dim}, {"half_to_float", false}}, dtype)}), "23_Softmax");
}

inline Task reduction(const std::string& op, const Shape& shape, std::vector<int64_t> dims) {
  TaskBuilder b;
  Shape out = shape;
  for (const int64_t d : dims) out[static_cast<size_t>(d)] = 1;
  return named(b.result({b.op(op, {b.input(shape)}, out, {{"dim", dims}, {"keepdim", true}})}), "47_Reduction");
}

inline Task rms_norm(const Shape& shape, int64_t dim) {
  TaskBuilder b;
  Shape row = shape;
  row[static_cast<size_t>(dim)] = 1;
  const ValueRef x = b.input(shape);
  const ValueRef mean = b.op("mean", {b.op("pow", {x, 2.0}, shape)}, row, {{"dim", {dim}}, {"keepdim", true}});
  const ValueRef rms = b.op("sqrt", {b.op("add", {mean, 1e-5}, row, {{"alpha", 1}})}, row);
  return named(b.result({b.op("div", {x, rms}, shape)}), "36_RMSNorm");
}

inline Task layer_norm(const Shape& shape, size_t normalised) {
  TaskBuilder b;
  const Shape over(shape.end() - static_cast<int64_t>(normalised), shape.end());
  const ValueRef x = b.input(shape), w = b.param(over), bias = b.param(over);
  return named(b.result({b.op("native_layer_norm", {x, w, bias}, shape, {{"normalized_shape", over}, {"eps", 1e-5}})}), "40_LayerNorm");
}

inline Task hinge(int64_t rows, int64_t columns) {
  TaskBuilder b;
  const Shape s{rows, columns};
  const ValueRef p = b.input(s), t = b.input({columns});
  const ValueRef margin = b.op("rsub", {b.op("mul", {p, t}, s), 1.0}, s, {{"alpha", 1}});
  return named(b.result({b.op("mean", {b.op("clamp", {margin}, s, {{"min", 0}, {"max", nullptr}})}, {}, {{"dtype", nullptr}})}),
               "100_Hinge");
}

}  // namespace cutegen::testing
