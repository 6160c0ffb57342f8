#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"

namespace ckpt {

enum class Container : std::uint8_t { zip, safetensors };

/// How many bytes of a file decide what it is; tar's magic lies at 257.
inline constexpr std::size_t kSniffBytes = 512;

/// Decides by content, never by the name.
///
/// Errors: unknown_format - empty, too short, or what it looks like instead (Git LFS pointer with the size of the real
///         file, web page, JSON or XML error, GGUF, HDF5, gzip, image, …); unsupported - a checkpoint format that is
///         known but not read. `first` are the first bytes, at most kSniffBytes.
[[nodiscard]] Result<Container> sniff(std::span<const std::byte> first, std::uint64_t file_bytes);

/// The same for an opened file; reads its first bytes.
[[nodiscard]] Result<Container> sniff(const ByteSource& source);

}  // namespace ckpt
