// Kernels with one bug each (tests/vgpu/planted/): full checks name the kind and the line; the repaired twins are silent.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "vgpu/support.h"

namespace cutegen::vgpu {
namespace {

struct Planted {
  const char* file;
  const char* kernel;
  FaultKind kind;
  Dim3 grid{1}, block{32};
  Dim3 cluster = {};
  uint32_t dynamic_smem = 0;
  bool cooperative = false;
};
void PrintTo(const Planted& p, std::ostream* out) { *out << p.kernel; }

using enum FaultKind;
const Planted kPlanted[] = {
    {"memory", "past_end_global", out_of_bounds},
    {"memory", "before_start_global", out_of_bounds},
    {"memory", "past_end_shared", out_of_bounds},
    {"memory", "dynamic_shared_overflow", out_of_bounds, {1}, {32}, {}, 128},
    {"memory", "past_end_local", out_of_bounds},
    {"memory", "misaligned_vector_load", misaligned},
    {"memory", "misaligned_shared_store", misaligned},
    {"memory", "null_pointer", out_of_bounds},
    {"memory", "writes_its_input", read_only},
    {"memory", "freed_workspace", use_after_free},
    {"memory", "past_end_constant", out_of_bounds},
    {"memory", "past_end_module_variable", out_of_bounds},
    {"memory", "uninitialised_workspace", uninitialised},
    {"memory", "uninitialised_accumulator", uninitialised},
    {"memory", "uninitialised_border", uninitialised},
    {"memory", "uninitialised_byte", uninitialised},
    {"memory", "uninitialised_local", uninitialised},
    {"memory", "uninitialised_register", uninitialised},
    {"memory", "register_set_by_some_lanes", uninitialised},
    {"races", "missing_syncthreads", race, {1}, {128}},
    {"races", "missing_second_barrier", race, {1}, {128}},
    {"races", "two_warps_write", race, {1}, {128}},
    {"races", "lanes_write_one_word", race},
    {"races", "missing_syncwarp", race},
    {"races", "warp_reduction_in_step", race},
    {"races", "syncwarp_of_half", race},
    {"races", "shared_counter", race, {1}, {128}},
    {"races", "wrong_stage", race, {1}, {128}},
    {"races", "overlapping_vectors", race, {1}, {128}},
    {"races", "bits_of_one_byte", race, {1}, {128}},
    {"races", "arrives_before_it_writes", race, {1}, {128}},
    {"races", "barrier_of_too_few", race, {1}, {96}},
    {"races", "plain_store_beside_atomics", race, {1}, {128}},
    {"barriers", "barrier_in_divergent_code", barrier_divergence, {1}, {64}},
    {"barriers", "barrier_lacks_a_warp", deadlock, {1}, {64}},
    {"barriers", "barrier_for_part_of_a_warp", barrier_divergence, {1}, {64}},
    {"barriers", "barrier_counts_differ", barrier_divergence, {1}, {64}},
    {"barriers", "barrier_does_not_exist", invalid_launch, {1}, {64}},
    {"barriers", "shuffle_without_partners", deadlock},
    {"barriers", "lane_outside_its_mask", barrier_divergence},
    {"barriers", "cluster_barrier_lacks_a_cta", deadlock, {2}, {64}, {2}},
    {"grid", "counter_of_the_grid", race, {4}, {32}},
    {"grid", "ctas_overlap", race, {4}, {128}},
    {"grid", "halo_in_place", race, {4}, {32}},
    {"grid", "message_without_fence", race, {2}, {32}},
    {"grid", "message_without_receiving_fence", race, {2}, {32}},
    {"grid", "fence_of_the_block", race, {2}, {32}},
    {"grid", "fence_before_the_data", race, {2}, {32}},
    {"grid", "flag_is_a_plain_store", race, {2}, {32}},
    {"grid", "release_and_acquire", race, {2}, {32}},
    {"grid", "last_cta_sums", race, {4}, {32}},
    {"grid", "missing_grid_sync", race, {4}, {32}, {}, 0, true},
    {"grid", "remote_read_too_early", race, {2}, {32}, {2}},
    {"grid", "remote_write_unordered", race, {2}, {32}, {2}},
    {"grid", "rank_outside_the_cluster", out_of_bounds, {2}, {32}, {2}},
    {"races", "only_one_lane_waits", race, {1}, {64}},
    {"async", "cp_async_not_waited_for", missing_wait},
    {"async", "cp_async_waits_for_too_few", missing_wait},
    {"async", "cp_async_of_others", missing_wait, {1}, {128}},
    {"async", "cp_async_overwritten", missing_wait},
    {"async", "cp_async_into_a_tile_in_use", race, {1}, {128}},
    {"async", "cp_async_at_exit", unfinished_async},
    {"async", "cp_async_reads_uninitialised", uninitialised},
    {"async", "bulk_load_not_waited_for", missing_wait, {1}, {128}},
    {"async", "wrong_parity", deadlock, {1}, {128}},
    {"async", "wrong_stage_barrier", missing_wait, {1}, {128}},
    {"async", "stage_refilled_too_early", race, {1}, {96}},
    {"async", "expects_too_many_bytes", deadlock, {1}, {128}},
    {"async", "bulk_load_of_odd_bytes", misaligned, {1}, {96}},
    {"async", "bulk_load_past_the_end", out_of_bounds, {1}, {128}},
    {"async", "bulk_store_without_proxy_fence", missing_fence, {1}, {128}},
    {"async", "bulk_store_before_the_barrier", race, {1}, {128}},
    {"async", "bulk_source_overwritten", missing_wait, {1}, {128}},
    {"async", "bulk_store_at_exit", unfinished_async, {1}, {128}},
    {"async", "bulk_load_at_exit", unfinished_async, {1}, {128}},
    {"async", "bulk_store_of_uninitialised", uninitialised, {1}, {128}},
    {"async", "mbarrier_without_init", mbarrier_misuse},
    {"async", "mbarrier_init_without_barrier", race, {1}, {64}},
    {"async", "mbarrier_init_without_fence", missing_fence, {1}, {128}},
    {"async", "mbarrier_too_many_arrivals", mbarrier_misuse},
    {"async", "mbarrier_of_nobody", mbarrier_misuse},
    {"async", "mbarrier_overwritten", mbarrier_misuse},
    {"wgmma", "accumulators_read_too_early", missing_wait, {1}, {128}},
    {"wgmma", "tiles_without_proxy_fence", missing_fence, {1}, {128}},
    {"wgmma", "tile_overwritten_in_flight", missing_wait, {1}, {128}},
    {"wgmma", "missing_wgmma_fence", missing_fence, {1}, {128}},
    {"wgmma", "wgmma_at_exit", unfinished_async, {1}, {128}},
    {"wgmma", "tiles_not_ready", race, {1}, {128}},
};

class PlantedTest : public testing::TestWithParam<Planted> {
 protected:
  static std::shared_ptr<const Program> program(const std::string& file) {
    static std::map<std::string, std::shared_ptr<const Program>> loaded;
    auto& p = loaded[file];
    if (p == nullptr) p = load_fixture("../planted/" + file + ".ptx");
    return p;
  }
  // The lines that carry "BUG kernel".
  static std::set<std::string> marked(const Planted& p) {
    const std::string name = std::string(p.file) + ".cu";
    const auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/planted/" + name);
    std::set<std::string> places;
    if (!text.ok()) return places;
    std::istringstream lines(*text);
    std::string line;
    for (int n = 1; std::getline(lines, line); ++n)
      if (line.ends_with(std::string("BUG ") + p.kernel)) places.insert(name + ":" + std::to_string(n));
    return places;
  }
  static LaunchResult run(const Planted& p, bool repaired) {
    const std::string name =
        std::string("_Z") + std::to_string(std::string(p.kernel).size()) + p.kernel + (repaired ? "ILb1E" : "ILb0E") + "EvPKfPfS2_PiS2_";
    std::vector<float> in(1024), out(1 << 14), work(1 << 14);
    std::vector<int> zeros(64);
    Memory memory;
    const uint64_t d_in = memory.map_read_only("in", in.data(), in.size() * 4), d_out = map(memory, "out", out),
                   d_work = map(memory, "work", work), d_zeros = map(memory, "zeros", zeros), freed = memory.allocate("freed", 4096);
    memory.release(freed);
    memory.mark_undefined(d_out);
    memory.mark_undefined(d_work);
    LaunchConfig c;
    c.kernel = name, c.grid = p.grid, c.block = p.block, c.cluster = p.cluster;
    c.dynamic_smem_bytes = p.dynamic_smem, c.cooperative = p.cooperative;
    c.arguments = pack_arguments(d_in, d_out, d_work, d_zeros, freed);
    LaunchOptions o;
    o.checks = Checks::full;
    o.max_warp_instructions = 1 << 20;
    return launch(*program(p.file), memory, c, o);
  }
  static std::string place(const Fault& f) { return f.inlined_at.empty() ? f.file + ":" + std::to_string(f.line) : f.inlined_at; }
};

TEST_P(PlantedTest, IsFoundAtItsLine) {
  const Planted& p = GetParam();
  const LaunchResult r = run(p, false);
  const std::set<std::string> places = marked(p);
  ASSERT_FALSE(places.empty()) << "no line is marked";
  const auto right = [&](const Fault& f) { return f.kind == p.kind && places.count(place(f)) != 0; };
  std::string all = r.fault ? r.fault->message + "\n" : "";
  for (const Finding& f : r.findings) all += f.message + " [" + f.check + "]\n";
  EXPECT_TRUE((r.fault && right(*r.fault)) || std::any_of(r.findings.begin(), r.findings.end(), right))
      << "expected " << to_string(p.kind) << " at " << *places.begin() << "; found:\n"
      << all;
  // The same mistake may show from its other side, and what comes too early may see what nobody has written.
  const auto about = [&](const Finding& f) {
    return places.count(place(f)) != 0 ||
           std::any_of(places.begin(), places.end(), [&](const std::string& at) { return f.related.find(at) != std::string::npos; });
  };
  for (const Finding& f : r.findings) EXPECT_TRUE(f.kind == p.kind || about(f)) << f.message;
}

TEST_P(PlantedTest, RepairedTwinIsSilent) {
  const LaunchResult r = run(GetParam(), true);
  EXPECT_TRUE(r.ok()) << r.fault->message;
  for (const Finding& f : r.findings) ADD_FAILURE() << f.message << " [" << f.check << "]";
}

INSTANTIATE_TEST_SUITE_P(All, PlantedTest, testing::ValuesIn(kPlanted),
                         [](const auto& tested) { return std::string(tested.param.kernel); });

}  // namespace
}  // namespace cutegen::vgpu
