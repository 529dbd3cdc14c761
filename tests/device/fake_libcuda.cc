// A stand-in for libcuda.so.1: the driver's binary interface over host memory, for testing the executor without a GPU.
//
// Kernels are host functions looked up by name; a "cubin" is a text file that starts with "fake cubin" and names those that it holds.
// Execution is deferred to the next synchronisation, as on a GPU. Device memory is a memfd, so that another process can open it by an
// IPC handle. Time is invented: 0.25 ms a kernel, 0.1 ms a memset.
//
// FAKE_CUDA_INIT=N: cuInit returns N. FAKE_CUDA_MEMORY=BYTES: size of device memory. FAKE_CUDA_TRACE=FILE: one line a call is appended.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/cuda/api.h"
#include "device/cuda/checks.h"

namespace cutegen::cuda {

struct CUmod_st {
  std::string text;
  std::map<std::string, struct CUfunc_st*> functions;
};
struct CUfunc_st {
  std::string name;
  int max_dynamic_smem = 48 << 10;
  bool non_portable_cluster = false;
};
struct CUevent_st {
  double at_ms = 0;
};
using Work = std::function<CUresult()>;
struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

namespace {

constexpr double kKernelMs = 0.25, kMemsetMs = 0.1;
constexpr CUresult kHang = -1, kCrash = -2, kGarbage = -3;  // what a kernel does instead of returning a code
constexpr int kMaxDynamicSmem = 227 << 10;

struct Allocation {
  int fd = -1;
  size_t bytes = 0;
};

struct Gpu {
  std::map<CUdeviceptr, Allocation> allocations;
  size_t used = 0;
  CUresult sticky = kSuccess;
  bool capturing = false;
  std::vector<Work> queue, captured;
  double clock_ms = 0;
};

Gpu& gpu() {
  static Gpu instance;
  return instance;
}

void trace(const std::string& line) {
  static const char* path = std::getenv("FAKE_CUDA_TRACE");
  if (path == nullptr) return;
  if (FILE* file = std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

size_t total_memory() {
  const char* text = std::getenv("FAKE_CUDA_MEMORY");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : size_t{8} << 30;
}

CUresult enqueue(Work work) {
  Gpu& g = gpu();
  if (g.sticky != kSuccess) return g.sticky;
  (g.capturing ? g.captured : g.queue).push_back(std::move(work));
  return kSuccess;
}

// Runs what is queued. Misbehaviour happens here, as a GPU shows it at a synchronisation.
CUresult drain() {
  Gpu& g = gpu();
  std::vector<Work> queue = std::exchange(g.queue, {});
  for (const Work& work : queue) {
    if (g.sticky != kSuccess) break;
    const CUresult code = work();
    if (code == kHang)
      for (;;) ::pause();
    if (code == kCrash) {
      std::fprintf(stderr, "fake driver: crashing as told\n");
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would make an exit code of it
      std::raise(SIGSEGV);
    }
    if (code == kGarbage) {
      [[maybe_unused]] const ssize_t n = ::write(3, "\xff\xff\xff\xff nonsense", 13);
      for (;;) ::pause();
    }
    g.sticky = code;
  }
  return g.sticky;
}

template <class T>
T* device_pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

// A launch as a kernel sees it.
struct Call {
  CUlaunchConfig config;
  std::array<unsigned, 3> cluster{1, 1, 1};
  bool cooperative = false, pdl = false;
  std::vector<std::vector<unsigned char>> arguments;
  template <class T>
  T get(size_t i) const {
    T value;
    std::memcpy(&value, arguments.at(i).data(), sizeof value);
    return value;
  }
  float* floats(size_t i) const { return device_pointer<float>(get<CUdeviceptr>(i)); }
};

struct Kernel {
  std::vector<size_t> sizes;  // of the parameters
  std::function<CUresult(const Call&)> body;
};

CUresult fill_zones(const Call& call) {
  const auto* table = device_pointer<uint64_t>(call.get<CUdeviceptr>(0));
  for (unsigned zone = 0; zone < call.config.grid_x; ++zone) {
    auto* bytes = device_pointer<unsigned char>(table[2 * zone]);
    for (uint64_t i = 0; i < table[2 * zone + 1]; ++i) bytes[i] = guard_byte(i);
  }
  return kSuccess;
}

CUresult check_zones(const Call& call) {
  const auto* table = device_pointer<uint64_t>(call.get<CUdeviceptr>(0));
  auto* first_bad = device_pointer<uint64_t>(call.get<CUdeviceptr>(1));
  for (unsigned zone = 0; zone < call.config.grid_x; ++zone) {
    const auto* bytes = device_pointer<unsigned char>(table[2 * zone]);
    for (uint64_t i = 0; i < table[2 * zone + 1]; ++i)
      if (bytes[i] != guard_byte(i)) first_bad[zone] = std::min(first_bad[zone], i);
  }
  return kSuccess;
}

CUresult checksum(const Call& call) {
  const auto* words = device_pointer<uint64_t>(call.get<CUdeviceptr>(0));
  auto* sums = device_pointer<uint64_t>(call.get<CUdeviceptr>(2));
  for (uint64_t i = 0; i < call.get<uint64_t>(1); ++i) {
    uint64_t x = (words[2 * i] ^ i * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 32;
    uint64_t y = (words[2 * i + 1] + x) * 0x94d049bb133111ebULL;
    sums[i % 64] += y ^ y >> 29;
  }
  return kSuccess;
}

// What cuTensorMapEncodeTiled of this stand-in leaves in the map.
struct FakeMap {
  uint64_t address, elements;
};

// The launch's shape and attributes, as numbers that a test can read.
CUresult report(const Call& call) {
  const float numbers[] = {static_cast<float>(call.config.grid_x), static_cast<float>(call.config.block_x),
                           static_cast<float>(call.cluster[0]),    static_cast<float>(call.config.shared_bytes),
                           call.cooperative ? 1.f : 0.f,           call.pdl ? 1.f : 0.f};
  std::copy(std::begin(numbers), std::end(numbers), call.floats(0));
  return kSuccess;
}

const std::map<std::string, Kernel>& kernels() {
  static const std::map<std::string, Kernel> table = {
      {"cutegen_zone_fill", {{8}, fill_zones}},
      {"cutegen_zone_check", {{8, 8}, check_zones}},
      {"cutegen_checksum", {{8, 8, 8}, checksum}},
      {"cutegen_spin", {{8}, [](const Call&) { return kSuccess; }}},
      {"add",
       {{8, 8, 8, 8},
        [](const Call& c) {
          for (int64_t i = 0; i < c.get<int64_t>(3); ++i) c.floats(2)[i] = c.floats(0)[i] + c.floats(1)[i];
          return kSuccess;
        }}},
      {"scale",
       {{8, 8, 4},
        [](const Call& c) {
          for (uint32_t i = 0; i < c.get<uint32_t>(2); ++i) c.floats(1)[i] = 2 * c.floats(0)[i];
          return kSuccess;
        }}},
      {"noop", {{8}, [](const Call&) { return kSuccess; }}},
      {"write_before", {{8}, [](const Call& c) { return c.floats(0)[-3] = 1, kSuccess; }}},
      {"write_after",
       {{8, 4}, [](const Call& c) { return reinterpret_cast<unsigned char*>(c.floats(0))[c.get<uint32_t>(1)] = 1, kSuccess; }}},
      {"write_input", {{8, 8}, [](const Call& c) { return c.floats(0)[1] += 1, kSuccess; }}},
      {"read_workspace",
       {{8, 8},
        [](const Call& c) {
          c.floats(0)[0] = c.floats(1)[0];
          c.floats(1)[0] = 42;
          return kSuccess;
        }}},
      {"copy_map",
       {{128, 8},
        [](const Call& c) {
          const auto map = c.get<FakeMap>(0);
          std::memcpy(c.floats(1), device_pointer<float>(map.address), map.elements * sizeof(float));
          return kSuccess;
        }}},
      {"report", {{8}, report}},
      {"hang", {{8}, [](const Call&) { return kHang; }}},
      {"crash", {{8}, [](const Call&) { return kCrash; }}},
      {"garbage", {{8}, [](const Call&) { return kGarbage; }}},
  };
  return table;
}

// "fault_700" faults with that code when it runs, "reject_701" when it is launched.
int code_in_name(const std::string& name, const char* prefix) {
  return name.rfind(prefix, 0) == 0 ? std::atoi(name.c_str() + std::strlen(prefix)) : 0;
}

Kernel kernel_named(const std::string& name) {
  if (const int code = code_in_name(name, "fault_"); code != 0) return {{8}, [code](const Call&) { return code; }};
  const auto it = kernels().find(name);
  return it != kernels().end() ? it->second : Kernel{{8}, [](const Call&) { return kSuccess; }};
}

CUresult decode_attributes(Call& call) {
  for (unsigned i = 0; i < call.config.attribute_count; ++i) {
    const CUlaunchAttribute& a = call.config.attributes[i];
    if (a.id == kLaunchCooperative) call.cooperative = a.value.cooperative != 0;
    if (a.id == kLaunchProgrammaticSerialization) call.pdl = a.value.programmatic_stream_serialization != 0;
    if (a.id == kLaunchClusterDimension) call.cluster = {a.value.cluster_dim.x, a.value.cluster_dim.y, a.value.cluster_dim.z};
  }
  return call.config.grid_x % call.cluster[0] == 0 ? kSuccess : 912;  // CUDA_ERROR_INVALID_CLUSTER_SIZE
}

// Flushing the L2 is a memset whose content nobody reads: those of its size are counted and timed, but not done.
constexpr size_t kLargestRealMemset = size_t{64} << 20;

template <class T>
CUresult memset_work(CUdeviceptr to, size_t count, T value) {
  return enqueue([=] {
    if (count * sizeof(T) <= kLargestRealMemset) std::fill_n(device_pointer<T>(to), count, value);
    gpu().clock_ms += kMemsetMs;
    return kSuccess;
  });
}

CUresult copy_work(void* to, const void* from, size_t bytes) {
  return enqueue([=] {
    std::memcpy(to, from, bytes);
    return kSuccess;
  });
}

}  // namespace
}  // namespace cutegen::cuda

using namespace cutegen::cuda;

extern "C" {

CUresult cuInit(unsigned) {
  const char* code = std::getenv("FAKE_CUDA_INIT");
  return code != nullptr ? std::atoi(code) : kSuccess;
}
CUresult cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }

CUresult cuGetErrorName(CUresult error, const char** text) {
  static const std::map<CUresult, const char*> names = {
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},           {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},          {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},      {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS"}};
  const auto it = names.find(error);
  *text = it != names.end() ? it->second : nullptr;
  return it != names.end() ? kSuccess : kInvalidValue;
}
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "as told to the stand-in", kSuccess; }

CUresult cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, ordinal == 0 ? kSuccess : kInvalidDevice; }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  return std::snprintf(name, static_cast<size_t>(bytes), "Stand-in GPU"), kSuccess;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(i * 17);
  return kSuccess;
}
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice) {
  static const std::map<int, int> values = {
      {kAttributeSmCount, 4}, {kAttributeL2Bytes, 1 << 20}, {kAttributeMajor, 9}, {kAttributeMinor, 0}};
  *value = values.count(attribute) != 0 ? values.at(attribute) : 0;
  return kSuccess;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = total_memory(), kSuccess; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = nullptr, kSuccess; }
CUresult cuCtxSetCurrent(CUcontext) { return kSuccess; }
CUresult cuCtxSynchronize() { return drain(); }
CUresult cuCtxSetLimit(int limit, size_t value) {
  trace("limit " + std::to_string(limit) + " " + std::to_string(value));
  return kSuccess;
}
CUresult cuCtxResetPersistingL2Cache() {
  trace("reset_l2");
  return kSuccess;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const std::string text(static_cast<const char*>(image));
  if (text.rfind("fake cubin", 0) != 0 && text.find(".version") == std::string::npos) return kInvalidImage;
  trace("load");
  *module = new CUmod_st{text, {}};
  return kSuccess;
}
CUresult cuModuleUnload(CUmodule module) {
  for (const auto& [name, function] : module->functions) delete function;
  delete module;
  return kSuccess;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module->text.find(name) == std::string::npos) return kNotFound;
  CUfunc_st*& known = module->functions[name];
  if (known == nullptr) known = new CUfunc_st{name};
  *function = known;
  return kSuccess;
}
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  if (attribute == kFunctionMaxDynamicSmem) {
    if (value > kMaxDynamicSmem) return kInvalidValue;
    function->max_dynamic_smem = value;
  }
  if (attribute == kFunctionNonPortableCluster) function->non_portable_cluster = value != 0;
  return kSuccess;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const Kernel kernel = kernel_named(function->name);
  if (index >= kernel.sizes.size()) return kInvalidValue;
  *offset = 0;
  *bytes = kernel.sizes[index];
  return kSuccess;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  if (const int code = code_in_name(function->name, "reject_"); code != 0) return code;
  const Kernel kernel = kernel_named(function->name);
  Call call{*config, {1, 1, 1}, false, false, {}};
  if (const CUresult code = decode_attributes(call); code != kSuccess) return code;
  if (static_cast<int>(config->shared_bytes) > function->max_dynamic_smem) return kInvalidValue;
  if (call.cluster[0] > 8 && !function->non_portable_cluster) return 912;
  for (size_t i = 0; i < kernel.sizes.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(parameters[i]);
    call.arguments.emplace_back(bytes, bytes + kernel.sizes[i]);
  }
  const std::string name = function->name;
  return enqueue([=] {
    trace("kernel " + name);
    gpu().clock_ms += kKernelMs;
    return kernel.body(call);
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  Gpu& g = gpu();
  if (g.sticky != kSuccess) return g.sticky;
  if (g.used + bytes > total_memory()) return kOutOfMemory;
  const int fd = ::memfd_create("fake-gpu", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return kOutOfMemory;
  trace("alloc " + std::to_string(bytes));
  *address = reinterpret_cast<CUdeviceptr>(mapped);
  g.allocations[*address] = {fd, bytes};
  g.used += bytes;
  return kSuccess;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  Gpu& g = gpu();
  const auto it = g.allocations.find(address);
  if (it == g.allocations.end()) return kInvalidValue;
  trace("free " + std::to_string(it->second.bytes));
  ::munmap(device_pointer<void>(address), it->second.bytes);
  ::close(it->second.fd);
  g.used -= it->second.bytes;
  g.allocations.erase(it);
  return kSuccess;
}
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = total_memory();
  *free = *total - gpu().used;
  return kSuccess;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  // From pageable memory the driver has staged the source when it returns; the copy itself waits its turn.
  const auto* begin = static_cast<const char*>(from);
  std::vector<char> staged(begin, begin + bytes);
  return enqueue([to, staged = std::move(staged)] {
    std::memcpy(device_pointer<char>(to), staged.data(), staged.size());
    return kSuccess;
  });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  return copy_work(to, device_pointer<void>(from), bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return copy_work(device_pointer<void>(to), device_pointer<void>(from), bytes);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream) { return memset_work(to, count, value); }
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  trace("memset32 " + std::to_string(count) + " " + std::to_string(value));
  return memset_work(to, count, value);
}

struct FakeHandle {
  int pid, fd;
  size_t bytes;
};
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const auto it = gpu().allocations.find(address);
  if (it == gpu().allocations.end()) return kInvalidValue;
  const FakeHandle fake{::getpid(), it->second.fd, it->second.bytes};
  std::memcpy(handle->reserved, &fake, sizeof fake);
  return kSuccess;
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  FakeHandle fake;
  std::memcpy(&fake, handle.reserved, sizeof fake);
  const std::string path = "/proc/" + std::to_string(fake.pid) + "/fd/" + std::to_string(fake.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return kInvalidValue;
  void* mapped = ::mmap(nullptr, fake.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return kInvalidValue;
  trace("ipc_open");
  *address = reinterpret_cast<CUdeviceptr>(mapped);
  gpu().allocations[*address] = {fd, fake.bytes};
  gpu().used += fake.bytes;  // given back by cuIpcCloseMemHandle
  return kSuccess;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  trace("ipc_close");
  return cuMemFree_v2(address);
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = nullptr, kSuccess; }
CUresult cuStreamSynchronize(CUstream) { return drain(); }
CUresult cuStreamBeginCapture_v2(CUstream, int) { return gpu().capturing = true, kSuccess; }
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  trace("capture");
  gpu().capturing = false;
  *graph = new CUgraph_st{std::exchange(gpu().captured, {})};
  return kSuccess;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return kSuccess;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  trace("graph_launch");
  for (const Work& work : exec->work)
    if (const CUresult code = enqueue(work); code != kSuccess) return code;
  return kSuccess;
}
CUresult cuGraphDestroy(CUgraph graph) { return delete graph, kSuccess; }
CUresult cuGraphExecDestroy(CUgraphExec exec) { return delete exec, kSuccess; }
CUresult cuEventCreate(CUevent* event, unsigned) { return *event = new CUevent_st, kSuccess; }
CUresult cuEventRecord(CUevent event, CUstream) {
  return enqueue([event] {
    event->at_ms = gpu().clock_ms;
    return kSuccess;
  });
}
CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent end) { return *ms = static_cast<float>(end->at_ms - start->at_ms), kSuccess; }

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, int dtype, uint32_t rank, void* address, const uint64_t* shape, const uint64_t* strides,
                                const uint32_t* box, const uint32_t* element_strides, int, int, int, int) {
  if (dtype != kTensorMapF32 || strides == nullptr || element_strides == nullptr) return kInvalidValue;
  FakeMap fake{reinterpret_cast<uint64_t>(address), 1};
  for (uint32_t i = 0; i < rank; ++i) {
    if (box[i] > 256) return kInvalidValue;
    fake.elements *= shape[i];
  }
  std::memcpy(map, &fake, sizeof fake);
  return kSuccess;
}

}  // extern "C"
