// Prints what the CUDA runtime says about device 0, as JSON: properties, attributes, error texts. See device_query.sh.
#include <cstdio>
#include <cstring>

static bool first = true;
static void item(const char* name, long long value) {
  printf("%s\n    \"%s\": %lld", first ? "" : ",", name, value);
  first = false;
}
static void open(const char* name) {
  printf(",\n  \"%s\": {", name);
  first = true;
}

__global__ void plain(float* x) { x[threadIdx.x] += 1.0f; }

int main() {
  cudaDeviceProp p;
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return 1;
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  printf("{\n  \"name\": \"%s\",\n  \"driver\": %d,\n  \"runtime\": %d", p.name, driver, runtime);
  open("properties");
  item("totalGlobalMem", static_cast<long long>(p.totalGlobalMem));
  item("sharedMemPerBlock", static_cast<long long>(p.sharedMemPerBlock));
  item("regsPerBlock", p.regsPerBlock);
  item("memPitch", static_cast<long long>(p.memPitch));
  item("multiProcessorCount", p.multiProcessorCount);
  item("memoryBusWidth", p.memoryBusWidth);
  item("l2CacheSize", p.l2CacheSize);
  item("persistingL2CacheMaxSize", p.persistingL2CacheMaxSize);
  item("sharedMemPerMultiprocessor", static_cast<long long>(p.sharedMemPerMultiprocessor));
  item("sharedMemPerBlockOptin", static_cast<long long>(p.sharedMemPerBlockOptin));
  item("reservedSharedMemPerBlock", static_cast<long long>(p.reservedSharedMemPerBlock));
  item("maxBlocksPerMultiProcessor", p.maxBlocksPerMultiProcessor);
  item("accessPolicyMaxWindowSize", p.accessPolicyMaxWindowSize);
  item("asyncEngineCount", p.asyncEngineCount);
  printf("\n  }");
  open("attributes");
  for (int a = 1; a < cudaDevAttrMax; ++a) {
    int value = 0;
    char name[16];
    snprintf(name, sizeof name, "%d", a);
    if (cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(a), 0) == cudaSuccess) item(name, value);
  }
  cudaGetLastError();
  printf("\n  },\n  \"errors\": {");
  bool first_error = true;
  for (int e = 0; e < 1000; ++e) {
    const char* name = cudaGetErrorName(static_cast<cudaError_t>(e));
    if (strcmp(name, "unrecognized error code") == 0) continue;
    printf("%s\n    \"%d\": [\"%s\", \"%s\"]", first_error ? "" : ",", e, name, cudaGetErrorString(static_cast<cudaError_t>(e)));
    first_error = false;
  }
  printf("\n  }");
  open("codes");  // what wrong calls come to
  float* x = nullptr;
  cudaMalloc(&x, 4096);
  plain<<<1, 2048>>>(x);
  item("block_of_2048", cudaGetLastError());
  plain<<<0, 32>>>(x);
  item("empty_grid", cudaGetLastError());
  plain<<<1, 32, 100000>>>(x);
  item("smem_without_attribute", cudaGetLastError());
  item("smem_attribute_too_large", cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000));
  item("copy_past_the_end", cudaMemcpy(x, x + 2048, 4096, cudaMemcpyDeviceToDevice));
  item("copy_kind_9", cudaMemcpy(x, x, 4, static_cast<cudaMemcpyKind>(9)));
  item("free_inside", cudaFree(x + 1));
  item("event_not_recorded", [] {
    cudaEvent_t a, b;
    float ms;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    return cudaEventElapsedTime(&ms, a, b);
  }());
  item("set_device_999", cudaSetDevice(999));
  item("peer_access", cudaDeviceEnablePeerAccess(0, 0));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(16);
  config.blockDim = dim3(32);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 16;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  item("cluster_of_16", cudaLaunchKernelEx(&config, plain, x));
  attribute.val.clusterDim.x = 3;
  item("cluster_does_not_divide", cudaLaunchKernelEx(&config, plain, x));
  void* arguments[] = {&x};
  item("cooperative_too_large", cudaLaunchCooperativeKernel(reinterpret_cast<void*>(plain), dim3(1 << 20), dim3(32), arguments, 0, nullptr));
  cudaGetLastError();
  plain<<<1, 32>>>(nullptr);
  item("illegal_address", cudaDeviceSynchronize());
  item("malloc_afterwards", cudaMalloc(&x, 16));
  printf("\n  }\n}\n");
  return 0;
}
