#pragma once

#include <cstdint>

/// Numbers of the ZIP format (APPNOTE 6.3.9), section beside each.
namespace ckpt::zip {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;  // 4.3.7
inline constexpr std::uint32_t kDescriptorSignature =
    0x08074b50;  // 4.3.9.3, also the mark of a split archive (8.5.3)
inline constexpr std::uint32_t kEntrySignature = 0x02014b50;     // 4.3.12
inline constexpr std::uint32_t kZip64EndSignature = 0x06064b50;  // 4.3.14
inline constexpr std::uint32_t kLocatorSignature = 0x07064b50;   // 4.3.15
inline constexpr std::uint32_t kEndSignature = 0x06054b50;       // 4.3.16

// Bytes of the fixed parts.
inline constexpr std::uint64_t kLocalBytes = 30;
inline constexpr std::uint64_t kEntryBytes = 46;
inline constexpr std::uint64_t kZip64EndBytes = 56;
inline constexpr std::uint64_t kLocatorBytes = 20;
inline constexpr std::uint64_t kEndBytes = 22;
inline constexpr std::uint64_t kMaxDescriptorBytes = 24;

/// A field of this value has its real one in a ZIP64 record or field (4.4.1.4).
inline constexpr std::uint16_t kAllOnes16 = 0xFFFF;
inline constexpr std::uint32_t kAllOnes32 = 0xFFFFFFFF;

// Flag bits (4.4.4).
inline constexpr std::uint16_t kFlagEncrypted = 0x0001;
inline constexpr std::uint16_t kFlagDescriptor = 0x0008;
/// Patched data, strong encryption, masked headers: what one reader obeys and another ignores.
inline constexpr std::uint16_t kFlagsRefused = 0x0020 | 0x0040 | 0x2000;

inline constexpr std::uint16_t kZip64Field = 0x0001;  // 4.5.3

}  // namespace ckpt::zip
