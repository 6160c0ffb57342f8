#include "ckpt/zip/directory_entry.h"

#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

ZipBuilder with_name(std::string_view name) {
  ZipBuilder builder = torch_archive();
  builder.add(name, "data");
  return builder;
}

// The torch archive, whose `m/data/0` has these options in both headers.
ZipBuilder with_options(const ZipRecordOptions& options, Style style = Style::torch) {
  ZipBuilder builder = torch_archive(style);
  builder.record("m/data/0") = options;
  return builder;
}

}  // namespace

TEST_CASE("directory entry: a name that appears twice is ambiguous, the first one is found", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.add("m/data/0", "BBBB");
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::ambiguous, "m/data/0: record appears twice");
  CHECK(directory.entries().size() == 5);
  CHECK(directory.find("m/data/0") == &directory.entries()[2]);
}

TEST_CASE("directory entry: an empty name is corrupt", "[zip]") {
  ZipBuilder builder = with_name("");
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     "record with an empty name at directory offset " +
                         std::to_string(directory.entries()[4].directory_offset));
}

TEST_CASE("directory entry: NUL in a name is corrupt", "[zip]") {
  ZipBuilder builder = with_name(std::string_view("m/data/0\0.txt", 13));
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt, "NUL in record name");
  CHECK(directory.find("m/data/0") == &directory.entries()[2]);
}

TEST_CASE("directory entry: a name that leaves its folder is a path escape", "[zip]") {
  for (const std::string_view name :
       {"../../evil", "m/../../evil", "m/./data/1", "..", ".", "m/..", "/m/data.pkl", "/", "m/../"}) {
    ZipBuilder builder = with_name(name);
    check_only_finding(builder, ErrorCode::path_escape, "record name is a path");
  }
}

TEST_CASE("directory entry: a backslash in a name is corrupt", "[zip]") {
  ZipBuilder builder = with_name("m\\data\\0");
  check_only_finding(builder, ErrorCode::corrupt, "backslash in record name");
}

TEST_CASE("directory entry: a name that is not Unicode is a note", "[zip]") {
  for (const std::uint16_t flags : {std::uint16_t{0x0808}, std::uint16_t{0x0008}}) {
    ZipBuilder builder = torch_archive();
    ZipRecordOptions options;
    options.flags = flags;
    builder.add("m/\xFF\xFE", "data", options);
    const zip::Directory directory = read_directory(builder);
    INFO(finding_lines(directory.findings()));
    CHECK(directory.findings().size() == 1);
    CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "not Unicode: \"m/\\xFF\\xFE\"",
                      Severity::note));
    CHECK(directory.find("m/\xFF\xFE") != nullptr);
  }
}

TEST_CASE("directory entry: flags that hide data from some readers are corrupt", "[zip]") {
  for (const auto& [flag, text] :
       {std::pair<unsigned, const char*>{0x20, "0x20"}, {0x40, "0x40"}, {0x2000, "0x2000"}}) {
    ZipRecordOptions options;
    options.flags = static_cast<std::uint16_t>(0x0808 | flag);
    ZipBuilder builder = with_options(options);
    check_only_finding(builder, ErrorCode::corrupt, std::string("flag ") + text + " not allowed");
  }
}

TEST_CASE("directory entry: an unknown method is unsupported", "[zip]") {
  for (const unsigned method : {99U, 12U, 14U, 93U}) {
    ZipRecordOptions options;
    options.method = static_cast<std::uint16_t>(method);
    ZipBuilder builder = with_options(options);
    check_only_finding(builder, ErrorCode::unsupported,
                       "m/data/0: compression method " + std::to_string(method));
  }
}

TEST_CASE("directory entry: a stored record with two sizes is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.bytes = 400;
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::corrupt, "m/data/0: stored record, sizes 16 and 400");
  options.bytes = 4;
  ZipBuilder other = with_options(options, Style::plain);
  check_only_finding(other, ErrorCode::corrupt, "stored record, sizes 16 and 4");
}

TEST_CASE("directory entry: a size that deflate cannot reach is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions options;
  options.bytes = 1'000'000'000'000;
  builder.add_deflated("m/code.py", "print(1)", options);
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "deflate cannot make 1000000000000 bytes of"));
}

TEST_CASE("directory entry: an extra field past its area is corrupt", "[zip]") {
  for (const std::string& extra : {std::string("\x01\x00\xff\x00zz", 6), std::string("abc")}) {
    ZipRecordOptions options;
    options.directory.extra = extra;
    ZipBuilder builder = with_options(options);
    check_only_finding(builder, ErrorCode::corrupt, "extra field of record runs past its area");
  }
}

TEST_CASE("directory entry: two ZIP64 fields are corrupt", "[zip]") {
  ZipRecordOptions options;
  options.directory.extra = zip64_field({16, 16}) + zip64_field({8, 8});
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::corrupt, "duplicate ZIP64 field");
}

TEST_CASE("directory entry: a ZIP64 field without the numbers it is asked for is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.directory.extra = zip64_field({16});
  options.directory.bytes = 0xFFFFFFFF;
  options.directory.compressed = 0xFFFFFFFF;
  ZipBuilder builder = with_options(options);
  check_finding(builder, ErrorCode::corrupt, "ZIP64 field is too short");
}

TEST_CASE("directory entry: a ZIP64 field with other numbers is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.directory.extra = zip64_field({16, 99});
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::corrupt, "ZIP64 field holds other numbers");
}

TEST_CASE("directory entry: a ZIP64 field of 28 bytes is read", "[zip]") {
  ZipRecordOptions options;
  std::string field = zip64_field({16, 16, 0});
  field[2] = 28;
  options.directory.extra = field + std::string(4, '\0');
  ZipBuilder builder = with_options(options);
  check_clean(read_directory(builder));
}

TEST_CASE("directory entry: a record on another disk is unsupported", "[zip]") {
  ZipRecordOptions options;
  options.directory.disk = 2;
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::unsupported, "part 2 of a split archive");
}

TEST_CASE("directory entry: one that is cut ends the directory", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.record("m/version").directory.extra_length = 60'000;
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(directory.entries().size() == 3);
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "directory says 4 records, holds 3"));
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "belong to no record"));
}

TEST_CASE("directory entry: another signature ends the directory", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.record("m/byteorder").directory.signature = 0x12345678;
  const zip::Directory directory = read_directory(builder);
  CHECK(directory.entries().size() == 1);
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "directory says 4 records, holds 1"));
  ZipBuilder first = torch_archive();
  first.record("m/data.pkl").directory.signature = 0x12345678;
  CHECK(directory_error(first).code == ErrorCode::corrupt);
}

TEST_CASE("directory entry: long names, extra areas and comments are read", "[zip]") {
  ZipBuilder builder(Style::plain);
  for (const char c : {'a', 'b', 'c', 'd'}) {
    ZipRecordOptions options;
    options.directory.comment = std::string(65535, 'c');
    options.directory.extra = "\x09\x09\xfb\xff" + std::string(65531, 'e');
    builder.add("m/" + std::string(65533, c), "x", options);
  }
  check_clean(read_directory(builder));
}
