#include "candidate/candidate.h"

#include "base/hash.h"

namespace cutegen {

const char* to_string(Backend backend) {
  switch (backend) {
    case Backend::cute: return "cute";
    case Backend::cuda: return "cuda";
    case Backend::ptx: return "ptx";
  }
  return "cuda";
}

std::string Candidate::hash() const { return Hasher().add("candidate-1").add(to_string(backend)).add(source).hex(); }

}  // namespace cutegen
