// Uses every feature of a plan once; plan_compile_test.cc compares what the host decodes with what is written here.
#include <cutegen/kernel.cuh>
#include <task.h>

#include <cuda.h>

enum class Mode : unsigned char { plain, fast = 7 };

extern "C" __global__ void scalars(float const* x, float* y, bool flag, signed char tiny, short small, int count, int64_t many, float single, double precise, Mode mode, unsigned mask) {
  if (flag) y[threadIdx.x] = x[threadIdx.x] * single + float(precise) + tiny + small + count + float(many) + int(mode) + mask;
}

extern "C" __global__ void maps(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* scratch) {
  scratch[threadIdx.x] = float(reinterpret_cast<uint64_t>(&a) & reinterpret_cast<uint64_t>(&b) & 1);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) clustered(unsigned char const* raw, float4 const* x4, float* y) {
  y[threadIdx.x] = raw[threadIdx.x] + x4[threadIdx.x].x;
}

extern "C" __global__ void nothing() {}

constexpr auto kMapA = cutegen::tma(cutegen::input(0), cutegen::dtype::f32, {256, 128}, {256 * 4}, {32, 64}, cutegen::swizzle::b128);
constexpr auto kMapB = cutegen::tma(cutegen::output(0, 1024), cutegen::dtype::f32, {64, 4, 3}, {1024, 4096}, {4, 2, 1}).element_strides({1, 2, 1}).l2_promotion(256).out_of_bounds_nan();
constexpr auto kMapLine = cutegen::tma(cutegen::workspace(256), cutegen::dtype::u8, {128}, {}, {16});

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(scalars).grid(132 * 8, 2, 3).block(32, 4, 2).smem(1024).args(cutegen::input(0, 64), cutegen::output(0), true, -3, -300, 70000, int64_t{1} << 40, 0.5, 0.25, Mode::fast, 4000000000u),
    CUTEGEN_LAUNCH(maps).grid(2).block(256).smem(227 * 1024).cooperative().args(kMapA, kMapB, cutegen::workspace(128)),
    CUTEGEN_LAUNCH(maps).grid(1).block(1024).pdl().args(kMapLine, kMapA, cutegen::workspace()),
    CUTEGEN_LAUNCH(clustered).grid(4).block(128).args(cutegen::workspace(), cutegen::input(0), cutegen::output(0, 4096)),
    CUTEGEN_LAUNCH(clustered).grid(4).cluster(2).block(64).args(cutegen::input(0), cutegen::input(0), cutegen::output(0)),
    CUTEGEN_LAUNCH(nothing))
  .workspace(4096, cutegen::zeroed));
