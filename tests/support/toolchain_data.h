// Recorded compiler output and candidates under tests/toolchain, and the tools of this machine for live tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/fs.h"
#include "candidate/candidate.h"
#include "task/task.h"
#include "toolchain/locate.h"

namespace cutegen {

inline std::filesystem::path toolchain_tests() { return std::filesystem::path(CUTEGEN_SOURCE_DIR) / "tests/toolchain"; }

inline std::string test_text(const std::filesystem::path& relative) {
  auto text = read_file(toolchain_tests() / relative);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? *text : "";
}

// The tools of this machine, or an error that says what is missing (a reason to skip).
inline Result<Tools> tools_here() {
  ToolchainPlaces places;
  places.data = CUTEGEN_SOURCE_DIR;
  return locate_tools(places);
}

// One fp32 input and output of [128, 256]: what the candidates of these tests compute on.
inline Task twice_task() {
  Task task;
  task.name = "twice";
  task.inputs = {{"x", DType::f32, {128, 256}}};
  task.outputs = {{"out0", DType::f32, {128, 256}}};
  return task;
}

}  // namespace cutegen
