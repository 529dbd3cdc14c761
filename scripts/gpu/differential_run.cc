// Runs the kernels of a folder that scripts/gpu/differential.sh prepared on the GPU, through the driver alone, and keeps what they return.
//
//   differential_run DIR OUT MODULE...
//
// writes for each module (a name in DIR/manifest) OUT/MODULE.bin, the result columns one after the other, each result in as many bytes as
// it has; OUT/MODULE.index, a line a case: name, offset, rows, bytes of each result; and OUT/SWEEP.planes for each sweep: the differences
// of consecutive 32-bit results (the first from 0) as four planes of bytes, low bytes first. A case that fails is a line "failed NAME:
// error".
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include "vgpu/differential/launch_script.h"

namespace {

using Device = int;
using Handle = void*;
using Address = unsigned long long;

void* driver() {
  static void* lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (lib == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::exit(2);
  return lib;
}
template <class... A>
int call(const char* name, A... a) {
  auto* f = reinterpret_cast<int (*)(A...)>(dlsym(driver(), name));
  return f == nullptr ? -1 : f(a...);
}

struct Line {  // case ENTRY ROWS BLOCK TILE KINDS BYTES NAME, sweep ENTRY START STRIDE COUNT NAME, or program NAME NAME
  bool sweep = false, program = false;
  std::string entry, name;
  size_t rows = 0;
  unsigned block = 128, tile = 32, start = 0, stride = 1;
  std::vector<std::string> kinds;
  std::vector<int> bytes;
};
std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> parts;
  if (s == "-") return parts;
  std::istringstream in(s);
  for (std::string p; std::getline(in, p, ',');) parts.push_back(p);
  return parts;
}
std::map<std::string, std::vector<Line>> read_manifest(const std::string& path) {
  std::map<std::string, std::vector<Line>> modules;
  std::ifstream in(path);
  std::string word, module, text;
  while (in >> word) {
    Line l;
    if (word == "module") {
      in >> module;
      continue;
    }
    l.sweep = word == "sweep", l.program = word == "program";
    if (l.program) {
      in >> l.entry >> l.name;
    } else if (l.sweep) {
      in >> l.entry >> l.start >> l.stride >> l.rows >> l.name;
    } else {
      in >> l.entry >> l.rows >> l.block >> l.tile >> text;
      l.kinds = split(text);
      in >> text >> l.name;
      for (const std::string& b : split(text)) l.bytes.push_back(std::stoi(b));
    }
    modules[module].push_back(l);
  }
  return modules;
}

class Gpu {
 public:
  Gpu() { open(); }
  void reset() {
    call("cuDevicePrimaryCtxReset_v2", device_);
    module_ = nullptr;
    open();
  }
  int load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    image_.assign(std::istreambuf_iterator<char>(in), {});
    image_.push_back(0);
    return call("cuModuleLoadData", &module_, static_cast<const void*>(image_.data()));
  }
  int reload() { return call("cuModuleLoadData", &module_, static_cast<const void*>(image_.data())); }
  int run(const std::string& entry, unsigned grid, unsigned block, void** arguments) {
    Handle function = nullptr;
    if (int e = call("cuModuleGetFunction", &function, module_, entry.c_str())) return e;
    if (int e = call("cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, 0u, Handle{}, arguments, static_cast<void**>(nullptr)))
      return e;
    return call("cuCtxSynchronize");
  }
  // A launch with attributes: CUlaunchConfig and CUlaunchAttribute of cuda.h.
  int run(const cutegen::differential::LaunchScript::Launch& l, void** arguments) {
    struct Attribute {
      int id;
      int pad;
      unsigned value[16];
    } attributes[2] = {};
    struct {
      unsigned grid[3], block[3], smem;
      Handle stream;
      Attribute* attributes;
      unsigned count;
    } config = {{l.grid[0], l.grid[1], l.grid[2]}, {l.block[0], l.block[1], l.block[2]}, l.smem_bytes, nullptr, attributes, 0};
    if (l.cluster[0] * l.cluster[1] * l.cluster[2] > 1) attributes[config.count++] = {4, 0, {l.cluster[0], l.cluster[1], l.cluster[2]}};
    if (l.cooperative) attributes[config.count++] = {2, 0, {1}};
    Handle function = nullptr;
    if (int e = call("cuModuleGetFunction", &function, module_, l.kernel.c_str())) return e;
    if (int e = call("cuFuncSetAttribute", function, 8, static_cast<int>(l.smem_bytes))) return e;  // dynamic shared memory above 48 KB
    if (int e = call("cuLaunchKernelEx", static_cast<const void*>(&config), function, arguments, static_cast<void**>(nullptr))) return e;
    return call("cuCtxSynchronize");
  }

 private:
  void open() {
    if (call("cuInit", 0u) || call("cuDeviceGet", &device_, 0) || call("cuDevicePrimaryCtxRetain", &context_, device_) ||
        call("cuCtxSetCurrent", context_))
      std::fprintf(stderr, "no device\n"), std::exit(2);
  }
  Device device_ = 0;
  Handle context_ = nullptr, module_ = nullptr;
  std::vector<char> image_;
};

class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(std::max<size_t>(bytes, 256)) {
    error_ = call("cuMemAlloc_v2", &address_, bytes_) || call("cuMemsetD8_v2", address_, static_cast<unsigned char>(0), bytes_);
  }
  ~Buffer() { call("cuMemFree_v2", address_); }
  Buffer(const Buffer&) = delete;
  int error() const { return error_; }
  int write(const void* p, size_t n) { return call("cuMemcpyHtoD_v2", address_, p, n); }
  int read(void* p, size_t n) const { return call("cuMemcpyDtoH_v2", p, address_, n); }
  Address address_ = 0;

 private:
  size_t bytes_;
  int error_ = 0;
};

int run_case(Gpu& gpu, const Line& l, std::string& packed) {
  const size_t n = l.rows;
  std::vector<uint64_t> in, out(n * l.bytes.size());
  for (size_t i = 0; i < l.kinds.size(); ++i) {
    const std::vector<uint64_t> c = cutegen::differential::column(l.name, i, l.kinds[i], n, l.tile);
    in.insert(in.end(), c.begin(), c.end());
  }
  Buffer source(in.size() * 8), result(out.size() * 8), scratch(n * 32);
  if (source.error() || result.error() || scratch.error()) return 9999;
  if (int e = source.write(in.data(), in.size() * 8)) return e;
  Address bytes = n * 8;
  void* arguments[] = {&source.address_, &result.address_, &bytes, &scratch.address_};
  if (int e = gpu.run(l.entry, static_cast<unsigned>(n / l.block), l.block, arguments)) return e;
  if (int e = result.read(out.data(), out.size() * 8)) return e;
  for (size_t r = 0; r < l.bytes.size(); ++r)
    for (size_t row = 0; row < n; ++row) packed.append(reinterpret_cast<const char*>(&out[r * n + row]), static_cast<size_t>(l.bytes[r]));
  return 0;
}

int run_program(Gpu& gpu, const Line& l, const std::string& folder, std::string& packed) {
  const auto script = cutegen::differential::read_launch_script(folder + "/" + l.name + ".launch", l.name);
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (const auto& b : script.buffers) {
    buffers.push_back(std::make_unique<Buffer>(b.bytes));
    if (buffers.back()->error()) return 9999;
    if (int e = buffers.back()->write(b.contents.data(), b.bytes)) return e;
  }
  for (const auto& launch : script.launches) {
    std::vector<uint64_t> values;
    std::vector<void*> pointers;
    for (const auto& a : launch.arguments) values.push_back(a.is_buffer ? buffers[a.buffer]->address_ + a.value : a.value);
    for (uint64_t& v : values) pointers.push_back(&v);
    if (int e = gpu.run(launch, pointers.data())) return e;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (script.buffers[i].kind != "out") continue;
    std::string out(script.buffers[i].bytes, 0);
    if (int e = buffers[i]->read(out.data(), out.size())) return e;
    packed += out;
  }
  return 0;
}

int run_sweep(Gpu& gpu, const Line& l, const std::string& folder) {
  std::vector<uint32_t> out(l.rows);
  Buffer result(l.rows * 4);
  if (result.error()) return 9999;
  unsigned start = l.start, stride = l.stride;
  void* arguments[] = {&result.address_, &start, &stride};
  if (int e = gpu.run(l.entry, static_cast<unsigned>(l.rows / 128), 128, arguments)) return e;
  if (int e = result.read(out.data(), l.rows * 4)) return e;
  std::string planes(4 * l.rows, 0);
  uint32_t before = 0;
  for (size_t i = 0; i < l.rows; ++i) {
    const uint32_t d = out[i] - before;
    for (size_t b = 0; b < 4; ++b) planes[b * l.rows + i] = static_cast<char>(d >> (8 * b));
    before = out[i];
  }
  std::ofstream(folder + "/" + l.name + ".planes", std::ios::binary) << planes;
  return 0;
}

void run_module(Gpu& gpu, const std::string& folder, const std::string& out, const std::string& module, const std::vector<Line>& lines) {
  std::ofstream bin(out + "/" + module + ".bin", std::ios::binary), index(out + "/" + module + ".index");
  if (int e = gpu.load(folder + "/" + module + ".cubin")) {
    index << "failed " << module << ": load error " << e << "\n";
    return;
  }
  size_t at = 0;
  for (const Line& l : lines) {
    std::string packed;
    const int e = l.program ? run_program(gpu, l, folder, packed) : l.sweep ? run_sweep(gpu, l, out) : run_case(gpu, l, packed);
    if (e != 0) {
      index << "failed " << l.name << ": error " << e << std::endl;
      gpu.reset();
      if (gpu.reload() != 0) return;
      continue;
    }
    if (l.sweep) continue;
    index << l.name << " " << at << " " << (l.program ? packed.size() : l.rows);
    if (l.program) index << " 1";
    for (int b : l.bytes) index << " " << b;
    index << "\n";
    bin << packed;
    at += packed.size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: differential_run DIR OUT MODULE...\n"), 2;
  const std::string folder = argv[1];
  const auto modules = read_manifest(folder + "/manifest");
  Gpu gpu;
  for (int i = 3; i < argc; ++i)
    if (const auto it = modules.find(argv[i]); it != modules.end()) run_module(gpu, folder, argv[2], it->first, it->second);
  return 0;
}
