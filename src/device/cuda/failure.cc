#include "device/cuda/failure.h"

namespace cutegen::cuda {
namespace {

struct FaultRow {
  CUresult code;
  OutcomeKind kind;
};

// Errors of a running kernel. Each leaves the context unusable (CUDA Driver API, CUresult: "must be terminated and relaunched").
constexpr FaultRow kFaults[] = {
    {kIllegalAddress, OutcomeKind::illegal_address},       {kInvalidAddressSpace, OutcomeKind::illegal_address},
    {kMisalignedAddress, OutcomeKind::misaligned_address}, {kIllegalInstruction, OutcomeKind::illegal_instruction},
    {kInvalidPc, OutcomeKind::illegal_instruction},        {kAssert, OutcomeKind::assert_or_trap},
    {kHardwareStackError, OutcomeKind::launch_failure},    {kLaunchFailed, OutcomeKind::launch_failure},
    {kTensorMemoryLeak, OutcomeKind::launch_failure},      {kLaunchTimeout, OutcomeKind::timeout},
};

}  // namespace

Failed failed_if(const Driver& driver, CUresult code, Phase phase, const std::string& where) {
  if (code == kSuccess) return std::nullopt;
  const std::string detail = where + ": " + driver.text(code);
  for (const FaultRow& row : kFaults)
    if (row.code == code) return Failure{std::nullopt, Outcome{row.kind, detail}, true};
  if (code == kOutOfMemory) return fault(OutcomeKind::out_of_memory, detail);
  if (phase == Phase::load) return fault(OutcomeKind::load_failure, detail);
  if (phase == Phase::launch) return fault(OutcomeKind::invalid_launch, detail);
  return Failure{Error{Errc::device, detail, "", ""}, {}, true};
}

Failed fault(OutcomeKind kind, std::string detail) { return Failure{std::nullopt, Outcome{kind, std::move(detail)}, false}; }

Failed device_error(Error error) { return Failure{std::move(error), {}, false}; }

}  // namespace cutegen::cuda
