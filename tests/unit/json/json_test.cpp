#include "ckpt/json/json.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/json/scan.h"
#include "support/catch.h"

namespace ckpt::json {
namespace {

using namespace std::string_view_literals;

Document parsed(std::string_view text) {
  auto document = Document::parse(text);
  INFO(text);
  REQUIRE(document);
  return *std::move(document);
}

Error refused(std::string_view text) {
  auto document = Document::parse(text);
  INFO(text);
  REQUIRE_FALSE(document);
  return document.error();
}

std::string nested(std::size_t depth, std::string_view inside = "") {
  return std::string(depth, '[').append(inside).append(std::string(depth, ']'));
}

// In the manner of JSONTestSuite (Seriot, "Parsing JSON is a minefield"): one peculiarity each.
const std::vector<std::string_view>& good_texts() {
  static const std::vector<std::string_view> texts = {
      "[]",
      "{}",
      "[ ]",
      " [] ",
      "\t\r\n{}\n",
      "null",
      "true",
      "false",
      "5",
      "\"x\"",
      "\"\"",
      "[null,1,\"1\",{}]",
      "[1\n,\t2]",
      "[[]   ]",
      "[0]",
      "[-0]",
      "[-1]",
      "[0e1]",
      "[0E+1]",
      "[1e-2]",
      "[1.5]",
      "[-0.0]",
      "[20e1]",
      "[123.456e78]",
      "[1E22]",
      "[0.0000000000000000000000000000000000000000000000000000000000000000000001]",
      "[18446744073709551615]",
      "[-9223372036854775808]",
      "{\"\":0}",
      "{\"a\":[],\"b\":{}}",
      "{\"a\":1,\"a\":1}",
      "{\"a\\u0000b\":1}",
      "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
      "[\"\\u00e9\\u20AC\\uD834\\uDD1E\"]",
      "[\"\\uDBFF\\uDFFF\"]",
      "[\"\\\\u12\"]",
      "[\"\\\\ud800\"]",
      "[\"\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E\"]",
      "[\"\x7f\"]",
      "[\"\xF4\x8F\xBF\xBF\"]",
      "[\"\xEF\xBB\xBF\"]",
      "[\"a/*b*/c\"]",
      "[\"{[,:]}\"]",
      "[1,[2,[3,[4]]]]",
  };
  return texts;
}

const std::vector<std::string_view>& bad_texts() {
  static const std::vector<std::string_view> texts = {
      // structure
      "",
      " ",
      "{",
      "}",
      "[",
      "]",
      "[1",
      "[1,",
      "[,1]",
      "[1,]",
      "[1,,2]",
      "[1 2]",
      "[1}",
      "{]",
      "{\"a\":1]",
      "[]]",
      "{}}",
      "[][]",
      "{}#",
      "[1]x",
      ",",
      ":",
      "{,}",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\" 1}",
      "{\"a\":1,}",
      "{\"a\":1,,}",
      "{\"a\":1 \"b\":2}",
      "{a:1}",
      "{1:1}",
      "{\"a\"::1}",
      "{:1}",
      "[\"a\":1]",
      "{[]:1}",
      "{\"a\",\"b\"}",
      "[\"a\",\n4\n,1,",
      "{\"a\":{",
      "1 2",
      "\"a\" \"b\"",
      "[1:2]",
      "{\"a\":1",
      "{\"a\"",
      "{null:1}",
      "[[]",
      "[{}",
      "{\"a\":1}\"",
      // words
      "hello",
      "nul",
      "nulll",
      "True",
      "tru",
      "[fals]",
      "[NaN]",
      "[Infinity]",
      "[-Infinity]",
      "[nan]",
      "undefined",
      "'a'",
      "{'a':1}",
      "[a]",
      "truefalse",
      "[true1]",
      "[null\"x\"]",
      // comments and marks
      "{}//",
      "/**/{}",
      "{}/**/",
      "{\"a\":1/*x*/}",
      "\xEF\xBB\xBF{}",
      "\xEF\xBB\xBF",
      "\xFE\xFF{}",
      "<html>",
      // numbers
      "[01]",
      "[-01]",
      "[00]",
      "[+1]",
      "[-]",
      "[--1]",
      "[.5]",
      "[-.5]",
      "[1.]",
      "[1.e1]",
      "[1e]",
      "[1e+]",
      "[1.2.3]",
      "[0x10]",
      "[1e1.5]",
      "[1_000]",
      "[1,2.]",
      "[2.e3]",
      "[0e]",
      "[1a]",
      "[1 000]",
      "[-a]",
      "[0.1.2]",
      "[1eE2]",
      "[18446744073709551616]",
      "[-9223372036854775809]",
      "[1e400]",
      "[123456789012345678901234567890123456789012345678901234567890]",
      // strings
      "\"",
      "[\"",
      "[\"a]",
      "[\"\\\"]",
      "[\"a\tb\"]",
      "[\"a\nb\"]",
      "[\"\x01\"]",
      "[\"\x1f\"]",
      "[\"\\x41\"]",
      "[\"\\a\"]",
      "[\"\\'\"]",
      "[\"\\ \"]",
      "[\"\\u\"]",
      "[\"\\u12\"]",
      "[\"\\u12G4\"]",
      "[\"\\U0041\"]",
      "[\"\\",
      "[\"\\u00",
      "[\"\\ud800\"]",
      "[\"\\uDC00\"]",
      "[\"\\ud800x\"]",
      "[\"\\ud800\\n\"]",
      "[\"\\ud800\\u0041\"]",
      "[\"\\ud800\\ud800\"]",
      "[\"\\udbff\\ue000\"]",
      "[\"\\udfff\\udfff\"]",
      "[\"\\ud83d\\u\"]",
      "{\"\\ud800\":1}",
      // UTF-8
      "[\"\xFF\"]",
      "[\"\xC0\x80\"]",
      "[\"\xED\xA0\x80\"]",
      "[\"\xE2\x82\"]",
      "[\"\xF4\x90\x80\x80\"]",
      "[\"\x80\"]",
      "[\"\xF8\x88\x80\x80\x80\"]",
      "[\"\xC3",
      "\xFF",
      "[\xC3\xA9]",
      // bytes that are no white space
      "[\f]",
      "[\v1]",
      "{}\x0c",
      "\xC2\xA0{}",
      "[\xE2\x80\xA8]",
      "{\"a\"\x01:1}",
  };
  return texts;
}

}  // namespace

TEST_CASE("json: every good text is read", "[json]") {
  for (const std::string_view text : good_texts()) {
    parsed(text);
    INFO(text);
    CHECK_FALSE(find_defect(text));
    CHECK_FALSE(find_bad_utf8(text));
  }
}

TEST_CASE("json: every bad text is corrupt", "[json]") {
  for (const std::string_view text : bad_texts()) {
    const Error error = refused(text);
    INFO(text << " -> " << error.message);
    CHECK(error.code == ErrorCode::corrupt);
    CHECK(error.message.starts_with("not "));
    const bool has_no_place = text == "[1e400]";  // its form is good, only its value is too large
    CHECK(error.offset.has_value() != has_no_place);
  }
}

TEST_CASE("json: NUL bytes in and behind the text are corrupt", "[json]") {
  for (const std::string_view text : {"{}\0"sv, "\0{}"sv, "[\0]"sv, "[\"\0\"]"sv, "[1\0]"sv, "tru\0"sv}) {
    CHECK(refused(text).code == ErrorCode::corrupt);
  }
}

TEST_CASE("json: an error names the byte", "[json]") {
  const std::vector<std::tuple<std::string_view, std::uint64_t, std::string_view>> cases = {
      {"{\"a\":}", 5, "not JSON at byte 5: a value is missing"},
      {"{\"a\":1,}", 7, "not JSON at byte 7: a key is missing"},
      {"[1 2]", 3, "not JSON at byte 3: a comma is missing"},
      {"{\"a\" 1}", 5, "not JSON at byte 5: a colon is missing"},
      {"{'a':1}", 1, "not JSON at byte 1: \"'a'\" is no value"},
      {"[01]", 1, "not JSON at byte 1: \"01\" is no number"},
      {"[\"a\tb\"]", 3, "not JSON at byte 3: a control byte in a string"},
      {"[\"\\x\"]", 2, "not JSON at byte 2: a bad escape in a string"},
      {"[\"\\ud800\"]", 2, "not JSON at byte 2: a lone surrogate in a string"},
      {"[\"abc", 1, "not JSON at byte 1: a string without an end"},
      {"{} {}", 3, "not JSON at byte 3: something behind the end"},
      {"[{}", 3, "not JSON at byte 3: the end is missing: 1 open"},
      {"[1}", 2, "not JSON at byte 2: a bracket of the wrong kind"},
      {"", 0, "not JSON at byte 0: no value"},
      {"\xEF\xBB\xBF{}", 0, "not JSON at byte 0: a byte order mark"},
      {"[18446744073709551616]", 1, "not JSON at byte 1: an integer that does not fit 64 bits"},
      {"[\"ab\xFF\"]", 4, "not UTF-8 at byte 4"},
  };
  for (const auto& [text, offset, message] : cases) {
    const Error error = refused(text);
    CHECK(error.message == message);
    CHECK(error.offset == offset);
  }
}

TEST_CASE("json: a hostile word is shown escaped and short", "[json]") {
  const Error error = refused("[\x01\x02" + std::string(1000, 'x') + "]");
  CHECK(error.message.find("\\x01") != std::string::npos);
  CHECK(error.message.size() < 100);
}

TEST_CASE("json: 128 levels are read, 129 are a limit", "[json]") {
  CHECK(Document::parse(nested(128)));
  CHECK(Document::parse(nested(128, "1")));
  for (const std::string& text :
       {nested(129), nested(129, "1"), nested(130), nested(100'000), std::string(100'000, '[')}) {
    const Error error = refused(text);
    CHECK(error.code == ErrorCode::limit);
    CHECK(error.message == "nested deeper than 128 levels at byte 128");
    CHECK(error.offset == 128U);
  }
  CHECK(Document::parse(nested(3), 3));
  CHECK_FALSE(Document::parse(nested(4), 3));
  CHECK_FALSE(Document::parse("[{\"a\":[{}]}]", 3));
}

TEST_CASE("json: a large text of nothing but tiny values is a limit", "[json]") {
  std::string text = "[0";
  while (text.size() < (9U << 20U)) text += ",0";
  text += ']';
  CHECK(refused(text).code == ErrorCode::limit);
  std::string commas = "[\"" + std::string(9U << 20U, ',') + "\"]";
  CHECK(Document::parse(commas));
}

TEST_CASE("json: only plain digits are unsigned integers", "[json]") {
  const Document document =
      parsed("[0,-0,1,1.0,1e3,-1,-0.0,18446744073709551615,9223372036854775808,\"-0\",-0,0]");
  const std::vector<Kind> kinds = {Kind::unsigned_integer, Kind::number,           Kind::unsigned_integer,
                                   Kind::number,           Kind::number,           Kind::number,
                                   Kind::number,           Kind::unsigned_integer, Kind::unsigned_integer,
                                   Kind::string,           Kind::number,           Kind::unsigned_integer};
  REQUIRE(document.root().size() == kinds.size());
  Value item = document.root().first();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    INFO(i);
    CHECK(item.kind() == kinds[i]);
    if (i == 7) CHECK(item.unsigned_integer() == 18446744073709551615U);
    if (i == 8) CHECK(item.unsigned_integer() == 9223372036854775808U);
    if (i + 1 < kinds.size()) item = item.next();
  }
}

TEST_CASE("json: values come in the order of the text, with everything inside skipped by next", "[json]") {
  const Document document = parsed(R"({"b":[1,[2,{"x":3}],4],"a":{"y":null},"c":true,"d":false})");
  const Value root = document.root();
  REQUIRE(root.kind() == Kind::object);
  REQUIRE(root.size() == 4);
  const Value b = root.first();
  CHECK(b.string() == "b");
  CHECK(b.next().kind() == Kind::array);
  CHECK(b.next().size() == 3);
  CHECK(b.next().first().next().next().unsigned_integer() == 4);
  const Value a = b.next().next();
  CHECK(a.string() == "a");
  CHECK(a.next().first().next().kind() == Kind::null);
  const Value c = a.next().next();
  CHECK(c.next().boolean());
  CHECK_FALSE(c.next().next().next().boolean());
}

TEST_CASE("json: strings are unescaped, a NUL included", "[json]") {
  const Document document = parsed(R"(["a\u0000b\n\"\\\/\u00e9\ud834\udd1e",""])");
  CHECK(document.root().first().string() == "a\0b\n\"\\/\xC3\xA9\xF0\x9D\x84\x9E"sv);
  CHECK(document.root().first().next().string().empty());
}

TEST_CASE("json: find takes the last of equal keys, as loaders do", "[json]") {
  const Document document = parsed(R"({"a":1,"b":2,"a":3})");
  CHECK(document.root().find("a")->unsigned_integer() == 3);
  CHECK(document.root().find("b")->unsigned_integer() == 2);
  CHECK_FALSE(document.root().find("c"));
  CHECK_FALSE(parsed("{}").root().find(""));
}

TEST_CASE("json: a value outlives the moving of its document", "[json]") {
  Document first = parsed(R"({"a":["x"]})");
  const Value value = first.root().first().next().first();
  const Document second = std::move(first);
  CHECK(value.string() == "x");
}

TEST_CASE("json: duplicate keys are found after unescaping, with their path", "[json]") {
  const Document document =
      parsed(R"({"a":[0,{"k":1,"\u006b":2}],"b":{"c":{"d":1,"d":1,"d":1}},"\u0061":0})");
  const auto& keys = document.duplicate_keys();
  REQUIRE(keys.size() == 4);
  CHECK((keys[0].path == "a/1" && keys[0].key == "k"));
  CHECK((keys[1].path == "b/c" && keys[1].key == "d"));
  CHECK((keys[2].path == "b/c" && keys[2].key == "d"));
  CHECK((keys[3].path.empty() && keys[3].key == "a"));
  CHECK(document.root().first().is_superseded());
  CHECK(parsed("{\"a\":1,\"b\":1,\"A\":1}").duplicate_keys().empty());
  CHECK(parsed("[{\"a\":1},{\"a\":1}]").duplicate_keys().empty());
}

TEST_CASE("json: duplicate keys of a large object are found in the order of the text, at most 50", "[json]") {
  std::string text = "{\"x\":0";
  for (int i = 0; i < 2000; ++i) text += ",\"key" + std::to_string(i) + "\":" + std::to_string(i);
  for (int i = 99; i >= 0; --i) text += ",\"key" + std::to_string(i) + "\":0";
  const Document document = parsed(text + "}");
  REQUIRE(document.duplicate_keys().size() == 50);
  CHECK(document.duplicate_keys().front().key == "key99");
  CHECK(document.duplicate_keys().back().key == "key50");
  std::size_t superseded = 0;
  Value key = document.root().first();
  for (std::size_t i = 1; i < document.root().size(); ++i, key = key.next().next()) {
    if (key.is_superseded()) ++superseded;
  }
  CHECK(superseded == 100);
}

TEST_CASE("json: every prefix of a good text is corrupt or read, never more", "[json]") {
  const std::string text = R"({"a":[1,-2.5e3,"x\ud834\udd1e"],"b":{"c":null,"d":true}} )";
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    CHECK(refused(text.substr(0, length)).code == ErrorCode::corrupt);
  }
}

TEST_CASE("json: with any byte changed, the scan and the parser agree", "[json]") {
  const std::string text = R"({"a":[1,-0,2.5e3,"x\ud834\udd1e"],"b":{"c":null,"d":true}})";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      const bool is_good = Document::parse(changed).has_value();
      const bool scan_is_good = !find_bad_utf8(changed) && !find_defect(changed);
      if (is_good != scan_is_good) {
        INFO(changed);
        CHECK(is_good == scan_is_good);
      }
    }
  }
}

}  // namespace ckpt::json
