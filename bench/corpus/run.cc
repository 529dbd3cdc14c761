// Runs the corpus on a GPU through the driver API (libcuda opened at run time, so that the binary can be built anywhere).
//
//   corpus_run time CASES    times each case: JSON on standard output
//   corpus_run once CASES    launches each case once, for a profiler; the names in order on standard output
//
// Time: device events around one launch in a stream that is still busy with writing 512 MB (which also makes the L2 cold), so that the
// host's launch latency is hidden; 3 launches first, then 15; median and quartiles.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cases.h"
#include "fill.h"

namespace {

using corpus::Case;
using Ptr = unsigned long long;

void* library() {
  static void* const handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (handle == nullptr) std::fprintf(stderr, "no libcuda.so.1: %s\n", dlerror()), std::exit(3);
  return handle;
}

template <class... A>
int call(const char* name, A... args) {
  auto f = reinterpret_cast<int (*)(A...)>(dlsym(library(), name));
  return f == nullptr ? 999 : f(args...);
}

template <class... A>
void must(const char* name, A... args) {
  if (const int error = call(name, args...); error != 0) std::fprintf(stderr, "%s failed: %d\n", name, error), std::exit(1);
}

constexpr uint64_t kFlushBytes = 512ull << 20;
constexpr int kWarmups = 3, kRepeats = 15;
constexpr int kMaxDynamicSmem = 8, kMaxRegistersAttribute = 4, kStaticSmemAttribute = 1, kLocalAttribute = 3;  // CU_FUNC_ATTRIBUTE_*

struct Loaded {
  void* module = nullptr;
  void* function = nullptr;
  std::map<int, Ptr> memory;
  std::vector<uint64_t> values;
  std::vector<void*> pointers;
};

int load(const Case& c, Loaded& l) {
  if (const int e = call("cuModuleLoad", &l.module, (c.source + ".cubin").c_str()); e != 0) return e;
  if (const int e = call("cuModuleGetFunction", &l.function, l.module, c.kernel.c_str()); e != 0) return e;
  if (c.smem > 0) must("cuFuncSetAttribute", l.function, kMaxDynamicSmem, static_cast<int>(c.smem));
  for (const auto& [id, b] : c.buffers) {
    std::vector<uint32_t> host((b.bytes + 3) / 4);
    corpus::fill(host.data(), host.size(), b.fill, b.count);
    must("cuMemAlloc_v2", &l.memory[id], static_cast<size_t>(host.size() * 4));
    must("cuMemcpyHtoD_v2", l.memory[id], static_cast<const void*>(host.data()), static_cast<size_t>(host.size() * 4));
  }
  for (const corpus::Argument& a : c.args) l.values.push_back(a.is_buffer ? l.memory[a.buffer] + a.offset : a.value);
  for (uint64_t& v : l.values) l.pointers.push_back(&v);
  return 0;
}

void unload(Loaded& l) {
  for (const auto& [id, p] : l.memory) must("cuMemFree_v2", p);
  if (l.module != nullptr) must("cuModuleUnload", l.module);
}

// As cuda.h declares them.
struct LaunchAttribute {
  int id = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
  int pad = 0;
  unsigned value[16] = {};
};
struct LaunchConfig {
  unsigned grid[3], block[3], smem = 0;
  void* stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};

int launch(const Case& c, Loaded& l) {
  LaunchAttribute cluster;
  std::copy(c.cluster.begin(), c.cluster.end(), cluster.value);
  LaunchConfig config{{c.grid[0], c.grid[1], c.grid[2]}, {c.block[0], c.block[1], c.block[2]}, c.smem};
  if (c.cluster[0] * c.cluster[1] * c.cluster[2] > 1) config.attributes = &cluster, config.count = 1;
  return call("cuLaunchKernelEx", static_cast<const LaunchConfig*>(&config), l.function, l.pointers.data(), static_cast<void**>(nullptr));
}

std::vector<float> time_case(const Case& c, Loaded& l, Ptr flush) {
  void *begin = nullptr, *end = nullptr;
  must("cuEventCreate", &begin, 0u);
  must("cuEventCreate", &end, 0u);
  std::vector<float> ms;
  for (int i = 0; i < kWarmups + kRepeats; ++i) {
    must("cuMemsetD32Async", flush, static_cast<unsigned>(i), static_cast<size_t>(kFlushBytes / 4), static_cast<void*>(nullptr));
    must("cuEventRecord", begin, static_cast<void*>(nullptr));
    if (launch(c, l) != 0) std::fprintf(stderr, "%s: a launch failed\n", c.name.c_str()), std::exit(1);
    must("cuEventRecord", end, static_cast<void*>(nullptr));
    must("cuEventSynchronize", end);
    float t = 0;
    must("cuEventElapsedTime", &t, begin, end);
    if (i >= kWarmups) ms.push_back(t);
  }
  must("cuEventDestroy_v2", begin);
  must("cuEventDestroy_v2", end);
  std::sort(ms.begin(), ms.end());
  return ms;
}

int attribute(int which, void* function) {
  int value = 0;
  must("cuFuncGetAttribute", &value, which, function);
  return value;
}

void time_all(const std::vector<Case>& cases) {
  Ptr flush = 0;
  must("cuMemAlloc_v2", &flush, static_cast<size_t>(kFlushBytes));
  char name[256] = {};
  must("cuDeviceGetName", static_cast<char*>(name), 255, 0);
  int driver = 0;
  must("cuDriverGetVersion", &driver);
  std::printf("{\"device\": \"%s\", \"cuda\": %d, \"cases\": [", name, driver);
  const char* comma = "";
  for (const Case& c : cases) {
    Loaded l;
    int error = load(c, l);
    if (error == 0) error = launch(c, l);
    if (error != 0) {
      std::fprintf(stderr, "%s: error %d\n", c.name.c_str(), error);
      unload(l);
      continue;
    }
    error = call("cuCtxSynchronize");
    if (error != 0) std::fprintf(stderr, "%s: error %d\n", c.name.c_str(), error), std::exit(1);  // a fault poisons the context
    const std::vector<float> ms = time_case(c, l, flush);
    std::printf(
        "%s\n{\"name\": \"%s\", \"us\": %.3f, \"us_q1\": %.3f, \"us_q3\": %.3f, \"registers\": %d, \"static_smem\": %d, \"local\": %d}",
        comma, c.name.c_str(), 1e3 * ms[ms.size() / 2], 1e3 * ms[ms.size() / 4], 1e3 * ms[ms.size() * 3 / 4],
        attribute(kMaxRegistersAttribute, l.function), attribute(kStaticSmemAttribute, l.function), attribute(kLocalAttribute, l.function));
    std::fflush(stdout);
    comma = ",";
    unload(l);
  }
  std::printf("\n]}\n");
}

void run_once(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    Loaded l;
    int error = load(c, l);
    if (error == 0) error = launch(c, l);
    if (error != 0) {
      std::fprintf(stderr, "%s: error %d\n", c.name.c_str(), error);
      unload(l);
      continue;
    }
    error = call("cuCtxSynchronize");
    if (error != 0) std::fprintf(stderr, "%s: error %d\n", c.name.c_str(), error), std::exit(1);  // a fault poisons the context
    std::printf("%s\n", c.name.c_str());
    std::fflush(stdout);
    unload(l);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc == 3 ? argv[1] : "";
  if (verb != "time" && verb != "once") return std::fprintf(stderr, "usage: corpus_run time|once CASES\n"), 2;
  const std::vector<Case> cases = corpus::read_cases(argv[2]);
  must("cuInit", 0u);
  int device = 0;
  must("cuDeviceGet", &device, 0);
  void* context = nullptr;
  must("cuDevicePrimaryCtxRetain", &context, device);
  must("cuCtxSetCurrent", context);
  verb == "time" ? time_all(cases) : run_once(cases);
  return 0;
}
