// The stand-in runtime as programs use it, without nvcc: what its start-up code and stubs would do is done by hand (api.h).
#include "sim/api.h"

#include <gmock/gmock.h>

#include <numeric>

namespace cutegen::sim {
namespace {

using testing::HasSubstr;

// fill(p, n, value): p[i] = value + i for i < n. One warp-sized step a thread. `counter` counts launches of thread 0.
constexpr const char* kFill = R"(
.visible .global .align 4 .u32 counter = 5;
.visible .global .align 8 .b64 pointer;
.visible .entry fill(.param .u64 p, .param .u32 n, .param .f32 value) .maxntid 256 {
  .reg .pred %q<3>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [value];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %q1, %r5, %r1;
  @%q1 bra $done;
  cvt.rn.f32.s32 %f2, %r5; add.f32 %f3, %f1, %f2;
  mul.wide.s32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;
  st.global.f32 [%rd3], %f3;
  setp.ne.s32 %q2, %r5, 0;
  @%q2 bra $done;
  mov.u64 %rd4, counter; cvta.global.u64 %rd5, %rd4;
  ld.u32 %r6, [%rd5]; add.s32 %r7, %r6, 1; st.u32 [%rd5], %r7;
$done:
  ret;
}
.visible .entry big_smem() {
  .reg .b32 %r<2>;
  .shared .align 4 .b8 s[1024];
  ret;
}
)";

class ApiTest : public testing::Test {
 protected:
  void SetUp() override { cudaDeviceReset(); }
  void TearDown() override { cudaDeviceReset(); }
  int fill(void* p, int n, float value, unsigned grid, unsigned block) {
    void* arguments[] = {&p, &n, &value};
    return cudaLaunchKernel(fill_, {grid, 1, 1}, {block, 1, 1}, arguments, 0, nullptr);
  }
  Program program_{kFill};
  const void* fill_ = program_.kernel("fill");
  const void* big_smem_ = program_.kernel("big_smem");
  const void* counter_ = program_.variable("counter", 4);
};

TEST_F(ApiTest, TripleChevronLaunches) {
  float* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 400), kSuccess);
  ASSERT_EQ(__cudaPushCallConfiguration({1, 1, 1}, {128, 1, 1}, 0, nullptr), 0u);
  void* kernel = nullptr;
  ASSERT_EQ(__cudaGetKernel(&kernel, fill_), kSuccess);
  dim3 grid{}, block{};
  size_t smem = 1;
  Stream stream = &smem;
  ASSERT_EQ(__cudaPopCallConfiguration(&grid, &block, &smem, &stream), kSuccess);
  EXPECT_EQ(block.x, 128u);
  EXPECT_EQ(smem, 0u);
  EXPECT_EQ(stream, nullptr);
  int n = 100;
  float value = 0.5f;
  void* arguments[] = {&device, &n, &value};
  ASSERT_EQ(__cudaLaunchKernel(kernel, grid, block, arguments, smem, stream), kSuccess);
  std::vector<float> host(100);
  ASSERT_EQ(cudaMemcpy(host.data(), device, 400, kDeviceToHost), kSuccess);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(host[static_cast<size_t>(i)], 0.5f + static_cast<float>(i));
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &smem, &stream), kMissingConfiguration);
  EXPECT_EQ(cudaGetLastError(), kMissingConfiguration);
  EXPECT_EQ(cudaGetLastError(), kSuccess);
}

TEST_F(ApiTest, AFaultIsSaidOnceAndSticksUntilReset) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 400), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fill(device, 128, 0, 1, 128), kIllegalAddress);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("cutegen sim: cudaLaunchKernel: out_of_bounds: write of 4 bytes"));
  EXPECT_THAT(said, HasSubstr("past the end of 'cudaMalloc"));
  EXPECT_THAT(said, HasSubstr("thread (100,0,0)"));
  EXPECT_EQ(cudaDeviceSynchronize(), kIllegalAddress);
  EXPECT_EQ(cudaMalloc(&device, 4), kIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), kIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), kIllegalAddress);
  EXPECT_STREQ(cudaGetErrorString(kIllegalAddress), "an illegal memory access was encountered");
  EXPECT_EQ(cudaDeviceReset(), kSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), kSuccess);
  EXPECT_EQ(cudaGetLastError(), kSuccess);
}

TEST_F(ApiTest, WrongLaunchesAreRefusedAndDoNotStick) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 4096), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fill(device, 4, 0, 1, 2048), kInvalidValue);
  EXPECT_EQ(fill(device, 4, 0, 0, 32), kInvalidValue);
  EXPECT_EQ(fill(device, 4, 0, 1, 512), kInvalidValue);  // .maxntid 256
  EXPECT_EQ(cudaLaunchKernel(device, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), kInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(big_smem_, {1, 1, 1}, {32, 1, 1}, nullptr, 100'000, nullptr), kInvalidValue);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cudaFuncAttributeMaxDynamicSharedMemorySize"));
  EXPECT_EQ(cudaPeekAtLastError(), kInvalidValue);
  EXPECT_EQ(cudaGetLastError(), kInvalidValue);
  EXPECT_EQ(fill(device, 4, 0, 1, 32), kSuccess);
  EXPECT_EQ(cudaGetLastError(), kSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(big_smem_, kFuncMaxDynamicSmem, 100'000), kSuccess);
  EXPECT_EQ(cudaLaunchKernel(big_smem_, {1, 1, 1}, {32, 1, 1}, nullptr, 100'000, nullptr), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaFuncSetAttribute(big_smem_, kFuncMaxDynamicSmem, 232'448), kInvalidValue);  // and 1024 static ones
  testing::internal::GetCapturedStderr();
}

TEST_F(ApiTest, LaunchAttributesAndCooperativeLimits) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 4096), kSuccess);
  int n = 8;
  float value = 1;
  void* arguments[] = {&device, &n, &value};
  LaunchAttribute attributes[2] = {};
  attributes[0].id = kAttrClusterDimension;
  attributes[0].value.dim[0] = 2, attributes[0].value.dim[1] = attributes[0].value.dim[2] = 1;
  attributes[1].id = kAttrCooperative;
  attributes[1].value.integer = 1;
  const auto launch = [&](unsigned grid, unsigned cluster) {
    attributes[0].value.dim[0] = cluster;
    const LaunchConfigAbi config{{grid, 1, 1}, {32, 1, 1}, 0, nullptr, attributes, 2};
    return cudaLaunchKernelExC(&config, fill_, arguments);
  };
  EXPECT_EQ(launch(4, 2), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(3, 2), kInvalidClusterSize);  // not a multiple
  EXPECT_EQ(launch(16, 16), kInvalidClusterSize);
  EXPECT_EQ(cudaLaunchCooperativeKernel(fill_, {132 * 32 + 1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr), kCooperativeLaunchTooLarge);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(cudaFuncSetAttribute(fill_, kFuncNonPortableCluster, 1), kSuccess);
  EXPECT_EQ(launch(16, 16), kSuccess);
}

TEST_F(ApiTest, CopiesKnowWhereMemoryEnds) {
  std::vector<int> host(100), back(100);
  std::iota(host.begin(), host.end(), 0);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 400), kSuccess);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 400, kHostToDevice), kSuccess);
  EXPECT_EQ(cudaMemcpyAsync_ptsz(back.data(), device, 400, kDefault, nullptr), kSuccess);
  EXPECT_EQ(back, host);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMemcpy(device, host.data(), 404, kHostToDevice), kInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device, 400, kHostToDevice), kInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 4, kDeviceToDevice), kInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 4, 9), kInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), kInvalidValue);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("404 bytes at"));
  EXPECT_THAT(said, HasSubstr("reach 4 bytes past the end of"));
  EXPECT_EQ(cudaMemset(device, 0xff, 400), kSuccess);
  EXPECT_EQ(cudaMemcpy(back.data(), device, 400, kDeviceToHost), kSuccess);
  EXPECT_EQ(back[99], -1);
}

TEST_F(ApiTest, CopiesInTwoAndThreeDimensions) {
  std::vector<uint8_t> host(6 * 10), back(4 * 3, 0);
  std::iota(host.begin(), host.end(), uint8_t{0});
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 16 * 6), kSuccess);
  ASSERT_EQ(cudaMemset2D(device, 16, 7, 16, 6), kSuccess);
  ASSERT_EQ(cudaMemcpy2D(device, 16, host.data(), 10, 10, 6, kHostToDevice), kSuccess);
  ASSERT_EQ(cudaMemcpy2D(back.data(), 4, static_cast<char*>(device) + 16 + 8, 16, 4, 3, kDeviceToHost), kSuccess);
  EXPECT_EQ(back, (std::vector<uint8_t>{18, 19, 7, 7, 28, 29, 7, 7, 38, 39, 7, 7}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMemcpy2D(device, 8, host.data(), 10, 10, 6, kHostToDevice), kInvalidPitchValue);
  testing::internal::GetCapturedStderr();
  // Two planes of 3 rows of 5 bytes; the last 2 bytes of the last 2 rows of each.
  Memcpy3DParams p{};
  p.src = {host.data(), 5, 5, 3};
  p.src_pos = {3, 1, 0};
  p.dst = {device, 16, 16, 2};
  p.extent = {2, 2, 2};
  p.kind = kHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&p), kSuccess);
  std::vector<uint8_t> rows(64);
  ASSERT_EQ(cudaMemcpy(rows.data(), device, 64, kDeviceToHost), kSuccess);
  EXPECT_EQ((std::vector<uint8_t>{rows[0], rows[1], rows[16], rows[17], rows[32], rows[33], rows[48], rows[49]}),
            (std::vector<uint8_t>{8, 9, 13, 14, 23, 24, 28, 29}));
}

TEST_F(ApiTest, FreeingTwiceOrInsideIsAnError) {
  char* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 400), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaFree(device + 4), kInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), kSuccess);
  EXPECT_EQ(cudaFree(device), kSuccess);
  EXPECT_EQ(cudaFree(device), kInvalidValue);
  EXPECT_EQ(cudaMemset(device, 0, 4), kInvalidValue);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("not at its start"));
  EXPECT_THAT(said, HasSubstr("has been freed already"));
}

TEST_F(ApiTest, ManagedPinnedAndRegisteredMemoryHasOneAddress) {
  for (const bool managed : {true, false}) {
    float* p = nullptr;
    ASSERT_EQ(managed ? cudaMallocManaged(reinterpret_cast<void**>(&p), 400, 1) : cudaMallocHost(reinterpret_cast<void**>(&p), 400),
              kSuccess);
    p[99] = -1;
    ASSERT_EQ(fill(p, 100, 2, 1, 128), kSuccess);
    EXPECT_EQ(p[99], 101.0f);
    PointerAttributes a{};
    ASSERT_EQ(cudaPointerGetAttributes(&a, p), kSuccess);
    EXPECT_EQ(a.type, managed ? 3 : 1);
    EXPECT_EQ(a.device_pointer, p);
    EXPECT_EQ(managed ? cudaFree(p) : cudaFreeHost(p), kSuccess);
  }
  std::vector<float> host(100, -1);
  ASSERT_EQ(cudaHostRegister(host.data(), 400, 0), kSuccess);
  void* device = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&device, host.data(), 0), kSuccess);
  EXPECT_EQ(fill(device, 100, 3, 1, 128), kSuccess);
  EXPECT_EQ(host[50], 53.0f);
  EXPECT_EQ(cudaHostUnregister(host.data()), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaHostUnregister(host.data()), kHostMemoryNotRegistered);
  EXPECT_EQ(fill(host.data(), 100, 3, 1, 128), kIllegalAddress);
  testing::internal::GetCapturedStderr();
}

TEST_F(ApiTest, SymbolsAreReadWrittenAndSharedBetweenModules) {
  uint32_t value = 0;
  size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, counter_), kSuccess);
  EXPECT_EQ(bytes, 4u);
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, counter_, 4, 0, kDeviceToHost), kSuccess);
  const uint32_t before = value;
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 16), kSuccess);
  ASSERT_EQ(fill(device, 4, 0, 1, 32), kSuccess);
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, counter_, 4, 0, kDeviceToHost), kSuccess);
  EXPECT_EQ(value, before + 1);
  value = 40;
  ASSERT_EQ(cudaMemcpyToSymbol(counter_, &value, 4, 0, kHostToDevice), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMemcpyToSymbol(counter_, &value, 4, 1, kHostToDevice), kInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(device, &value, 4, 0, kHostToDevice), kInvalidSymbol);
  testing::internal::GetCapturedStderr();
  // A second source file with a variable of its own at another address; its kernel writes the first one's.
  Program other(R"(
.visible .global .align 4 .u32 counter = 1;
.visible .entry store(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, 77; st.global.u32 [%rd1], %r1; ret;
})");
  const void* store = other.kernel("store");
  const void* other_counter = other.variable("counter", 4);
  void *address = nullptr, *other_address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, counter_), kSuccess);
  ASSERT_EQ(cudaGetSymbolAddress(&other_address, other_counter), kSuccess);
  EXPECT_NE(address, other_address);
  void* arguments[] = {&address};
  ASSERT_EQ(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), kSuccess);
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, counter_, 4, 0, kDeviceToHost), kSuccess);
  EXPECT_EQ(value, 77u);
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, other_counter, 4, 0, kDeviceToHost), kSuccess);
  EXPECT_EQ(value, 1u);
}

TEST_F(ApiTest, ManagedVariablesAreTheHostsToo) {
  Program p(R"(
.visible .global .align 4 .attribute(.managed) .u32 shared_value = 7;
.visible .entry increment() {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  mov.u64 %rd1, shared_value; ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret;
})");
  uint32_t* host = nullptr;
  p.managed(reinterpret_cast<void**>(&host), "shared_value", 4);
  EXPECT_NE(__cudaInitModule(p.handle()), 0);
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(*host, 7u);
  *host = 20;
  ASSERT_EQ(cudaLaunchKernel(p.kernel("increment"), {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), kSuccess);
  EXPECT_EQ(*host, 21u);
}

TEST_F(ApiTest, MemoryIsFinite) {
  size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), kSuccess);
  EXPECT_EQ(free_bytes, total);
  void *half = nullptr, *more = nullptr;
  ASSERT_EQ(cudaMalloc(&half, total / 2), kSuccess);  // committed only as it is touched
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMalloc(&more, total / 2 + 4096), kMemoryAllocation);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("are free"));
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), kMemoryAllocation);
  EXPECT_EQ(cudaFree(half), kSuccess);
  EXPECT_EQ(cudaMalloc(&more, total / 2 + 4096), kSuccess);
}

TEST_F(ApiTest, StreamsAndEvents) {
  Stream stream = nullptr;
  Event a = nullptr, b = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), kSuccess);
  ASSERT_EQ(cudaEventCreate(&a), kSuccess);
  ASSERT_EQ(cudaEventCreate(&b), kSuccess);
  float ms = -1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, b), kInvalidResourceHandle);  // not recorded
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(cudaEventRecord(a, stream), kSuccess);
  EXPECT_EQ(cudaEventRecord(b, stream), kSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, b), kSuccess);
  EXPECT_GE(ms, 0);
  int seen = 0;
  EXPECT_EQ(cudaLaunchHostFunc(
                stream, [](void* p) { *static_cast<int*>(p) = 1; }, &seen),
            kSuccess);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(cudaStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), kSuccess);
  EXPECT_EQ(cudaEventDestroy(a), kSuccess);
  EXPECT_EQ(cudaEventDestroy(b), kSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaStreamSynchronize(stream), kInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(a, nullptr), kInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), kInvalidResourceHandle);
  testing::internal::GetCapturedStderr();
}

TEST_F(ApiTest, TheDeviceIsAnH200) {
  int count = 0, value = 0, can = 1;
  EXPECT_EQ(cudaGetDeviceCount(&count), kSuccess);
  EXPECT_EQ(count, 1);
  constexpr int kMajor = 75, kSms = 16;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, kMajor, 0), kSuccess);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, kSms, 0), kSuccess);
  EXPECT_EQ(value, 132);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaSetDevice(1), kInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), kPeerAccessUnsupported);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), kSuccess);
  EXPECT_EQ(can, 0);
  int ctas = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, fill_, 256, 0), kSuccess);
  EXPECT_EQ(ctas, 8);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, big_smem_, 128, 100 * 1024), kSuccess);
  EXPECT_EQ(ctas, 2);
}

TEST_F(ApiTest, ACallThatIsMissingSaysItsName) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphCreate(), kNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cutegen sim: cudaGraphCreate: the virtual GPU's CUDA runtime does not support this call\n");
  EXPECT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaErrorNotSupported");
}

TEST_F(ApiTest, FreshMemoryIsUndefinedUntilItIsWritten) {
  Program p(R"(
.visible .entry copy_one(.param .u64 from, .param .u64 to) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret;
})");
  const void* copy_one = p.kernel("copy_one");
  char *from = nullptr, *to = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&from), 64), kSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&to), 64), kSuccess);
  const auto said_by_launch = [&](char* source) {
    void* arguments[] = {&source, &to};
    testing::internal::CaptureStderr();
    EXPECT_EQ(cudaLaunchKernel(copy_one, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), kSuccess);
    return testing::internal::GetCapturedStderr();
  };
  ASSERT_EQ(cudaMemset(from, 1, 32), kSuccess);
  EXPECT_EQ(said_by_launch(from), "");
  EXPECT_EQ(said_by_launch(to), "");  // written by the kernel
  EXPECT_THAT(said_by_launch(from + 32), HasSubstr("uninitialised"));
  EXPECT_EQ(said_by_launch(from + 32), "");  // once a place
}

TEST_F(ApiTest, PtxThatCannotRunIsReportedAtItsFirstUse) {
  Program p(".visible .entry k() {\n frobnicate.u32 %r1;\n ret;\n}\n");
  const void* k = p.kernel("k");
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(k, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), kInvalidPtx);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("frobnicate"));
}

TEST_F(ApiTest, TensorMapsAreEncoded) {
  void* function = nullptr;
  int status = -1;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, 0, &status), kSuccess);
  EXPECT_EQ(status, 0);
  using Encode =
      int (*)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 512 * 256 * 2), kSuccess);
  alignas(64) uint64_t map[16] = {};
  const uint64_t dims[] = {512, 256}, strides[] = {1024};
  const uint32_t box[] = {64, 128}, steps[] = {1, 1};
  constexpr int kBf16 = 9, kSwizzle128 = 3;
  const auto encode = reinterpret_cast<Encode>(function);
  EXPECT_EQ(encode(map, kBf16, 2, device, dims, strides, box, steps, 0, kSwizzle128, 2, 0), 0);
  EXPECT_TRUE(std::any_of(std::begin(map), std::end(map), [](uint64_t w) { return w != 0; }));
  EXPECT_EQ(map[1], 0u);  // CuTe may clear a bit of it
  const uint32_t too_big[] = {64, 257};
  testing::internal::CaptureStderr();
  EXPECT_EQ(encode(map, kBf16, 2, device, dims, strides, too_big, steps, 0, kSwizzle128, 2, 0), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cuTensorMapEncodeTiled"));
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuFrobnicate", &function, 12000, 0, &status), kSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace cutegen::sim
