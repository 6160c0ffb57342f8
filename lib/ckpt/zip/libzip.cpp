#include "ckpt/zip/libzip.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/zip/finding_list.h"
#include "ckpt/zip/libzip_source.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

class LibzipError {
 public:
  LibzipError() { zip_error_init(&error_); }
  LibzipError(const LibzipError&) = delete;
  LibzipError& operator=(const LibzipError&) = delete;
  ~LibzipError() { zip_error_fini(&error_); }
  [[nodiscard]] zip_error_t* handle() { return &error_; }
  [[nodiscard]] std::string text() { return escaped(zip_error_strerror(&error_), kMaxShownBytes); }

 private:
  zip_error_t error_;
};

void put(std::vector<std::byte>& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) {
    out.push_back(static_cast<std::byte>(value & 0xFFU));
    value >>= 8U;
  }
}

// The archive that libzip inflates from. Every size goes through ZIP64, so that none is too large.
//
// libzip does not tell how much of a stream it used, but it takes the compressed bytes in pieces of 8 KiB
// and asks for the next one only when the stream goes on. Empty stored blocks in front, and one byte
// behind, make a last piece of two bytes: the last one of the stream and the additional one. If they are not
// asked for, the stream ended before. (From 1.11.3 on libzip then still tries for one byte, not for two.) A
// libzip with other pieces would overlook bytes behind a stream, but never see some that are not there.
struct OneRecord {
  static constexpr std::uint64_t kPiece = 8192;
  static constexpr std::uint64_t kBlock =
      5;  // a stored block of no bytes: 00, length 0000, its complement FFFF

  explicit OneRecord(const Entry& entry) {
    std::uint64_t blocks = 0;
    while ((blocks * kBlock + entry.compressed_bytes) % kPiece != 1) ++blocks;
    const std::uint64_t compressed = blocks * kBlock + entry.compressed_bytes + 1;
    put_local_header();
    for (std::uint64_t i = 0; i < blocks; ++i) put(head, 0xFFFF000000, kBlock);
    put(tail, 0xFF, 1);
    put_entry(entry, compressed);
    put_end(kLocalBytes + 1 + compressed);
  }

  std::vector<std::byte> head;  // in front of the entry's compressed bytes
  std::vector<std::byte> tail;

 private:
  void put_local_header() {
    put(head, kLocalSignature, 4);
    put(head, 45, 2);  // version needed: ZIP64
    put(head, 0, 2);
    put(head, kDeflated, 2);
    put(head, 0, 16);  // time, date, checksum, sizes: libzip takes those of the directory
    put(head, 1, 2);
    put(head, 0, 2);
    put(head, 'x', 1);
  }

  void put_entry(const Entry& entry, std::uint64_t compressed) {
    constexpr std::uint16_t kFieldBytes = 16;
    put(tail, kEntrySignature, 4);
    put(tail, 45, 2);
    put(tail, 45, 2);
    put(tail, 0, 2);
    put(tail, kDeflated, 2);
    put(tail, 0, 4);
    put(tail, entry.crc, 4);
    put(tail, kAllOnes32, 4);
    put(tail, kAllOnes32, 4);
    put(tail, 1, 2);
    put(tail, 4 + kFieldBytes, 2);
    put(tail, 0, 14);  // comment, disk, attributes, offset of the local header
    put(tail, 'x', 1);
    put(tail, kZip64Field, 2);
    put(tail, kFieldBytes, 2);
    put(tail, entry.bytes, 8);
    put(tail, compressed, 8);
  }

  void put_end(std::uint64_t directory_offset) {
    const std::uint64_t directory_bytes = tail.size() - 1;
    put(tail, kZip64EndSignature, 4);
    put(tail, kZip64EndBytes - 12, 8);
    put(tail, 45, 2);
    put(tail, 45, 2);
    put(tail, 0, 8);
    put(tail, 1, 8);
    put(tail, 1, 8);
    put(tail, directory_bytes, 8);
    put(tail, directory_offset, 8);
    put(tail, kLocatorSignature, 4);
    put(tail, 0, 4);
    put(tail, directory_offset + directory_bytes, 8);
    put(tail, 1, 4);
    put(tail, kEndSignature, 4);
    put(tail, 0, 4);
    put(tail, 1, 2);
    put(tail, 1, 2);
    put(tail, kAllOnes32, 4);
    put(tail, kAllOnes32, 4);
    put(tail, 0, 2);
  }
};

tl::unexpected<Error> stream_error(const Entry& entry, const LibzipView& view, std::string text) {
  if (view.failure()) return fail(*view.failure());
  return fail(record_error(ErrorCode::corrupt, entry.name, entry.data_offset, std::move(text)));
}

tl::unexpected<Error> read_error(zip_file_t* file, const Entry& entry, const LibzipView& view) {
  if (zip_error_code_zip(zip_file_get_error(file)) == ZIP_ER_CRC) {
    return stream_error(entry, view, fmt::format("wrong checksum: the data does not have {:08x}", entry.crc));
  }
  return stream_error(entry, view, "damaged deflate stream: " + escaped(zip_file_strerror(file)));
}

Status check_stream_end(zip_file_t* file, const Entry& entry, const LibzipView& view) {
  std::byte more{};
  const zip_int64_t count = zip_fread(file, &more, 1);
  if (count > 0) {
    return stream_error(entry, view,
                        fmt::format("deflate stream holds more than its {}", bytes_text(entry.bytes)));
  }
  // Where no checksum is recorded, libzip compares with the 0 in its place.
  const bool is_checksum = zip_error_code_zip(zip_file_get_error(file)) == ZIP_ER_CRC;
  if (count < 0 && (!is_checksum || entry.has_checksum())) return read_error(file, entry, view);
  return {};
}

Result<std::vector<std::byte>> read_stream(zip_file_t* file, const Entry& entry, const LibzipView& view) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes));
  const zip_int64_t count = zip_fread(file, bytes.data(), bytes.size());
  if (count < 0) return read_error(file, entry, view);
  if (static_cast<std::uint64_t>(count) < entry.bytes) {
    const std::string promised = bytes_text(entry.bytes);
    return stream_error(entry, view,
                        fmt::format("deflate stream is damaged or ends after {} of {}", count, promised));
  }
  CKPT_TRY(check_stream_end(file, entry, view));
  return bytes;
}

std::string_view raw_name(const zip_stat_t& stat) {
  return (stat.valid & ZIP_STAT_NAME) != 0 && stat.name != nullptr ? stat.name : std::string_view{};
}

// What libzip sees of an entry, where it is not what we see; else empty.
std::string difference(const zip_stat_t& stat, const Entry& entry) {
  const auto differs = [](std::string_view what, std::uint64_t ours, std::uint64_t theirs) {
    return fmt::format("{} {} for us, {} for libzip", what, ours, theirs);
  };
  if (raw_name(stat) != entry.name) {
    return fmt::format("named {} for us, {} for libzip", in_quotes(entry.name), in_quotes(raw_name(stat)));
  }
  if ((stat.valid & ZIP_STAT_COMP_METHOD) != 0 && stat.comp_method != entry.method) {
    return differs("method", entry.method, stat.comp_method);
  }
  if ((stat.valid & ZIP_STAT_SIZE) != 0 && stat.size != entry.bytes)
    return differs("size", entry.bytes, stat.size);
  if ((stat.valid & ZIP_STAT_COMP_SIZE) != 0 && stat.comp_size != entry.compressed_bytes) {
    return differs("compressed size", entry.compressed_bytes, stat.comp_size);
  }
  if ((stat.valid & ZIP_STAT_CRC) != 0 && stat.crc != entry.crc) {
    return fmt::format("checksum {:08x} for us, {:08x} for libzip", entry.crc, stat.crc);
  }
  return {};
}

void compare_entries(zip_t* archive, const std::vector<Entry>& entries, FindingList& findings) {
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(archive, ZIP_FL_UNCHANGED));
  if (count != entries.size()) {
    findings.add(Kind::opinion, [&] {
      Error error = make_error(ErrorCode::ambiguous,
                               fmt::format("{} records for us, {} for libzip", entries.size(), count));
      return error.numbers(std::to_string(entries.size()), std::to_string(count));
    });
  }
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, entries.size()); ++i) {
    const Entry& entry = entries[static_cast<std::size_t>(i)];
    zip_stat_t stat;
    zip_stat_init(&stat);
    std::string text = "unknown to libzip";
    if (zip_stat_index(archive, i, ZIP_FL_UNCHANGED | ZIP_FL_ENC_RAW, &stat) == 0)
      text = difference(stat, entry);
    if (text.empty()) continue;
    findings.add(Kind::opinion, [&] {
      return record_error(ErrorCode::ambiguous, entry.name, entry.directory_offset, std::move(text));
    });
  }
}

}  // namespace

Result<std::vector<std::byte>> inflate_entry(const std::shared_ptr<const ByteSource>& source,
                                             const Entry& entry) {
  // Some writers give an empty record a method all the same.
  if (entry.compressed_bytes == 0 && entry.bytes == 0) return std::vector<std::byte>{};
  OneRecord record(entry);
  const std::uint64_t last_piece = record.head.size() + entry.compressed_bytes + 1;
  LibzipView view(source, entry.data_offset, entry.compressed_bytes);
  view.set_head(std::move(record.head));
  view.set_tail(std::move(record.tail));
  LibzipError error;
  const ZipArchive archive = view.open(error.handle());
  if (!archive) return stream_error(entry, view, "deflate stream cannot be opened: " + error.text());
  const ZipFile file(zip_fopen_index(archive.get(), 0, ZIP_FL_UNCHANGED));
  if (!file) {
    const std::string reason = escaped(zip_strerror(archive.get()));
    return stream_error(entry, view, "deflate stream cannot be opened: " + reason);
  }
  view.forget_reach();
  CKPT_LET(std::vector<std::byte> bytes, read_stream(file.get(), entry, view));
  if (view.reach() < last_piece) return stream_error(entry, view, "bytes after the deflate stream");
  return bytes;
}

std::vector<Finding> second_opinion(const std::shared_ptr<const ByteSource>& source,
                                    const Directory& directory) {
  // Where the end records leave a choice, libzip may follow one that no limit was held against.
  if (!directory.has_one_end()) {
    return {note(make_error(ErrorCode::ambiguous, "libzip was not asked: the end records leave a choice"))};
  }
  LibzipView view(source, 0, source->size());
  LibzipError error;
  const ZipArchive archive = view.open(error.handle());
  if (!archive) {
    return {note(make_error(ErrorCode::unsupported, "libzip cannot open the archive: " + error.text()))};
  }
  FindingList findings;
  compare_entries(archive.get(), directory.entries(), findings);
  return std::move(findings).finish();
}

}  // namespace ckpt::zip
