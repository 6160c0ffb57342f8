#include "ckpt/zip/range_table.h"

#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

std::vector<zip::Entry> three_entries() {
  std::vector<zip::Entry> entries(3);
  entries[0].name = "a";
  entries[1].name = "b";
  entries[2].name = "c";
  return entries;
}

}  // namespace

TEST_CASE("range table: ranges that touch cover a file", "[zip]") {
  const std::vector<zip::Entry> entries = three_entries();
  zip::RangeTable table(entries);
  table.add(20, 30, zip::RangeTable::kDirectory);
  table.add(0, 10, 0);
  table.add(10, 20, 1);
  table.add(30, 52, zip::RangeTable::kEndRecord);
  zip::FindingList findings;
  table.check(52, findings);
  CHECK(std::move(findings).finish().empty());
}

TEST_CASE("range table: an overlap names both owners and the bytes", "[zip]") {
  const std::vector<zip::Entry> entries = three_entries();
  zip::RangeTable table(entries);
  table.add(0, 12, 0);
  table.add(10, 20, 1);
  table.add(20, 30, zip::RangeTable::kDirectory);
  table.add(29, 51, zip::RangeTable::kEndRecord);
  zip::FindingList list;
  table.check(51, list);
  const std::vector<Finding> findings = std::move(list).finish();
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].what.message == "records \"a\" and \"b\" share bytes 10..11");
  CHECK(findings[0].what.offset == 10);
  CHECK(findings[1].what.message == "the directory and the end record share bytes 29..29");
}

TEST_CASE("range table: a range inside a longer one does not hide what follows", "[zip]") {
  const std::vector<zip::Entry> entries = three_entries();
  zip::RangeTable table(entries);
  table.add(0, 100, 0);
  table.add(10, 20, 1);
  table.add(50, 120, 2);
  zip::FindingList list;
  table.check(120, list);
  const std::vector<Finding> findings = std::move(list).finish();
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].what.message == "records \"a\" and \"b\" share bytes 10..19");
  CHECK(findings[1].what.message == "records \"a\" and \"c\" share bytes 50..99");
}

TEST_CASE("range table: a record of unknown length hides no gap in front of it", "[zip]") {
  const std::vector<zip::Entry> entries = three_entries();
  zip::RangeTable table(entries);
  table.add(0, 10, 0);
  table.add_open(12);
  table.add(40, 50, 2);
  zip::FindingList list;
  table.check(50, list);
  const std::vector<Finding> findings = std::move(list).finish();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what.message == "2 bytes at 10 belong to no record");
}

TEST_CASE("range table: two records at one place share bytes", "[zip]") {
  ZipBuilder builder = torch_archive();
  static_cast<void>(builder.build());
  ZipRecordOptions options;
  options.has_record = false;
  options.flags = 0x0808;
  options.directory.offset = static_cast<std::uint32_t>(builder.layout().local_offsets.at("m/data/0"));
  builder.add("m/data/1", "0123456789abcdef", options);
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt,
                    "records \"m/data/0\" and \"m/data/1\" share bytes"));
  CHECK(has_finding(directory.findings(), ErrorCode::ambiguous, "named \"m/data/1\" in the directory"));
}

TEST_CASE("range table: data that reaches into the next header is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  ZipRecordOptions& options = builder.record("m/data/0");
  options.directory.bytes = 24;
  options.directory.compressed = 24;
  options.local.bytes = 24;
  options.local.compressed = 24;
  const zip::Directory directory = read_directory(builder);
  const std::uint64_t next = builder.layout().local_offsets.at("m/version");
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     "records \"m/data/0\" and \"m/version\" share bytes " + std::to_string(next) + ".." +
                         std::to_string(next + 7));
}

TEST_CASE("range table: quoted headers in a chain of records are overlaps", "[zip]") {
  // Each record's data starts with a stored block that quotes all local headers behind it.
  ZipBuilder builder(Style::plain);
  constexpr std::size_t kCount = 6;
  for (std::size_t i = 0; i < kCount; ++i) builder.add("m/" + std::to_string(i), "data");
  static_cast<void>(builder.build());
  const std::uint64_t end = builder.layout().directory_offset;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string name = "m/" + std::to_string(i);
    const auto length = static_cast<std::uint32_t>(end - builder.layout().data_offsets.at(name));
    ZipRecordOptions& options = builder.record(name);
    options.directory.compressed = length;
    options.directory.bytes = length;
    options.local.compressed = length;
    options.local.bytes = length;
  }
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(directory.findings().size() == kCount - 1);
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "records \"m/0\" and \"m/1\" share bytes"));
}

TEST_CASE("range table: a record that the directory does not name is corrupt", "[zip]") {
  ZipBuilder builder(GENERATE(Style::plain, Style::torch));
  ZipRecordOptions hidden;
  hidden.in_directory = false;
  builder.add("m/data.pkl", "N.").add("m/data/9", "hidden", hidden).add("m/version", "3\n");
  const zip::Directory directory = read_directory(builder);
  check_only_finding(
      directory.findings(), ErrorCode::corrupt,
      "bytes at " + std::to_string(builder.layout().local_offsets.at("m/data/9")) + " belong to no record");
}

TEST_CASE("range table: a hidden record at the start is a prefix", "[zip]") {
  ZipBuilder builder(Style::plain);
  ZipRecordOptions hidden;
  hidden.in_directory = false;
  builder.add("m/data/9", "hidden", hidden).add("m/data.pkl", "N.");
  check_only_finding(builder, ErrorCode::corrupt, "archive does not start at byte 0");
}
