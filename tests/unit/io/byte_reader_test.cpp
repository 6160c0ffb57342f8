#include "ckpt/io/byte_reader.h"

#include <array>

#include "support/catch.h"

namespace {

using ckpt::ByteReader;

constexpr std::array<std::byte, 8> kBytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x03},
                                             std::byte{0xF4}, std::byte{0x05}, std::byte{0x06},
                                             std::byte{0x07}, std::byte{0xF8}};

TEST_CASE("byte_reader: numbers, least significant byte first", "[io]") {
  ByteReader reader(kBytes);
  std::uint8_t one = 0;
  std::uint16_t two = 0;
  std::uint32_t four = 0;
  REQUIRE(reader.take_u8(one));
  REQUIRE(reader.take_u16le(two));
  REQUIRE(reader.take_u32le(four));
  CHECK(one == 0x01);
  CHECK(two == 0x0302);
  CHECK(four == 0x070605F4);
  CHECK(reader.remaining() == 1);
}

TEST_CASE("byte_reader: 64-bit numbers, both orders", "[io]") {
  std::uint64_t little = 0;
  std::uint64_t big = 0;
  REQUIRE(ByteReader(kBytes).take_u64le(little));
  REQUIRE(ByteReader(kBytes).take_u64be(big));
  CHECK(little == 0xF8070605F4030201ULL);
  CHECK(big == 0x010203F4050607F8ULL);
}

TEST_CASE("byte_reader: a number longer than what remains, false and nothing moves", "[io]") {
  const std::span<const std::byte> bytes = kBytes;
  for (std::size_t length = 0; length < 8; ++length) {
    ByteReader reader(bytes.first(length));
    std::uint64_t eight = 77;
    CHECK_FALSE(reader.take_u64le(eight));
    CHECK_FALSE(reader.take_u64be(eight));
    CHECK(eight == 77);
    CHECK(reader.position() == 0);
  }
  ByteReader reader(bytes.first(3));
  std::uint32_t four = 0;
  std::uint16_t two = 0;
  CHECK_FALSE(reader.take_u32le(four));
  CHECK(reader.take_u16le(two));
  CHECK_FALSE(reader.take_u16le(two));
}

TEST_CASE("byte_reader: hostile lengths, refused without wrapping", "[io]") {
  ByteReader reader(kBytes);
  std::string_view text;
  CHECK(reader.skip(4));
  CHECK_FALSE(reader.take_bytes(UINT64_MAX, text));
  CHECK_FALSE(reader.skip(UINT64_MAX - 3));
  CHECK_FALSE(reader.skip(5));
  CHECK(reader.take_bytes(4, text));
  CHECK(text == std::string_view("\x05\x06\x07\xF8"));
  CHECK(reader.take_bytes(0, text));
  CHECK(text.empty());
}

TEST_CASE("byte_reader: base, offsets count from it", "[io]") {
  ByteReader reader(kBytes, 1000);
  CHECK(reader.offset() == 1000);
  REQUIRE(reader.skip(3));
  CHECK(reader.offset() == 1003);
  CHECK(reader.position() == 3);
}

TEST_CASE("byte_reader: lines, without their line feed", "[io]") {
  ByteReader reader(ckpt::as_bytes("one\n\nthree"));
  std::string_view line;
  REQUIRE(reader.take_line(line));
  CHECK(line == "one");
  REQUIRE(reader.take_line(line));
  CHECK(line.empty());
  CHECK_FALSE(reader.take_line(line));
  CHECK(reader.remaining() == 5);
}

}  // namespace
