#include "device/cuda/checks.h"

#include <algorithm>

namespace cutegen::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kPartialSums = 64;

struct Zone {
  uint64_t address, bytes;
};

std::vector<Zone> zones_of(const std::vector<const Buffer*>& buffers) {
  std::vector<Zone> zones;  // two a buffer: before it, after it
  for (const Buffer* b : buffers) {
    zones.push_back({b->data() - kGuardBytes, kGuardBytes});
    zones.push_back({b->data() + static_cast<uint64_t>(b->bytes()), kGuardBytes});
  }
  return zones;
}

std::string describe_broken(const Buffer& buffer, bool after, uint64_t offset) {
  if (after)
    return buffer.label() + ": written past its end, at byte " + std::to_string(static_cast<uint64_t>(buffer.bytes()) + offset) + " of " +
           std::to_string(buffer.bytes());
  return buffer.label() + ": written before its start, at byte -" + std::to_string(static_cast<uint64_t>(kGuardBytes) - offset);
}

}  // namespace

Failed Checks::make(std::unique_ptr<Checks>& checks, std::shared_ptr<const Driver> driver, CUstream stream, int sm_count) {
  std::unique_ptr<Checks> made(new Checks(std::move(driver), stream, sm_count));
  const Driver& d = *made->driver_;
  if (const CUresult code = d.cuModuleLoadData(&made->module_, kChecksPtx); code != kSuccess)
    return device_error(Error{Errc::missing_dependency, "the driver cannot compile cutegen's own PTX: " + d.text(code),
                              "the driver's JIT compiler (libnvidia-ptxjitcompiler.so.1) must be installed beside libcuda.so.1", ""});
  CUTEGEN_STEP(made->function(made->zone_fill_, "cutegen_zone_fill"));
  CUTEGEN_STEP(made->function(made->zone_check_, "cutegen_zone_check"));
  CUTEGEN_STEP(made->function(made->checksum_, "cutegen_checksum"));
  CUTEGEN_STEP(made->function(made->spin_, "cutegen_spin"));
  checks = std::move(made);
  return std::nullopt;
}

Checks::~Checks() {
  if (scratch_ != 0) driver_->cuMemFree(scratch_);
  if (module_ != nullptr) driver_->cuModuleUnload(module_);
}

Failed Checks::function(CUfunction& function, const char* name) {
  return failed_if(*driver_, driver_->cuModuleGetFunction(&function, module_, name), Phase::other, std::string("finding ") + name);
}

Failed Checks::reserve(size_t bytes) {
  if (bytes <= scratch_bytes_) return std::nullopt;
  if (scratch_ != 0) {
    CUTEGEN_STEP(failed_if(*driver_, driver_->cuStreamSynchronize(stream_), Phase::other, "waiting"));
    driver_->cuMemFree(scratch_);
    scratch_ = 0;
    scratch_bytes_ = 0;
  }
  const size_t wanted = std::max<size_t>(bytes, 1 << 20);
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuMemAlloc(&scratch_, wanted), Phase::other, "allocating scratch memory"));
  scratch_bytes_ = wanted;
  return std::nullopt;
}

Failed Checks::launch(CUfunction function, unsigned grid, void** parameters) {
  CUlaunchConfig config = {grid, 1, 1, kThreads, 1, 1, 0, stream_, nullptr, 0};
  return failed_if(*driver_, driver_->cuLaunchKernelEx(&config, function, parameters, nullptr), Phase::other, "launching a check");
}

// Layout of the scratch memory: the zone table, then one u64 result a zone.
Failed Checks::upload_zones(const std::vector<const Buffer*>& buffers) {
  const std::vector<Zone> zones = zones_of(buffers);
  const size_t table_bytes = zones.size() * sizeof(Zone);
  CUTEGEN_STEP(reserve(table_bytes + zones.size() * sizeof(uint64_t)));
  return failed_if(*driver_, driver_->cuMemcpyHtoDAsync(scratch_, zones.data(), table_bytes, stream_), Phase::other,
                   "copying the guard table");
}

Failed Checks::fill_guards(const std::vector<const Buffer*>& buffers) {
  if (buffers.empty()) return std::nullopt;
  CUTEGEN_STEP(upload_zones(buffers));
  void* parameters[] = {&scratch_};
  return launch(zone_fill_, static_cast<unsigned>(2 * buffers.size()), parameters);
}

Failed Checks::check_guards(std::string& finding, const std::vector<const Buffer*>& buffers) {
  finding.clear();
  if (buffers.empty()) return std::nullopt;
  constexpr uint64_t kWhole = ~uint64_t{0};
  std::vector<uint64_t> first_bad(2 * buffers.size(), kWhole);
  const size_t result_bytes = first_bad.size() * sizeof(uint64_t);
  CUTEGEN_STEP(upload_zones(buffers));
  CUdeviceptr results = scratch_ + first_bad.size() * sizeof(Zone);
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuMemsetD8Async(results, 0xff, result_bytes, stream_), Phase::other, "clearing results"));
  void* parameters[] = {&scratch_, &results};
  CUTEGEN_STEP(launch(zone_check_, static_cast<unsigned>(first_bad.size()), parameters));
  CUTEGEN_STEP(
      failed_if(*driver_, driver_->cuMemcpyDtoHAsync(first_bad.data(), results, result_bytes, stream_), Phase::other, "copying results"));
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuStreamSynchronize(stream_), Phase::other, "checking the guard zones"));
  for (size_t zone = 0; zone < first_bad.size(); ++zone) {
    if (first_bad[zone] == kWhole) continue;
    finding = describe_broken(*buffers[zone / 2], zone % 2 == 1, first_bad[zone]);
    break;
  }
  return std::nullopt;
}

Failed Checks::checksums(std::vector<uint64_t>& sums, const std::vector<const Buffer*>& buffers) {
  sums.assign(buffers.size(), 0);
  if (buffers.empty()) return std::nullopt;
  std::vector<uint64_t> partial(buffers.size() * kPartialSums);
  const size_t bytes = partial.size() * sizeof(uint64_t);
  CUTEGEN_STEP(reserve(bytes));
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuMemsetD8Async(scratch_, 0, bytes, stream_), Phase::other, "clearing results"));
  for (size_t i = 0; i < buffers.size(); ++i) {
    CUdeviceptr data = buffers[i]->data();
    uint64_t words = (static_cast<uint64_t>(buffers[i]->bytes()) + 15) / 16;
    CUdeviceptr slots = scratch_ + i * kPartialSums * sizeof(uint64_t);
    const uint64_t wanted = (words + kThreads - 1) / kThreads;
    const auto grid = static_cast<unsigned>(std::clamp<uint64_t>(wanted, 1, static_cast<uint64_t>(sm_count_) * 8));
    void* parameters[] = {&data, &words, &slots};
    CUTEGEN_STEP(launch(checksum_, grid, parameters));
  }
  CUTEGEN_STEP(
      failed_if(*driver_, driver_->cuMemcpyDtoHAsync(partial.data(), scratch_, bytes, stream_), Phase::other, "copying checksums"));
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuStreamSynchronize(stream_), Phase::other, "computing checksums"));
  for (size_t i = 0; i < partial.size(); ++i) sums[i / kPartialSums] += partial[i];
  return std::nullopt;
}

Failed Checks::spin(uint64_t ns) {
  void* parameters[] = {&ns};
  return launch(spin_, 1, parameters);
}

}  // namespace cutegen::cuda
