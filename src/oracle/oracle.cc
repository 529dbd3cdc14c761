#include "oracle/oracle.h"

namespace cutegen {

const char* to_string(Distribution d) {
  switch (d) {
    case Distribution::as_given: return "as_given";
    case Distribution::times3: return "times3";
    case Distribution::times001: return "times001";
    case Distribution::negated: return "negated";
    case Distribution::sign_symmetric: return "sign_symmetric";
    case Distribution::wide_exponent: return "wide_exponent";
    case Distribution::ties: return "ties";
    case Distribution::small_integers: return "small_integers";
  }
  return "as_given";
}

const char* to_string(Precision p) {
  switch (p) {
    case Precision::match: return "match";
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::half: return "half";
  }
  return "match";
}

const char* to_string(Baseline b) {
  switch (b) {
    case Baseline::eager: return "eager";
    case Baseline::compile: return "compile";
    case Baseline::eager_tf32: return "eager_tf32";
    case Baseline::compile_tf32: return "compile_tf32";
  }
  return "eager";
}

}  // namespace cutegen
