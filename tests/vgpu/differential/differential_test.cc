// The differential suite: kernels of one instruction over rows of operands, on the virtual GPU and on an H200. README.md here says how the
// results were recorded.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "vgpu/differential/execute.h"
#include "vgpu/differential/render.h"

namespace cutegen::differential {
namespace {

const std::string kTemplates = std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/differential/templates";

// CUTEGEN_DIFFERENTIAL_RENDER=DIR writes the suite for the GPU.
TEST(Differential, Render) {
  const std::vector<Case> cases = all_cases();
  std::set<std::string> names;
  for (const Case& c : cases) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_EQ(c.rows % c.block, 0u) << c.name;
    EXPECT_FALSE(c.result_bytes.empty()) << c.name;
  }
  EXPECT_GT(cases.size(), 2500u);
  if (const char* folder = std::getenv("CUTEGEN_DIFFERENTIAL_RENDER")) render(folder, kTemplates);
}

}  // namespace
}  // namespace cutegen::differential
