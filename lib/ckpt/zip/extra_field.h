#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ckpt::zip {

/// What an extra area holds that matters: its shape, and the numbers of its ZIP64 field (4.5.3).
struct Extra {
  std::array<std::uint64_t, 3> values{};  ///< of the first ZIP64 field, in its order
  unsigned value_count = 0;
  bool has_zip64 = false;
  bool zip64_twice = false;
  bool overruns = false;  ///< a field is longer than the area, or 1 to 3 bytes are left at its end
};

/// Walks the fields (id u16, length u16, bytes) of an extra area.
[[nodiscard]] Extra parse_extra(std::string_view area);

/// Hands out the numbers of a ZIP64 field in order, to the 32-bit fields that are all ones.
class Zip64Values {
 public:
  explicit Zip64Values(const Extra& extra) : extra_(extra) {}

  /// `field` itself, or the next number if it is all ones and there is a ZIP64 field.
  [[nodiscard]] std::uint64_t widen(std::uint32_t field);
  /// False if a number was wanted that the field does not have.
  [[nodiscard]] bool sufficed() const { return sufficed_; }
  /// True if each number that nobody wanted is 0 or one of the record's three. torch writes such: true
  /// size, 0 and header offset in a local header whose 32-bit sizes are 0.
  [[nodiscard]] bool rest_is_one_of(std::uint64_t bytes, std::uint64_t compressed,
                                    std::uint64_t offset) const;

 private:
  const Extra& extra_;
  unsigned next_ = 0;
  bool sufficed_ = true;
};

}  // namespace ckpt::zip
