// The captured CUDA graph, which is what gets timed, computes what the direct launches computed.
#include "judge/check.h"

namespace cutegen {
namespace {

// Learns whether the device replayed a graph from an execution that the comparison makes anyway.
class Observed : public Executor {
 public:
  explicit Observed(Executor& inner) : inner_(inner) {}
  Result<Execution> execute(const TrialSpec& spec, const ExecutionOptions& options) override {
    auto execution = inner_.execute(spec, options);
    used_graph_ = execution.ok() && execution->used_graph;
    return execution;
  }
  bool used_graph() const { return used_graph_; }

 private:
  Executor& inner_;
  bool used_graph_ = false;
};

Result<CheckEvidence> look(const CheckContext& context) {
  Observed observed(*context.executor);
  CheckContext replay = context;
  replay.executor = &observed;
  CUTEGEN_TRY(const CheckEvidence evidence,
              expect_same_outputs(replay, context.executions.front(), ExecutionOptions{.graph = true}, "when replayed from a CUDA graph"));
  if (evidence.passed && !observed.used_graph()) return not_made("this device has no graphs");
  return evidence;
}

}  // namespace

extern const Check kGraphReplayCheck;
const Check kGraphReplayCheck{"graph_replay", Phase::after_accuracy, look};

}  // namespace cutegen
