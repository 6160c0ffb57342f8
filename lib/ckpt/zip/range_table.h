#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/zip/directory.h"
#include "ckpt/zip/finding_list.h"

namespace ckpt::zip {

/// Who owns each byte of an archive. Overlaps, gaps, prefix and suffix all show here, and with them overlap
/// bombs, hidden records and files of two formats.
class RangeTable {
 public:
  // Owners that are no entry.
  static constexpr std::uint32_t kDirectory = 0xFFFFFFFF;
  static constexpr std::uint32_t kZip64End = 0xFFFFFFFE;
  static constexpr std::uint32_t kLocator = 0xFFFFFFFD;
  static constexpr std::uint32_t kEndRecord = 0xFFFFFFFC;

  explicit RangeTable(const std::vector<Entry>& entries) : entries_(entries) {}

  void reserve(std::size_t count) { ranges_.reserve(count); }
  /// Bytes `start` to `end` (exclusive) belong to `owner`: a position in the entries or one of the above.
  void add(std::uint64_t start, std::uint64_t end, std::uint32_t owner) {
    ranges_.push_back({start, end, owner});
  }
  /// A record whose length is not known since its header cannot be read: it reaches up to what comes next.
  void add_open(std::uint64_t start) { ranges_.push_back({start, start, kOpen}); }

  /// Reports every byte of a file of `size` bytes that has no owner or two. Sorts the table.
  void check(std::uint64_t size, FindingList& findings);

 private:
  static constexpr std::uint32_t kOpen = 0xFFFFFFFB;
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t owner;
  };
  void report_gap(std::uint64_t start, std::uint64_t end, std::uint64_t size, FindingList& findings) const;
  void report_overlap(const Range& first, const Range& second, FindingList& findings) const;
  [[nodiscard]] std::string owner_text(std::uint32_t owner) const;

  const std::vector<Entry>& entries_;
  std::vector<Range> ranges_;
};

}  // namespace ckpt::zip
