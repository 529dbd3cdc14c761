#include "report/results.h"

#include <gtest/gtest.h>

namespace cutegen {
namespace {

TEST(SuiteId, IsTheFolderAndTheLeadingNumber) {
  EXPECT_EQ(suite_id("/kb/level1/19_ReLU.py"), "level1/19");
  EXPECT_EQ(suite_id("/kb/level2/100_x.py"), "level2/100");
  EXPECT_EQ(suite_id("tasks/row_softmax.py"), "tasks/row_softmax");
}

}  // namespace
}  // namespace cutegen
