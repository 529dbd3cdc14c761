// Kernels of our own that watch over a candidate's buffers: guard zones, checksums, and a delay. Written in PTX and compiled by the driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/memory.h"

namespace cutegen::cuda {

// The module's text: entries cutegen_zone_fill, cutegen_zone_check, cutegen_checksum, cutegen_spin.
extern const char* const kChecksPtx;

// The byte that a guard zone holds `i` bytes from its start.
constexpr uint8_t guard_byte(uint64_t i) { return static_cast<uint8_t>(i * 167 + 13); }

class Checks {
 public:
  static Failed make(std::unique_ptr<Checks>& checks, std::shared_ptr<const Driver> driver, CUstream stream, int sm_count);
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;
  ~Checks();

  // Writes both guard zones of every buffer. Asynchronous.
  Failed fill_guards(const std::vector<const Buffer*>& buffers);
  // Waits, then says in `finding` which guard zone was written first and where; empty when all are whole.
  Failed check_guards(std::string& finding, const std::vector<const Buffer*>& buffers);
  // One 64-bit checksum a buffer: a sum, over its 16-byte words, of a hash of the word and its place; the order of summing does not
  // matter. The guard zones must be whole: the last word may reach into one. Waits.
  Failed checksums(std::vector<uint64_t>& sums, const std::vector<const Buffer*>& buffers);
  // Occupies the device for about `ns`, so that work can be queued behind it. Asynchronous.
  Failed spin(uint64_t ns);

 private:
  Checks(std::shared_ptr<const Driver> driver, CUstream stream, int sm_count)
      : driver_(std::move(driver)), stream_(stream), sm_count_(sm_count) {}
  Failed function(CUfunction& function, const char* name);
  Failed reserve(size_t bytes);
  Failed upload_zones(const std::vector<const Buffer*>& buffers);
  Failed launch(CUfunction function, unsigned grid, void** parameters);

  std::shared_ptr<const Driver> driver_;
  CUstream stream_;
  int sm_count_;
  CUmodule module_ = nullptr;
  CUfunction zone_fill_ = nullptr, zone_check_ = nullptr, checksum_ = nullptr, spin_ = nullptr;
  CUdeviceptr scratch_ = 0;  // zone tables and results
  size_t scratch_bytes_ = 0;
};

}  // namespace cutegen::cuda
