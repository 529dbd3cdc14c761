// The cases whose results are not the hardware's bits, and how far they may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cutegen::differential {

struct Tolerance {
  const char* prefix;  // of the names of cases
  int bytes;           // of a result
  double ulps;         // the largest distance in the order of the type's values; NaN agrees with NaN alone
  const char* stated;  // for the documentation
};
inline const std::vector<Tolerance>& tolerances() {
  static const std::vector<Tolerance> all = {
      {"hinge_small", 4, 1, "1 ulp: ptxas fuses its mul.f32 and sub.f32, as PTX allows without a rounding qualifier"},
  };
  return all;
}
inline const Tolerance* tolerance_of(const std::string& name) {
  for (const Tolerance& t : tolerances())
    if (name.starts_with(t.prefix)) return &t;
  return nullptr;
}

// Not recorded: what ptxas makes of the instruction is not what the instruction is. ptxas 13.0.88 turns packed half-precision sums in
// shared memory into a loop that leaves the upper half as it was.
inline bool is_recorded(const std::string& name) {
  return name.find(".shared") == std::string::npos || name.find(".add.") == std::string::npos || name.find("f16x2") == std::string::npos;
}

// Signed magnitude as an ordered integer, so that neighbours differ by one.
template <class U>
double ordered_distance(const char* a, const char* b) {
  U x = 0, y = 0;
  std::memcpy(&x, a, sizeof x), std::memcpy(&y, b, sizeof y);
  constexpr U sign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  auto key = [](U v) { return (v & sign) != 0 ? -static_cast<double>(static_cast<U>(v & ~sign)) : static_cast<double>(v); };
  return std::fabs(key(x) - key(y));
}
// The largest distance between the sample and the first results. A NaN's place in the order makes it far from every number.
inline double worst_distance(const Tolerance& t, const std::string& sample, const std::string& got) {
  double worst = 0;
  for (size_t at = 0; at + static_cast<size_t>(t.bytes) <= sample.size(); at += static_cast<size_t>(t.bytes)) {
    const char *a = sample.data() + at, *b = got.data() + at;
    worst = std::max(worst, t.bytes == 8   ? ordered_distance<uint64_t>(a, b)
                            : t.bytes == 4 ? ordered_distance<uint32_t>(a, b)
                                           : ordered_distance<uint16_t>(a, b));
  }
  return worst;
}

}  // namespace cutegen::differential
