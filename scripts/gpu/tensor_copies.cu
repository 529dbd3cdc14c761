// What TMA copies put into shared memory and tensor reductions into global memory, byte by byte, as text. Run on a GPU and under
// `cutegen sim`, the outputs must be the same.  Build: nvcc -std=c++17 -arch=sm_90a -cudart shared
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kShared = 32768;

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::printf("failed: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

struct Coordinates {
  int at[5];
  unsigned short offset[3];
};

__device__ uint32_t address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

#define LOAD(mode, dims, coordinates, extra, ...)                                                                                    \
  asm volatile("cp.async.bulk.tensor." dims "d.shared::cluster.global." mode ".mbarrier::complete_tx::bytes [%0], [%1, " coordinates \
               "], [%2]" extra ";" ::"r"(address(tile)),                                                                             \
               "l"(&map), "r"(bar), __VA_ARGS__                                                                                      \
               : "memory")

__global__ void load(const __grid_constant__ CUtensorMap map, Coordinates c, int rank, bool im2col, int bytes, uint8_t* out) {
  extern __shared__ __align__(1024) uint8_t tile[];
  __shared__ uint64_t barrier;
  for (int i = threadIdx.x; i < kShared; i += blockDim.x) tile[i] = 0xcc;
  const uint32_t bar = address(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    int const* a = c.at;
    unsigned short const* o = c.offset;
    if (!im2col && rank == 1) LOAD("tile", "1", "{%3}", "", "r"(a[0]));
    if (!im2col && rank == 2) LOAD("tile", "2", "{%3, %4}", "", "r"(a[0]), "r"(a[1]));
    if (!im2col && rank == 3) LOAD("tile", "3", "{%3, %4, %5}", "", "r"(a[0]), "r"(a[1]), "r"(a[2]));
    if (!im2col && rank == 4) LOAD("tile", "4", "{%3, %4, %5, %6}", "", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
    if (!im2col && rank == 5) LOAD("tile", "5", "{%3, %4, %5, %6, %7}", "", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]));
    if (im2col && rank == 3) LOAD("im2col", "3", "{%3, %4, %5}", ", {%6}", "r"(a[0]), "r"(a[1]), "r"(a[2]), "h"(o[0]));
    if (im2col && rank == 4)
      LOAD("im2col", "4", "{%3, %4, %5, %6}", ", {%7, %8}", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "h"(o[0]), "h"(o[1]));
    if (im2col && rank == 5)
      LOAD("im2col", "5", "{%3, %4, %5, %6, %7}", ", {%8, %9, %10}", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "h"(o[0]),
           "h"(o[1]), "h"(o[2]));
    asm volatile("{ .reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra W;\n}" ::"r"(bar) : "memory");
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kShared; i += blockDim.x) out[i] = tile[i];
}

#define REDUCE(number, name)                                                                                                       \
  if (op == number)                                                                                                                \
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." name ".tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map), "r"(0), \
               "r"(address(tile))                                                                                                  \
               : "memory")

__global__ void reduce(const __grid_constant__ CUtensorMap map, int op, uint8_t const* values, int bytes) {
  extern __shared__ __align__(1024) uint8_t tile[];
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = values[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  REDUCE(0, "add");
  REDUCE(1, "min");
  REDUCE(2, "max");
  REDUCE(3, "inc");
  REDUCE(4, "dec");
  REDUCE(5, "and");
  REDUCE(6, "or");
  REDUCE(7, "xor");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

using Tiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                           const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
using Im2col = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const int*,
                            const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
template <class F>
F entry(const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult status;
  check(cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &status), name);
  return reinterpret_cast<F>(p);
}

struct Case {
  const char* name;
  CUtensorMapDataType type;
  int size;
  std::vector<cuuint64_t> dims;
  std::vector<cuuint32_t> box;
  Coordinates at;
  int swizzle = 0;
  std::vector<cuuint32_t> element_strides = {1, 1, 1, 1, 1};
  int fill = 0;
  std::vector<int> lower = {}, upper = {};  // im2col; box: channels, pixels
};

uint32_t next_random(uint32_t& state) { return state = state * 1664525u + 1013904223u, state >> 8; }

void print(const char* name, std::vector<uint8_t> const& bytes, int until) {
  std::printf("%s", name);
  for (int i = 0; i < until; ++i) std::printf(i % 64 == 0 ? "\n%02x" : "%02x", bytes[i]);
  std::printf("\n");
}

void run(Case const& c, Tiled tiled, Im2col im2col) {
  const int rank = static_cast<int>(c.dims.size());
  std::vector<cuuint64_t> strides;
  cuuint64_t stride = (c.dims[0] * c.size + 15) / 16 * 16;
  for (int d = 1; d < rank; ++d) strides.push_back(stride), stride *= c.dims[d];
  std::vector<uint8_t> x(stride), y(kShared);
  uint32_t state = 7;
  for (uint8_t& b : x) b = static_cast<uint8_t>(next_random(state));
  if (c.type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ)
    for (size_t e = 0; e < x.size() / 4; ++e) {  // ties of tf32, subnormals, infinities and NaNs
      uint32_t v = next_random(state) << 8 | (next_random(state) & 255);
      if (e % 3 == 0) v = (v & ~0x1fffu) | 0x1000;
      if (e % 8 == 1) v &= 0x807fffffu;
      if (e % 16 == 5) v |= 0x7f800000u;
      if (e % 16 == 13) v = (v & 0x80000000u) | 0x7f7ff000u | (e % 32 < 16 ? 0 : 0xfff);
      std::memcpy(&x[e * 4], &v, 4);
    }
  uint8_t *dx, *dy;
  check(cudaMalloc(&dx, x.size()), "cudaMalloc");
  check(cudaMalloc(&dy, kShared), "cudaMalloc");
  check(cudaMemcpy(dx, x.data(), x.size(), cudaMemcpyHostToDevice), "copy");
  CUtensorMap map;
  const cuuint64_t none = 0;
  const bool columns = !c.lower.empty();
  const CUresult r = columns
                         ? im2col(&map, c.type, rank, dx, c.dims.data(), strides.data(), c.lower.data(), c.upper.data(), c.box[0], c.box[1],
                                  c.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(c.swizzle),
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, static_cast<CUtensorMapFloatOOBfill>(c.fill))
                         : tiled(&map, c.type, rank, dx, c.dims.data(), strides.empty() ? &none : strides.data(), c.box.data(),
                                 c.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(c.swizzle),
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, static_cast<CUtensorMapFloatOOBfill>(c.fill));
  if (r != CUDA_SUCCESS) {
    std::printf("%s\nencode: %d\n", c.name, static_cast<int>(r));
    return;
  }
  int bytes = c.size;
  for (int d = 0; d < (columns ? 2 : rank); ++d)
    bytes *= columns || d == 0 ? c.box[d] : (c.box[d] + c.element_strides[d] - 1) / c.element_strides[d];
  load<<<1, 128, kShared>>>(map, c.at, rank, columns, bytes, dy);
  check(cudaDeviceSynchronize(), c.name);
  check(cudaMemcpy(y.data(), dy, kShared, cudaMemcpyDeviceToHost), "copy");
  print(c.name, y, (bytes + 1023) / 1024 * 1024 + 1024);
  cudaFree(dx), cudaFree(dy);
}

void run_reduction(const char* name, CUtensorMapDataType type, int size, int op, std::vector<uint64_t> const& specials, Tiled tiled) {
  constexpr int kElements = 64;
  std::vector<uint8_t> a(kElements * size), b(kElements * size);
  for (int i = 0; i < kElements; ++i) {  // every pair of special values
    std::memcpy(&a[i * size], &specials[i % specials.size()], size);
    std::memcpy(&b[i * size], &specials[i / specials.size() % specials.size()], size);
  }
  uint8_t *da, *db;
  check(cudaMalloc(&da, a.size()), "cudaMalloc");
  check(cudaMalloc(&db, b.size()), "cudaMalloc");
  check(cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice), "copy");
  check(cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice), "copy");
  CUtensorMap map;
  const cuuint64_t dim = kElements, none = 0;
  const cuuint32_t box = kElements, one = 1;
  tiled(&map, type, 1, da, &dim, &none, &box, &one, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  reduce<<<1, 128, kShared>>>(map, op, db, static_cast<int>(b.size()));
  check(cudaDeviceSynchronize(), name);
  check(cudaMemcpy(a.data(), da, a.size(), cudaMemcpyDeviceToHost), "copy");
  print(name, a, static_cast<int>(a.size()));
  cudaFree(da), cudaFree(db);
}

std::vector<Case> cases() {
  const auto u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const auto f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const auto f64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  return {
      {"tile 1d negative", f32, 4, {200}, {64}, {{-20}, {}}},
      {"tile 1d end", u8, 1, {300}, {256}, {{176}, {}}},
      {"tile 1d inside", u8, 1, {300}, {256}, {{32}, {}}},
      {"tile 1d unaligned start", u8, 1, {300}, {256}, {{30}, {}}},
      {"tile 1d unaligned f32", f32, 4, {200}, {64}, {{3}, {}}},
      {"tile 2d 128B", bf16, 2, {100, 40}, {64, 32}, {{64, 20}, {}}, 3},
      {"tile 2d 64B", f16, 2, {72, 50}, {32, 16}, {{-8, -3}, {}}, 2},
      {"tile 2d 32B", f16, 2, {72, 50}, {16, 24}, {{64, 30}, {}}, 1},
      {"tile 2d 32B unaligned", f16, 2, {72, 50}, {16, 24}, {{60, 3}, {}}, 1},
      {"tile 2d 128B narrow 64", f16, 2, {72, 50}, {32, 16}, {{8, 3}, {}}, 3},
      {"tile 2d 128B narrow 16", f16, 2, {72, 50}, {8, 16}, {{8, 3}, {}}, 3},
      {"tile 2d 64B narrow 32", f16, 2, {72, 50}, {16, 16}, {{8, 3}, {}}, 2},
      {"tile 3d strided", f32, 4, {20, 9, 7}, {8, 4, 3}, {{16, -2, 5}, {}}, 1, {1, 2, 3, 1, 1}},
      {"tile 3d inner stride", f32, 4, {20, 9, 7}, {8, 4, 3}, {{0, 0, 0}, {}}, 0, {2, 1, 1, 1, 1}},
      {"tile 4d f64", f64, 8, {10, 6, 5, 4}, {4, 3, 2, 3}, {{8, 4, -1, 2}, {}}},
      {"tile 5d", f16, 2, {16, 5, 4, 3, 3}, {8, 3, 2, 2, 2}, {{8, 3, 3, -1, 2}, {}}},
      {"tile outside", f32, 4, {64, 64}, {32, 16}, {{100, 100}, {}}, 3},
      {"nan f16", f16, 2, {20, 3}, {32, 4}, {{0, 0}, {}}, 0, {1, 1, 1, 1, 1}, 1},
      {"nan bf16", bf16, 2, {20, 3}, {32, 4}, {{0, 0}, {}}, 0, {1, 1, 1, 1, 1}, 1},
      {"nan f32", f32, 4, {20, 3}, {32, 4}, {{0, 0}, {}}, 0, {1, 1, 1, 1, 1}, 1},
      {"nan f64", f64, 8, {20, 3}, {32, 4}, {{0, 0}, {}}, 0, {1, 1, 1, 1, 1}, 1},
      {"f32 ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, {512}, {256}, {{0}, {}}},
      {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, {512}, {256}, {{0}, {}}},
      {"tf32 ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4, {512}, {256}, {{0}, {}}},
      {"im2col 3d", f16, 2, {16, 7, 3}, {16, 24}, {{0, 1, 1}, {2}}, 1, {1, 2, 1, 1, 1}, 0, {-1}, {-1}},
      {"im2col 4d", f16, 2, {32, 7, 6, 3}, {16, 96}, {{8, 3, 1, 0}, {1, 2}}, 1, {1, 2, 1, 1, 1}, 0, {-1, -1}, {-1, -1}},
      {"im2col 4d 128B", bf16, 2, {64, 9, 8, 2}, {64, 64}, {{0, -1, -1, 0}, {0, 1}}, 3, {1, 1, 2, 1, 1}, 0, {-1, -1}, {-1, -1}},
      {"im2col 5d", f16, 2, {16, 5, 4, 6, 2}, {16, 80}, {{0, 0, 1, 2, 0}, {1, 0, 2}}, 0, {1, 1, 1, 2, 1}, 0, {-1, 0, -1}, {-1, 0, -1}},
  };
}

}  // namespace

// One case a process, named by its number: after an error the context is lost. Without an argument: how many there are.
int main(int argc, char** argv) {
  const auto tiled = entry<Tiled>("cuTensorMapEncodeTiled");
  const auto im2col = entry<Im2col>("cuTensorMapEncodeIm2col");
  std::vector<std::function<void()>> all;
  for (Case const& c : cases()) all.push_back([=] { run(c, tiled, im2col); });
  auto reduction = [&](std::string const& name, CUtensorMapDataType type, int bytes, int op, std::vector<uint64_t> const& values) {
    all.push_back([=] { run_reduction(name.c_str(), type, bytes, op, values, tiled); });
  };
  const std::vector<uint64_t> f16 = {0, 0x8000, 0x3c01, 0xbc00, 0x0001, 0x7bff, 0x7c00, 0x7e01};
  const std::vector<uint64_t> bf16 = {0, 0x8000, 0x3f81, 0xbf80, 0x0001, 0x7f7f, 0x7f80, 0x7fc1};
  const std::vector<uint64_t> f32 = {0, 0x80000000, 0x3f800001, 0xbf800000, 0x00000001, 0x7f7fffff, 0x7f800000, 0x7fc00001};
  const std::vector<uint64_t> u32 = {0, 1, 5, 6, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (int op = 0; op < 3; ++op) {
    const std::string number = std::to_string(op);
    reduction("f16 op " + number, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, op, f16);
    reduction("bf16 op " + number, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, op, bf16);
    reduction("s32 op " + number, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, op, u32);
  }
  reduction("f32 add", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 0, f32);
  for (int op = 0; op < 8; ++op) reduction("u32 op " + std::to_string(op), CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, op, u32);
  if (argc < 2) return std::printf("%zu\n", all.size()), 0;
  const size_t number = std::strtoul(argv[1], nullptr, 10);
  if (number >= all.size()) return std::fprintf(stderr, "there are %zu cases\n", all.size()), 2;
  all[number]();
  return 0;
}
