// libFuzzer target: any bytes are an error or a program. Not part of the default build:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DFMT_HEADER_ONLY=1 -Isrc \
//     tests/vgpu/fuzz/parse_fuzz.cc src/vgpu/ptx/*.cc -o parse_fuzz && ./parse_fuzz tests/vgpu/fixtures
#include "vgpu/ptx/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)cutegen::vgpu::ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx").ok();
  return 0;
}
