// What the checks of the virtual GPU found: races, uninitialised reads, asynchronous operations that nobody waited for. A kernel with one
// of them may give the right numbers here and wrong ones elsewhere.
#include <fmt/format.h>

#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const Execution& run = context.executions.back();
  if (context.device.kind != DeviceKind::virtual_gpu) return not_made("only the virtual GPU looks for them");
  if (run.findings.empty()) return held("the virtual GPU's checks found nothing");
  const DeviceFinding& first = run.findings.front();
  return broken(run.findings.size() == 1 ? first.message : fmt::format("{} (and {} more)", first.message, run.findings.size() - 1));
}

}  // namespace

extern const Check kSanitizerCheck;
const Check kSanitizerCheck{"sanitizer", Phase::after_run, look};

}  // namespace cutegen
