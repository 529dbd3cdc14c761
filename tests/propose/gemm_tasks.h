// Tasks with a matrix product, built by hand as the oracle would trace them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "task/task.h"

namespace cutegen::testing {

class TaskBuilder {
 public:
  ValueRef input(Shape shape, DType dtype = DType::f32) {
    return leaf("input", task_.inputs, "x" + std::to_string(task_.inputs.size()), std::move(shape), dtype);
  }
  ValueRef param(Shape shape, DType dtype = DType::f32) {
    return leaf("param", task_.params, "w" + std::to_string(task_.params.size()), std::move(shape), dtype);
  }
  ValueRef op(const std::string& name, std::vector<Arg> args, Shape shape, Json attrs = Json::object(), DType dtype = DType::f32) {
    return push({name, std::move(args), std::move(attrs), {{"", dtype, std::move(shape)}}});
  }
  Task result(std::vector<ValueRef> outputs) {
    graph_.outputs = outputs;
    for (const ValueRef v : outputs) task_.outputs.push_back(graph_.spec(v));
    task_.graph = graph_;
    return task_;
  }

 private:
  ValueRef leaf(const char* kind, std::vector<TensorSpec>& list, const std::string& name, Shape shape, DType dtype) {
    list.push_back({name, dtype, shape});
    return push({kind, {}, {{"index", list.size() - 1}}, {{name, dtype, std::move(shape)}}});
  }
  ValueRef push(Node node) {
    graph_.nodes.push_back(std::move(node));
    return {static_cast<int>(graph_.nodes.size()) - 1, 0};
  }

  Task task_;
  Graph graph_;
};

inline Task plain_product(int64_t m, int64_t n, int64_t k) {
  TaskBuilder b;
  const ValueRef x = b.input({m, k}), y = b.input({k, n});
  return b.result({b.op("mm", {x, y}, {m, n})});
}

// nn.Linear, relu, division by a constant: KernelBench level 2, task 63.
inline Task linear_relu_divide(int64_t m, int64_t n, int64_t k) {
  TaskBuilder b;
  const ValueRef x = b.input({m, k}), w = b.param({n, k}), bias = b.param({n});
  const ValueRef product = b.op("addmm", {bias, x, b.op("t", {w}, {k, n})}, {m, n}, {{"alpha", 1}, {"beta", 1}});
  return b.result({b.op("div", {b.op("relu", {product}, {m, n}), 2.0}, {m, n})});
}

}  // namespace cutegen::testing
