#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ckpt {

/// CRC-32 of ZIP (polynomial 0xEDB88320, reflected): `crc` is the checksum of what came before, 0 at the
/// start.
[[nodiscard]] std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

/// The checksum of A followed by B, from theirs and B's length in bytes; B need not be at hand.
[[nodiscard]] std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);

}  // namespace ckpt
