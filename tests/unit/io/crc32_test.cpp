#include "ckpt/io/crc32.h"

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using ckpt::as_bytes;
using ckpt::crc32;
using ckpt::crc32_combine;

TEST_CASE("crc32: published vectors, the published checksums", "[io]") {
  CHECK(crc32(0, {}) == 0);
  CHECK(crc32(0, as_bytes("123456789")) == 0xcbf43926U);
  CHECK(crc32(0, as_bytes("The quick brown fox jumps over the lazy dog")) == 0x414fa339U);
  CHECK(crc32(0, std::vector<std::byte>(32)) == 0x190a55adU);
}

TEST_CASE("crc32: text in two parts, the checksum of the whole", "[io]") {
  CHECK(crc32(crc32(0, as_bytes("12345")), as_bytes("6789")) == 0xcbf43926U);
  CHECK(crc32(0xcbf43926U, {}) == 0xcbf43926U);
}

TEST_CASE("crc32_combine: every split of a text, the checksum of the whole", "[io]") {
  const auto bytes = ckpt::test::pattern_bytes(600);
  const std::span<const std::byte> whole = bytes;
  for (std::size_t split = 0; split <= whole.size(); ++split) {
    const auto a = crc32(0, whole.first(split));
    const auto b = crc32(0, whole.subspan(split));
    REQUIRE(crc32_combine(a, b, whole.size() - split) == crc32(0, whole));
  }
}

TEST_CASE("crc32_combine: a long second part, the same as running over it", "[io]") {
  const std::vector<std::byte> zeros((3U << 20U) + 7);
  const auto start = crc32(0, as_bytes("head"));
  CHECK(crc32_combine(start, crc32(0, zeros), zeros.size()) == crc32(start, zeros));
}

TEST_CASE("crc32_combine: lengths above 4 GiB, combining in two steps is combining in one", "[io]") {
  const std::uint64_t half = (5ULL << 32U) + 12'345;
  const std::uint32_t a = 0x12345678U;
  const std::uint32_t b = 0x9abcdef0U;
  const std::uint32_t c = 0x0fedcba9U;
  const auto right_first = crc32_combine(a, crc32_combine(b, c, half), half * 2);
  CHECK(crc32_combine(crc32_combine(a, b, half), c, half) == right_first);
}

}  // namespace
