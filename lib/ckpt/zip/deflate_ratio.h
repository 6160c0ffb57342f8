#pragma once

#include "ckpt/zip/directory.h"

namespace ckpt::zip {

/// No deflate stream grows by more: 258 bytes for each two bits (zlib's technical notes).
inline constexpr std::uint64_t kMaxDeflateRatio = 1032;

/// True if the record claims a size that no stream of its length can have.
[[nodiscard]] constexpr bool exceeds_deflate_ratio(const Entry& entry) {
  return entry.bytes / kMaxDeflateRatio > entry.compressed_bytes ||
         (entry.bytes / kMaxDeflateRatio == entry.compressed_bytes && entry.bytes % kMaxDeflateRatio != 0);
}

}  // namespace ckpt::zip
