#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/error.h"

namespace ckpt::zip {

/// What can be wrong with an archive. Findings are counted by it.
enum class Kind : std::uint8_t {
  end_record,
  second_end_record,
  record_count,
  directory_size,
  no_records,
  name_empty,
  name_nul,
  name_path,
  name_backslash,
  name_not_unicode,
  name_twice,
  flags_refused,
  method,
  other_disk,
  stored_sizes,
  deflate_ratio,
  directory_extra,
  directory_zip64_twice,
  directory_zip64,
  // Found at a local header, in this order.
  start_outside,
  no_local_header,
  local_cut,
  encrypted,
  flags_differ,
  method_differs,
  name_differs,
  sizes_differ,
  checksum_differs,
  local_extra,
  local_zip64_twice,
  local_zip64,
  end_outside,
  descriptor,
  // Found in the range table.
  prefix,
  gap,
  suffix,
  overlap,
  // Found by libzip.
  opinion,
};

inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::opinion) + 1;

/// Findings of one archive: at most 50 of one kind, the rest counted, so that a hostile file of a million
/// faulty records costs neither memory nor patience.
class FindingList {
 public:
  static constexpr std::uint64_t kShown = 50;

  /// Whether another finding of `kind` would be listed.
  [[nodiscard]] bool wants(Kind kind) const { return counts_[index(kind)] < kShown; }

  /// Counts one finding; `make` words its Error and is called only if it will be listed.
  template <class Make>
  void add(Kind kind, Make&& make) {
    if (counts_[index(kind)]++ < kShown) put(kind, make());
  }
  [[nodiscard]] std::uint64_t count(Kind kind) const { return counts_[index(kind)]; }

  /// The findings in the order in which they were added, then one for each kind that overflowed.
  [[nodiscard]] std::vector<Finding> finish() &&;

 private:
  static std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }
  void put(Kind kind, Error error);

  std::vector<Finding> findings_;
  std::array<std::uint64_t, kKindCount> counts_{};
  std::array<ErrorCode, kKindCount> codes_{};
};

/// "1 byte", "12 bytes".
[[nodiscard]] std::string bytes_text(std::uint64_t count);

/// An error of the record `name`, at `offset` of the file.
[[nodiscard]] Error record_error(ErrorCode code, std::string_view name, std::uint64_t offset,
                                 std::string message);

/// The same with the two numbers that disagree.
[[nodiscard]] Error record_error(ErrorCode code, std::string_view name, std::uint64_t offset,
                                 std::string message, std::uint64_t expected, std::uint64_t found);

}  // namespace ckpt::zip
