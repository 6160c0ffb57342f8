#include "ckpt/safetensors/header_ranges.h"

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
using test::header_file;
using test::kA;
using test::kB;
using test::listed;
using test::padded;
using test::read;
using test::s0_file;
using test::s0_json;
}  // namespace

TEST_CASE("header: st-overlap-full tells every overlap, fast", "[safetensors]") {
  const auto json = [](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) {
      text += (i > 0 ? "," : "") + entry("t" + std::to_string(i), "F32", "4", "0,16");
    }
    return text + "}";
  };
  const Header ten = listed(json(10));
  REQUIRE(ten.findings.size() == 9);
  CHECK(error_line(ten.findings[0].what) == "\"t1\": overlaps tensor \"t0\" at 0 [corrupt]");
  const Header many = listed(json(100'000));
  CHECK(many.tensors.size() == 100'000);
  REQUIRE(many.findings.size() == 1001);
  CHECK(many.findings.back().what.message == "98999 more findings of this kind");
}

TEST_CASE("header: st-overlap-part names both tensors", "[safetensors]") {
  check_lines(listed("{" + kA + "," + entry("b", "F32", "3", "4,16") + "}"),
              "\"b\": overlaps tensor \"a\" at 4 [corrupt]\n");
  check_lines(listed("{" + entry("w", "F32", "4", "0,16") + "," + entry("x", "F32", "1", "4,8") + "," +
                     entry("y", "F32", "1", "12,16") + "}"),
              "\"x\": overlaps tensor \"w\" at 4 [corrupt]\n\"y\": overlaps tensor \"w\" at 12 [corrupt]\n");
}

TEST_CASE("header: an empty tensor inside another is corrupt", "[safetensors]") {
  check_lines(listed("{" + entry("w", "F32", "4", "0,16") + "," + entry("e", "F32", "0", "2,2") + "}"),
              "\"e\": is empty and lies inside tensor \"w\" at 2 [corrupt]\n");
}

TEST_CASE("header: st-hole, bytes between tensors are corrupt, with the place in the file", "[safetensors]") {
  const std::string json = padded("{" + entry("a", "F32", "1", "0,4") + "," + kB + "}");
  const Header header = listed(json);
  check_lines(header, "4 bytes at 4 belong to no tensor [corrupt]\n");
  CHECK(header.findings[0].what.offset == 8 + json.size() + 4);
  check_lines(listed("{" + kB + "}"), "8 bytes at 0 belong to no tensor [corrupt]\n");
}

TEST_CASE("header: no hole is told where an entry has no range", "[safetensors]") {
  check_lines(listed("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}," + kB + "}"),
              "\"a\": data_offsets is missing [corrupt]\n");
}

TEST_CASE("header: st-trailing bytes are corrupt", "[safetensors]") {
  check_lines(*read(s0_file() + "x"), "1 byte after the last tensor [corrupt]\n");
  check_lines(*read(header_file("{}      ", "12345")),
              "5 bytes after the header, which lists no tensor [corrupt]\n");
  const auto sparse = parse_header(s0_json(), 16 + (1U << 30U), {});
  check_lines(*sparse, "1073741824 bytes after the last tensor [corrupt]\n");
}

TEST_CASE("header: st-truncated data is truncated, the summary first", "[safetensors]") {
  const std::string file = s0_file();
  check_lines(*read(file.substr(0, file.size() - 1)),
              "file is 1 byte short: needs 136, has 135 (1 of 2 tensors whole) [truncated]\n"
              "\"b\": ends at 16, data has 15 bytes [truncated]\n");
  const Header half = *read(file.substr(0, file.size() - 12));
  CHECK(half.findings[0].what.message == "file is 12 bytes short: needs 136, has 124 (0 of 2 tensors whole)");
  CHECK(half.findings[0].what.expected == "136");
  CHECK(half.findings[0].what.found == "124");
  CHECK(half.tensors.size() == 2);
}

}  // namespace ckpt::safetensors
