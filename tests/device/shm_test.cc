#include "device/shm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cutegen {
namespace {

std::string fresh_name() {
  static int serial = 0;
  return "/cutegen-shm-test-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
}

TEST(Shm, IsSharedByNameAndGoneAfterUnlink) {
  const std::string name = fresh_name();
  {
    const auto made = Shm::create(name, 8);
    ASSERT_TRUE(made.ok());
    made->bytes()[7] = std::byte{42};
    const auto opened = Shm::open_readable(name);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->bytes()[7], std::byte{42});
    EXPECT_FALSE(Shm::create(name, 8).ok()) << "a name is made once";
  }
  Shm::unlink(name);
  const auto gone = Shm::open_readable(name);
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, ::testing::HasSubstr(name));
}

TEST(Shm, TensorsMustFit) {
  const std::string name = fresh_name();
  const auto made = Shm::create(name, 16);
  ASSERT_TRUE(made.ok());
  Shm::unlink(name);
  SharedTensor tensor{TensorSpec{"x", DType::f32, {2}}, SharedTensor::Where::shm, name, 8};
  const auto bytes = tensor_bytes(*made, tensor);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->data(), made->bytes().data() + 8);
  for (const int64_t offset : {int64_t{-4}, int64_t{9}, int64_t{17}, INT64_MAX}) {
    tensor.offset = offset;
    EXPECT_FALSE(tensor_bytes(*made, tensor).ok()) << offset;
  }
}

TEST(Shm, AnEmptyTensorIsFine) {
  const std::string name = fresh_name();
  const auto made = Shm::create(name, 0);
  ASSERT_TRUE(made.ok());
  Shm::unlink(name);
  const SharedTensor tensor{TensorSpec{"x", DType::f32, {0}}, SharedTensor::Where::shm, name, 0};
  const auto bytes = tensor_bytes(*made, tensor);
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(bytes->empty());
}

}  // namespace
}  // namespace cutegen
