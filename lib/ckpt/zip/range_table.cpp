#include "ckpt/zip/range_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"

namespace ckpt::zip {

void RangeTable::check(std::uint64_t size, FindingList& findings) {
  const auto by_start = [](const Range& a, const Range& b) { return a.start < b.start; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), by_start)) {
    std::stable_sort(ranges_.begin(), ranges_.end(), by_start);
  }
  Range reach{0, 0, kOpen};  // the range that ends last so far
  bool open = false;
  for (const Range& range : ranges_) {
    if (range.start > reach.end && !open) report_gap(reach.end, range.start, size, findings);
    if (range.owner == kOpen) {
      // One that points into another record was reported where its header was looked for.
      open = open || range.start >= reach.end;
      continue;
    }
    if (range.start < reach.end) report_overlap(reach, range, findings);
    if (range.end >= reach.end) reach = range;
    open = false;
  }
  if (reach.end < size) report_gap(reach.end, size, size, findings);
}

void RangeTable::report_gap(std::uint64_t start, std::uint64_t end, std::uint64_t size,
                            FindingList& findings) const {
  const std::string count = bytes_text(end - start);
  const auto report = [&](Kind kind, std::string text) {
    findings.add(kind, [&] {
      Error error = make_error(ErrorCode::corrupt, std::move(text));
      error.offset = start;
      return error.numbers("0", std::to_string(end - start));
    });
  };
  if (end == size) return report(Kind::suffix, count + " after the end record");
  if (start == 0) {
    return report(
        Kind::prefix,
        fmt::format("archive does not start at byte 0: {} before the first record belong to nothing", count));
  }
  report(Kind::gap, fmt::format("{} at {} belong to no record", count, start));
}

void RangeTable::report_overlap(const Range& first, const Range& second, FindingList& findings) const {
  findings.add(Kind::overlap, [&] {
    const bool records = first.owner < entries_.size() && second.owner < entries_.size();
    const std::string owners = records
                                   ? fmt::format("records {} and {}", in_quotes(entries_[first.owner].name),
                                                 in_quotes(entries_[second.owner].name))
                                   : owner_text(first.owner) + " and " + owner_text(second.owner);
    const std::uint64_t last = std::min(first.end, second.end) - 1;
    Error error =
        make_error(ErrorCode::corrupt, fmt::format("{} share bytes {}..{}", owners, second.start, last));
    error.offset = second.start;
    if (first.owner < entries_.size()) error.record.assign(entries_[first.owner].name);
    return error;
  });
}

std::string RangeTable::owner_text(std::uint32_t owner) const {
  switch (owner) {
    case kDirectory: return "the directory";
    case kZip64End: return "the ZIP64 end record";
    case kLocator: return "the ZIP64 locator";
    case kEndRecord: return "the end record";
    default: return "record " + in_quotes(entries_[owner].name);
  }
}

}  // namespace ckpt::zip
