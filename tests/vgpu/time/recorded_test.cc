// What an H200 measured (bench/results/h200-model.json), against predictions made now: a few small cases of the corpus.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "../../../bench/corpus/cases.h"
#include "../../../bench/corpus/fill.h"
#include "base/fs.h"
#include "base/json.h"
#include "vgpu/time/predict.h"

namespace cutegen::vgpu {
namespace {

const std::filesystem::path kRoot = CUTEGEN_SOURCE_DIR;

Forecast forecast_of(const corpus::Case& c) {
  auto text = read_file(kRoot / "tests/vgpu/fixtures" / ("corpus_" + c.source + ".ptx"));
  EXPECT_TRUE(text.ok());
  const auto program = load_ptx(*text, c.source + ".ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  const auto gpu = load_gpu_profile(kRoot / "gpus" / "h200.json");
  EXPECT_TRUE(gpu.ok());
  Memory memory;
  LaunchConfig launch;
  launch.kernel = c.kernel;
  launch.grid = {c.grid[0], c.grid[1], c.grid[2]}, launch.block = {c.block[0], c.block[1], c.block[2]};
  launch.dynamic_smem_bytes = c.smem;
  const KernelInfo& kernel = *(*program)->find_kernel(c.kernel);
  launch.arguments.resize(kernel.argument_bytes);
  std::map<int, uint64_t> address;
  for (const auto& [id, b] : c.buffers) {
    address[id] = memory.allocate("b", b.bytes);
    corpus::fill(static_cast<uint32_t*>(memory.host(address[id])), b.bytes / 4, b.fill, b.count);
  }
  for (size_t i = 0; i < c.args.size(); ++i) {
    const uint64_t value = c.args[i].is_buffer ? address[c.args[i].buffer] + c.args[i].offset : c.args[i].value;
    std::memcpy(launch.arguments.data() + kernel.parameters[i].offset, &value, kernel.parameters[i].bytes);
  }
  ForecastOptions options;
  options.budget = 1e5;
  Forecast f = forecast(*gpu, **program, memory, launch, nullptr, options);
  EXPECT_TRUE(f.ok()) << f.fault->message;
  return f;
}

TEST(Recorded, CountersAndTimesOfAnH200) {
  const auto results = read_json_file(kRoot / "bench/results/h200-model.json");
  ASSERT_TRUE(results.ok()) << results.error().message;
  std::map<std::string, Json> recorded;
  for (const Json& c : results->at("cases")) recorded[c.at("name")] = c;
  int compared = 0;
  for (const corpus::Case& c : corpus::read_cases((kRoot / "bench/corpus/cases.txt").string())) {
    const bool small = c.name == "transpose_pad8_1k" || c.name == "smem_stride_8" || c.name == "smem_stride_32" ||
                       c.name == "smem_vec4_conflicts" || c.name == "smem_double" || c.name == "smem_store_stride_4";
    if (!small) continue;
    SCOPED_TRACE(c.name);
    const Forecast f = forecast_of(c);
    const Json& r = recorded.at(c.name);
    const auto measured = [&](const char* counter) { return r.at("counters").at(counter).at(1).get<double>(); };
    EXPECT_NEAR(f.work.memory.l1_requests, measured("requests"), 0.01 * measured("requests"));
    EXPECT_NEAR(f.work.memory.store_sectors, measured("store sectors"), 0.01 * measured("store sectors"));
    EXPECT_NEAR(f.work.shared_conflicts, measured("bank conflicts"), 0.05 * measured("shared wavefronts"));
    const double us = r.at("measured_us");
    EXPECT_LT(std::abs(std::log(1e6 * f.seconds / us)), std::log(1.5)) << 1e6 * f.seconds << " us predicted, " << us << " measured";
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

}  // namespace
}  // namespace cutegen::vgpu
