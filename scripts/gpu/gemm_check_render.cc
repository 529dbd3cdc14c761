// Writes the candidates that gemm_check.py runs: for each case its task.h, one .cu a configuration, and cases.json.
//
//   gemm_check_render KERNELS_DIR OUT_DIR
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "propose/playbook/gemm.h"

using namespace cutegen;

namespace {

// Builds a task's graph; the same expression in Python is what the check compares with.
class Builder {
 public:
  Builder(std::string name, std::string expression) : expression_(std::move(expression)) { task_.name = std::move(name); }

  ValueRef input(const std::string& name, Shape shape) { return leaf("input", task_.inputs, name, std::move(shape)); }
  ValueRef param(const std::string& name, Shape shape) { return leaf("param", task_.params, name, std::move(shape)); }
  ValueRef op(const std::string& name, std::vector<Arg> args, Shape shape, Json attrs = Json::object()) {
    return push({name, std::move(args), std::move(attrs), {{"", DType::f32, std::move(shape)}}});
  }
  Builder& result(ValueRef out) {
    graph_.outputs = {out};
    task_.outputs = {graph_.spec(out)};
    task_.graph = graph_;
    return *this;
  }
  const Task& task() const { return task_; }
  const std::string& expression() const { return expression_; }

 private:
  ValueRef leaf(const char* kind, std::vector<TensorSpec>& list, const std::string& name, Shape shape) {
    list.push_back({name, DType::f32, shape});
    return push({kind, {}, {{"index", list.size() - 1}}, {{name, DType::f32, std::move(shape)}}});
  }
  ValueRef push(Node node) {
    graph_.nodes.push_back(std::move(node));
    return {static_cast<int>(graph_.nodes.size()) - 1, 0};
  }

  Task task_;
  Graph graph_;
  std::string expression_;
};

Builder plain(const std::string& name, int64_t m, int64_t n, int64_t k, bool a_turned = false, bool b_turned = false) {
  Builder b(name, fmt::format("{} @ {}", a_turned ? "a.t()" : "a", b_turned ? "b.t()" : "b"));
  ValueRef a = b.input("a", a_turned ? Shape{k, m} : Shape{m, k});
  ValueRef w = b.input("b", b_turned ? Shape{n, k} : Shape{k, n});
  if (a_turned) a = b.op("t", {a}, {m, k});
  if (b_turned) w = b.op("t", {w}, {k, n});
  return b.result(b.op("mm", {a, w}, {m, n}));
}

// nn.Linear, then relu, then a division by 2: level 2, task 63.
Builder linear_relu_divide(const std::string& name, int64_t m, int64_t n, int64_t k) {
  Builder b(name, "torch.relu(torch.nn.functional.linear(x, w, bias)) / 2");
  const ValueRef x = b.input("x", {m, k}), w = b.param("w", {n, k}), bias = b.param("bias", {n});
  const ValueRef product = b.op("addmm", {bias, x, b.op("t", {w}, {k, n})}, {m, n}, {{"alpha", 1}, {"beta", 1}});
  return b.result(b.op("div", {b.op("relu", {product}, {m, n}), 2.0}, {m, n}));
}

// nn.Linear without a bias, an added one, relu: level 2, task 76.
Builder linear_add_relu(const std::string& name, int64_t m, int64_t n, int64_t k) {
  Builder b(name, "torch.relu(x @ w.t() + bias)");
  const ValueRef x = b.input("x", {m, k}), w = b.param("w", {n, k}), bias = b.param("bias", {n});
  const ValueRef sum = b.op("add", {b.op("mm", {x, b.op("t", {w}, {k, n})}, {m, n}), bias}, {m, n}, {{"alpha", 1}});
  return b.result(b.op("relu", {sum}, {m, n}));
}

// A three-dimensional input, as PyTorch views it around the product, with a residual and one factor a row.
Builder batched_residual(const std::string& name, int64_t batch, int64_t rows, int64_t n, int64_t k) {
  Builder b(name, "(torch.nn.functional.linear(x, w) + r) * s");
  const ValueRef x = b.input("x", {batch, rows, k}), w = b.param("w", {n, k}), r = b.input("r", {batch, rows, n}),
                 s = b.input("s", {batch, rows, 1});
  const ValueRef flat = b.op("view", {x}, {batch * rows, k});
  const ValueRef product = b.op("mm", {flat, b.op("t", {w}, {k, n})}, {batch * rows, n});
  const ValueRef wide = b.op("_unsafe_view", {product}, {batch, rows, n});
  return b.result(b.op("mul", {b.op("add", {wide, r}, {batch, rows, n}, {{"alpha", 1}}), s}, {batch, rows, n}));
}

std::vector<Builder> cases() {
  return {
      plain("level1_1", 4096, 4096, 4096),
      linear_relu_divide("level2_63", 1024, 8192, 8192),
      linear_add_relu("level2_76", 1024, 8192, 8192),
      plain("one", 1, 1, 1),
      plain("short_k", 127, 129, 255),
      plain("ragged", 130, 258, 388),
      linear_relu_divide("one_row", 1, 300, 512),
      plain("one_column", 257, 1, 1000),
      plain("a_turned", 64, 66, 4100, true, false),
      linear_relu_divide("odd", 201, 333, 777),
      plain("both_turned", 300, 200, 256, true, true),
      batched_residual("batched", 4, 33, 512, 320),
      linear_add_relu("long_k", 129, 128, 16392),
      plain("many_tiles", 1153, 1290, 260),
      linear_add_relu("tall", 3000, 64, 512),
  };
}

Json specs(const std::vector<TensorSpec>& list, const char* kind) {
  Json out = Json::array();
  for (size_t i = 0; i < list.size(); ++i) out.push_back({{"kind", kind}, {"index", i}, {"name", list[i].name}, {"shape", list[i].shape}});
  return out;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Every configuration for large shapes, where speed shows; each strategy and one odd configuration for small ones, where edges do.
bool worth_checking(const Task& task, const Json& base, const Json& config) {
  if (task.outputs[0].elements() >= 1 << 22) return true;
  return config == base || config.at("strategy") != base.at("strategy") || (task.name == "ragged" && config.contains("cluster"));
}

Result<Json> render_case(const Builder& builder, const std::filesystem::path& kernels, const std::filesystem::path& out) {
  const playbook::Schema schema = playbook::gemm_schema();
  CUTEGEN_TRY(const auto match, schema.match({builder.task(), "sm_90a", 132, kernels}));
  const Task& task = builder.task();
  write(out / task.name / "task.h", task_header(task));
  Json configs = Json::array();
  const Json base = match->default_config();
  for (const playbook::Axis& axis : match->axes(base)) {
    for (const Json& value : axis.values) {
      auto config = match->with(base, axis.name, value);
      if (config.ok() && std::find(configs.begin(), configs.end(), *config) == configs.end()) configs.push_back(*config);
    }
  }
  Json variants = Json::array();
  for (const Json& config : configs) {
    if (!worth_checking(task, base, config)) continue;
    CUTEGEN_TRY(const std::string source, match->render(config));
    std::string name = config.at("strategy").get<std::string>();
    for (const auto& [key, value] : config.items())
      if (key != "strategy") name += fmt::format("-{}{}", key, value.dump());
    write(out / task.name / (name + ".cu"), source);
    variants.push_back({{"name", name}, {"config", config}});
  }
  Json tensors = specs(task.inputs, "input");
  for (const Json& p : specs(task.params, "param")) tensors.push_back(p);
  return Json{{"name", task.name},
              {"expression", builder.expression()},
              {"tensors", tensors},
              {"output", task.outputs[0].shape},
              {"variants", variants}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: gemm_check_render KERNELS_DIR OUT_DIR\n"), 2;
  Json all = Json::array();
  for (const Builder& builder : cases()) {
    auto rendered = render_case(builder, argv[1], argv[2]);
    if (!rendered.ok()) return std::fprintf(stderr, "%s: %s\n", builder.task().name.c_str(), rendered.error().message.c_str()), 1;
    all.push_back(*rendered);
  }
  write(std::filesystem::path(argv[2]) / "cases.json", all.dump(1) + "\n");
  return 0;
}
