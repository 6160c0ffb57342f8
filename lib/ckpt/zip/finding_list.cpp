#include "ckpt/zip/finding_list.h"

#include <fmt/format.h>

#include "ckpt/base/result.h"

namespace ckpt::zip {

namespace {

// The end of "and 12 more: ...".
constexpr std::array<std::string_view, kKindCount> kLabels = {
    "faults of the end records",
    "end records inside the comment",
    "record counts that differ",
    "directory sizes that differ",
    "archives without records",
    "records with an empty name",
    "records with NUL in the name",
    "record names that are paths",
    "record names with a backslash",
    "record names that are not Unicode",
    "records that appear twice",
    "records with flags that are not allowed",
    "records of an unsupported method",
    "records on another disk",
    "stored records with two sizes",
    "records of an impossible ratio",
    "extra fields of the directory that run past their area",
    "directory entries with two ZIP64 fields",
    "ZIP64 fields of the directory that do not fit",
    "records that start outside of the record area",
    "records without a local header",
    "local headers that are cut",
    "encrypted records",
    "records whose flags differ",
    "records whose method differs",
    "records whose name differs",
    "records whose sizes differ",
    "records whose checksum differs",
    "extra fields of local headers that run past their area",
    "local headers with two ZIP64 fields",
    "ZIP64 fields of local headers that disagree",
    "records that end outside of the record area",
    "data descriptors that disagree",
    "bytes before the first record",
    "ranges that belong to no record",
    "bytes after the end record",
    "ranges that overlap",
    "records that libzip sees differently",
};

constexpr Severity severity_of(Kind kind) {
  return kind == Kind::name_not_unicode ? Severity::note : Severity::error;
}

}  // namespace

void FindingList::put(Kind kind, Error error) {
  codes_[index(kind)] = error.code;
  findings_.push_back({severity_of(kind), std::move(error)});
}

std::vector<Finding> FindingList::finish() && {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (counts_[i] <= kShown) continue;
    const std::string text = fmt::format("and {} more: {}", counts_[i] - kShown, kLabels[i]);
    findings_.push_back({severity_of(static_cast<Kind>(i)), make_error(codes_[i], text)});
  }
  return std::move(findings_);
}

std::string bytes_text(std::uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

Error record_error(ErrorCode code, std::string_view name, std::uint64_t offset, std::string message) {
  Error error = make_error(code, std::move(message));
  error.record.assign(name);
  error.offset = offset;
  return error;
}

Error record_error(ErrorCode code, std::string_view name, std::uint64_t offset, std::string message,
                   std::uint64_t expected, std::uint64_t found) {
  Error error = record_error(code, name, offset, std::move(message));
  error.numbers(std::to_string(expected), std::to_string(found));
  return error;
}

}  // namespace ckpt::zip
