#include "device/cuda/driver.h"

#include <dlfcn.h>

namespace cutegen::cuda {
namespace {

constexpr const char* kNoDriverHint =
    "a CUDA run needs an NVIDIA GPU and its driver (version 535 or newer); check with nvidia-smi, or use the virtual device";

Error missing(std::string message, std::string detail = "") {
  return Error{Errc::missing_dependency, std::move(message), kNoDriverHint, std::move(detail)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return missing("the CUDA driver library " + library + " cannot be loaded", why != nullptr ? why : "");
  }
  auto driver = std::make_shared<Driver>();
#define CUTEGEN_CUDA_RESOLVE(name, symbol, required, parameters)                    \
  driver->name = reinterpret_cast<CUresult(*) parameters>(::dlsym(handle, symbol)); \
  if (required && driver->name == nullptr) return missing("the CUDA driver is too old: it lacks " symbol);
  CUTEGEN_CUDA_ENTRY_POINTS(CUTEGEN_CUDA_RESOLVE)
#undef CUTEGEN_CUDA_RESOLVE
  if (const CUresult code = driver->cuInit(0); code != kSuccess) return missing("the CUDA driver does not start: " + driver->text(code));
  int count = 0;
  if (const CUresult code = driver->cuDeviceGetCount(&count); code != kSuccess || count == 0)
    return missing("the CUDA driver finds no GPU" + (code != kSuccess ? ": " + driver->text(code) : ""));
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::text(CUresult code) const {
  const char* name = nullptr;
  const char* description = nullptr;
  if (cuGetErrorName(code, &name) != kSuccess || name == nullptr) return "CUDA error " + std::to_string(code);
  if (cuGetErrorString(code, &description) != kSuccess || description == nullptr) return name;
  return std::string(name) + ": " + description;
}

Result<void> Driver::check(CUresult code, std::string_view what) const {
  if (code == kSuccess) return {};
  return Error{Errc::device, std::string(what) + ": " + text(code), "", ""};
}

std::string to_hex(const CUipcMemHandle& handle) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : handle.reserved) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Result<CUipcMemHandle> ipc_handle_from_hex(std::string_view hex) {
  CUipcMemHandle handle = {};
  if (hex.size() != 2 * sizeof handle.reserved)
    return Error{Errc::invalid_input, "a CUDA IPC handle has 128 hex digits, not " + std::to_string(hex.size()), "", ""};
  for (size_t i = 0; i < sizeof handle.reserved; ++i) {
    const int high = hex_digit(hex[2 * i]);
    const int low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return Error{Errc::invalid_input, "a CUDA IPC handle must be lower-case hex", "", ""};
    handle.reserved[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return handle;
}

}  // namespace cutegen::cuda
