#include "ckpt/tensor/view.h"

#include "support/model_checks.h"

namespace ckpt::test {
namespace {

constexpr std::uint64_t kMax = UINT64_MAX;

Status check(View view, std::uint64_t storage_bytes = 100) { return check_view(view, storage_bytes, 64); }

void check_refused(View view, ErrorCode code, std::string_view part, std::uint64_t storage_bytes = 100) {
  const Status status = check(std::move(view), storage_bytes);
  REQUIRE_FALSE(status);
  check_error(status.error(), code, part);
}

}  // namespace

TEST_CASE("view: products that do not fit are empty, and a zero wins", "[tensor]") {
  CHECK(element_count(Dims{}) == 1U);
  CHECK(element_count(Dims{2, 3}) == 6U);
  CHECK(element_count(Dims{1ULL << 32U, 1ULL << 31U}) == 1ULL << 63U);
  CHECK_FALSE(element_count(Dims{1ULL << 32U, 1ULL << 32U}));
  CHECK(element_count(Dims{1ULL << 63U, 4, 0}) == 0U);
}

TEST_CASE("view: packed elements fill whole bytes or have no size", "[tensor]") {
  CHECK(packed_bytes(3, 32) == 12U);
  CHECK(packed_bytes(4, 4) == 2U);
  CHECK_FALSE(packed_bytes(3, 4));
  CHECK(packed_bytes(4, 6) == 3U);
  CHECK_FALSE(packed_bytes(2, 6));
  CHECK_FALSE(packed_bytes(kMax, 64));
  CHECK_FALSE(packed_bytes(kMax, 4));
}

TEST_CASE("view: row-major strides, with dims of 0 taken as 1", "[tensor]") {
  CHECK(row_major_strides(Dims{}).empty());
  CHECK(row_major_strides(Dims{2, 3, 4}) == Dims{12, 4, 1});
  CHECK(row_major_strides(Dims{2, 0, 4}) == Dims{4, 4, 1});
}

TEST_CASE("view: row-major or not", "[tensor]") {
  CHECK(is_row_major({{}, {}, 0, 4}));
  CHECK(is_row_major({{2, 3}, {3, 1}, 8, 4}));
  CHECK(is_row_major({{1, 3, 1}, {77, 1, 99}, 0, 4}));
  CHECK(is_row_major({{0, 3}, {5, 9}, 0, 4}));
  CHECK_FALSE(is_row_major({{2, 3}, {1, 2}, 0, 4}));
  CHECK_FALSE(is_row_major({{2, 3}, {4, 1}, 0, 4}));
  CHECK_FALSE(is_row_major({{2, 3}, {0, 1}, 0, 4}));
}

TEST_CASE("view: expanded or not", "[tensor]") {
  CHECK(is_expanded({{2, 3}, {0, 1}, 0, 4}));
  CHECK_FALSE(is_expanded({{1, 3}, {0, 1}, 0, 4}));
  CHECK_FALSE(is_expanded({{2, 3}, {3, 1}, 0, 4}));
}

TEST_CASE("view: bytes written and bytes touched", "[tensor]") {
  CHECK(view_bytes({{2, 3}, {0, 1}, 0, 4}) == 24);
  CHECK(view_extent({{2, 3}, {0, 1}, 0, 4}) == 12);
  CHECK(view_extent({{2, 3}, {10, 2}, 40, 4}) == 60);
  CHECK(view_extent({{}, {}, 0, 8}) == 8);
  CHECK(view_extent({{0, 5}, {1, 1}, 0, 8}) == 0);
}

TEST_CASE("view: the last element decides", "[tensor]") {
  CHECK(check({{25}, {1}, 0, 4}));
  CHECK(check({{24}, {1}, 4, 4}));
  CHECK(check({{5, 5}, {1, 5}, 0, 4}));
  CHECK(check({{1, 1}, {kMax, kMax}, 96, 4}));
  CHECK(check({{}, {}, 96, 4}));
  check_refused({{26}, {1}, 0, 4}, ErrorCode::corrupt,
                "needs its storage up to byte 104, storage has 100 bytes");
  check_refused({{25}, {1}, 1, 4}, ErrorCode::corrupt, "up to byte 101");
  check_refused({{2}, {25}, 0, 4}, ErrorCode::corrupt, "up to byte 104");
  check_refused({{}, {}, 97, 4}, ErrorCode::corrupt, "up to byte 101");
  check_refused({{1}, {1}, kMax, 4}, ErrorCode::corrupt, "a number above 64 bits");
  check_refused({{3}, {kMax}, 0, 4}, ErrorCode::corrupt, "a number above 64 bits");
  check_refused({{2}, {kMax / 4 + 1}, 0, 4}, ErrorCode::corrupt, "a number above 64 bits");
  check_refused({{1}, {1}, 0, 1}, ErrorCode::corrupt, "storage has 0 bytes", 0);
}

TEST_CASE("view: an empty view touches nothing, but its dims must be dims", "[tensor]") {
  CHECK(check({{0}, {1}, 5000, 4}, 0));
  CHECK(check({{0, INT64_MAX}, {kMax, kMax}, 0, 4}, 0));
  check_refused({{0, 1ULL << 63U}, {1, 1}, 0, 4}, ErrorCode::corrupt,
                "dimension 9223372036854775808 does not fit 63 bits");
}

TEST_CASE("view: rank, strides and products are checked first", "[tensor]") {
  CHECK(check({Dims(64, 1), Dims(64, 1), 0, 4}));
  check_refused({Dims(65, 1), Dims(65, 1), 0, 4}, ErrorCode::limit,
                "has 65 dimensions, the limit is 64 (rank)");
  check_refused({{2, 2}, {1}, 0, 4}, ErrorCode::corrupt, "has 2 dimensions but 1 strides");
  check_refused({{}, {1}, 0, 4}, ErrorCode::corrupt, "has 0 dimensions but 1 strides");
  check_refused({{1ULL << 32U, 1ULL << 32U}, {0, 0}, 0, 4}, ErrorCode::corrupt, "product of its dimensions");
  check_refused({{1ULL << 62U}, {0}, 0, 8}, ErrorCode::corrupt, "product of its dimensions");
}

}  // namespace ckpt::test
