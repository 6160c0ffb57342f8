#include "ckpt/zip/local_header.h"

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

struct Sizes {
  std::uint64_t bytes = 0;
  std::uint64_t compressed = 0;
};

Sizes widened(const LocalHeader& local, Zip64Values& values) {
  // The order of the ZIP64 field is not that of the header: uncompressed first.
  Sizes sizes;
  sizes.bytes = values.widen(local.bytes);
  sizes.compressed = values.widen(local.compressed);
  return sizes;
}

// With bit 3 the numbers follow the data, and 0 in front of it says nothing.
bool agrees(std::uint64_t local, std::uint64_t directory, std::uint16_t flags) {
  return local == directory || (local == 0 && (flags & kFlagDescriptor) != 0);
}

Faults compare_extra(const Entry& entry, const LocalHeader& local, const Extra& extra) {
  Faults faults = 0;
  Zip64Values values(extra);
  const Sizes sizes = widened(local, values);
  if (!agrees(sizes.bytes, entry.bytes, entry.flags) ||
      !agrees(sizes.compressed, entry.compressed_bytes, entry.flags)) {
    faults |= fault(Kind::sizes_differ);
  }
  if (extra.overruns) faults |= fault(Kind::local_extra);
  if (extra.zip64_twice) faults |= fault(Kind::local_zip64_twice);
  const bool fits =
      values.sufficed() && values.rest_is_one_of(entry.bytes, entry.compressed_bytes, entry.local_offset);
  if (!fits) faults |= fault(Kind::local_zip64);
  return faults;
}

Error flags_error(const Entry& entry, const LocalHeader& local) {
  const bool in_directory = (entry.flags & kFlagEncrypted) != 0;
  const bool in_local = (local.flags & kFlagEncrypted) != 0;
  std::string text =
      fmt::format("flags 0x{:04x} in the directory, 0x{:04x} in the local header", entry.flags, local.flags);
  if (in_directory != in_local) {
    text = fmt::format("encrypted flag set in the {} only: ", in_directory ? "directory" : "local header") +
           text;
  }
  return record_error(ErrorCode::ambiguous, entry.name, entry.local_offset, std::move(text), entry.flags,
                      local.flags);
}

Error sizes_error(const Entry& entry, const LocalHeader& local) {
  const Extra extra = parse_extra(local.extra);
  Zip64Values values(extra);
  const Sizes sizes = widened(local, values);
  const bool plain = agrees(sizes.bytes, entry.bytes, entry.flags);
  const std::uint64_t in_directory = plain ? entry.compressed_bytes : entry.bytes;
  const std::uint64_t in_local = plain ? sizes.compressed : sizes.bytes;
  return record_error(ErrorCode::corrupt, entry.name, entry.local_offset,
                      fmt::format("{} size {} in the directory, {} in the local header",
                                  plain ? "compressed" : "uncompressed", in_directory, in_local),
                      in_directory, in_local);
}

}  // namespace

std::uint64_t LocalHeader::length() const { return kLocalBytes + name_length + extra_length; }

std::optional<LocalHeader> parse_local_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kLocalBytes) return std::nullopt;
  ByteReader in(bytes);
  LocalHeader local;
  const bool fixed = in.take_u32le(local.signature) && in.skip(2) && in.take_u16le(local.flags) &&
                     in.take_u16le(local.method) && in.skip(4) && in.take_u32le(local.crc) &&
                     in.take_u32le(local.compressed) && in.take_u32le(local.bytes) &&
                     in.take_u16le(local.name_length) && in.take_u16le(local.extra_length);
  local.is_whole =
      fixed && in.take_bytes(local.name_length, local.name) && in.take_bytes(local.extra_length, local.extra);
  return local;
}

Faults compare_headers(const Entry& entry, const LocalHeader& local) {
  Faults faults = compare_extra(entry, local, parse_extra(local.extra));
  if ((entry.flags & local.flags & kFlagEncrypted) != 0) faults |= fault(Kind::encrypted);
  if (entry.flags != local.flags) faults |= fault(Kind::flags_differ);
  if (entry.method != local.method) faults |= fault(Kind::method_differs);
  if (entry.name != local.name) faults |= fault(Kind::name_differs);
  if (!agrees(local.crc, entry.crc, entry.flags)) faults |= fault(Kind::checksum_differs);
  return faults;
}

Error describe_difference(Kind kind, const Entry& entry, const LocalHeader& local) {
  const auto error = [&entry](ErrorCode code, std::string text) {
    return record_error(code, entry.name, entry.local_offset, std::move(text));
  };
  switch (kind) {
    case Kind::encrypted: return error(ErrorCode::unsupported, "record is encrypted");
    case Kind::flags_differ: return flags_error(entry, local);
    case Kind::method_differs:
      return record_error(
          ErrorCode::ambiguous, entry.name, entry.local_offset,
          fmt::format("method {} in the directory, {} in the local header", entry.method, local.method),
          entry.method, local.method);
    case Kind::name_differs:
      return error(ErrorCode::ambiguous, fmt::format("named {} in the directory, {} in the local header",
                                                     in_quotes(entry.name), in_quotes(local.name)));
    case Kind::sizes_differ: return sizes_error(entry, local);
    case Kind::checksum_differs:
      return error(ErrorCode::corrupt,
                   fmt::format("checksum {:08x} in the directory, {:08x} in the local header", entry.crc,
                               local.crc))
          .numbers(fmt::format("{:08x}", entry.crc), fmt::format("{:08x}", local.crc));
    case Kind::local_extra:
      return error(ErrorCode::corrupt, fmt::format("extra field of the local header runs past its area of {}",
                                                   bytes_text(local.extra_length)));
    case Kind::local_zip64_twice:
      return error(ErrorCode::corrupt, "duplicate ZIP64 field in the local header");
    default:
      return error(
          ErrorCode::corrupt,
          fmt::format(
              "ZIP64 field of the local header disagrees with the directory (sizes {} and {}, offset {})",
              entry.bytes, entry.compressed_bytes, entry.local_offset));
  }
}

bool is_descriptor_of(const Entry& entry, std::span<const std::byte> bytes) {
  const bool is_signed = bytes.size() == 16 || bytes.size() == 24;
  const bool is_wide = bytes.size() >= 20;
  ByteReader in(bytes);
  std::uint32_t signature = 0;
  if (is_signed && (!in.take_u32le(signature) || signature != kDescriptorSignature)) return false;
  std::uint32_t crc = 0;
  if (!in.take_u32le(crc) || crc != entry.crc) return false;
  if (is_wide) {
    std::uint64_t compressed = 0;
    std::uint64_t size = 0;
    return in.take_u64le(compressed) && in.take_u64le(size) && compressed == entry.compressed_bytes &&
           size == entry.bytes;
  }
  std::uint32_t compressed = 0;
  std::uint32_t size = 0;
  return in.take_u32le(compressed) && in.take_u32le(size) && compressed == entry.compressed_bytes &&
         size == entry.bytes;
}

}  // namespace ckpt::zip
