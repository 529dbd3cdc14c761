// What tests/e2e/sim_test.cc runs under `cutegen sim`: sim_program MODE.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

__device__ int launches = 0;
__constant__ float scale = 2.0f;
__managed__ int seen = 7;

struct Offset {  // a parameter by value
  float a;
  double b;
};

__global__ void axpy(int n, float a, const float* x, float* y, Offset offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] * scale + y[i] + offset.a + static_cast<float>(offset.b);
  if (i == 0) {
    atomicAdd(&launches, 1);
    seen += 1;
    printf("axpy of %d\n", n);
  }
}

__global__ void past_the_end(float* x, int n) {
  x[n + threadIdx.x] = 1.0f;  // the line that the test looks for
}

__global__ void sum_of_grid(int* total, int* seen_by_all) {
  if (threadIdx.x == 0) atomicAdd(total, static_cast<int>(blockIdx.x));
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) seen_by_all[blockIdx.x] = *total;
}

static int compute() {
  const int n = 1000;
  std::vector<float> x(n, 1.0f), y(n, 2.0f);
  float *dx, *dy;
  cudaMalloc(&dx, n * 4);
  cudaMalloc(&dy, n * 4);
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * 4, cudaMemcpyHostToDevice);
  axpy<<<(n + 255) / 256, 256>>>(n, 3.0f, dx, dy, Offset{1.0f, 0.5});
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost);
  int count = 0;
  cudaMemcpyFromSymbol(&count, launches, sizeof count);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  printf("y[0]=%g y[999]=%g launches=%d seen=%d sm_%d%d x%d\n", y[0], y[999], count, seen, properties.major, properties.minor,
         properties.multiProcessorCount);
  return 0;
}

static int cooperative() {
  int *total, *by_all;
  cudaMallocManaged(&total, sizeof(int));
  cudaMallocManaged(&by_all, 16 * sizeof(int));
  void* arguments[] = {&total, &by_all};
  if (cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum_of_grid), dim3(16), dim3(64), arguments, 0, nullptr) != cudaSuccess) return 1;
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 16; ++i)
    if (by_all[i] != 120) return 1;
  printf("every CTA saw 120\n");
  return 0;
}

static int fault() {
  float* x;
  cudaMalloc(&x, 400);
  past_the_end<<<1, 32>>>(x, 100);
  const cudaError_t error = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(error));
  return error == cudaErrorIllegalAddress ? 42 : 1;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "compute";
  if (strcmp(mode, "fault") == 0) return fault();
  if (strcmp(mode, "cooperative") == 0) return cooperative();
  if (strcmp(mode, "abort") == 0) abort();
  const int code = compute();
  if (strcmp(mode, "sleep") == 0) {
    fflush(stdout);
    sleep(100);
  }
  return code;
}
