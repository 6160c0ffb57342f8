#include "ckpt/safetensors/header.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"
#include "support/header_builder.h"
#include "support/header_checks.h"

namespace ckpt::safetensors {
namespace {

using namespace std::string_view_literals;
using test::check_lines;
using test::entry;
using test::good;
using test::has_line;
using test::header_file;
using test::kA;
using test::kB;
using test::length_field;
using test::listed;
using test::padded;
using test::read;
using test::refused;
using test::s0_data;
using test::s0_file;
using test::s0_json;

}  // namespace

TEST_CASE("header: S0 is read whole", "[safetensors]") {
  const Header header = good(s0_file());
  CHECK(header.header_bytes == s0_json().size());
  CHECK(header.data_offset == 8 + s0_json().size());
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[1].name == "b");
  CHECK(header.tensors[1].dtype == Dtype::f32);
  CHECK(header.tensors[1].shape == std::vector<std::uint64_t>{2});
  CHECK(header.tensors[1].begin == 8);
  CHECK(header.tensors[1].end == 16);
  CHECK_FALSE(header.has_metadata);
}

TEST_CASE("header: a small file takes one read, a large one two and no data", "[safetensors]") {
  const MemorySource small = test::source_of(s0_file());
  REQUIRE(read_header(small, {}));
  CHECK(small.count().reads == 1);
  const std::string json = padded("{" + entry("a", "U8", "1000000", "0,1000000") + "}");
  const MemorySource large = test::source_of(header_file(json, std::string(1'000'000, 'x')));
  REQUIRE(read_header(large, {}));
  CHECK(large.count().reads == 2);
  CHECK(large.count().bytes == 8 + json.size());
}

// What must be accepted without a word.

TEST_CASE("header: the smallest file is read", "[safetensors]") {
  CHECK(good(header_file("{}      ", "")).tensors.empty());
  const Header bare = *read(header_file("{}", ""));
  check_lines(bare, "note header length 2 is no multiple of 8 [corrupt]\n");
}

TEST_CASE("header: metadata absent, empty or alone is fine", "[safetensors]") {
  CHECK(good(header_file(padded("{\"__metadata__\":{}}"), "")).has_metadata);
  const Header alone = good(header_file(padded("{\"__metadata__\":{\"b\":\"1\",\"a\":\"\\u00e9\"}}"), ""));
  REQUIRE(alone.metadata.size() == 2);
  CHECK(alone.metadata[0] == std::pair<std::string, std::string>("b", "1"));
  CHECK(alone.metadata[1].second == "\xC3\xA9");
  CHECK(good(header_file(padded("{" + kA + "," + kB + ",\"__metadata__\":{}}"), s0_data())).tensors.size() ==
        2);
}

TEST_CASE("header: st-empty-tensors on any boundary are read", "[safetensors]") {
  const std::string json =
      padded("{" + entry("e0", "F32", "0", "0,0") + "," + kA + "," + entry("e1", "F32", "5,0", "8,8") + "," +
             entry("e2", "I8", "0", "8,8") + "," + kB + "," + entry("e3", "F64", "0", "16,16") + "}");
  CHECK(good(header_file(json, s0_data())).tensors.size() == 6);
  CHECK(good(header_file(padded("{" + entry("s", "F32", "", "0,4") + "}"), "\0\0\0\0"sv))
            .tensors[0]
            .shape.empty());
}

TEST_CASE("header: st-order, entries unlike the data are read in the order of the text", "[safetensors]") {
  const Header header = good(header_file(padded("{" + kB + "," + kA + "}"), s0_data()));
  CHECK(header.tensors[0].name == "b");
}

TEST_CASE("header: every dtype is known with its size", "[safetensors]") {
  for (std::size_t i = 0; i < kSafetensorsDtypeCount; ++i) {
    const DtypeFacts& facts = dtype_facts(static_cast<Dtype>(i));
    const std::string bytes = std::to_string(facts.bits);
    const std::string json = padded("{" + entry("a", facts.safetensors, "2,4", "0," + bytes) + "}");
    CHECK(good(header_file(json, std::string(facts.bits, 'x'))).tensors[0].dtype == facts.dtype);
  }
}

TEST_CASE("header: order of fields and white space inside do not matter", "[safetensors]") {
  const std::string json = "{ \"a\" : {\"data_offsets\":[ 0 , 8 ],\n\"shape\": [2] ,\t\"dtype\":\"F32\"} }";
  CHECK(good(header_file(padded(json), "12345678")).tensors[0].end == 8);
}

TEST_CASE("header: st-unaligned data is read", "[safetensors]") {
  const std::string json = "{" + entry("a", "I8", "1", "0,1") + "," + entry("b", "F64", "1", "1,9") + "}";
  CHECK(good(header_file(padded(json), "123456789")).tensors.size() == 2);
}

TEST_CASE("header: st-name-hostile, names are kept as they are", "[safetensors]") {
  for (const std::string_view name :
       {"", "a/b", "..", "a b", "\\n", "\\u202e", "\\\"", "/etc/passwd", "\\r", "é"}) {
    CHECK(good(header_file(padded("{" + entry(name, "U8", "1", "0,1") + "}"), "x")).tensors.size() == 1);
  }
  const Header header = listed("{" + entry("a\\u0000b", "F32", "4", "0,16") + "}");
  CHECK(header.tensors[0].name == "a\0b"sv);
  check_lines(header,
              "note \"a\\x00b\": name holds a NUL byte, which cuts it short in C programs [corrupt]\n");
}

// What is accepted with a note.

TEST_CASE("header: st-leading-space is a note", "[safetensors]") {
  const Header header = listed("\t\n" + s0_json());
  CHECK(header.tensors.size() == 2);
  check_lines(header, "note white space before the header's brace [corrupt]\n");
}

TEST_CASE("header: st-trailing-space of other kinds is a note", "[safetensors]") {
  check_lines(*read(header_file("{} \r\t\n  ", "")),
              "note header is padded with other white space than spaces [corrupt]\n");
}

TEST_CASE("header: st-extra-field is a note", "[safetensors]") {
  check_lines(listed(R"({"a":{"dtype":"F32","foo":[1,{"dtype":"F16"}],"shape":[4],"data_offsets":[0,16]}})"),
              "note \"a\": field \"foo\" is not part of the format [corrupt]\n");
}

TEST_CASE("header: null metadata is a note", "[safetensors]") {
  const Header header = listed("{\"__metadata__\":null," + kA + "," + kB + "}");
  CHECK_FALSE(header.has_metadata);
  check_lines(header, "note __metadata__ is null [corrupt]\n");
}

TEST_CASE("header: a key twice inside the metadata is a note, the last counts", "[safetensors]") {
  const Header header = listed(R"({"__metadata__":{"k":"1","l":"2","\u006b":"3"}})", "");
  check_lines(header, "note __metadata__ \"k\" appears twice [ambiguous]\n");
  REQUIRE(header.metadata.size() == 2);
  CHECK(header.metadata[1] == std::pair<std::string, std::string>("k", "3"));
}

// What makes the listing impossible.

TEST_CASE("header: a file below 8 bytes is truncated", "[safetensors]") {
  for (std::size_t size = 0; size < 8; ++size) {
    const Error error = refused(s0_file().substr(0, size));
    CHECK(error.code == ErrorCode::truncated);
    CHECK(error.found == std::to_string(size));
  }
}

TEST_CASE("header: st-length-beyond is truncated, with both numbers", "[safetensors]") {
  const std::string rest = s0_file().substr(8);
  for (const std::uint64_t length : {rest.size() + 8, rest.size() + 1, std::size_t{1} << 32U}) {
    const Error error = refused(length_field(length) + rest);
    CHECK(error.code == ErrorCode::truncated);
    CHECK(error.message == "header length " + std::to_string(length) + ", file has " +
                               std::to_string(rest.size()) + " bytes behind it");
    CHECK(error.expected == std::to_string(length));
    CHECK(error.found == std::to_string(rest.size()));
    CHECK(error.offset == 0U);
  }
}

TEST_CASE("header: st-length-max does not wrap and allocates nothing", "[safetensors]") {
  for (const std::uint64_t length : {~0ULL, 1ULL << 63U, ~0ULL - 7}) {
    CHECK(refused(length_field(length) + s0_file().substr(8)).code == ErrorCode::truncated);
  }
}

TEST_CASE("header: st-length-limit, one byte above the limit is a limit", "[safetensors]") {
  Limits limits;
  limits.header_bytes = s0_json().size();
  CHECK(read(s0_file(), limits));
  limits.header_bytes -= 1;
  const Error error = refused(s0_file(), limits);
  CHECK(error.code == ErrorCode::limit);
  CHECK(error.message == "header is 112 bytes, the limit header_bytes is 111");
  CHECK(parse_header(s0_json(), 16, limits).error().code == ErrorCode::limit);
}

TEST_CASE("header: st-length-zero is corrupt", "[safetensors]") {
  CHECK(refused(length_field(0)).message == "header is empty");
  CHECK(refused(length_field(0) + s0_data()).code == ErrorCode::corrupt);
  CHECK(parse_header("", 0, {}).error().message == "header is empty");
}

TEST_CASE("header: st-not-json is corrupt at a byte", "[safetensors]") {
  for (const std::string_view json :
       {"{", "}", "hello", "{\"a\":}", "{'a':1}", "{}//x", "{\"a\":1,}", "{\"a\":NaN}", "{\"a\":Infinity}",
        "{\"a\":0x10}", "{\"a\":+1}", "{\"a\":01}", "{\"a\tb\":1}", "\xEF\xBB\xBF{}", "{} {}"}) {
    const Error error = refused(header_file(json, ""));
    CHECK(error.code == ErrorCode::corrupt);
    CHECK(error.message.starts_with("header is not JSON at byte "));
    CHECK(error.offset >= 8U);
  }
  CHECK(refused(header_file("{\"a\":}", "")).message == "header is not JSON at byte 5: a value is missing");
  CHECK(refused(header_file("{\"a\":}", "")).offset == 13U);
}

TEST_CASE("header: NUL padding is corrupt", "[safetensors]") {
  const Error error = refused(header_file("{}\0\0\0\0\0\0"sv, ""));
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(error.offset == 10U);
}

TEST_CASE("header: st-not-object is corrupt", "[safetensors]") {
  CHECK(refused(header_file("[]", "")).message == "header is a list, must be an object");
  CHECK(refused(header_file("[{\"a\":1}]", "")).message == "header is a list, must be an object");
  CHECK(refused(header_file("5", "")).message == "header is a number, must be an object");
  CHECK(refused(header_file("null", "")).message == "header is null, must be an object");
  CHECK(refused(header_file("\"x\"", "")).message == "header is text, must be an object");
  CHECK(refused(header_file("true", "")).message == "header is a boolean, must be an object");
}

TEST_CASE("header: st-bad-utf8 is corrupt at a byte", "[safetensors]") {
  for (const std::string_view bad : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xE2\x82"}) {
    const Error error = refused(header_file("{\"" + std::string(bad) + "\":1}", ""));
    CHECK(error.code == ErrorCode::corrupt);
    CHECK(error.message == "header is not UTF-8 at byte 2");
  }
}

TEST_CASE("header: st-lone-surrogate is corrupt, a pair is a name", "[safetensors]") {
  CHECK(refused(header_file("{" + entry("\\ud800", "F32", "4", "0,16") + "}", s0_data())).message ==
        "header is not JSON at byte 2: a lone surrogate in a string");
  CHECK(listed("{" + entry("\\ud83d\\ude00", "F32", "4", "0,16") + "}").tensors[0].name ==
        "\xF0\x9F\x98\x80");
}

TEST_CASE("header: st-depth, deeper than 128 is corrupt wherever it is", "[safetensors]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  for (const std::string& json : {"{\"a\":" + nested(128) + "}", "{\"a\":" + nested(100'000) + "}",
                                  "{\"__metadata__\":{\"k\":" + nested(127) + "}}"}) {
    const Error error = refused(header_file(json, ""));
    CHECK(error.code == ErrorCode::corrupt);
    CHECK(error.message.starts_with("header is nested deeper than 128 levels at byte "));
  }
}

// Whole families.

TEST_CASE("header: every prefix of S0 is truncated", "[safetensors]") {
  const std::string file = s0_file();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto header = read(file.substr(0, size));
    INFO(size);
    if (size < 8 + s0_json().size()) {
      REQUIRE_FALSE(header);
      CHECK(header.error().code == ErrorCode::truncated);
    } else {
      REQUIRE(header);
      REQUIRE_FALSE(header->findings.empty());
      CHECK(header->findings[0].what.code == ErrorCode::truncated);
      CHECK(header->tensors.size() == 2);
    }
  }
}

TEST_CASE("header: with any byte of S0 changed nothing is listed that the file does not have",
          "[safetensors]") {
  const std::string file = s0_file();
  for (std::size_t at = 0; at < file.size() - s0_data().size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = file;
      changed[at] = static_cast<char>(byte);
      const auto header = read(changed);
      if (!header || !header->findings.empty()) continue;
      std::uint64_t bytes = 0;
      for (const HeaderTensor& tensor : header->tensors) bytes += tensor.end - tensor.begin;
      if (bytes != s0_data().size()) FAIL("at " << at << " byte " << byte);
    }
  }
}

TEST_CASE("header: two million defects keep their first thousand and no word is lost", "[safetensors]") {
  std::string json = "{";
  for (int i = 0; i < 20'000; ++i) json += "\"t" + std::to_string(i) + "\":0,";
  const Header header = listed(json + entry("z", "F99", "4", "0,16") + "}");
  CHECK(header.findings.size() == 1002);
  CHECK(has_line(header, "19000 more findings of this kind [corrupt]"));
  CHECK(std::any_of(header.findings.begin(), header.findings.end(),
                    [](const Finding& finding) { return finding.what.code == ErrorCode::unsupported; }));
}

TEST_CASE("header: st-many, 100,000 tensors are read", "[safetensors]") {
  std::string json = "{";
  for (int i = 0; i < 100'000; ++i) {
    const std::string at = std::to_string(i);
    json += (i > 0 ? "," : "") + entry("model.layers." + at, "U8", "1", at + "," + std::to_string(i + 1));
  }
  const auto header = parse_header(padded(json + "}"), 100'000, {});
  REQUIRE(header);
  CHECK(header->tensors.size() == 100'000);
  CHECK(header->findings.empty());
}

// Recognising a header from the first bytes.

TEST_CASE("looks_like_header: good, cut and damaged headers are recognised", "[safetensors]") {
  const auto looks = [](std::string_view file) {
    return looks_like_header(as_bytes(file.substr(0, 64)), file.size());
  };
  CHECK(looks(s0_file()));
  CHECK(looks(header_file("{}", "")));
  CHECK(looks(header_file("\t\n{}", "")));
  CHECK(looks(s0_file().substr(0, 9)));
  CHECK(looks(s0_file().substr(0, 100)));
  for (const std::uint64_t length : {0ULL, 1ULL << 32U, 1ULL << 63U, ~0ULL, ~0ULL - 7}) {
    CHECK(looks(length_field(length) + s0_file().substr(8)));
  }
}

TEST_CASE("looks_like_header: other files are not taken for headers", "[safetensors]") {
  const auto looks = [](std::string_view file) { return looks_like_header(as_bytes(file), file.size()); };
  CHECK_FALSE(looks(""));
  CHECK_FALSE(looks(s0_file().substr(0, 8)));
  CHECK_FALSE(looks(header_file("[]", "")));
  CHECK_FALSE(looks(length_field(1) + "{x"));
  CHECK_FALSE(looks("{\"data\":{\"a\":1}}"));
  CHECK_FALSE(looks("[[[[[[[[{\"a\":1}]]]]]]]]"));
  CHECK_FALSE(looks("PK\x03\x04\x14\0\0\0{\"a\""sv.substr(0, 8)));
  CHECK_FALSE(looks("version https://git-lfs"));
  CHECK_FALSE(looks("\x80\x02}q\0X\x01\0\0\0wq"sv));
  CHECK_FALSE(looks("\xff\xff\xff\xff\xff\xff\xff\x7f{x"));
}

}  // namespace ckpt::safetensors
