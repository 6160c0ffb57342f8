#include "ckpt/zip/cut_archive.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/finding_list.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

// Enough to help; a cut file is no reason to read for long.
constexpr std::uint64_t kMaxWalked = 1000;

struct Walked {
  std::uint64_t records = 0;
  std::uint64_t end = 0;  // behind the last complete one
};

// Behind the record at `offset`; 0 if it is cut, or does not say how long it is.
Result<std::uint64_t> end_of_record(const ByteSource& source, std::uint64_t offset) {
  const std::uint64_t left = source.size() - offset;
  if (left < kLocalBytes) return 0;
  std::array<std::byte, kLocalBytes> bytes{};
  CKPT_TRY(source.read_at(offset, bytes));
  ByteReader in(bytes);
  std::uint32_t signature = 0;
  std::uint32_t compressed = 0;
  std::uint16_t flags = 0;
  std::uint16_t name_length = 0;
  std::uint16_t extra_length = 0;
  const bool whole = in.take_u32le(signature) && in.skip(2) && in.take_u16le(flags) && in.skip(10) &&
                     in.take_u32le(compressed) && in.skip(4) && in.take_u16le(name_length) &&
                     in.take_u16le(extra_length);
  const bool says = (flags & kFlagDescriptor) == 0 && compressed != kAllOnes32;
  if (!whole || signature != kLocalSignature || !says) return 0;
  const std::uint64_t length = kLocalBytes + name_length + extra_length + compressed;
  return length <= left ? offset + length : 0;
}

Result<Walked> walk(const ByteSource& source) {
  Walked walked;
  while (walked.records < kMaxWalked) {
    CKPT_LET(const std::uint64_t end, end_of_record(source, walked.end));
    if (end == 0) break;
    walked.end = end;
    ++walked.records;
  }
  return walked;
}

}  // namespace

Status missing_end_record(const ByteSource& source) {
  std::array<std::byte, 4> start{};
  const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), start.size()));
  CKPT_TRY(source.read_at(0, std::span(start).first(length)));
  const std::string_view magic = as_text(std::span(start).first(length));
  if (magic != "PK\x03\x04" && magic != "PK\x05\x06") {
    return fail(ErrorCode::unknown_format, "not a ZIP archive: no end record, and no local header at byte 0");
  }
  CKPT_LET(const Walked walked, walk(source));
  std::string message = fmt::format(
      "no complete end record in the last 64 KiB; starts like a ZIP archive, so it was probably cut: the "
      "download or the writing stopped at {}",
      bytes_text(source.size()));
  if (walked.records == kMaxWalked) {
    message += fmt::format(", at least the first {} records are complete", walked.records);
  } else if (walked.records > 0) {
    message += fmt::format(", the last complete record (of {}) ends at {}", walked.records, walked.end);
  }
  return fail(ErrorCode::truncated, std::move(message), source.size());
}

}  // namespace ckpt::zip
