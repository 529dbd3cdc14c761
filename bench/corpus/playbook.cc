// The playbook's part of the corpus: candidates of each schema at several tuning parameters.
//
//   corpus_playbook render KERNELS_DIR DIR    DIR/NAME/candidate.cu and task.h
//   corpus_playbook cases DIR                 for each DIR/NAME/candidate.ptx the lines of cases.txt, one a launch, on standard output
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "candidate/plan.h"
#include "propose/playbook/schema.h"

using namespace cutegen;
namespace fs = std::filesystem;

namespace {

class Builder {
 public:
  explicit Builder(std::string name) { task_.name = std::move(name); }
  ValueRef input(Shape shape) { return leaf("input", task_.inputs, std::move(shape)); }
  ValueRef param(Shape shape) { return leaf("param", task_.params, std::move(shape)); }
  ValueRef op(const std::string& name, std::vector<Arg> args, Shape shape, Json attrs = Json::object()) {
    return push({name, std::move(args), std::move(attrs), {{"", DType::f32, std::move(shape)}}});
  }
  ValueRef layer_norm(ValueRef x, Shape shape, int64_t rows) {
    const ValueRef w = param({shape.back()}), b = param({shape.back()});
    const Json attrs = {{"normalized_shape", {shape.back()}}, {"eps", 1e-5}};
    return push(
        {"native_layer_norm", {x, w, b}, attrs, {{"", DType::f32, shape}, {"", DType::f32, {rows, 1}}, {"", DType::f32, {rows, 1}}}});
  }
  Task result(ValueRef out) {
    graph_.outputs = {out};
    task_.outputs = {graph_.spec(out)};
    task_.outputs[0].name = "out0";
    task_.graph = graph_;
    return task_;
  }

 private:
  ValueRef leaf(const char* kind, std::vector<TensorSpec>& list, Shape shape) {
    const std::string name = fmt::format("{}{}", kind, list.size());
    list.push_back({name, DType::f32, shape});
    return push({kind, {}, {{"index", list.size() - 1}}, {{name, DType::f32, std::move(shape)}}});
  }
  ValueRef push(Node node) {
    graph_.nodes.push_back(std::move(node));
    return {static_cast<int>(graph_.nodes.size()) - 1, 0};
  }
  Task task_;
  Graph graph_;
};

Task unary(const std::string& name, const std::string& op, Shape shape, Json attrs = Json::object()) {
  Builder b(name);
  return b.result(b.op(op, {b.input(shape)}, shape, std::move(attrs)));
}
Task affine_rows(const std::string& name, Shape shape) {  // (x * w + b) with one w and b a column, then sigmoid
  Builder b(name);
  const ValueRef x = b.input(shape), w = b.param({shape[1]}), c = b.param({shape[1]});
  return b.result(b.op("sigmoid", {b.op("add", {b.op("mul", {x, w}, shape), c}, shape, {{"alpha", 1}})}, shape));
}
Task reduced(const std::string& name, const std::string& op, Shape in, int64_t dim, Shape out) {
  Builder b(name);
  return b.result(b.op(op, {b.input(std::move(in))}, std::move(out), {{"dim", {dim}}, {"keepdim", false}, {"dtype", nullptr}}));
}
Task softmax(const std::string& name, Shape shape) {
  Builder b(name);
  return b.result(b.op("_softmax", {b.input(shape)}, shape, {{"dim", 1}, {"half_to_float", false}}));
}
Task layer_norm(const std::string& name, Shape shape) {
  Builder b(name);
  return b.result(b.layer_norm(b.input(shape), shape, shape[0]));
}
Task mse(const std::string& name, Shape shape) {
  Builder b(name);
  const ValueRef d = b.op("sub", {b.input(shape), b.input(shape)}, shape, {{"alpha", 1}});
  return b.result(b.op("mean", {b.op("pow", {d, 2.0}, shape)}, {}, {{"dtype", nullptr}}));
}
Task rms_channels(const std::string& name, Shape s) {
  Builder b(name);
  const ValueRef x = b.input(s);
  const Shape one{s[0], 1, s[2], s[3]};
  const ValueRef m = b.op("mean", {b.op("pow", {x, 2.0}, s)}, one, {{"dim", {1}}, {"keepdim", true}, {"dtype", nullptr}});
  return b.result(b.op("div", {x, b.op("sqrt", {b.op("add", {m, 1e-5}, one, {{"alpha", 1}})}, one)}, s));
}
Task product(const std::string& name, int64_t m, int64_t n, int64_t k) {
  Builder b(name);
  return b.result(b.op("mm", {b.input({m, k}), b.input({k, n})}, {m, n}));
}
Task linear_relu(const std::string& name, int64_t m, int64_t n, int64_t k) {
  Builder b(name);
  const ValueRef x = b.input({m, k}), w = b.param({n, k}), bias = b.param({n});
  return b.result(b.op("relu", {b.op("addmm", {bias, x, b.op("t", {w}, {k, n})}, {m, n}, {{"alpha", 1}, {"beta", 1}})}, {m, n}));
}

struct Wanted {
  Task task;
  size_t variants;  // configurations beside the default: one factor changed, the first values that differ
};

std::vector<Wanted> wanted() {
  return {
      {unary("relu", "relu", {4096, 4096}), 4},
      {unary("relu_odd", "relu", {1023, 4097}), 1},
      {unary("gelu", "gelu", {2048, 4096}, {{"approximate", "none"}}), 2},
      {unary("tanh_small", "tanh", {256, 512}), 1},
      {affine_rows("affine", {4096, 2048}), 2},
      {softmax("softmax_short", {8192, 256}), 1},
      {softmax("softmax", {2048, 4096}), 3},
      {softmax("softmax_long", {64, 131072}), 2},
      {layer_norm("layer_norm", {8192, 1024}), 3},
      {reduced("sum_rows", "sum", {4096, 4096}, 1, {4096}), 2},
      {reduced("sum_columns", "sum", {8, 1024, 2048}, 1, {8, 2048}), 3},
      {reduced("max_few", "amax", {16, 262144}, 1, {16}), 1},
      {mse("mse", {4096, 2048}), 2},
      {rms_channels("rms_channels", {16, 64, 64, 64}), 2},
      {product("product_512", 512, 512, 512), 2},
      {product("product_1k", 1024, 1024, 1024), 2},
      {linear_relu("linear_relu", 256, 2048, 1024), 2},
  };
}

std::vector<Json> configs(const playbook::Match& match, size_t variants) {
  std::vector<Json> out{match.default_config()};
  for (const playbook::Axis& axis : match.axes(out[0])) {
    for (const Json& value : axis.values) {
      const auto config = match.with(out[0], axis.name, value);
      if (out.size() > variants || !config.ok() || std::find(out.begin(), out.end(), *config) != out.end()) continue;
      out.push_back(*config);
      break;
    }
  }
  return out;
}

Result<void> render(const fs::path& kernels, const fs::path& dir) {
  for (const Wanted& w : wanted()) {
    for (const playbook::Schema& schema : playbook::schemas()) {
      const auto match = schema.match({w.task, "sm_90a", 132, kernels});
      if (!match.ok()) {
        if (match.error().code == Errc::unsupported) continue;
        return match.error();
      }
      size_t number = 0;
      for (const Json& config : configs(**match, w.variants)) {
        const fs::path at = dir / fmt::format("{}_{}", w.task.name, number++);
        CUTEGEN_TRY(const std::string source, (*match)->render(config));
        fs::create_directories(at);
        std::ofstream(at / "candidate.cu") << source;
        std::ofstream(at / "task.h") << task_header(w.task);
        std::ofstream(at / "config.json") << Json{{"schema", schema.name}, {"task", w.task.name}, {"config", config}}.dump(1) << "\n";
      }
      break;
    }
  }
  return {};
}

std::string dims(const std::array<uint32_t, 3>& d) { return fmt::format("{}x{}x{}", d[0], d[1], d[2]); }

std::string case_line(const std::string& name, const Plan& plan, size_t launch, const Task& task) {
  const Launch& l = plan.launches[launch];
  std::string line = fmt::format("{}.{} {}/candidate {} {} {} {}", name, launch, name, l.kernel, dims(l.grid), dims(l.block), l.smem_bytes);
  if (uint64_t{l.cluster[0]} * l.cluster[1] * l.cluster[2] > 1) line += " c:" + dims(l.cluster);
  for (const PlanArg& a : l.args) {
    auto buffer = [&](int kind, int64_t bytes, const char* fill) {
      line += fmt::format(" b{}:{}:{}", kind * 100 + static_cast<int>(a.index), bytes, fill);
      if (a.offset != 0) line += fmt::format(":+{}", a.offset);
    };
    if (a.kind == ArgKind::input) buffer(0, task.inputs[a.index].bytes(), "unit");
    if (a.kind == ArgKind::param) buffer(1, task.params[a.index].bytes(), "unit");
    if (a.kind == ArgKind::output) buffer(2, task.outputs[a.index].bytes(), "zero");
    if (a.kind == ArgKind::workspace) buffer(3, static_cast<int64_t>(plan.workspace_bytes), "zero");
    if (a.kind == ArgKind::scalar) line += fmt::format(" {}:{}", a.size == 8 ? 'l' : 'i', a.value);
  }
  return line;
}

Result<void> cases(const fs::path& dir) {
  const std::vector<Wanted> all = wanted();
  std::vector<fs::path> folders;
  for (const auto& e : fs::directory_iterator(dir))
    if (fs::exists(e.path() / "candidate.cubin")) folders.push_back(e.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    std::stringstream text;
    text << std::ifstream(folder / "candidate.ptx").rdbuf();
    CUTEGEN_TRY(const Plan plan, plan_from_ptx(text.str()));
    const std::string name = folder.filename().string(), task = name.substr(0, name.rfind('_'));
    const auto of = std::find_if(all.begin(), all.end(), [&](const Wanted& w) { return w.task.name == task; });
    if (of == all.end()) return Error{Errc::invalid_input, "no task is called " + task, "", ""};
    for (size_t i = 0; i < plan.launches.size(); ++i) fmt::print("{}\n", case_line(name, plan, i, of->task));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  Result<void> done = Error{Errc::invalid_input, "usage: corpus_playbook render KERNELS_DIR DIR | corpus_playbook cases DIR", "", ""};
  if (verb == "render" && argc == 4) done = render(argv[2], argv[3]);
  if (verb == "cases" && argc == 3) done = cases(argv[2]);
  if (!done.ok()) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  return 0;
}
