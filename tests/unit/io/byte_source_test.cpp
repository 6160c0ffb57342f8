#include "ckpt/io/byte_source.h"

#include <filesystem>
#include <unistd.h>

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using ckpt::ErrorCode;
using ckpt::FileSource;
using ckpt::MemorySource;
using ckpt::test::pattern_bytes;
using ckpt::test::TempDir;

TEST_CASE("file_source: ranges inside the file, their bytes and counts", "[io]") {
  const TempDir folder;
  const auto bytes = pattern_bytes(10'000);
  const auto source = FileSource::open(folder.write_file("a", bytes)).value();
  CHECK(source->size() == 10'000);
  CHECK(source->read_vector(0, 10'000).value() == bytes);
  CHECK(source->read_vector(9'999, 1).value().front() == bytes.back());
  CHECK(source->read_vector(10'000, 0).value().empty());
  CHECK(source->count().bytes == 10'001);
  CHECK(source->count().reads == 2);
}

TEST_CASE("file_source: a range behind the end, short-file with both numbers and no read", "[io]") {
  const TempDir folder;
  const auto source = FileSource::open(folder.write_file("a", pattern_bytes(100))).value();
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{0, 101},
                                       {100, 1},
                                       {101, 0},
                                       {UINT64_MAX, 2},
                                       {50, UINT64_MAX},
                                       {0, 1ULL << 62U}}) {
    const auto read = source->read_vector(offset, length);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::short_file);
    CHECK(read.error().offset == offset);
    CHECK(read.error().found == "100");
  }
  CHECK(source->read_vector(90, 20).error().expected == "110");
  std::vector<std::byte> out(101);
  CHECK(source->read_at(0, out).error().file == source->path());
  CHECK(source->count().reads == 0);
}

TEST_CASE("file_source: cut after it was opened, changed with both sizes", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("a", pattern_bytes(1000));
  const auto source = FileSource::open(path).value();
  REQUIRE(truncate(path.c_str(), 600) == 0);
  const auto read = source->read_vector(500, 400);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::changed);
  CHECK(read.error().message == "file shrank while reading: expected 400 bytes at 500, found 100");
  CHECK(read.error().expected == "1000");
  CHECK(read.error().found == "600");
  CHECK(source->check_unchanged().error().code == ErrorCode::changed);
}

TEST_CASE("file_source: a file that holds less than its size says, short-file", "[io]") {
  // Files of sysfs claim a page and hold a line.
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  const auto source = FileSource::open(path);
  if (!source || (*source)->size() < 1000) return;
  const auto read = (*source)->read_vector(0, (*source)->size());
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::short_file);
  CHECK(read.error().message.starts_with("file ended while reading: expected "));
}

TEST_CASE("file_source: check_unchanged, notices size, content and nothing else", "[io]") {
  const TempDir folder;
  const auto path = folder.write_file("a", std::string_view("0123456789"));
  const auto source = FileSource::open(path).value();
  CHECK(source->check_unchanged());
  (void)source->read_vector(0, 10);
  CHECK(source->check_unchanged());
  // A time of its own, since the clock of file times may tick only every few milliseconds.
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(source->check_unchanged().error().code == ErrorCode::changed);
}

TEST_CASE("file_source: removed after it was opened, still readable", "[io]") {
  const TempDir folder;
  const auto bytes = pattern_bytes(1000);
  const auto path = folder.write_file("a", bytes);
  const auto source = FileSource::open(path).value();
  std::filesystem::remove(path);
  CHECK(source->read_vector(0, 1000).value() == bytes);
}

TEST_CASE("memory_source: ranges, the same rules as a file", "[io]") {
  const auto bytes = pattern_bytes(100);
  const MemorySource source(bytes);
  CHECK(source.read_vector(0, 100).value() == bytes);
  CHECK(source.read_vector(100, 0).value().empty());
  CHECK(source.read_vector(99, 2).error().code == ErrorCode::short_file);
  CHECK(source.read_vector(UINT64_MAX, UINT64_MAX).error().code == ErrorCode::short_file);
  CHECK(source.count().reads == 2);
  CHECK(source.count().bytes == 100);
}

}  // namespace
