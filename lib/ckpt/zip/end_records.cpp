#include "ckpt/zip/end_records.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/cut_archive.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

// An end record with the longest comment, and the two ZIP64 records in front of it.
constexpr std::uint64_t kTailBytes = 0xFFFF + kEndBytes + kLocatorBytes + kZip64EndBytes;
constexpr std::string_view kEndText = "PK\x05\x06";

struct PlainEnd {
  std::uint16_t disk = 0;
  std::uint16_t directory_disk = 0;
  std::uint16_t records_here = 0;
  std::uint16_t records = 0;
  std::uint32_t directory_bytes = 0;
  std::uint32_t directory_offset = 0;
  std::uint16_t comment_bytes = 0;
};

struct Zip64End {
  std::uint64_t record_bytes = 0;  // behind this field
  std::uint32_t disk = 0;
  std::uint32_t directory_disk = 0;
  std::uint64_t records_here = 0;
  std::uint64_t records = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t directory_offset = 0;
};

std::optional<PlainEnd> parse_plain(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  PlainEnd end;
  const bool whole = in.skip(4) && in.take_u16le(end.disk) && in.take_u16le(end.directory_disk) &&
                     in.take_u16le(end.records_here) && in.take_u16le(end.records) &&
                     in.take_u32le(end.directory_bytes) && in.take_u32le(end.directory_offset) &&
                     in.take_u16le(end.comment_bytes);
  return whole ? std::optional(end) : std::nullopt;
}

std::optional<Zip64End> parse_zip64(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Zip64End end;
  std::uint32_t signature = 0;
  const bool whole = in.take_u32le(signature) && in.take_u64le(end.record_bytes) && in.skip(4) &&
                     in.take_u32le(end.disk) && in.take_u32le(end.directory_disk) &&
                     in.take_u64le(end.records_here) && in.take_u64le(end.records) &&
                     in.take_u64le(end.directory_bytes) && in.take_u64le(end.directory_offset);
  return whole && signature == kZip64EndSignature ? std::optional(end) : std::nullopt;
}

// Whether a reader that met this end record at `position` would go on with it. Fields of all ones count:
// their ZIP64 record may be anywhere.
bool could_be_read(const PlainEnd& end, std::uint64_t position) {
  if (end.directory_bytes == kAllOnes32 || end.directory_offset == kAllOnes32) return true;
  return range_fits(end.directory_offset, end.directory_bytes, position) &&
         end.records <= end.directory_bytes / kEntryBytes;
}

class EndReader {
 public:
  EndReader(const ByteSource& source, FindingList& findings) : source_(source), findings_(findings) {}

  Result<EndRecords> read() {
    CKPT_TRY(read_tail());
    CKPT_TRY(find_plain());
    check_comment();
    CKPT_TRY(read_locator());
    CKPT_TRY(check_disks());
    merge();
    CKPT_TRY(place_directory());
    return std::move(out_);
  }

 private:
  Status read_tail() {
    const std::uint64_t length = std::min(source_.size(), kTailBytes);
    out_.tail_offset = source_.size() - length;
    CKPT_LET(out_.tail, source_.read_vector(out_.tail_offset, length));
    return {};
  }

  // The last end record whose comment ends with the file and whose directory ends in front of it; if there
  // is none, the last one.
  Status find_plain() {
    const std::string_view text = as_text(out_.tail);
    std::optional<std::size_t> last;
    std::optional<std::size_t> best;
    std::size_t signatures = 0;
    for (std::size_t at = text.rfind(kEndText); at != std::string_view::npos;
         at = text.rfind(kEndText, at - 1)) {
      ++signatures;
      const auto end = parse_plain(std::span(out_.tail).subspan(at));
      if (end && !last) last = at;
      if (end && !best && is_tied(*end, at)) best = at;
      if (at == 0) break;
    }
    if (!last) return missing_end_record(source_);
    out_.is_alone = signatures == 1;
    tail_at_ = best.value_or(*last);
    out_.end_offset = out_.tail_offset + tail_at_;
    plain_ = *parse_plain(std::span(out_.tail).subspan(tail_at_));
    return {};
  }

  [[nodiscard]] bool ends_file(const PlainEnd& end, std::size_t at) const {
    return end.comment_bytes == out_.tail.size() - at - kEndBytes;
  }

  [[nodiscard]] bool is_tied(const PlainEnd& end, std::size_t at) const {
    if (!ends_file(end, at)) return false;
    const auto ties = [](std::uint64_t offset, std::uint64_t bytes, std::uint64_t end_offset) {
      return range_fits(offset, bytes, end_offset) && offset + bytes == end_offset;
    };
    const auto locator = locator_before(at);
    if (!locator) return ties(end.directory_offset, end.directory_bytes, out_.tail_offset + at);
    if (*locator < kZip64EndBytes) return false;
    const std::size_t zip64_at = *locator - kZip64EndBytes;
    const auto zip64 = parse_zip64(std::span(out_.tail).subspan(zip64_at));
    return zip64 && ties(zip64->directory_offset, zip64->directory_bytes, out_.tail_offset + zip64_at);
  }

  void check_comment() {
    const std::size_t behind = out_.tail.size() - tail_at_ - kEndBytes;
    out_.comment_bytes = std::min<std::uint64_t>(plain_.comment_bytes, behind);
    if (plain_.comment_bytes > behind) {
      end_fault(fmt::format("comment length {} runs past the end of the file, {} left", plain_.comment_bytes,
                            bytes_text(behind)),
                plain_.comment_bytes, behind);
    }
    check_second_end();
  }

  // A comment that holds an end record of its own shows another archive to readers that search from the
  // other side. Ours may be the inner one.
  void check_second_end() {
    const std::string_view text = as_text(out_.tail);
    for (std::size_t at = text.find(kEndText); at != std::string_view::npos;
         at = text.find(kEndText, at + 1)) {
      const auto end = parse_plain(std::span(out_.tail).subspan(at));
      const std::uint64_t offset = out_.tail_offset + at;
      const bool competes = at > tail_at_ || (at < tail_at_ && end && ends_file(*end, at));
      if (!end || !competes || !could_be_read(*end, offset)) continue;
      findings_.add(Kind::second_end_record, [&] {
        return make_error(
                   ErrorCode::ambiguous,
                   fmt::format("end record at {} and another at {}: one is inside the comment of the other",
                               out_.end_offset, offset))
            .at(offset);
      });
    }
  }

  [[nodiscard]] std::optional<std::size_t> locator_before(std::size_t at) const {
    if (at < kLocatorBytes) return std::nullopt;
    ByteReader in(std::span(out_.tail).subspan(at - kLocatorBytes));
    std::uint32_t signature = 0;
    if (!in.take_u32le(signature) || signature != kLocatorSignature) return std::nullopt;
    return at - kLocatorBytes;
  }

  Status read_locator() {
    const auto at = locator_before(tail_at_);
    if (!at) return {};
    out_.has_locator = true;
    out_.locator_offset = out_.tail_offset + *at;
    ByteReader in(std::span(out_.tail).subspan(*at + 4));
    std::uint32_t disk = 0;
    std::uint32_t disks = 0;
    if (!in.take_u32le(disk) || !in.take_u64le(promised_zip64_) || !in.take_u32le(disks)) return {};
    if (disk != 0 || disks > 1) return split_archive();
    return read_zip64();
  }

  // Where the locator says, else directly in front of the locator.
  Status read_zip64() {
    CKPT_LET(std::optional<Zip64End> there, zip64_at(promised_zip64_));
    if (there) {
      take_zip64(*there, promised_zip64_);
    } else if (out_.locator_offset >= kZip64EndBytes) {
      const std::uint64_t before = out_.locator_offset - kZip64EndBytes;
      CKPT_LET(std::optional<Zip64End> near, zip64_at(before));
      if (near) take_zip64(*near, before);
    }
    if (!out_.has_zip64) {
      end_fault(fmt::format("locator says {}, no ZIP64 end record is there", promised_zip64_));
    }
    return {};
  }

  Result<std::optional<Zip64End>> zip64_at(std::uint64_t offset) {
    if (!range_fits(offset, kZip64EndBytes, out_.locator_offset)) return std::nullopt;
    if (offset >= out_.tail_offset)
      return parse_zip64(std::span(out_.tail).subspan(offset - out_.tail_offset));
    std::array<std::byte, kZip64EndBytes> bytes{};
    CKPT_TRY(source_.read_at(offset, bytes));
    return parse_zip64(bytes);
  }

  void take_zip64(const Zip64End& end, std::uint64_t offset) {
    constexpr std::uint64_t kCounted =
        kZip64EndBytes - 12;  // the size does not count itself and the signature
    out_.has_zip64 = true;
    out_.zip64_offset = offset;
    out_.zip64_end = offset + kZip64EndBytes;
    zip64_ = end;
    if (end.record_bytes < kCounted) {
      end_fault(fmt::format("ZIP64 record size {}, at least {} needed", end.record_bytes, kCounted), kCounted,
                end.record_bytes);
    } else if (end.record_bytes > kCounted) {
      end_fault(fmt::format("ZIP64 record size {} instead of {}: extensible data not allowed here",
                            end.record_bytes, kCounted),
                kCounted, end.record_bytes);
      const std::uint64_t extra = end.record_bytes - kCounted;
      if (extra <= out_.locator_offset - out_.zip64_end) out_.zip64_end += extra;
    }
  }

  Status check_disks() const {
    const auto other = [this](std::uint16_t disk) {
      return disk != 0 && !(out_.has_zip64 && disk == kAllOnes16);
    };
    if (other(plain_.disk) || other(plain_.directory_disk)) return split_archive();
    if (out_.has_zip64 && (zip64_.disk != 0 || zip64_.directory_disk != 0)) return split_archive();
    return {};
  }

  static Status split_archive() { return fail(ErrorCode::unsupported, "part of a split archive"); }

  // The ZIP64 record counts where it is; where the plain one holds real numbers they must be the same.
  void merge() {
    out_.records = merged(plain_.records, kAllOnes16, zip64_.records, "records");
    const std::uint64_t here =
        merged(plain_.records_here, kAllOnes16, zip64_.records_here, "records of this disk");
    out_.directory_bytes =
        merged(plain_.directory_bytes, kAllOnes32, zip64_.directory_bytes, "bytes of directory");
    out_.directory_offset =
        merged(plain_.directory_offset, kAllOnes32, zip64_.directory_offset, "as directory offset");
    if (here != out_.records) {
      end_fault(fmt::format("directory says {} records on this disk, {} in all", here, out_.records),
                out_.records, here);
    }
    out_.first_offset = out_.has_zip64     ? out_.zip64_offset
                        : out_.has_locator ? out_.locator_offset
                                           : out_.end_offset;
  }

  std::uint64_t merged(std::uint64_t plain, std::uint64_t all_ones, std::uint64_t zip64,
                       std::string_view what) {
    if (!out_.has_zip64) return plain;
    if (plain != all_ones && plain != zip64) {
      end_fault(fmt::format("end record says {} {}, ZIP64 end record {}", plain, what, zip64), plain, zip64,
                ErrorCode::ambiguous);
    }
    return zip64;
  }

  Status place_directory() {
    const bool tied = range_fits(out_.directory_offset, out_.directory_bytes, out_.first_offset) &&
                      out_.directory_offset + out_.directory_bytes == out_.first_offset;
    if (!tied) CKPT_TRY(find_base());
    CKPT_TRY(check_directory_range());
    // With bytes in front, the locator's offset counts from where the archive starts too.
    const std::uint64_t found = out_.zip64_offset - out_.base;
    if (out_.has_zip64 && promised_zip64_ != found && promised_zip64_ != out_.zip64_offset) {
      end_fault(fmt::format("locator says {}, record is at {}", promised_zip64_, out_.zip64_offset),
                promised_zip64_, out_.zip64_offset);
    }
    return {};
  }

  // Bytes in front of an archive move everything in it: then the directory is where its size says, not
  // where its offset says.
  Status find_base() {
    if (out_.directory_bytes < kEntryBytes || out_.directory_bytes > out_.first_offset) return {};
    const std::uint64_t by_size = out_.first_offset - out_.directory_bytes;
    if (out_.directory_offset >= by_size) return {};
    const std::uint64_t base = by_size - out_.directory_offset;
    CKPT_LET(const bool is_there, has_signature(out_.directory_offset, kEntrySignature));
    if (is_there) return {};
    CKPT_LET(const bool is_moved, has_signature(by_size, kEntrySignature));
    CKPT_LET(const bool starts_there, has_signature(base, kLocalSignature));
    if (!is_moved || !starts_there) return {};
    out_.base = base;
    out_.directory_offset = by_size;
    return {};
  }

  [[nodiscard]] Result<bool> has_signature(std::uint64_t offset, std::uint32_t wanted) const {
    std::array<std::byte, 4> bytes{};
    CKPT_TRY(source_.read_at(offset, bytes));
    std::uint32_t signature = 0;
    return ByteReader(bytes).take_u32le(signature) && signature == wanted;
  }

  [[nodiscard]] Status check_directory_range() const {
    const std::uint64_t offset = out_.directory_offset;
    const auto lie = [offset](std::string message, std::uint64_t expected, std::uint64_t found) {
      Error error = make_error(ErrorCode::corrupt, std::move(message));
      return fail(error.at(offset).numbers(std::to_string(expected), std::to_string(found)));
    };
    if (offset > source_.size()) {
      return lie(
          fmt::format("directory at {} is past the end of the file ({})", offset, bytes_text(source_.size())),
          offset, source_.size());
    }
    if (offset > out_.first_offset) {
      return lie(fmt::format("directory at {} is behind the end record at {}", offset, out_.first_offset),
                 offset, out_.first_offset);
    }
    if (out_.directory_bytes > out_.first_offset - offset) {
      return lie(fmt::format("directory of {} at {} does not fit before the end record at {}",
                             bytes_text(out_.directory_bytes), offset, out_.first_offset),
                 out_.directory_bytes, out_.first_offset - offset);
    }
    return {};
  }

  void end_fault(std::string message) {
    findings_.add(Kind::end_record,
                  [&] { return make_error(ErrorCode::corrupt, std::move(message)).at(out_.end_offset); });
  }
  void end_fault(std::string message, std::uint64_t expected, std::uint64_t found,
                 ErrorCode code = ErrorCode::corrupt) {
    findings_.add(Kind::end_record, [&] {
      return make_error(code, std::move(message))
          .at(out_.end_offset)
          .numbers(std::to_string(expected), std::to_string(found));
    });
  }

  const ByteSource& source_;
  FindingList& findings_;
  EndRecords out_;
  std::size_t tail_at_ = 0;  // of the plain end record in the tail
  PlainEnd plain_;
  Zip64End zip64_;
  std::uint64_t promised_zip64_ = 0;
};

}  // namespace

Result<EndRecords> read_end_records(const ByteSource& source, FindingList& findings) {
  return EndReader(source, findings).read();
}

}  // namespace ckpt::zip
