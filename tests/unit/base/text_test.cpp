#include "ckpt/base/text.h"

#include "support/catch.h"

namespace ckpt::test {

using namespace std::string_literals;

TEST_CASE("text: what could move a terminal or deceive a reader is escaped", "[base]") {
  CHECK(escaped("plain grün 重み 😀") == "plain grün 重み 😀");
  CHECK(escaped("a\tb\nc\rd") == "a\\tb\\nc\\rd");
  CHECK(escaped("\x1b[31m\x7f\0"s) == "\\x1b[31m\\x7f\\x00");
  CHECK(escaped("\\") == "\\\\");
  CHECK(escaped("\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf") == "\\u{202e}\\u{200b}\\u{feff}");
  CHECK(escaped("\xc2\x9b") == "\\u{9b}");
  CHECK(escaped("\xf3\xa0\x81\x81") == "\\u{e0041}");
}

TEST_CASE("text: bytes that are no UTF-8 are shown as bytes", "[base]") {
  CHECK(escaped("a\xff\xc3") == "a\\xFF\\xC3");
  CHECK(escaped("\xed\xa0\x80") == "\\xED\\xA0\\x80");
  CHECK(escaped("\xc0\x80") == "\\xC0\\x80");
}

TEST_CASE("text: shown text is cut between characters", "[base]") {
  CHECK(escaped("abcdef", 3) == "abc...");
  CHECK(escaped("abc", 3) == "abc");
  CHECK(escaped("ab\xc3\xa9", 3) == "ab...");
  CHECK(escaped("ab\n", 3) == "ab...");
  CHECK(in_quotes(std::string(1000, 'x')).size() == kMaxShownBytes + 5);
}

TEST_CASE("text: quotes inside quotes are escaped", "[base]") {
  CHECK(in_quotes("a\"b\\") == "\"a\\\"b\\\\\"");
  CHECK(in_quotes("") == "\"\"");
}

TEST_CASE("text: UTF-8 of scalar values only", "[base]") {
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_utf8(good));
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xc3", "a\xff"}) {
    CHECK_FALSE(is_utf8(bad));
  }
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("\xf0\x9f\x98\x80x") == 4);
  CHECK(utf8_length("\xf0\x9f\x98") == 0);
}

TEST_CASE("text: code points become UTF-8, surrogates in three bytes", "[base]") {
  std::string out;
  for (const std::uint32_t c : {0x24U, 0xE9U, 0x20ACU, 0x1F600U}) append_utf8(out, c);
  CHECK(out == "$\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  std::string surrogate;
  append_utf8(surrogate, 0xD800);
  CHECK(surrogate == "\xed\xa0\x80");
  CHECK_FALSE(is_utf8(surrogate));
  for (std::uint32_t c = 0; c <= 0x10FFFF; c += 0x7F) {
    std::string one;
    append_utf8(one, c);
    CHECK(is_utf8(one) == (c < 0xD800 || c > 0xDFFF));
  }
}

TEST_CASE("text: numbers for people", "[base]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
  CHECK(byte_size(0) == "0 B");
  CHECK(byte_size(999) == "999 B");
  CHECK(byte_size(1000) == "1.00 kB");
  CHECK(byte_size(2'608'150'000) == "2.61 GB");
  CHECK(byte_size(9'994) == "9.99 kB");
  CHECK(byte_size(9'996) == "10.0 kB");
  CHECK(byte_size(99'960) == "100 kB");
  CHECK(byte_size(999'600) == "1.00 MB");
  CHECK(byte_size(UINT64_MAX) == "18.4 EB");
  CHECK(hex("\x01\xab\xff") == "01abff");
}

TEST_CASE("text: patterns match whole names, dots and slashes too", "[base]") {
  CHECK(glob_match("*.weight", "a.b.weight"));
  CHECK(glob_match("layers.?.w[ab]", "layers.3.wb"));
  CHECK(glob_match("a*z", "a/b/z"));
  CHECK(glob_match("*", ".hidden"));
  CHECK(glob_match("a\\*", "a*"));
  CHECK_FALSE(glob_match("a\\*", "ab"));
  CHECK_FALSE(glob_match("weight", "a.weight"));
  CHECK_FALSE(glob_match("[!a]b", "ab"));
}

TEST_CASE("text: only a lone star takes a name with NUL", "[base]") {
  CHECK(glob_match("*", "a\0b"s));
  CHECK_FALSE(glob_match("a*", "a\0b"s));
  CHECK_FALSE(glob_match("a", "a\0b"s));
}

}  // namespace ckpt::test
