#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/tensor/dtype.h"

/// The header of a Safetensors file.
///
/// Layout: u64 little-endian header length n; n bytes of UTF-8 JSON, padded with spaces that n counts; then
/// the data section, row-major little-endian tensors without gaps. `data_offsets` are relative to byte 8 + n.
/// The rules, and where the reference reader is laxer than we are: docs/formats/safetensors.md.
namespace ckpt::safetensors {

struct HeaderTensor {
  std::string name;  ///< unescaped UTF-8
  Dtype dtype = Dtype::u8;
  std::vector<std::uint64_t> shape;  ///< dims as stored; empty = one element
  std::uint64_t begin = 0;           ///< bytes, relative to the data section
  std::uint64_t end = 0;
};

struct Header {
  std::uint64_t header_bytes = 0;     ///< n
  std::uint64_t data_offset = 0;      ///< 8 + n
  std::vector<HeaderTensor> tensors;  ///< in the order of the JSON text
  bool has_metadata = false;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< in the order of the text
  /// What is wrong (error) or odd but accepted by the reference (note), each with the tensor's name.
  std::vector<Finding> findings;
};

/// Reads and checks the header of a whole file; never its data.
///
/// What makes the listing impossible is an error: truncated - the file ends inside the header; corrupt -
/// no JSON, no object, nested deeper than 128 levels; limit - n above Limits::header_bytes; io.
/// Everything else is a finding: a tensor entry that is malformed, unknown dtype (unsupported), a duplicate
/// name (ambiguous), a name or rank above its limit (limit), ranges with holes or overlaps, sizes that
/// disagree with shape and dtype, data that is shorter (truncated, then in front of all others) or longer
/// (corrupt) than declared; notes: unknown fields, leading white space, padding other than spaces, n not a
/// multiple of 8, `"__metadata__": null`, a key twice in the metadata, a NUL in a name. At most 1,000 of one
/// word and severity.
///
/// `tensors` has every entry whose name, dtype, shape and range can be read, even if its range overlaps, ends
/// behind the data or has the wrong size; of two with one name the last.
/// Cost: two reads (8 bytes, then n; one if the file is at most 64 KiB), memory below 10 × n.
[[nodiscard]] Result<Header> read_header(const ByteSource& source, const Limits& limits);

/// The same for JSON text that is already in memory; `data_bytes` is the length of the data section.
[[nodiscard]] Result<Header> parse_header(std::string_view json, std::uint64_t data_bytes,
                                          const Limits& limits);

/// True if the first bytes (at least 9, or all there are; 16 are better) are a plausible header length for a
/// file of `file_bytes`, followed by white space and "{". A length too large for the file, which may be cut,
/// is below 128 MiB, or a string or "}" follows and the length is no text itself.
[[nodiscard]] bool looks_like_header(std::span<const std::byte> first_bytes, std::uint64_t file_bytes);

}  // namespace ckpt::safetensors
