// An oracle without Python: the module is a C++ function, inputs come from SplitMix64, tensors are fp32 in shared memory, and the
// comparison is DESIGN §4 computed here. Baselines say whatever the test wants.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "oracle/oracle.h"
#include "support/shm_tensor.h"

namespace cutegen::test {

// One function for truth and reference: computed with Real = double for the one, float for the other.
template <class Real>
using Tensors = std::vector<std::vector<Real>>;
using Floats = std::vector<float>;

struct FakeModule {
  Task task;  // fp32 throughout
  std::function<Tensors<double>(const Tensors<double>& inputs, const Tensors<double>& params)> truth;
  std::function<Tensors<float>(const Tensors<float>& inputs, const Tensors<float>& params)> reference;
};

// y = f(x) element by element. The graph calls it relu, whatever it is.
inline FakeModule make_elementwise_module(int64_t elements, std::function<double(double)> truth, std::function<float(float)> reference) {
  FakeModule module;
  module.task.name = "fake";
  module.task.inputs = {{"x", DType::f32, {elements}}};
  module.task.outputs = {{"out0", DType::f32, {elements}}};
  module.task.graph.emplace();
  module.task.graph->nodes = {{"input", {}, {{"index", 0}}, module.task.inputs},
                              {"relu", {ValueRef{0, 0}}, Json::object(), module.task.outputs}};
  module.task.graph->outputs = {{1, 0}};
  module.truth = [truth](const Tensors<double>& inputs, const Tensors<double>&) {
    Tensors<double> y{inputs.at(0)};
    for (double& value : y[0]) value = truth(value);
    return y;
  };
  module.reference = [reference](const Tensors<float>& inputs, const Tensors<float>&) {
    Tensors<float> y{inputs.at(0)};
    for (float& value : y[0]) value = reference(value);
    return y;
  };
  return module;
}

// f a generic callable, [](auto x) { return x * x; }: in double for the truth, in float for the reference.
template <class F>
FakeModule elementwise_module(int64_t elements, F f) {
  return make_elementwise_module(elements, f, f);
}

class FakeOracle : public Oracle {
 public:
  explicit FakeOracle(FakeModule module) : module_(std::move(module)) {
    baseline = [](Baseline which, int repeats) {
      if (which != Baseline::eager) return BaselineSamples{{}, "no GPU for " + std::string(to_string(which))};
      return BaselineSamples{std::vector<double>(static_cast<size_t>(repeats), 1.0), ""};
    };
  }

  // What the test may set.
  std::function<BaselineSamples(Baseline, int repeats)> baseline;  // default: eager takes 1 ms, nothing else is there
  std::function<std::optional<Error>()> before_trial;              // an error makes trial() fail
  std::function<double(SplitMix64&, size_t index)> draw;           // default: uniform in [0, 1)
  bool on_gpu = true;
  // What the test may look at.
  int trials_drawn = 0, baselines_timed = 0;

  OracleInfo info() const override { return {"3.11", "fake", on_gpu ? "13.0" : "", on_gpu, on_gpu ? "fake GPU" : ""}; }
  const Task& task() const override { return module_.task; }

  Result<Trial> trial(const TrialSpec& spec, Precision) override {
    if (before_trial) {
      if (auto error = before_trial()) return *error;
    }
    for (const auto& [id, held] : held_) {
      if (held.trial.spec == spec) return held.trial;
    }
    return keep(spec);
  }

  Result<Trial> timing_inputs(uint64_t seed) override {
    for (const auto& [id, held] : timing_) {
      if (held.trial.spec.seed == seed) return held.trial;
    }
    Held held = draw_tensors({seed, Distribution::as_given, false});
    held.trial.id = next_id_++;
    return timing_.emplace(held.trial.id, std::move(held)).first->second.trial;
  }

  Result<std::vector<OutputComparison>> compare(int trial_id, const std::vector<SharedTensor>& outputs) override {
    const auto held = held_.find(trial_id);
    if (held == held_.end()) return Error{Errc::protocol, "no trial " + std::to_string(trial_id), "", ""};
    std::vector<OutputComparison> comparisons;
    for (size_t i = 0; i < held->second.truth.size(); ++i) {
      if (i >= outputs.size() || outputs[i].spec.shape != module_.task.outputs[i].shape) {
        comparisons.emplace_back().shape_ok = false;
        continue;
      }
      comparisons.push_back(compare_one(read_floats(outputs[i]), held->second.truth[i], held->second.reference[i]));
    }
    return comparisons;
  }

  Result<BaselineSamples> time_baseline(Baseline which, int, int repeats, Deadline) override {
    ++baselines_timed;
    return baseline(which, repeats);
  }
  void release(int trial_id) override { held_.erase(trial_id); }

  // DESIGN §4's numbers for one output; scale is the truth's RMS, the floor four ulps of fp32 at each element.
  static OutputComparison compare_one(const Floats& values, const std::vector<double>& truth, const Floats& reference) {
    OutputComparison o;
    o.elements = static_cast<int64_t>(truth.size());
    double square = 0;
    for (const double t : truth) square += std::isfinite(t) ? t * t : 0;
    o.norm_truth = std::sqrt(square);
    const double rms = o.norm_truth / std::sqrt(std::max(1.0, static_cast<double>(truth.size())));
    const double scale = rms > 0 ? rms : 1;
    double error2 = 0, reference2 = 0, floor2 = 0, worst = -1;
    for (size_t i = 0; i < truth.size(); ++i) {
      o.poison_left += std::bit_cast<uint32_t>(values[i]) == 0x7fc0dead;
      if (!std::isfinite(truth[i]) || !std::isfinite(values[i])) {
        const bool match = (std::isnan(truth[i]) && std::isnan(values[i])) || truth[i] == values[i];
        o.nonfinite_mismatches += !match;
        continue;
      }
      const double error = std::abs(values[i] - truth[i]), own = std::abs(reference[i] - truth[i]), floor = 4 * ulp(truth[i]);
      error2 += error * error;
      reference2 += own * own;
      floor2 += floor * floor;
      o.max_error = std::max(o.max_error, error / scale);
      o.max_reference = std::max(o.max_reference, own / scale);
      o.floor_max = std::max(o.floor_max, floor / scale);
      if (error <= worst) continue;
      worst = error;
      o.worst_index = {static_cast<int64_t>(i)};
      o.worst_value = values[i];
      o.worst_truth = truth[i];
      o.worst_reference = reference[i];
    }
    o.norm_error = std::sqrt(error2);
    o.norm_reference = std::sqrt(reference2);
    o.floor_norm = std::sqrt(floor2);
    o.bit_equal_reference = values == reference;
    o.suite_allclose = o.nonfinite_mismatches == 0 && allclose(values, reference);
    return o;
  }

 private:
  struct Held {
    Trial trial;
    std::unique_ptr<ShmTensors> memory = std::make_unique<ShmTensors>();
    Tensors<double> truth;
    Tensors<float> reference;
  };

  // Whatever the tensor claims to be: a fake device's "CUDA IPC" is shared memory, too.
  static Floats read_floats(SharedTensor tensor) {
    tensor.where = SharedTensor::Where::shm;
    return read_shm<float>(tensor);
  }
  static double ulp(double value) {
    const auto f = static_cast<float>(std::abs(value));
    return static_cast<double>(std::nextafter(f, INFINITY)) - static_cast<double>(f);
  }
  static bool allclose(const Floats& a, const Floats& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (!(std::abs(a[i] - b[i]) <= 1e-4 + 1e-4 * std::abs(b[i]))) return false;
    }
    return true;
  }

  static double transformed(double value, Distribution distribution, SplitMix64& random) {
    switch (distribution) {
      case Distribution::as_given: return value;
      case Distribution::times3: return 3 * value;
      case Distribution::times001: return 0.01 * value;
      case Distribution::negated: return -value;
      case Distribution::sign_symmetric: return random.below(2) == 0 ? value : -value;
      case Distribution::wide_exponent: return value * std::exp2(static_cast<double>(random.below(40)) - 20);
      case Distribution::ties: return std::round(4 * value) / 4;
      case Distribution::small_integers: return std::round(8 * value);
    }
    return value;
  }

  Floats draw_one(const TensorSpec& spec, Distribution distribution, SplitMix64& random) const {
    Floats values(static_cast<size_t>(spec.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double drawn = draw ? draw(random, i) : static_cast<double>(random.next() >> 11) * 0x1p-53;
      values[i] = static_cast<float>(transformed(drawn, distribution, random));
    }
    return values;
  }

  Held draw_tensors(const TrialSpec& spec) const {
    Held held;
    held.trial.spec = spec;
    SplitMix64 random(spec.seed);
    for (const TensorSpec& input : module_.task.inputs) {
      held.trial.inputs.push_back(held.memory->make(input, draw_one(input, spec.distribution, random)));
    }
    for (const TensorSpec& param : module_.task.params) {
      const Floats values =
          spec.randomise_params ? draw_one(param, Distribution::as_given, random) : Floats(static_cast<size_t>(param.elements()), 1.0f);
      held.trial.params.push_back(held.memory->make(param, values));
    }
    return held;
  }

  Result<Trial> keep(const TrialSpec& spec) {
    ++trials_drawn;
    Held held = draw_tensors(spec);
    held.trial.id = next_id_++;
    Tensors<float> inputs, params;
    for (const SharedTensor& tensor : held.trial.inputs) inputs.push_back(read_floats(tensor));
    for (const SharedTensor& tensor : held.trial.params) params.push_back(read_floats(tensor));
    held.truth = module_.truth(widen(inputs), widen(params));
    held.reference = module_.reference(inputs, params);
    for (const auto& output : held.reference) {
      held.trial.reference_finite &= std::all_of(output.begin(), output.end(), [](float y) { return std::isfinite(y); });
    }
    return held_.emplace(held.trial.id, std::move(held)).first->second.trial;
  }

  static Tensors<double> widen(const Tensors<float>& narrow) {
    Tensors<double> wide;
    for (const auto& tensor : narrow) wide.emplace_back(tensor.begin(), tensor.end());
    return wide;
  }

  FakeModule module_;
  std::map<int, Held> held_, timing_;
  int next_id_ = 1;
};

}  // namespace cutegen::test
