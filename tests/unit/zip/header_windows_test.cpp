#include "ckpt/zip/header_windows.h"

#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

zip::Entry entry_at(std::uint64_t offset, std::uint64_t bytes) {
  zip::Entry entry;
  entry.name = "m/0";
  entry.local_offset = offset;
  entry.bytes = bytes;
  entry.compressed_bytes = bytes;
  return entry;
}

// Records too large to share a window.
ZipBuilder large_records(std::size_t count) {
  ZipBuilder builder(Style::torch);
  for (std::size_t i = 0; i < count; ++i) {
    ZipRecordOptions options;
    if (i % 100 == 7) options.local.method = 8;
    builder.add("m/data/" + std::to_string(i), std::string(10'000, 'd'), options);
  }
  return builder;
}

}  // namespace

TEST_CASE("header windows: neighbours share one, distant records do not", "[zip]") {
  zip::WindowPlanner planner(1'000'000);
  planner.add(entry_at(0, 10), 0);
  planner.add(entry_at(2000, 5000), 1);
  planner.add(entry_at(5000, 5000), 2);
  planner.add(entry_at(10'000, 5000), 3);
  const std::vector<zip::Window> windows = std::move(planner).finish();
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].offset == 0);
  CHECK(windows[0].count == 3);
  CHECK(windows[0].length == 5000 + 30 + 3 + 96);
  CHECK(windows[1].offset == 10'000);
  CHECK(windows[1].first == 3);
  CHECK(windows[1].length == 30 + 3 + 96);
}

TEST_CASE("header windows: none is longer than 256 KiB or reaches past the limit", "[zip]") {
  zip::WindowPlanner planner(1'000'000);
  for (std::uint32_t i = 0; i < 1000; ++i) planner.add(entry_at(i * 1000, 10), i);
  const std::vector<zip::Window> windows = std::move(planner).finish();
  CHECK(windows.size() == 4);
  std::uint32_t records = 0;
  for (const zip::Window& window : windows) {
    CHECK(window.length <= 256U << 10U);
    CHECK(window.offset + window.length <= 1'000'000);
    CHECK(window.first == records);
    records += window.count;
  }
  CHECK(records == 1000);

  zip::WindowPlanner tight(40);
  tight.add(entry_at(5, 10), 0);
  CHECK(std::move(tight).finish()[0].length == 35);
}

TEST_CASE("header windows: hundreds of a file are read in parallel, with the same result", "[zip]") {
  const TempDir folder;
  ZipBuilder builder = large_records(1000);
  const std::vector<std::byte> bytes = builder.build();
  const auto file = FileSource::open(folder.write_file("large.pt", bytes));
  REQUIRE(file.has_value());
  const zip::Directory from_file = read_directory(*file);
  const zip::Directory from_memory = read_directory(builder);
  CHECK(from_file.findings().size() == 10);
  CHECK(finding_lines(from_file.findings()) == finding_lines(from_memory.findings()));
  REQUIRE(from_file.entries().size() == 1000);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const zip::Entry& a = from_file.entries()[i];
    const zip::Entry& b = from_memory.entries()[i];
    same += a.data_offset == b.data_offset && a.end_offset == b.end_offset ? 1 : 0;
  }
  CHECK(same == 1000);
}
