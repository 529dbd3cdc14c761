// Each CTA of a cluster of four reads its tile into shared memory; the tile of its neighbour goes to y.
#include <cooperative_groups.h>
#include <cutegen/kernel.cuh>
#include <task.h>

extern "C" __global__ void __launch_bounds__(256) neighbour(float const* x, float* y) {
  __shared__ float tile[256];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int64_t base = int64_t{blockIdx.x} * 256;
  tile[threadIdx.x] = x[base + threadIdx.x];
  cluster.sync();
  const float* theirs = cluster.map_shared_rank(tile, rank ^ 1);
  y[base + threadIdx.x] = theirs[threadIdx.x];
  cluster.sync();  // nobody leaves while its tile may be read
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(neighbour).grid(task::in0::elements / 256).block(256).cluster(4).args(cutegen::input(0), cutegen::output(0))));
