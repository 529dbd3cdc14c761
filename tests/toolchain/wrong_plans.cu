// Plans that must not compile, one a line, each with the sentence that the compiler must say there. All are checked in one compilation:
// WRONG does what CUTEGEN_PLAN does, save for naming the bytes (and the line makes each an instantiation of its own).
#include <cutegen/kernel.cuh>
#include <task.h>

#include <cuda.h>

using namespace cutegen;
using CheckTwice = detail::Checker<detail::Tensors<task::inputs>, detail::Tensors<task::params>, detail::Tensors<task::outputs>>;

#define WRONG(...)                                      \
  {                                                     \
    constexpr auto finding = CheckTwice::check((__VA_ARGS__)); \
    static_assert(detail::Verify<finding.problem, finding.launch, __LINE__>::ok); \
  }

extern "C" __global__ void twice(float const* x, float* y, int n) { y[0] = x[0] * n; }
extern "C" __global__ void halves(__half const* x, float* y) { y[0] = __half2float(x[0]); }
extern "C" __global__ void words(int64_t const* x, float* y) { y[0] = float(x[0]); }
extern "C" __global__ void mapped(const __grid_constant__ CUtensorMap m, float* y) { y[0] = float(reinterpret_cast<uint64_t>(&m) & 1); }
struct Big { int v[3]; };
extern "C" __global__ void big(Big b, float* y) { y[0] = b.v[0]; }
extern "C" __global__ void tiny(unsigned char c, float* y) { y[0] = c; }

constexpr auto X = input(0);
constexpr auto Y = output(0);
constexpr auto T = CUTEGEN_LAUNCH(twice).grid(1).block(32).args(X, Y, 1);
constexpr auto M = CUTEGEN_LAUNCH(mapped).grid(1).block(32);

template <int Count>
constexpr auto many_maps() {
  return CUTEGEN_LAUNCH(mapped).grid(1).block(32).args(tma(X, dtype::f32, {256, 128}, {1024}, {4 * Count, 8}), Y);
}

void all() {
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, Y)))                    // expect: the number of arguments in .args() differs from the kernel's parameters
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, Y, 1, 2)))              // expect: the number of arguments in .args() differs from the kernel's parameters
  WRONG(plan(CUTEGEN_LAUNCH(twice)))                               // expect: a launch gives no .args() although its kernel has parameters
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(1, Y, 1)))                 // expect: a scalar is given for a pointer parameter
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, Y, X)))                 // expect: is given for a kernel parameter that is not a pointer
  WRONG(plan(CUTEGEN_LAUNCH(twice).args((float*)nullptr, Y, 1)))   // expect: a pointer cannot be a launch argument
  WRONG(plan(CUTEGEN_LAUNCH(big).args(Big{}, Y)))                  // expect: must be a scalar of 1, 2, 4 or 8 bytes
  WRONG(plan(CUTEGEN_LAUNCH(tiny).args(256, Y)))                   // expect: the value of a scalar argument does not fit its kernel parameter's type
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, Y, int64_t{1} << 40)))  // expect: the value of a scalar argument does not fit its kernel parameter's type
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, Y, 1.5)))               // expect: the value of a scalar argument does not fit its kernel parameter's type
  WRONG(plan(T.grid(0)))                                           // expect: a grid dimension is smaller than 1
  WRONG(plan(T.grid(1, 65536)))                                    // expect: a grid is over the limit
  WRONG(plan(T.block(0)))                                          // expect: a block dimension is smaller than 1
  WRONG(plan(T.block(1025)))                                       // expect: a block has more than 1024 threads
  WRONG(plan(T.block(64, 32)))                                     // expect: a block has more than 1024 threads
  WRONG(plan(T.block(1, 1, 65)))                                   // expect: the z dimension of a block is over 64
  WRONG(plan(T.smem(-1)))                                          // expect: the dynamic shared memory of a launch is negative
  WRONG(plan(T.smem(227 * 1024 + 1)))                              // expect: the dynamic shared memory of a launch is over 227 KB
  WRONG(plan(T.cluster(0)))                                        // expect: a cluster dimension is smaller than 1
  WRONG(plan(T.grid(32).cluster(32)))                              // expect: a cluster has more than 16 CTAs
  WRONG(plan(T.grid(3).cluster(2)))                                // expect: a grid dimension is not a multiple of the cluster's
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(input(1), Y, 1)))          // expect: names an input that the task does not have
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(input(-1), Y, 1)))         // expect: names an input that the task does not have
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(param(0), Y, 1)))          // expect: names a parameter that the task does not have
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, output(1), 1)))         // expect: names an output that the task does not have
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(input(0, 131073), Y, 1)))  // expect: a byte offset lies outside its buffer
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(input(0, -4), Y, 1)))      // expect: a byte offset lies outside its buffer
  WRONG(plan(T, CUTEGEN_LAUNCH(twice).args(workspace(), Y, 1)))    // expect: uses cutegen::workspace() but the plan reserves none
  WRONG(plan(T).workspace(-1))                                     // expect: the workspace size is negative
  WRONG(plan(CUTEGEN_LAUNCH(halves).args(X, Y)))                   // expect: the element type of a pointer parameter differs from the tensor's
  WRONG(plan(CUTEGEN_LAUNCH(words).args(X, Y)))                    // expect: the element type of a pointer parameter differs from the tensor's
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(X, workspace(), 1)).workspace(64))          // expect: no launch is given one of the task's outputs
  WRONG(plan())                                                                     // expect: a plan needs at least one launch
  WRONG(plan(T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T))  // expect: a plan has at most 32 launches
  WRONG(plan(many_maps<1>(), many_maps<2>(), many_maps<3>(), many_maps<4>(), many_maps<5>(), many_maps<6>(), many_maps<7>(), many_maps<8>(), many_maps<9>()))  // expect: a plan has at most 8 different tensor maps
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(tma(X, dtype::f32, {4}, {}, {4}), Y, 1)))   // expect: cutegen::tma is given for a kernel parameter that is not a CUtensorMap
  WRONG(plan(CUTEGEN_LAUNCH(big).args(tma(X, dtype::f32, {4}, {}, {4}), Y)))        // expect: cutegen::tma needs a kernel parameter of type const __grid_constant__ CUtensorMap
  WRONG(plan(M.args(tma(X, dtype::f32, {2, 2, 2, 2, 2, 2}, {16, 16, 16, 16, 16}, {4, 1, 1, 1, 1, 1}), Y)))  // expect: cutegen::tma takes 1 to 5 dimensions
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {}, {32, 8}), Y)))               // expect: cutegen::tma needs as many box sizes as dimensions
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 0}, {1024}, {32, 8}), Y)))             // expect: a dimension of cutegen::tma is outside 1 to 2^32
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1028}, {32, 8}), Y)))           // expect: a stride of cutegen::tma is in bytes and must be a multiple of 16
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1024}, {32, 257}), Y)))         // expect: a box size of cutegen::tma is outside 1 to 256 elements
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1024}, {3, 8}), Y)))            // expect: the innermost box size of cutegen::tma must be a multiple of 16 bytes
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1024}, {64, 8}, swizzle::b128), Y)))  // expect: the innermost box size of cutegen::tma is wider than its swizzle
  WRONG(plan(M.args(tma(input(0, 8), dtype::f32, {128, 64}, {1024}, {32, 8}), Y)))  // expect: the byte offset of a buffer given to cutegen::tma must be a multiple of 16
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 129}, {1024}, {32, 8}), Y)))           // expect: the tensor described to cutegen::tma reaches behind the end of its buffer
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1024}, {32, 8}).l2_promotion(100), Y)))  // expect: is not one that the hardware knows
}

// And right ones, so that a checker that refuses everything is noticed: no line here may be named in the log.
void right() {
  WRONG(plan(T))
  WRONG(plan(T.grid(2147483647, 65535, 65535).block(1024).smem(227 * 1024)))
  WRONG(plan(T.grid(32).cluster(16)))
  WRONG(plan(CUTEGEN_LAUNCH(twice).args(workspace(16), Y, -1)).workspace(16))
  WRONG(plan(M.args(tma(X, dtype::f32, {256, 128}, {1024}, {32, 256}, swizzle::b128), Y)))
  WRONG(plan(many_maps<1>(), many_maps<1>(), many_maps<2>(), many_maps<3>(), many_maps<4>(), many_maps<5>(), many_maps<6>(), many_maps<7>(), many_maps<8>()))
}
