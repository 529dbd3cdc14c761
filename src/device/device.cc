#include "device/device.h"

#include <array>
#include <utility>

namespace cutegen {
namespace {

constexpr std::array<std::pair<OutcomeKind, const char*>, 14> kOutcomeNames{{
    {OutcomeKind::ok, "ok"},
    {OutcomeKind::illegal_address, "illegal_address"},
    {OutcomeKind::misaligned_address, "misaligned_address"},
    {OutcomeKind::launch_failure, "launch_failure"},
    {OutcomeKind::invalid_launch, "invalid_launch"},
    {OutcomeKind::illegal_instruction, "illegal_instruction"},
    {OutcomeKind::assert_or_trap, "assert_or_trap"},
    {OutcomeKind::timeout, "timeout"},
    {OutcomeKind::out_of_memory, "out_of_memory"},
    {OutcomeKind::load_failure, "load_failure"},
    {OutcomeKind::executor_lost, "executor_lost"},
    {OutcomeKind::canary_broken, "canary_broken"},
    {OutcomeKind::input_modified, "input_modified"},
    {OutcomeKind::check_failed, "check_failed"},
}};

}  // namespace

const char* to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cuda: return "cuda";
    case DeviceKind::virtual_gpu: return "virtual";
    case DeviceKind::fake: return "fake";
  }
  return "fake";
}

const char* to_string(OutcomeKind kind) {
  for (const auto& [value, name] : kOutcomeNames)
    if (value == kind) return name;
  return "executor_lost";
}

std::optional<OutcomeKind> parse_outcome_kind(std::string_view name) {
  for (const auto& [value, text] : kOutcomeNames)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace cutegen
