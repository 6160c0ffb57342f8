#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/export.h"

namespace ckpt {

using Digest = std::array<std::byte, 32>;

/// 64 lower-case hexadecimal digits.
[[nodiscard]] CKPT_API std::string digest_hex(const Digest& digest);

/// Streaming SHA-256 (FIPS 180-4) through libcrypto. The context is made once and reused: fetching the
/// algorithm takes locks in OpenSSL 3. Not shared by threads.
class CKPT_API Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::span<const std::byte> bytes);
  /// The digest of everything since the last `finish`; starts afresh.
  [[nodiscard]] Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace ckpt
