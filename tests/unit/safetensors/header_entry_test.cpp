#include "ckpt/safetensors/header_entry.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"
#include "support/header_checks.h"

// Through the whole header, as everybody meets it.

namespace ckpt::safetensors {
namespace {

using test::check_lines;
using test::entry;
using test::has_line;
using test::header_file;
using test::kA;
using test::kB;
using test::lines;
using test::listed;
using test::refused;
using test::s0_data;
using test::with_entry;
}  // namespace

TEST_CASE("header: st-dup-key-same is ambiguous and no overlap", "[safetensors]") {
  const Header header = listed("{" + kA + "," + kA + "," + kB + "}");
  check_lines(header, "\"a\": tensor appears twice [ambiguous]\n");
  CHECK(header.tensors.size() == 2);
}

TEST_CASE("header: a name twice with other ranges is ambiguous and no hole, the last is listed",
          "[safetensors]") {
  const Header header = listed("{" + kA + "," + entry("\\u0061", "F32", "2", "8,16") + "}");
  check_lines(header, "\"a\": tensor appears twice [ambiguous]\n");
  REQUIRE(header.tensors.size() == 1);
  CHECK(header.tensors[0].begin == 8);
}

TEST_CASE("header: a file is not short of an entry that a later one replaces", "[safetensors]") {
  const Header header = listed("{" + entry("b", "F32", "4", "8,24") + "," + kA + "," + kB + "}");
  check_lines(header, "\"b\": tensor appears twice [ambiguous]\n");
}

TEST_CASE("header: metadata twice is ambiguous", "[safetensors]") {
  const Header header = listed(R"({"__metadata__":{"a":"1"},"__metadata__":{"a":"2"}})", "");
  check_lines(header, "__metadata__ appears twice [ambiguous]\n");
  CHECK(header.metadata[0].second == "2");
}

TEST_CASE("header: metadata that is no map of text to text is corrupt", "[safetensors]") {
  check_lines(listed(R"({"__metadata__":[]})", ""), "__metadata__ is a list, must be an object [corrupt]\n");
  check_lines(listed(R"({"__metadata__":1})", ""), "__metadata__ is a number, must be an object [corrupt]\n");
  check_lines(listed(R"({"__metadata__":"x"})", ""), "__metadata__ is text, must be an object [corrupt]\n");
  const Header header = listed(R"({"__metadata__":{"a":1,"b":null,"c":{"d":"e"},"f":"g"}})", "");
  check_lines(header,
              "__metadata__ \"a\" is a number, must be text [corrupt]\n"
              "__metadata__ \"b\" is null, must be text [corrupt]\n"
              "__metadata__ \"c\" is an object, must be text [corrupt]\n");
  CHECK(header.metadata.size() == 1);
}

TEST_CASE("header: st-missing-field names field and tensor", "[safetensors]") {
  CHECK(has_line(with_entry(R"({"shape":[4],"data_offsets":[0,16]})"), "\"a\": dtype is missing [corrupt]"));
  CHECK(
      has_line(with_entry(R"({"dtype":"F32","data_offsets":[0,16]})"), "\"a\": shape is missing [corrupt]"));
  check_lines(with_entry(R"({"dtype":"F32","shape":[4]})"), "\"a\": data_offsets is missing [corrupt]\n");
  check_lines(with_entry("null"), "\"a\": entry is null, must be an object [corrupt]\n");
  check_lines(with_entry("7"), "\"a\": entry is a number, must be an object [corrupt]\n");
  CHECK(with_entry(R"({"shape":[4],"data_offsets":[0,16]})").tensors.empty());
}

TEST_CASE("header: an entry in the form of a list is corrupt, though the reference reads it",
          "[safetensors]") {
  check_lines(with_entry(R"(["F32",[4],[0,16]])"),
              "\"a\": entry is a list, must be an object (the reference reader takes it) [corrupt]\n");
}

TEST_CASE("header: a field twice in an entry is corrupt", "[safetensors]") {
  for (const std::string_view field : {R"("dtype":"F32")", R"("shape":[4])", R"("data_offsets":[0,16])"}) {
    const Header header =
        with_entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16],)" + std::string(field) + "}");
    const std::string name(field.substr(1, field.find(':') - 2));
    check_lines(header, "\"a\": " + name + " appears twice [corrupt]\n");
  }
}

TEST_CASE("header: st-dtype-unknown is unsupported, left out, its range counts", "[safetensors]") {
  for (const std::string_view dtype : {"F33", "f32", "BFLOAT16", "", "F32\\u0000", "F32 ", "C128"}) {
    const Header header = listed("{" + entry("a", dtype, "2", "0,8") + "," + kB + "}");
    REQUIRE(header.findings.size() == 1);
    CHECK(header.findings[0].what.code == ErrorCode::unsupported);
    CHECK(header.findings[0].what.tensor == "a");
    CHECK(header.tensors.size() == 1);
  }
  CHECK(
      with_entry(R"({"dtype":"F33","shape":[4],"data_offsets":[0,16]})").findings[0].what.message ==
      "dtype \"F33\" is not known; known are BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, "
      "F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64");
  check_lines(with_entry(R"({"dtype":5,"shape":[4],"data_offsets":[0,16]})"),
              "\"a\": dtype is a number, must be text [unsupported]\n");
}

TEST_CASE("header: a dtype in the form of a map is corrupt, though the reference reads it", "[safetensors]") {
  check_lines(
      with_entry(R"({"dtype":{"F32":null},"shape":[4],"data_offsets":[0,16]})"),
      "\"a\": dtype is an object, must be text (the reference reader takes {\"F32\":null}) [corrupt]\n");
}

TEST_CASE("header: st-long-number, numbers must be plain unsigned integers", "[safetensors]") {
  for (const std::string_view number : {"1e3", "16.0", "-0", "1.0", "-8", "\"16\"", "null", "[16]", "true"}) {
    const std::string text(number);
    CHECK(with_entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,)" + text + "]}")
              .findings[0]
              .what.message.starts_with("data_offsets item 1 is "));
    CHECK(with_entry(R"({"dtype":"F32","shape":[)" + text + R"(],"data_offsets":[0,16]})")
              .findings[0]
              .what.message.starts_with("shape item 0 is "));
  }
  for (const std::string& number :
       {std::string("1e400"), std::string("18446744073709551616"), std::string(400'000, '9')}) {
    const std::string json = "{" + entry("a", "F32", "4", "0," + number) + "}";
    CHECK(refused(header_file(json, s0_data())).code == ErrorCode::corrupt);
  }
}

TEST_CASE("header: st-offsets-shape must be two numbers in a list", "[safetensors]") {
  const auto with_offsets = [](std::string_view offsets) {
    return with_entry(R"({"dtype":"F32","shape":[4],"data_offsets":)" + std::string(offsets) + "}");
  };
  check_lines(with_offsets("[0]"), "\"a\": data_offsets has 1 item, must have 2 [corrupt]\n");
  check_lines(with_offsets("[0,8,16]"), "\"a\": data_offsets has 3 items, must have 2 [corrupt]\n");
  check_lines(with_offsets("[]"), "\"a\": data_offsets has 0 items, must have 2 [corrupt]\n");
  check_lines(with_offsets("null"), "\"a\": data_offsets is null, must be a list [corrupt]\n");
  check_lines(with_offsets("\"0,16\""), "\"a\": data_offsets is text, must be a list [corrupt]\n");
  check_lines(
      with_offsets("[[0],[16]]"),
      "\"a\": data_offsets item 0 is a list, must be an unsigned integer in plain digits [corrupt]\n");
}

TEST_CASE("header: st-offsets-reversed has both numbers", "[safetensors]") {
  const Header header = listed("{" + entry("a", "F32", "2", "8,0") + "," + kB + "}");
  check_lines(header, "\"a\": begin 8 after end 0 [corrupt]\n");
  CHECK(header.findings[0].what.expected == "8");
  CHECK(header.findings[0].what.found == "0");
}

TEST_CASE("header: st-offsets-past is truncated, the summary first", "[safetensors]") {
  const Header header = listed("{" + kA + "," + entry("b", "F32", "2", "8,1099511627776") + "}");
  REQUIRE(header.findings.size() == 3);
  CHECK(header.findings[0].what.message ==
        "file is 1099511627760 bytes short: needs 1099511627904, has 144 (1 of 2 tensors whole)");
  CHECK(header.findings[0].what.code == ErrorCode::truncated);
  CHECK(has_line(header, "\"b\": ends at 1099511627776, data has 16 bytes [truncated]"));
  CHECK(has_line(header, "\"b\": shape and dtype need 8 bytes, range has 1099511627768 [corrupt]"));
}

TEST_CASE("header: an end near 2^64 does not wrap", "[safetensors]") {
  const Header header =
      listed("{" + kA + "," + entry("b", "U8", "7", "18446744073709551608,18446744073709551615") + "}");
  CHECK(header.findings[0].what.code == ErrorCode::corrupt);
  CHECK(has_line(header, "\"b\": ends at 18446744073709551615, data has 16 bytes [truncated]"));
}

TEST_CASE("header: st-size-mismatch has both numbers", "[safetensors]") {
  const auto message = [](std::string_view shape, std::string_view end) {
    const Header header = listed("{" + entry("a", "F32", shape, "0," + std::string(end)) + "}");
    CHECK(header.tensors.size() == 1);
    CHECK(header.findings[0].what.code == ErrorCode::corrupt);
    return header.findings[0].what.message;
  };
  CHECK(message("2", "16") == "shape and dtype need 8 bytes, range has 16");
  CHECK(message("5", "16") == "shape and dtype need 20 bytes, range has 16");
  CHECK(message("1000,1000", "16") == "shape and dtype need 4000000 bytes, range has 16");
  CHECK(message("", "16") == "shape and dtype need 4 bytes, range has 16");
  CHECK(message("0", "16") == "shape and dtype need 0 bytes, range has 16");
}

TEST_CASE("header: st-shape-zero-huge, a dimension above 63 bits is corrupt", "[safetensors]") {
  for (const std::string_view shape :
       {"0,9223372036854775808", "9223372036854775808,0", "18446744073709551615"}) {
    const Header header = listed("{" + entry("a", "F32", shape, "0,0") + "}", "");
    REQUIRE(header.findings.size() == 1);
    CHECK(header.findings[0].what.message.ends_with(" does not fit 63 bits"));
  }
  CHECK(lines(listed("{" + entry("a", "F32", "0,9223372036854775807,9223372036854775807", "0,0") + "}", ""))
            .empty());
}

TEST_CASE("header: a product beyond 64 bits is corrupt and not listed", "[safetensors]") {
  for (const std::string_view shape :
       {"4294967296,4294967296", "9223372036854775807,9223372036854775807,0"}) {
    const Header header = listed("{" + entry("a", "F32", shape, "0,0") + "}", "");
    check_lines(header, "\"a\": shape has more elements than 64 bits can count [corrupt]\n");
    CHECK(header.tensors.empty());
  }
  check_lines(listed("{" + entry("a", "U8", "2305843009213693952", "0,0") + "}", ""),
              "\"a\": shape and dtype need more bits than 64 bits can count [corrupt]\n");
}

TEST_CASE("header: st-subbyte, bits that are no whole bytes are corrupt", "[safetensors]") {
  check_lines(listed("{" + entry("a", "F6_E2M3", "3", "0,2") + "}", "xx"),
              "\"a\": 18 bits are not whole bytes [corrupt]\n");
  check_lines(listed("{" + entry("a", "F4", "3", "0,2") + "}", "xx"),
              "\"a\": 12 bits are not whole bytes [corrupt]\n");
  check_lines(listed("{" + entry("a", "F4", "", "0,1") + "}", "x"),
              "\"a\": 4 bits are not whole bytes [corrupt]\n");
  CHECK(lines(listed("{" + entry("a", "F4", "4", "0,2") + "," + entry("b", "F6_E3M2", "2,2", "2,5") + "}",
                     "xxxxx"))
            .empty());
}

TEST_CASE("header: a rank or name above its limit is a limit, its range counts", "[safetensors]") {
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  CHECK(lines(listed("{" + entry("a", "U8", ones, "0,1") + "}", "x")).empty());
  const Header deep = listed("{" + entry("a", "U8", ones + ",1", "0,1") + "}", "x");
  check_lines(deep, "\"a\": shape has 65 dimensions, the limit rank is 64 [limit]\n");
  const std::string name(65'536, 'n');
  CHECK(lines(listed("{" + entry(name, "U8", "1", "0,1") + "}", "x")).empty());
  const Header named = listed("{" + entry(name + "n", "U8", "1", "0,1") + "}", "x");
  REQUIRE(named.findings.size() == 1);
  CHECK(named.findings[0].what.code == ErrorCode::limit);
  CHECK(named.findings[0].what.message.size() < 200);
  CHECK(named.tensors.empty());
}

}  // namespace ckpt::safetensors
