#include "ckpt/base/checked.h"

#include "support/catch.h"

namespace ckpt::test {

constexpr std::uint64_t kMax = UINT64_MAX;

TEST_CASE("checked: sums and products that do not fit are empty", "[base]") {
  CHECK(checked_add(1, 2) == 3U);
  CHECK(checked_add(kMax, 0) == kMax);
  CHECK(checked_add(kMax - 1, 1) == kMax);
  CHECK_FALSE(checked_add(kMax, 1));
  CHECK_FALSE(checked_add(1, kMax));
  CHECK(checked_multiply(0, kMax) == 0U);
  CHECK(checked_multiply(kMax, 0) == 0U);
  CHECK(checked_multiply(kMax, 1) == kMax);
  CHECK(checked_multiply(1ULL << 32U, (1ULL << 32U) - 1) == kMax - (1ULL << 32U) + 1);
  CHECK_FALSE(checked_multiply(1ULL << 32U, 1ULL << 32U));
  CHECK_FALSE(checked_multiply(3, kMax / 2));
}

TEST_CASE("checked: a range fits by subtraction", "[base]") {
  CHECK(range_fits(0, 0, 0));
  CHECK(range_fits(10, 0, 10));
  CHECK(range_fits(4, 6, 10));
  CHECK_FALSE(range_fits(4, 7, 10));
  CHECK_FALSE(range_fits(11, 0, 10));
  CHECK_FALSE(range_fits(kMax, 2, 10));
  CHECK_FALSE(range_fits(5, kMax, 10));
  CHECK(range_fits(0, kMax, kMax));
}

TEST_CASE("checked: narrowing keeps the value or nothing", "[base]") {
  CHECK(narrow<std::uint32_t>(0xFFFFFFFF) == 0xFFFFFFFF);
  CHECK_FALSE(narrow<std::uint32_t>(0x100000000));
  CHECK(narrow<std::uint8_t>(255) == 255);
  CHECK_FALSE(narrow<std::uint8_t>(256));
  CHECK(narrow<std::uint64_t>(kMax) == kMax);
}

TEST_CASE("checked: rounding up to a unit", "[base]") {
  CHECK(round_up(0, 8) == 0U);
  CHECK(round_up(1, 8) == 8U);
  CHECK(round_up(16, 8) == 16U);
  CHECK_FALSE(round_up(kMax, 8));
}

}  // namespace ckpt::test
