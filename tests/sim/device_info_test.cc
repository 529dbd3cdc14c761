// What the stand-in reports against what an H200 reported: data/h200_device.json, made by scripts/gpu/device_query.sh.
#include "sim/device_info.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/json.h"
#include "sim/error_text.h"

namespace cutegen::sim {
namespace {

Json recorded() {
  auto json = read_json_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/sim/data/h200_device.json");
  EXPECT_TRUE(json.ok()) << json.error().message;
  return json.ok() ? *json : Json::object();
}

// What the virtual device lacks: textures and surfaces, CUDA arrays, interoperation with other devices and processes, the bus; and numbers
// that CUDA reserves.
bool is_missing(int attribute) {
  static const std::set<int> kSingle = {34,  44,  77,  96,  102, 103, 107, 110, 112, 113, 114, 116, 117, 118, 119,
                                        121, 122, 123, 124, 125, 126, 127, 128, 129, 139, 140, 141, 142, 144, 145};
  return kSingle.contains(attribute) || (attribute >= 21 && attribute <= 29) || (attribute >= 42 && attribute <= 49) ||
         (attribute >= 52 && attribute <= 74);
}

TEST(DeviceInfo, AttributesAreAnH200s) {
  const Json device = recorded();
  for (const auto& [number, value] : device.at("attributes").items()) {
    const int attribute = std::stoi(number);
    int own = -1000;
    ASSERT_TRUE(device_attribute(attribute, own)) << number;
    EXPECT_EQ(own, is_missing(attribute) ? 0 : value.get<int>()) << "attribute " << number;
  }
  int value = 0;
  EXPECT_FALSE(device_attribute(0, value));
  EXPECT_FALSE(device_attribute(100000, value));
}

TEST(DeviceInfo, PropertiesAreAnH200s) {
  const Json expected = recorded().at("properties");
  std::vector<char> bytes(1008, 1);
  fill_device_properties(bytes.data());
  const auto at = [&]<class T>(size_t offset, T) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  // Offsets of cudaDeviceProp in CUDA 13 (abi_check.cc).
  EXPECT_EQ(at(288, uint64_t{}), expected.at("totalGlobalMem"));
  EXPECT_EQ(at(296, uint64_t{}), expected.at("sharedMemPerBlock"));
  EXPECT_EQ(at(384, int{}), expected.at("multiProcessorCount"));
}

TEST(DeviceInfo, ErrorTextsAreTheRuntimes) {
  const Json errors = recorded().at("errors");
  for (const auto& [code, text] : errors.items()) {
    EXPECT_EQ(error_name(std::stoi(code)), text.at(0)) << code;
    EXPECT_EQ(error_text(std::stoi(code)), text.at(1)) << code;
  }
  EXPECT_STREQ(error_name(5555), "unrecognized error code");
}

}  // namespace
}  // namespace cutegen::sim
