#include "ckpt/pickle/text_opcodes.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

namespace ckpt::pickle {

namespace {

std::string decoded(const Result<DecodedText>& result) {
  if (!result) return "error: " + result.error().message;
  return result->owned ? *result->owned : std::string(result->borrowed);
}

}  // namespace

TEST_CASE("integer text: decimal digits with a minus sign", "[pickle]") {
  CHECK(parse_integer("0")->value == 0);
  CHECK(parse_integer("-12")->value == -12);
  CHECK(parse_integer("007")->value == 7);
  CHECK(parse_integer("9223372036854775807")->value == INT64_MAX);
  CHECK(parse_integer("-9223372036854775808")->value == INT64_MIN);
  CHECK(parse_long("5L")->value == 5);
  CHECK(parse_long("5")->value == 5);
}

TEST_CASE("integer text: what does not fit is kept as text", "[pickle]") {
  CHECK_FALSE(parse_integer("9223372036854775808")->value);
  CHECK(parse_long("-9223372036854775809L")->digits == "-9223372036854775809");
  const std::string digits(100'000, '7');
  CHECK(parse_long(digits + "L")->digits == digits);
}

TEST_CASE("integer text: Python's liberties are refused", "[pickle]") {
  for (const char* line :
       {"", "-", "12x", "+1", " 1", "1 ", "1_0", "0x10", "1.0", "--1", "1\r", "٣", "LL", "5LL"}) {
    INFO(line);
    CHECK_FALSE(parse_integer(line));
    CHECK_FALSE(parse_long(line));
  }
  CHECK_FALSE(parse_integer("5L"));
  CHECK_FALSE(parse_long("L"));
}

TEST_CASE("memo index text: 32 bits of digits", "[pickle]") {
  CHECK(parse_memo_index("0") == 0U);
  CHECK(parse_memo_index("4294967295") == UINT32_MAX);
  for (const char* line : {"", "-1", "4294967296", "12345678901234567890", "1x", "+1"}) {
    INFO(line);
    CHECK_FALSE(parse_memo_index(line));
  }
}

TEST_CASE("float text: digits, point, exponent, infinity and NaN", "[pickle]") {
  CHECK(parse_float("1") == 1.0);
  CHECK(parse_float("-1.5") == -1.5);
  CHECK(parse_float(".5") == 0.5);
  CHECK(parse_float("5.") == 5.0);
  CHECK(parse_float("1e+20") == 1e20);
  CHECK(parse_float("1E-05") == 1e-05);
  CHECK(parse_float("0.1") == 0.1);
  CHECK(parse_float("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(parse_float("Infinity") == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(*parse_float("nan")));
  CHECK(std::signbit(*parse_float("-0.0")));
}

TEST_CASE("float text: out of range is infinity or zero, as in Python", "[pickle]") {
  CHECK(parse_float("1e999") == std::numeric_limits<double>::infinity());
  CHECK(parse_float("-1e99999999999999999999") == -std::numeric_limits<double>::infinity());
  CHECK(parse_float("1e-999") == 0.0);
  CHECK(parse_float("1e-99999999999999999999") == 0.0);
  CHECK(parse_float("0." + std::string(400, '0') + "1") == 0.0);
  CHECK(parse_float(std::string(400, '9')) == std::numeric_limits<double>::infinity());
  CHECK(parse_float(std::string(400, '9') + "e-50") == std::numeric_limits<double>::infinity());
}

TEST_CASE("float text: junk is refused", "[pickle]") {
  for (const char* line :
       {"", "-", ".", "1e", "1e+", "e5", "+1", " 1", "1_0", "0x1p3", "nan(1)", "1.2.3", "infi"}) {
    INFO(line);
    CHECK_FALSE(parse_float(line));
  }
}

TEST_CASE("string text: quotes and escapes of Python 2", "[pickle]") {
  CHECK(decoded(decode_string("'plain'")) == "plain");
  CHECK(decoded(decode_string("\"it's\"")) == "it's");
  CHECK(decoded(decode_string(R"('\a\b\f\n\r\t\v\\\'\"')")) == "\a\b\f\n\r\t\v\\'\"");
  CHECK(decoded(decode_string(R"('\x41\101\7\08')")) == std::string("AA\a\0"
                                                                    "8",
                                                                    5));
  CHECK(decoded(decode_string(R"('\q')")) == "\\q");
  CHECK(decoded(decode_string("''")).empty());
}

TEST_CASE("string text: an octal escape above 255 keeps eight bits", "[pickle]") {
  CHECK(decoded(decode_string(R"('\777')")) == "\xff");
}

TEST_CASE("string text: without quotes or with a broken escape it is corrupt", "[pickle]") {
  for (const char* line : {"", "'", "plain", "'a\"", "a'", R"('\x4')", R"('\xg0')", R"('\')"}) {
    INFO(line);
    CHECK_FALSE(decode_string(line));
  }
}

TEST_CASE("unicode text: Latin-1 bytes and escapes become UTF-8", "[pickle]") {
  CHECK(decoded(decode_unicode("plain")) == "plain");
  CHECK(decoded(decode_unicode("\xe9")) == "é");
  CHECK(decoded(decode_unicode(R"(\u20ac\U0001f600)")) == "€😀");
  CHECK(decoded(decode_unicode(R"(\\u0041)")) == R"(\\u0041)");
  CHECK(decoded(decode_unicode(R"(\q\)")) == R"(\q\)");
  CHECK(decoded(decode_unicode(R"(\ud800)")) == "\xed\xa0\x80");
}

TEST_CASE("unicode text: a cut or too large escape is corrupt", "[pickle]") {
  for (const char* line : {R"(\u)", R"(\u12)", R"(\u12g4)", R"(\U0011ffff)", R"(\U1234567)"}) {
    INFO(line);
    CHECK_FALSE(decode_unicode(line));
  }
}

TEST_CASE("pickle UTF-8: surrogates pass, overlong and too large forms do not", "[pickle]") {
  CHECK(is_pickle_utf8(""));
  CHECK(is_pickle_utf8("plain text of more than eight bytes"));
  CHECK(is_pickle_utf8("€ and 😀"));
  CHECK(is_pickle_utf8("\xed\xa0\x80"));
  CHECK(is_pickle_utf8("\xed\xbf\xbf tail"));
  for (const char* text :
       {"\xff\xfe", "\xc0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xed\xa0", "12345678\x80"}) {
    CHECK_FALSE(is_pickle_utf8(text));
  }
}

TEST_CASE("latin-1: one byte for each character below 256", "[pickle]") {
  CHECK(encode_latin1("a\xc3\xbf\xc2\x80") == "a\xff\x80");
  CHECK_FALSE(encode_latin1("€"));
  CHECK_FALSE(encode_latin1("\xc4\x80"));
  CHECK_FALSE(encode_latin1("\xff"));
}

}  // namespace ckpt::pickle
