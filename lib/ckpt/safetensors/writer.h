#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/tensor/dtype.h"

namespace ckpt::safetensors {

/// What the writer needs to know of a tensor. Borrows.
struct OutputTensor {
  std::string_view name;
  Dtype dtype = Dtype::u8;
  const std::vector<std::uint64_t>* shape = nullptr;
};

/// Where everything goes, before a byte is written.
struct Layout {
  std::string header;  ///< length field, JSON and padding: the first bytes of the file
  /// By index of the input: offset of the tensor's first byte from the start of the file.
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> bytes;  ///< by index of the input
  std::vector<std::uint32_t> order;  ///< indices of the input in file order
  std::uint64_t file_bytes = 0;
};

/// Plans a file byte-identical to the reference writer (safetensors 0.3.1 to 0.8.0): tensors by dtype rank
/// descending, then by the bytes of their names; compact JSON with `__metadata__` first, its keys sorted by
/// bytes (the reference's own order is random for two and more); spaces to a multiple of 8.
/// `metadata` null leaves the key out, as does an empty one without tensors (the reference breaks its file then).
///
/// Errors: unsupported - a dtype without Safetensors form; would_lose - a name or metadata text that is no
///         UTF-8; name_collision - two equal names, or `__metadata__`; limit - header above
///         Limits::header_bytes; corrupt - sizes that overflow 64 bits, a dimension above 63 bits, or
///         elements × bits that are not whole bytes.
[[nodiscard]] Result<Layout> plan_layout(const std::vector<OutputTensor>& tensors,
                                         const std::vector<std::pair<std::string, std::string>>* metadata,
                                         const Limits& limits);

/// Appends `text` as a JSON string in the reference writer's escaping: only `"`, `\` and bytes below 0x20,
/// the latter as \b \t \n \f \r or \u00xx in lower case.
void append_json_string(std::string& out, std::string_view text);

}  // namespace ckpt::safetensors
