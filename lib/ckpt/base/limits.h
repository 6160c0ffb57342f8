#pragma once

#include <cstdint>

namespace ckpt {

/// Every limit that a file can reach, with its reason. Each is an option of the program, and the error
/// `limit` names it. docs/decisions/0004-limits.md has the reasons for the defaults.
struct Limits {
  /// Safetensors header in bytes: what the reference reader accepts (safetensors `MAX_HEADER_SIZE`).
  std::uint64_t header_bytes = 100'000'000;
  /// One pickle record in bytes: 100 k tensors take about 20 MB, so ten times the largest seen.
  std::uint64_t pickle_bytes = 256ULL << 20U;
  /// Opcodes of one pickle: a 256 MiB record of one-byte opcodes must not take minutes.
  std::uint64_t pickle_opcodes = 100'000'000;
  /// Bytes of values that one pickle may build.
  std::uint64_t value_bytes = 512ULL << 20U;
  /// Containers inside containers. Real files stay below 50.
  std::uint32_t nesting = 1024;
  /// Entries of a ZIP directory.
  std::uint64_t zip_records = 1ULL << 20U;
  /// Bytes of a ZIP directory, checked before it is read.
  std::uint64_t directory_bytes = 256ULL << 20U;
  /// Dimensions of one tensor. torch itself stops at 64.
  std::uint32_t rank = 64;
  /// Bytes of a tensor's name; records have 16-bit lengths anyway.
  std::uint64_t name_bytes = 64ULL << 10U;
  /// Bytes that convert may write: `output_factor` × input + `output_extra`.
  std::uint64_t output_factor = 4;
  std::uint64_t output_extra = 1ULL << 30U;
};

}  // namespace ckpt
