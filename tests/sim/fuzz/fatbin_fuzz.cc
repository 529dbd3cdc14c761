// libFuzzer target: any bytes are an error or entries, and any entry an error or its content. Not part of the default build:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DFMT_HEADER_ONLY=1 -Isrc \
//     tests/sim/fuzz/fatbin_fuzz.cc src/sim/fatbin.cc -lzstd -llz4 -o fatbin_fuzz && ./fatbin_fuzz tests/sim/fixtures
#include "sim/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto entries = cutegen::sim::read_fat_binary({data, size});
  if (!entries.ok()) return 0;
  (void)cutegen::sim::best_ptx(*entries).ok();
  for (const auto& entry : *entries) (void)cutegen::sim::unpack(entry).ok();
  return 0;
}
