// A plan captured as a CUDA graph: what timing replays.
#pragma once

#include <memory>

#include "device/cuda/program.h"

namespace cutegen::cuda {

class Graph {
 public:
  // Captures the whole plan, the clearing of its workspace included. Nothing runs yet.
  static Failed capture(std::unique_ptr<Graph>& graph, std::shared_ptr<const Driver> driver, const Program& program, CUstream stream);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { driver_->cuGraphExecDestroy(exec_); }
  Failed launch(CUstream stream) const;

 private:
  Graph(std::shared_ptr<const Driver> driver, CUgraphExec exec) : driver_(std::move(driver)), exec_(exec) {}
  std::shared_ptr<const Driver> driver_;
  CUgraphExec exec_;
};

}  // namespace cutegen::cuda
