#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>

#include <cstdlib>
#include <memory>

namespace cutegen {

Result<void> open_log(const std::filesystem::path& path) {
  try {
    auto logger = std::make_shared<spdlog::logger>("cutegen", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
    if (const char* level = std::getenv("CUTEGEN_LOG")) logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(logger);
    return {};
  } catch (const spdlog::spdlog_ex& e) {
    return Error{Errc::io, "cannot open the log " + path.string(), "", e.what()};
  }
}

}  // namespace cutegen
