#include "device/shm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace cutegen {
namespace {

Error shm_error(const char* what, const std::string& name) {
  return Error{Errc::io, std::string(what) + " shared memory '" + name + "': " + std::strerror(errno),
               errno == ENOSPC || errno == ENOMEM ? "make /dev/shm larger" : "", ""};
}

}  // namespace

Result<Shm> Shm::create(const std::string& name, int64_t bytes) {
  const Fd fd(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return shm_error("cannot create", name);
  const int64_t mapped = bytes > 0 ? bytes : 1;
  // posix_fallocate rather than ftruncate: a full /dev/shm is an error here, not a SIGBUS at the first write.
  if (const int failed = ::posix_fallocate(fd.get(), 0, mapped); failed != 0) {
    errno = failed;
    Error error = shm_error("cannot size", name);
    ::shm_unlink(name.c_str());
    return error;
  }
  void* address = ::mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) {
    Error error = shm_error("cannot map", name);
    ::shm_unlink(name.c_str());
    return error;
  }
  return Shm(address, mapped);
}

Result<Shm> Shm::open_readable(const std::string& name) {
  const Fd fd(::shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (!fd.valid()) return shm_error("cannot open", name);
  struct stat st = {};
  if (::fstat(fd.get(), &st) != 0) return shm_error("cannot read the size of", name);
  if (st.st_size == 0) return Shm(nullptr, 0);
  void* address = ::mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return shm_error("cannot map", name);
  return Shm(address, st.st_size);
}

void Shm::unlink(const std::string& name) { ::shm_unlink(name.c_str()); }

Shm& Shm::operator=(Shm&& other) noexcept {
  if (this != &other) {
    if (address_ != nullptr) ::munmap(address_, static_cast<size_t>(bytes_));
    address_ = std::exchange(other.address_, nullptr);
    bytes_ = other.bytes_;
  }
  return *this;
}

Shm::~Shm() {
  if (address_ != nullptr) ::munmap(address_, static_cast<size_t>(bytes_));
}

Result<std::span<std::byte>> tensor_bytes(const Shm& object, const SharedTensor& tensor) {
  const int64_t have = static_cast<int64_t>(object.bytes().size());
  const int64_t need = tensor.spec.bytes();
  if (tensor.offset < 0 || need < 0 || tensor.offset > have || need > have - tensor.offset)
    return Error{Errc::invalid_input,
                 "tensor '" + tensor.spec.name + "' of " + std::to_string(need) + " bytes at offset " + std::to_string(tensor.offset) +
                     " does not fit shared memory '" + tensor.handle + "' of " + std::to_string(have) + " bytes",
                 "", ""};
  return object.bytes().subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(need));
}

}  // namespace cutegen
