// The oracle and the device share one GPU's memory.
#pragma once

#include "base/result.h"
#include "device/device.h"

namespace cutegen {

// ask() of the oracle; when it has too little memory (Errc::unsupported, see oracle.h), once more after the device has given back what it
// can spare.
template <class Ask>
auto with_room(Device& device, const Ask& ask) {
  auto answer = ask();
  if (answer.ok() || answer.error().code != Errc::unsupported) return answer;
  device.trim();
  return ask();
}

}  // namespace cutegen
