#include "device/cuda/graph.h"

namespace cutegen::cuda {

Failed Graph::capture(std::unique_ptr<Graph>& graph, std::shared_ptr<const Driver> driver, const Program& program, CUstream stream) {
  const Driver& d = *driver;
  CUTEGEN_STEP(failed_if(d, d.cuStreamBeginCapture(stream, kCaptureThreadLocal), Phase::other, "beginning a graph capture"));
  Failed launched = program.launch_all(stream);
  CUgraph captured = nullptr;
  const CUresult ended = d.cuStreamEndCapture(stream, &captured);  // also after a failure: it takes the stream out of capturing
  CUgraphExec exec = nullptr;
  Failed failed = launched ? launched : failed_if(d, ended, Phase::launch, "capturing the plan as a graph");
  if (!failed) failed = failed_if(d, d.cuGraphInstantiate(&exec, captured, 0), Phase::launch, "instantiating the plan's graph");
  if (captured != nullptr) d.cuGraphDestroy(captured);
  if (failed) return failed;
  graph = std::unique_ptr<Graph>(new Graph(std::move(driver), exec));
  return std::nullopt;
}

Failed Graph::launch(CUstream stream) const {
  return failed_if(*driver_, driver_->cuGraphLaunch(exec_, stream), Phase::launch, "launching the plan's graph");
}

}  // namespace cutegen::cuda
