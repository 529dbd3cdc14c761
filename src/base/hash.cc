#include "base/hash.h"

#include <sodium.h>

#include <new>

namespace cutegen {
namespace {

constexpr size_t kDigestBytes = 32;

crypto_generichash_state* as_state(unsigned char* bytes) { return std::launder(reinterpret_cast<crypto_generichash_state*>(bytes)); }

std::string to_hex(const unsigned char (&digest)[kDigestBytes]) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * kDigestBytes);
  for (const unsigned char byte : digest) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

}  // namespace

std::string hash_hex(std::string_view content) {
  unsigned char digest[kDigestBytes];
  crypto_generichash(digest, sizeof digest, reinterpret_cast<const unsigned char*>(content.data()), content.size(), nullptr, 0);
  return to_hex(digest);
}

Hasher::Hasher() {
  static_assert(sizeof(crypto_generichash_state) <= sizeof(state_));
  new (state_) crypto_generichash_state;
  crypto_generichash_init(as_state(state_), nullptr, 0, kDigestBytes);
}

Hasher& Hasher::add(std::string_view field) {
  add(static_cast<int64_t>(field.size()));
  crypto_generichash_update(as_state(state_), reinterpret_cast<const unsigned char*>(field.data()), field.size());
  return *this;
}

Hasher& Hasher::add(int64_t number) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(number) >> (8 * i));
  crypto_generichash_update(as_state(state_), bytes, sizeof bytes);
  return *this;
}

std::string Hasher::hex() {
  unsigned char digest[kDigestBytes];
  crypto_generichash_final(as_state(state_), digest, sizeof digest);
  return to_hex(digest);
}

}  // namespace cutegen
