// Timing: graphs replayed between device events, on a cold L2, with fresh contents (docs/device.md, "Timing").
#include <algorithm>
#include <chrono>

#include "device/cuda/engine.h"

namespace cutegen::cuda {
namespace {

constexpr size_t kKeptSides = 2;                        // the candidate being timed, and the one before it
constexpr int64_t kMinFlushBytes = int64_t{256} << 20;  // and at least twice the L2
constexpr uint64_t kSpinNs = 50'000;                    // covers the host's time to queue an event, a graph and an event
constexpr uint32_t kPoison = 0x7fc0dead;
constexpr double kShareForRepeats = 0.8;  // of the time limit; then stop with the samples at hand
constexpr double kShareForWarmup = 0.25;

std::string side_key(const TimeRequest& request) {
  std::string key = request.build->key;
  const auto add = [&](const TensorSpec& spec) { key += "," + std::to_string(spec.bytes()); };
  for (const auto& set : request.input_sets) {
    key += "|inputs";
    for (const SharedTensor& t : set) add(t.spec);
  }
  key += "|params";
  for (const SharedTensor& t : request.params) add(t.spec);
  key += "|outputs";
  for (const TensorSpec& spec : request.outputs) add(spec);
  return key;
}

class Stopwatch {
 public:
  explicit Stopwatch(Seconds limit) : limit_(limit) {}
  bool past(double share) const { return Seconds(std::chrono::steady_clock::now() - begin_) > limit_ * share; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Seconds limit_;
};

}  // namespace

std::vector<const Buffer*> Engine::TimedSide::read_only() const {
  std::vector<const Buffer*> list = sets.front().read_only();
  for (size_t i = 1; i < sets.size(); ++i)
    for (const auto& input : sets[i].inputs) list.push_back(input.get());
  return list;
}

std::vector<const Buffer*> Engine::TimedSide::all_buffers() const {
  std::vector<const Buffer*> list = read_only();
  for (const auto& output : sets.front().outputs) list.push_back(output.get());
  if (sets.front().workspace != nullptr) list.push_back(sets.front().workspace.get());
  return list;
}

Failed Engine::timed_side(std::shared_ptr<TimedSide>& side, const TimeRequest& request) {
  const std::string key = side_key(request);
  const auto it = std::find_if(sides_.begin(), sides_.end(), [&](const auto& s) { return s->key == key; });
  if (it != sides_.end() && !request.build->key.empty()) {
    sides_.splice(sides_.begin(), sides_, it);
    side = sides_.front();
    return std::nullopt;
  }
  auto made = std::make_shared<TimedSide>();
  made->key = key;
  std::shared_ptr<Module> module;
  CUTEGEN_STEP(modules_->get(module, *request.build));
  BufferSet shared;
  CUTEGEN_STEP(make_rest(shared, request.params, request.outputs, request.build->plan));
  for (const auto& inputs : request.input_sets) {
    BufferSet set = shared;
    CUTEGEN_STEP(make_inputs(set, inputs));
    std::unique_ptr<Program> program;
    std::unique_ptr<Graph> graph;
    CUTEGEN_STEP(Program::bind(program, driver_, module, request.build->plan, set));
    CUTEGEN_STEP(Graph::capture(graph, driver_, *program, stream_));
    made->sets.push_back(std::move(set));
    made->programs.push_back(std::move(program));
    made->graphs.push_back(std::move(graph));
  }
  sides_.push_front(made);
  if (sides_.size() > kKeptSides) sides_.pop_back();
  side = std::move(made);
  return std::nullopt;
}

// Contents are copied anew at every call: the oracle may have drawn others into the same memory.
Failed Engine::import_sets(const TimedSide& side, const TimeRequest& request) {
  std::vector<Import> imports;
  for (size_t s = 0; s < side.sets.size(); ++s)
    for (size_t i = 0; i < side.sets[s].inputs.size(); ++i) imports.push_back({&request.input_sets[s][i], side.sets[s].inputs[i].get()});
  for (size_t i = 0; i < request.params.size(); ++i) imports.push_back({&request.params[i], side.sets.front().params[i].get()});
  return import_tensors(*driver_, stream_, imports);
}

Failed Engine::flush_l2(size_t repeat) {
  if (driver_->cuCtxResetPersistingL2Cache != nullptr) driver_->cuCtxResetPersistingL2Cache();  // unsupported where there is none to reset
  if (flush_ == nullptr) CUTEGEN_STEP(Buffer::make(flush_, *pool_, std::max(kMinFlushBytes, 2 * info_.l2_bytes), "the L2 flush buffer"));
  return fill(*driver_, stream_, *flush_, static_cast<uint32_t>(repeat));
}

Failed Engine::time_once(double& ms, const TimedSide& side, size_t repeat, bool cold_l2) {
  const size_t s = repeat % side.sets.size();
  CUTEGEN_STEP(poison(side.sets[s], kPoison));
  CUTEGEN_STEP(cold_l2 ? flush_l2(repeat) : checks_->spin(kSpinNs));
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuEventRecord(begin_, stream_), Phase::other, "recording an event"));
  CUTEGEN_STEP(side.graphs[s]->launch(stream_));
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuEventRecord(end_, stream_), Phase::other, "recording an event"));
  CUTEGEN_STEP(synchronise("timing, repeat " + std::to_string(repeat)));
  float elapsed = 0;
  CUTEGEN_STEP(failed_if(*driver_, driver_->cuEventElapsedTime(&elapsed, begin_, end_), Phase::other, "reading an event"));
  ms = elapsed;
  return std::nullopt;
}

Failed Engine::time(TimeResult& result, const TimeRequest& request, const Progress& progress) {
  if (request.input_sets.empty()) return device_error(Error{Errc::invalid_input, "timing needs at least one input set", "", ""});
  const Stopwatch watch(request.time_limit);
  last_run_ = {};
  progress("preparing to time");
  std::shared_ptr<TimedSide> side;
  CUTEGEN_STEP(timed_side(side, request));
  progress("copying inputs");
  CUTEGEN_STEP(import_sets(*side, request));
  CUTEGEN_STEP(checks_->fill_guards(side->all_buffers()));
  std::vector<uint64_t> before;
  CUTEGEN_STEP(checks_->checksums(before, side->read_only()));
  progress("warming up");
  double ms = 0;
  const int warmup = std::max(request.warmup, static_cast<int>(side->sets.size()));  // every graph at least once
  for (int i = 0; i < warmup && (i == 0 || !watch.past(kShareForWarmup)); ++i)
    CUTEGEN_STEP(time_once(ms, *side, static_cast<size_t>(i), request.cold_l2));
  progress("timing");
  result.before = nvml_->read();  // after the warm-up: an idle GPU's clocks say nothing about the repeats
  for (int i = 0; i < request.repeats && (result.ms.empty() || !watch.past(kShareForRepeats)); ++i) {
    CUTEGEN_STEP(time_once(ms, *side, static_cast<size_t>(i), request.cold_l2));
    result.ms.push_back(ms);
  }
  result.after = nvml_->read();
  progress("checking buffers");
  return check_untouched(side->all_buffers(), side->read_only(), before);
}

}  // namespace cutegen::cuda
