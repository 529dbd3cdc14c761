#include "propose/playbook/row_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cutegen::playbook {
namespace {

constexpr int64_t kSmemBudget = 224 * 1024;  // of the 227 KB that a CTA may have; the rest is for the merges
constexpr int64_t kRegisterValues = 64;      // values of a row that one thread may hold

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t pow2_at_least(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1)))); }

int number(const Json& config, const char* key, int fallback = 1) { return json_or<int>(config, key, fallback); }
std::string strategy_of(const Json& config) { return json_or<std::string>(config, "strategy", ""); }

bool keeps(const RowFacts& f) { return f.has_map || f.passes > 1; }  // more than one visit to each element

int64_t register_threads(const RowFacts& f) {  // each holds about 16 values, but a short row is read by as much of a warp as it fills
  const int64_t per_thread = std::max<int64_t>(f.best_vec, 16 / std::max(f.leaves, 1));
  const int64_t coalesced = std::min<int64_t>(32, pow2_at_least(ceil_div(f.reduced, f.best_vec)));
  return std::clamp<int64_t>(pow2_at_least(ceil_div(f.reduced, per_thread)), coalesced, 1024);
}
int64_t register_steps(const RowFacts& f, int64_t threads, int vec) { return std::max<int64_t>(1, ceil_div(f.reduced, threads * vec)); }

bool registers_fit(const RowFacts& f) {
  return f.reduced >= 1 && register_steps(f, 1024, f.best_vec) * f.best_vec * std::max(f.leaves, 1) <= kRegisterValues;
}

int64_t share_bytes(const RowFacts& f, int cluster) {  // of shared memory a CTA
  const int64_t vec = std::max(f.best_vec, 1);
  return ceil_div(ceil_div(f.reduced, cluster), vec) * vec * f.kept_bytes + 4096;
}

// As few CTAs as leave room for two an SM, of which one loads while the other computes and stores; else as few as hold the row.
int cluster_for(const RowFacts& f) {
  for (const int64_t budget : {kSmemBudget / 2, kSmemBudget})
    for (const int c : {1, 2, 4, 8, 16})
      if (share_bytes(f, c) <= budget) return c;
  return 0;
}

int64_t column_steps(const RowFacts& f, int64_t threads_y) { return ceil_div(f.reduced, threads_y); }
int64_t tiles(const RowFacts& f, int threads_x, int vec) { return ceil_div(f.inner, int64_t{threads_x} * vec); }

int column_threads_x(const RowFacts& f) {  // a warp's worth of columns, fewer where there are fewer
  return static_cast<int>(std::clamp<int64_t>(pow2_at_least(ceil_div(f.inner, f.best_vec)), 1, 32));
}
int column_threads_y(const RowFacts& f) {
  const int64_t most = 256 / column_threads_x(f);
  return static_cast<int>(std::clamp<int64_t>(pow2_at_least(ceil_div(f.reduced, 8)), 1, most));
}

// Threads along the columns where there are enough of those to give each thread one of its own; 0 where there are not. A CTA reads
// 2 KB of each row: rows that begin between sectors share a sector of 32 bytes with the next CTA, which most often fetches it again.
int wide_threads_x(const RowFacts& f) {
  const int x = static_cast<int>(std::clamp<int64_t>(2048 / (int64_t{f.best_vec} * f.widest), 128, 512));
  const bool fills = f.inner >= 2 * x * f.best_vec && f.outer * ceil_div(f.inner, f.best_vec) >= int64_t{1024} * f.sm_count;
  return fills ? x : 0;
}

std::vector<std::string> plain_strategies(const RowFacts& f) {
  std::vector<std::string> out;
  const bool few_rows = f.outer < 2 * f.sm_count;
  const bool split = f.outer <= 65535 && f.reduced >= 4096 && f.outer <= 32 * f.sm_count;
  const bool idle = split && 2 * f.outer <= f.sm_count;  // a CTA a row would leave most of the GPU without work
  if (split && few_rows && f.reduced > 8192) out.emplace_back("split");
  if (f.reduced <= 1024 || (keeps(f) && f.reduced * f.leaves <= 16384 && f.best_vec > 1) || (keeps(f) && f.reduced * f.leaves <= 8192))
    if (registers_fit(f)) out.emplace_back("registers");
  if (!idle) out.emplace_back("stream");
  if (keeps(f) && cluster_for(f) > 0 && f.reduced >= 4096) out.emplace_back("cluster");
  if (registers_fit(f) && std::ranges::find(out, "registers") == out.end() && keeps(f)) out.emplace_back("registers");
  if (split && std::ranges::find(out, "split") == out.end() && few_rows) out.emplace_back("split");
  return out;
}

std::vector<std::string> column_strategies(const RowFacts& f) {
  std::vector<std::string> out;
  const int64_t ctas = f.outer * tiles(f, column_threads_x(f), f.best_vec);
  const bool split = f.reduced >= 64 && ctas < 4 * f.sm_count && ctas <= 2000000;
  if (split) out.emplace_back("column_split");
  const int64_t held = column_steps(f, 512 / column_threads_x(f)) * f.best_vec * std::max(f.leaves, 1);
  if (keeps(f) && f.reduced >= 1 && held <= kRegisterValues) out.emplace_back("column_registers");
  out.emplace_back("column_stream");
  return out;
}

}  // namespace

std::vector<std::string> row_strategies(const RowFacts& facts) {
  return facts.inner == 1 ? plain_strategies(facts) : column_strategies(facts);
}

Json row_config(const RowFacts& f, const std::string& strategy) {
  Json c{{"schema", "row"}, {"strategy", strategy}, {"vec", f.best_vec}};
  if (strategy == "registers") {
    const int64_t threads = register_threads(f);
    c["threads_per_row"] = threads;
    c["rows_per_cta"] = threads <= 32 ? std::max<int64_t>(128, 32) / threads : 1;
  } else if (strategy == "cluster") {
    const int cluster = std::max(1, cluster_for(f));
    c["cluster"] = cluster;
    c["threads"] = std::clamp<int64_t>(pow2_at_least(ceil_div(ceil_div(f.reduced, cluster), 16)), 128, 512);
    c["unroll"] = 4;
  } else if (strategy == "split") {
    c["threads"] = 128;  // eight such CTAs an SM are resident at once, eight of 256 are not
    c["unroll"] = 2;
    const int64_t step = 128 * f.best_vec;
    c["splits"] = std::clamp<int64_t>(ceil_div(int64_t{8} * f.sm_count, std::max<int64_t>(f.outer, 1)), 1,
                                      std::max<int64_t>(1, ceil_div(f.reduced, 2 * step)));
  } else if (strategy == "stream") {
    c["threads"] = std::clamp<int64_t>(pow2_at_least(ceil_div(f.reduced, int64_t{f.best_vec} * 4)), 64, 512);
    c["unroll"] = f.best_vec == 1 ? 8 : 4;
  } else {
    const int x = column_threads_x(f);
    c["threads_x"] = x;
    if (strategy == "column_registers") {
      int64_t y = column_threads_y(f);
      while (y * x < 512 && column_steps(f, y) * f.best_vec * f.leaves > kRegisterValues) y *= 2;
      c["threads_y"] = std::max<int64_t>(y, ceil_div(32, x));
    } else if (strategy == "column_split") {
      const int64_t y = std::max<int64_t>(column_threads_y(f), ceil_div(32, x));
      c["threads_y"] = y;
      c["unroll"] = 4;
      const int64_t ctas = std::max<int64_t>(1, f.outer * tiles(f, x, f.best_vec));
      c["splits"] =
          std::clamp<int64_t>(ceil_div(int64_t{8} * f.sm_count, ctas), 1, std::clamp<int64_t>(ceil_div(f.reduced, 4 * y), 1, 4096));
    } else {
      const int wide = wide_threads_x(f);
      c["threads_x"] = wide > 0 ? wide : x;
      c["threads_y"] = wide > 0 ? 1 : std::max<int64_t>(column_threads_y(f), ceil_div(32, x));
      c["unroll"] = 8;
    }
  }
  return c;
}

std::vector<Axis> row_axes(const RowFacts& f, const Json& config) {
  const std::string s = strategy_of(config);
  std::vector<Axis> axes;
  auto axis = [&](const char* name, std::vector<Json> values, const char* why) { axes.push_back({name, std::move(values), why}); };
  std::vector<Json> names;
  for (const std::string& name : row_strategies(f)) names.emplace_back(name);
  if (names.size() > 1) axis("strategy", names, "where a row lives between its passes");
  if (s == "registers") {
    axis("threads_per_row", {8, 16, 32, 64, 128, 256, 512, 1024}, "registers a thread against rows in flight");
    if (number(config, "threads_per_row") <= 32) axis("rows_per_cta", {1, 2, 4, 8, 16, 32}, "CTA size");
  }
  if (s == "split" || s == "column_split") {
    const int now = number(config, "splits");
    axis("splits", {now / 4, now / 2, now, now * 2, now * 4}, "CTAs a row: parallelism against partial results to merge");
  }
  if (s == "cluster") axis("cluster", {1, 2, 4, 8, 16}, "CTAs a row: shared memory a CTA against CTAs an SM");
  if (s == "stream" || s == "split" || s == "cluster") {
    axis("threads", {64, 128, 256, 512, 1024}, "CTA size: threads that share a row");
    axis("unroll", {1, 2, 4, 8}, "independent accesses in flight a thread, against registers");
  }
  if (f.inner > 1) {
    axis("threads_x", {8, 16, 32, 64, 128, 256, 512, 1024}, "columns a CTA: long reads of a row against CTAs to balance");
    if (s != "column_registers") axis("unroll", {2, 4, 8, 16}, "independent accesses in flight a thread, against registers");
    axis("threads_y", {1, 2, 4, 8, 16, 32}, "threads that share a column");
  }
  std::vector<Json> widths;
  for (int v = 1; v <= f.best_vec; v *= 2) widths.emplace_back(v);
  if (widths.size() > 1) axis("vec", widths, "bytes an access");
  return axes;
}

Result<void> check_row_config(const RowFacts& f, const Json& config) {
  auto no = [](std::string why) { return Result<void>(Error{Errc::unsupported, std::move(why), "", ""}); };
  const std::string s = strategy_of(config);
  const int vec = number(config, "vec");
  const int64_t along = f.inner == 1 ? f.reduced : f.inner;
  if (vec < 1 || (along % vec != 0 && along > 0)) return no("the access width does not divide the row");
  if (s == "registers") {
    const int threads = number(config, "threads_per_row"), rows = number(config, "rows_per_cta");
    if (threads > 32 && rows != 1) return no("rows of more than a warp have a CTA of their own");
    if (threads * rows > 1024 || threads * rows < 32 || threads * rows % 32 != 0) return no("a CTA has 32 to 1024 threads in whole warps");
    if (register_steps(f, threads, vec) * vec * std::max(f.leaves, 1) > kRegisterValues)
      return no("the row does not fit in the threads' registers");
    if (threads * rows == 1024 && register_steps(f, threads, vec) * vec * f.leaves > 40) return no("1024 threads have 64 registers each");
    return {};
  }
  if (s == "column_registers" || s == "column_split" || s == "column_stream") {
    const int x = number(config, "threads_x"), y = number(config, "threads_y");
    const int most = y == 1 ? 1024 : 512;  // the merge over y keeps an accumulator a thread in shared memory
    if (x * y > most || x * y < 32 || x * y % 32 != 0)
      return no("a column CTA has 32 to 512 threads in whole warps, 1024 with a column each");
    if (s == "column_registers" && column_steps(f, y) * vec * std::max(f.leaves, 1) > kRegisterValues)
      return no("the columns do not fit in the threads' registers");
    if (s != "column_registers" && number(config, "unroll") * vec * std::max(f.leaves, 1) > kRegisterValues)
      return no("too many accesses in flight for the registers");
    if (s != "column_registers" && x * y == 1024 && number(config, "unroll") * vec * std::max(f.leaves, 1) > kRegisterValues / 2)
      return no("1024 threads have 64 registers each");
    if (s == "column_split" && (number(config, "splits") < 1 || number(config, "splits") > 65535))
      return no("splits are a grid's y extent");
    if (f.outer * tiles(f, x, vec) > INT32_MAX) return no("more CTAs than a grid has");
    return {};
  }
  if (number(config, "unroll") * vec * std::max(f.leaves, 1) > kRegisterValues) return no("too many accesses in flight for the registers");
  if (s == "split" && (number(config, "splits") < 1 || f.outer > 65535)) return no("rows of a split are a grid's y extent");
  if (s == "cluster") {
    const int cluster = number(config, "cluster");
    if (share_bytes(f, cluster) > kSmemBudget) return no("a CTA's share of the row exceeds its shared memory");
    if (f.outer * cluster > INT32_MAX) return no("more CTAs than a grid has");
  }
  if (number(config, "threads") == 1024 && number(config, "unroll") * vec * std::max(f.leaves, 1) > kRegisterValues / 2)
    return no("1024 threads have 64 registers each");
  return f.outer > INT32_MAX ? no("more rows than a grid has CTAs") : Result<void>();
}

std::string describe_row(const RowFacts& f, const Json& config) {
  const std::string s = strategy_of(config);
  const std::string what =
      fmt::format("[{}, {}, {}] reduced over the middle in {} pass{}", f.outer, f.reduced, f.inner, f.passes, f.passes == 1 ? "" : "es");
  if (s == "registers") return what + fmt::format(", {} threads keep a row in registers: one read", number(config, "threads_per_row"));
  if (s == "cluster") return what + fmt::format(", a cluster of {} keeps a row in shared memory: one read", number(config, "cluster"));
  if (s == "split") return what + fmt::format(", {} CTAs a row leave partial results that later launches merge", number(config, "splits"));
  if (s == "stream") return what + ", a CTA a row, every pass reads it from memory";
  if (s == "column_registers") return what + fmt::format(", {} threads keep a column in registers: one read", number(config, "threads_y"));
  if (s == "column_split")
    return what + fmt::format(", {} CTAs a column leave partial results that later launches merge", number(config, "splits"));
  return what + ", threads along the columns, every pass reads them from memory";
}

}  // namespace cutegen::playbook
