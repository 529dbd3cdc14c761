// Tensors in POSIX shared memory for tests: what an oracle on the CPU hands out.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "device/shm.h"

namespace cutegen::test {

// Makes tensors and removes their objects when it goes.
class ShmTensors {
 public:
  ShmTensors() = default;
  ShmTensors(const ShmTensors&) = delete;
  ShmTensors& operator=(const ShmTensors&) = delete;
  ~ShmTensors() {
    for (const std::string& name : names_) Shm::unlink(name);
  }

  template <class T>
  SharedTensor make(const TensorSpec& spec, const std::vector<T>& values) {
    EXPECT_EQ(static_cast<size_t>(spec.bytes()), values.size() * sizeof(T));
    static std::atomic<int> serial{0};
    names_.push_back("/cutegen-test-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
    auto object = Shm::create(names_.back(), spec.bytes());
    EXPECT_TRUE(object.ok());
    if (object.ok()) std::memcpy(object->bytes().data(), values.data(), values.size() * sizeof(T));
    return {spec, SharedTensor::Where::shm, names_.back(), 0};
  }

  // A float32 vector of the values.
  SharedTensor floats(const std::string& name, const std::vector<float>& values) {
    return make(TensorSpec{name, DType::f32, {static_cast<int64_t>(values.size())}}, values);
  }

 private:
  std::vector<std::string> names_;
};

template <class T>
std::vector<T> read_shm(const SharedTensor& tensor) {
  EXPECT_EQ(tensor.where, SharedTensor::Where::shm);
  auto object = Shm::open_readable(tensor.handle);
  EXPECT_TRUE(object.ok()) << tensor.handle;
  if (!object.ok()) return {};
  auto bytes = tensor_bytes(*object, tensor);
  EXPECT_TRUE(bytes.ok());
  if (!bytes.ok()) return {};
  std::vector<T> values(bytes->size() / sizeof(T));
  std::memcpy(values.data(), bytes->data(), values.size() * sizeof(T));
  return values;
}

}  // namespace cutegen::test
