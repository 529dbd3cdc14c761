#include "cli/sim_counters.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "base/fs.h"
#include "report/json.h"

namespace cutegen::cli {
namespace {

namespace fs = std::filesystem;

// Numbers add up, objects member by member, lists one after the other; names stay.
void add(Json& into, const Json& from) {
  if (into.is_number() && from.is_number()) {
    into = into.is_number_float() ? Json(into.get<double>() + from.get<double>()) : Json(into.get<uint64_t>() + from.get<uint64_t>());
  } else if (into.is_object() && from.is_object()) {
    for (const auto& [key, value] : from.items()) into.contains(key) ? add(into[key], value) : void(into[key] = value);
  } else if (into.is_array() && from.is_array()) {
    into.insert(into.end(), from.begin(), from.end());
  }
}

uint64_t counter(const Json& kernel, const char* name) { return json_or<uint64_t>(kernel.value("counters", Json::object()), name, 0); }

std::string shortened(std::string name, size_t width) { return name.size() <= width ? name : name.substr(0, width - 3) + "..."; }

// "axpy(int, float*)" of "_Z4axpyiPf"; other names stay.
std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : name;
}

std::string row(const Json& k) {
  constexpr size_t kNameWidth = 48;
  const uint64_t loads = counter(k, "global_load_requests");
  return fmt::format("{:<48}{:>9}{:>14}{:>12}{:>12}{:>13.2f}{:>11}{:>15}\n",
                     shortened(readable(json_or<std::string>(k, "kernel", "")), kNameWidth), json_or<uint64_t>(k, "launches", 0),
                     counter(k, "warp_instructions"), counter(k, "global_load_sectors"), counter(k, "global_store_sectors"),
                     loads == 0 ? 0.0 : static_cast<double>(counter(k, "global_load_sectors")) / static_cast<double>(loads),
                     counter(k, "shared_bank_conflicts"), counter(k, "tensor_macs"));
}

}  // namespace

Result<Json> collect_counters(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::map<std::string, Json> kernels;
  for (const fs::path& file : files) {
    CUTEGEN_TRY(const Json process, read_json_file(file));
    for (const Json& kernel : process.value("kernels", Json::array())) {
      const auto [it, fresh] = kernels.try_emplace(json_or<std::string>(kernel, "kernel", ""), kernel);
      if (!fresh) add(it->second, kernel);
    }
  }
  Json list = Json::array();
  for (auto& [name, kernel] : kernels) list.push_back(std::move(kernel));
  return Json{{"kernels", std::move(list)}};
}

std::string counters_table(const Json& counters) {
  std::string text = fmt::format("{:<48}{:>9}{:>14}{:>12}{:>12}{:>13}{:>11}{:>15}\n", "kernel", "launches", "PTX instr.", "ld sectors",
                                 "st sectors", "sectors/ld", "conflicts", "tensor MACs");
  for (const Json& kernel : counters["kernels"]) text += row(kernel);
  if (counters["kernels"].empty()) text += "(no kernel was launched by a process that ended in order)\n";
  text.pop_back();
  return text;
}

Result<void> write_counters(const Json& counters, const fs::path& path) {
  Json document = counters;
  document["schema"] = kReportSchema;
  return write_file_atomic(path, document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace cutegen::cli
