#include "ckpt/zip/archive.h"

#include <fmt/format.h>

#include "ckpt/io/crc32.h"
#include "ckpt/zip/deflate_ratio.h"
#include "ckpt/zip/finding_list.h"
#include "ckpt/zip/libzip.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

Status check_readable(const Entry& entry, std::uint64_t max_bytes, std::string_view limit_name) {
  const auto refuse = [&entry](ErrorCode code, std::string text) {
    return fail(record_error(code, entry.name, entry.data_offset, std::move(text)));
  };
  if (entry.bytes > max_bytes) {
    return fail(record_error(
        ErrorCode::limit, entry.name, entry.local_offset,
        fmt::format("record of {}, limit {} is {}", bytes_text(entry.bytes), limit_name, max_bytes),
        max_bytes, entry.bytes));
  }
  if ((entry.flags & kFlagEncrypted) != 0) return refuse(ErrorCode::unsupported, "record is encrypted");
  if (!entry.is_stored() && entry.method != kDeflated) {
    return refuse(ErrorCode::unsupported, fmt::format("compression method {}", entry.method));
  }
  if (entry.data_offset == 0)
    return refuse(ErrorCode::corrupt, "record has no readable local header and data");
  if (entry.is_stored() && entry.compressed_bytes != entry.bytes) {
    return refuse(ErrorCode::corrupt,
                  fmt::format("stored record, sizes {} and {}", entry.compressed_bytes, entry.bytes));
  }
  if (!entry.is_stored() && exceeds_deflate_ratio(entry)) {
    return refuse(ErrorCode::corrupt, fmt::format("deflate cannot make {} of {}", bytes_text(entry.bytes),
                                                  bytes_text(entry.compressed_bytes)));
  }
  return {};
}

Status check_checksum(const Entry& entry, std::span<const std::byte> bytes) {
  if (!entry.has_checksum()) return {};
  const std::uint32_t found = crc32(0, bytes);
  if (found == entry.crc) return {};
  Error error =
      record_error(ErrorCode::corrupt, entry.name, entry.data_offset,
                   fmt::format("wrong checksum: directory says {:08x}, data has {:08x}", entry.crc, found));
  return fail(error.numbers(fmt::format("{:08x}", entry.crc), fmt::format("{:08x}", found)));
}

}  // namespace

Result<Archive> Archive::open(std::shared_ptr<const ByteSource> source, const Limits& limits) {
  CKPT_LET(Directory directory, Directory::read(source, limits));
  return Archive(std::move(source), std::move(directory));
}

Result<std::vector<std::byte>> Archive::read(const Entry& entry, std::uint64_t max_bytes,
                                             std::string_view limit_name) const {
  CKPT_TRY(check_readable(entry, max_bytes, limit_name));
  auto bytes = entry.is_stored() ? source_->read_vector(entry.data_offset, entry.bytes)
                                 : inflate_entry(source_, entry);
  if (!bytes) return fail(bytes.error().in_record(entry.name));
  CKPT_TRY(check_checksum(entry, *bytes));
  return bytes;
}

}  // namespace ckpt::zip
