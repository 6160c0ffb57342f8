#include "ckpt/zip/directory_entry.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/zip/deflate_ratio.h"
#include "ckpt/zip/extra_field.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

void report(FindingList& findings, Kind kind, ErrorCode code, const Entry& entry, std::string_view text) {
  findings.add(kind,
               [&] { return record_error(code, entry.name, entry.directory_offset, std::string(text)); });
}

// A leading slash, or a component "." or "..".
bool is_path(std::string_view name) {
  if (name.starts_with('/')) return true;
  while (true) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view component = name.substr(0, end);
    if (component == "." || component == "..") return true;
    if (end == name.size()) return false;
    name.remove_prefix(end + 1);
  }
}

void check_name(const Entry& entry, FindingList& findings) {
  const std::string_view name = entry.name;
  if (name.empty()) {
    findings.add(Kind::name_empty, [&] {
      return record_error(
          ErrorCode::corrupt, name, entry.directory_offset,
          fmt::format("record with an empty name at directory offset {}", entry.directory_offset));
    });
  }
  bool has_nul = false;
  bool has_backslash = false;
  bool has_dot = false;
  bool is_ascii = true;
  for (const char c : name) {
    has_nul = has_nul || c == '\0';
    has_backslash = has_backslash || c == '\\';
    has_dot = has_dot || c == '.';
    is_ascii = is_ascii && static_cast<unsigned char>(c) < 0x80;
  }
  if (has_nul) report(findings, Kind::name_nul, ErrorCode::corrupt, entry, "NUL in record name");
  if (has_backslash)
    report(findings, Kind::name_backslash, ErrorCode::corrupt, entry, "backslash in record name");
  if ((has_dot || name.starts_with('/')) && is_path(name)) {
    report(findings, Kind::name_path, ErrorCode::path_escape, entry,
           "record name is a path: it starts with a slash or has a component \".\" or \"..\"");
  }
  if (!is_ascii && !is_utf8(name)) {
    findings.add(Kind::name_not_unicode, [&] {
      return record_error(ErrorCode::corrupt, name, entry.directory_offset,
                          "record name is not Unicode: " + in_quotes(name));
    });
  }
}

void check_sizes(const Entry& entry, FindingList& findings) {
  const auto sizes_error = [&](std::string text) {
    return record_error(ErrorCode::corrupt, entry.name, entry.directory_offset, std::move(text),
                        entry.compressed_bytes, entry.bytes);
  };
  if (entry.is_stored() && entry.compressed_bytes != entry.bytes) {
    findings.add(Kind::stored_sizes, [&] {
      return sizes_error(fmt::format("stored record, sizes {} and {}", entry.compressed_bytes, entry.bytes));
    });
  }
  if (entry.method == kDeflated && exceeds_deflate_ratio(entry)) {
    findings.add(Kind::deflate_ratio, [&] {
      return sizes_error(fmt::format("deflate cannot make {} of {}: at most {} to 1", bytes_text(entry.bytes),
                                     bytes_text(entry.compressed_bytes), kMaxDeflateRatio));
    });
  }
}

void check_flags(const Entry& entry, std::uint16_t disk, FindingList& findings) {
  if ((entry.flags & kFlagsRefused) != 0) {
    findings.add(Kind::flags_refused, [&] {
      return record_error(ErrorCode::corrupt, entry.name, entry.directory_offset,
                          fmt::format("flag 0x{:x} not allowed", entry.flags & kFlagsRefused));
    });
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    findings.add(Kind::method, [&] {
      return record_error(
          ErrorCode::unsupported, entry.name, entry.directory_offset,
          fmt::format("compression method {}, only 0 (stored) and 8 (deflated) are read", entry.method));
    });
  }
  if (disk != 0 && disk != kAllOnes16) {
    findings.add(Kind::other_disk, [&] {
      return record_error(ErrorCode::unsupported, entry.name, entry.directory_offset,
                          fmt::format("record lies on part {} of a split archive", disk));
    });
  }
}

// Takes the 64-bit numbers; `parse_extra` only where there is an extra area, torch writes none.
void widen(const RawEntry& raw, Entry& entry, FindingList& findings) {
  const Extra extra = parse_extra(raw.extra);
  Zip64Values values(extra);
  entry.bytes = values.widen(raw.bytes);
  entry.compressed_bytes = values.widen(raw.compressed);
  entry.local_offset = values.widen(raw.local_offset);
  if (extra.overruns) {
    findings.add(Kind::directory_extra, [&] {
      return record_error(
          ErrorCode::corrupt, entry.name, entry.directory_offset,
          fmt::format("extra field of record runs past its area of {}", bytes_text(raw.extra.size())));
    });
  }
  if (extra.zip64_twice) {
    report(findings, Kind::directory_zip64_twice, ErrorCode::corrupt, entry, "duplicate ZIP64 field");
  }
  if (!values.sufficed()) {
    report(findings, Kind::directory_zip64, ErrorCode::corrupt, entry,
           "ZIP64 field is too short for the numbers it must hold");
  } else if (!values.rest_is_one_of(entry.bytes, entry.compressed_bytes, entry.local_offset)) {
    report(findings, Kind::directory_zip64, ErrorCode::corrupt, entry,
           "ZIP64 field holds other numbers than the entry");
  }
}

}  // namespace

bool take_entry(ByteReader& in, RawEntry& raw) {
  std::uint32_t signature = 0;
  std::uint16_t name_length = 0;
  std::uint16_t extra_length = 0;
  std::uint16_t comment_length = 0;
  const bool fixed = in.take_u32le(signature) && signature == kEntrySignature && in.skip(4) &&
                     in.take_u16le(raw.flags) && in.take_u16le(raw.method) && in.skip(4) &&
                     in.take_u32le(raw.crc) && in.take_u32le(raw.compressed) && in.take_u32le(raw.bytes) &&
                     in.take_u16le(name_length) && in.take_u16le(extra_length) &&
                     in.take_u16le(comment_length) && in.take_u16le(raw.disk) && in.skip(6) &&
                     in.take_u32le(raw.local_offset);
  return fixed && in.take_bytes(name_length, raw.name) && in.take_bytes(extra_length, raw.extra) &&
         in.skip(comment_length);
}

Entry check_entry(const RawEntry& raw, std::uint64_t directory_offset, std::uint64_t base,
                  FindingList& findings) {
  Entry entry;
  entry.name = raw.name;
  entry.directory_offset = directory_offset;
  entry.crc = raw.crc;
  entry.method = raw.method;
  entry.flags = raw.flags;
  widen(raw, entry, findings);
  // An offset that wraps is one that lies outside, and is reported as such.
  entry.local_offset =
      checked_add(entry.local_offset, base).value_or(std::numeric_limits<std::uint64_t>::max());
  check_name(entry, findings);
  check_flags(entry, raw.disk, findings);
  check_sizes(entry, findings);
  return entry;
}

}  // namespace ckpt::zip
