#include "ckpt/io/sha256.h"

#include <new>
#include <stdexcept>

#include <openssl/evp.h>

#include "ckpt/base/text.h"

namespace ckpt {

namespace {

const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched != nullptr ? fetched : EVP_sha256();
}

/// A digest that is wrong in silence would be worse than an exception, which the caller's outermost
/// level turns into `internal`.
void demand(int outcome) {
  if (outcome != 1) throw std::runtime_error("libcrypto cannot compute SHA-256");
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, FreeContext> handle{EVP_MD_CTX_new()};

  void begin() { demand(EVP_DigestInit_ex2(handle.get(), algorithm(), nullptr)); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (!context_->handle) throw std::bad_alloc();
  context_->begin();
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  demand(EVP_DigestUpdate(context_->handle.get(), bytes.data(), bytes.size()));
}

Digest Sha256::finish() {
  Digest digest{};
  unsigned length = 0;
  demand(
      EVP_DigestFinal_ex(context_->handle.get(), reinterpret_cast<unsigned char*>(digest.data()), &length));
  context_->begin();
  return digest;
}

std::string digest_hex(const Digest& digest) {
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace ckpt
