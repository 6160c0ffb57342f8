#include "ckpt/zip/end_records.h"

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

std::string text_of(const std::vector<std::byte>& bytes) { return std::string(as_text(bytes)); }

std::shared_ptr<const ByteSource> source_of(std::string_view text) {
  return std::make_shared<MemorySource>(to_bytes(text));
}

bool says(const Error& error, std::string_view part) {
  return error_line(error).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("end records: a missing end is truncated, with the size seen", "[zip]") {
  const std::string whole = text_of(torch_archive().build());
  for (const std::size_t cut : {1U, 10U, 22U, 23U, 30U, 100U}) {
    const Error error = directory_error(source_of(whole.substr(0, whole.size() - cut)));
    CAPTURE(cut, error_line(error));
    CHECK(error.code == ErrorCode::truncated);
    CHECK(says(error, "no complete end record in the last 64 KiB"));
    CHECK(says(error, "starts like a ZIP"));
    CHECK(says(error, std::to_string(whole.size() - cut) + " bytes"));
    CHECK_FALSE(says(error, "complete record"));
    CHECK(error.offset == whole.size() - cut);
  }
}

TEST_CASE("end records: a cut archive with sizes tells where its last whole record ends", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  const std::string whole = text_of(builder.build());
  const std::uint64_t third = builder.layout().local_offsets.at("m/data/0");
  const Error error = directory_error(source_of(whole.substr(0, third + 35)));
  CHECK(says(error, "last complete record (of 2) ends at " + std::to_string(third)));
}

TEST_CASE("end records: what never was an archive is an unknown format", "[zip]") {
  CHECK(directory_error(source_of("")).code == ErrorCode::unknown_format);
  CHECK(directory_error(source_of("just a text")).code == ErrorCode::unknown_format);
  CHECK(directory_error(source_of(std::string(100'000, 'x'))).code == ErrorCode::unknown_format);
}

TEST_CASE("end records: an end record alone is an archive without records", "[zip]") {
  const zip::Directory directory = read_directory(source_of("PK\x05\x06" + std::string(18, '\0')));
  check_only_finding(directory.findings(), ErrorCode::corrupt, "archive holds no records");
}

TEST_CASE("end records: an archive in the comment of another is ambiguous", "[zip]") {
  const Style outer = GENERATE(Style::plain, Style::torch);
  const Style inner = GENERATE(Style::plain, Style::torch);
  ZipBuilder builder = torch_archive(outer);
  builder.end().comment = text_of(torch_archive(inner).build());
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(has_finding(directory.findings(), ErrorCode::ambiguous, "inside the comment of the other"));
  CHECK(directory.entries()[2].data_offset == builder.layout().data_offsets.at("m/data/0"));
  CHECK_FALSE(directory.has_one_end());
}

TEST_CASE("end records: an archive in a comment with offsets of the whole file is ambiguous", "[zip]") {
  ZipBuilder outer = torch_archive(Style::plain);
  ZipBuilder inner(Style::plain);
  inner.add("m/evil.pkl", "N.");
  outer.end().comment = text_of(inner.build());
  static_cast<void>(outer.build());
  inner.end().directory_offset =
      static_cast<std::uint32_t>(outer.layout().end_offset + 22 + inner.layout().directory_offset);
  inner.record("m/evil.pkl").directory.offset = static_cast<std::uint32_t>(outer.layout().end_offset + 22);
  outer.end().comment = text_of(inner.build());
  check_finding(outer, ErrorCode::ambiguous, "inside the comment of the other");
}

TEST_CASE("end records: a signature in a comment that cannot be read as a record is none", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().comment = "PK\x05\x06 is how an end record starts, as everybody knows";
  check_clean(read_directory(builder));
}

TEST_CASE("end records: a comment length past the end of the file is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().comment_bytes = 50;
  check_only_finding(builder, ErrorCode::corrupt, "comment length 50 runs past the end of the file");
}

TEST_CASE("end records: bytes after the end record are corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::plain, Style::torch));
  builder.end().suffix = "TRAILING";
  check_only_finding(builder, ErrorCode::corrupt, "8 bytes after the end record");
}

TEST_CASE("end records: a comment longer than its length is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().comment = "sixsix";
  builder.end().comment_bytes = 2;
  check_only_finding(builder, ErrorCode::corrupt, "4 bytes after the end record");
}

TEST_CASE("end records: two archives in one file are corrupt", "[zip]") {
  const Style style = GENERATE(Style::plain, Style::torch);
  const std::string first = text_of(torch_archive(style).build());
  ZipBuilder other = torch_archive(style);
  other.add("m/data/1", "more");
  const std::string second = text_of(other.build());
  for (const std::string& file : {first + first, first + second, second + first}) {
    const zip::Directory directory = read_directory(source_of(file));
    INFO(finding_lines(directory.findings()));
    CHECK_FALSE(directory.findings().empty());
    CHECK((has_finding(directory.findings(), ErrorCode::corrupt, "belong to no record") ||
           has_finding(directory.findings(), ErrorCode::corrupt, "does not start at byte 0")));
  }
}

TEST_CASE("end records: bytes in front of an archive are corrupt, the records are still found", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::plain, Style::torch));
  builder.end().prefix =
      "\x7f"
      "ELF" +
      std::string(60, 'e');
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     "archive does not start at byte 0: 64 bytes before the first record");
  CHECK(directory.entries()[2].data_offset == builder.layout().data_offsets.at("m/data/0"));
}

TEST_CASE("end records: bytes in front that the offsets count are corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::plain, Style::torch));
  builder.record("m/data.pkl").before = std::string(64, 'e');
  check_only_finding(builder, ErrorCode::corrupt, "archive does not start at byte 0: 64 bytes");
}

TEST_CASE("end records: a number of records other than the directory's is corrupt", "[zip]") {
  ZipBuilder plain = torch_archive(Style::plain);
  plain.end().records = 3;
  const zip::Directory directory = read_directory(plain);
  check_only_finding(directory.findings(), ErrorCode::corrupt, "directory says 3 records, holds 4");
  CHECK(directory.entries().size() == 4);
  CHECK(directory.findings()[0].what.expected == "3");
  CHECK(directory.findings()[0].what.found == "4");

  ZipBuilder torch = torch_archive();
  torch.end().records = 5;
  torch.end().zip64_records = 5;
  check_only_finding(torch, ErrorCode::corrupt, "directory says 5 records, holds 4");
}

TEST_CASE("end records: a number of records on this disk other than the total is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  builder.end().records_here = 2;
  check_only_finding(builder, ErrorCode::corrupt, "directory says 2 records on this disk, 4 in all");
}

TEST_CASE("end records: a part of a split archive is unsupported", "[zip]") {
  ZipBuilder numbered = torch_archive(Style::plain);
  numbered.end().disk = 1;
  numbered.end().directory_disk = 1;
  CHECK(directory_error(numbered).code == ErrorCode::unsupported);
  ZipBuilder zip64 = torch_archive();
  zip64.end().zip64_disk = 1;
  CHECK(says(directory_error(zip64), "part of a split archive"));
  ZipBuilder locator = torch_archive();
  locator.end().locator_disks = 2;
  CHECK(directory_error(locator).code == ErrorCode::unsupported);
  ZipBuilder marked = torch_archive(Style::plain);
  marked.record("m/data.pkl").before = "PK\x07\x08";
  CHECK(directory_error(marked).code == ErrorCode::unsupported);
}

TEST_CASE("end records: a directory size other than that of the entries is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  builder.end().directory_bytes = 10;
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     "directory size 10 but entries take " + std::to_string(directory.directory_bytes()));
  CHECK(directory.entries().size() == 4);
}

TEST_CASE("end records: a directory that does not fit is corrupt before anything is reserved", "[zip]") {
  for (const std::uint32_t bytes : {5000U, 0xFFFFFFFEU}) {
    ZipBuilder builder = torch_archive(Style::plain);
    builder.end().directory_bytes = bytes;
    const Error error = directory_error(builder);
    CHECK(error.code == ErrorCode::corrupt);
    CHECK(says(error, "directory of " + std::to_string(bytes) + " bytes"));
    CHECK(says(error, "does not fit"));
  }
}

TEST_CASE("end records: a directory offset past the end is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  builder.end().directory_offset = 0x7FFFFFFF;
  const Error error = directory_error(builder);
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(says(error, "directory at 2147483647 is past the end of the file (" +
                        std::to_string(builder.layout().size)));
}

TEST_CASE("end records: a directory offset between the entries is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  builder.end().directory_offset = 3;
  const Error error = directory_error(builder);
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(says(error, "does not start with a whole entry"));
}

TEST_CASE("end records: a gap before the directory is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::plain, Style::torch));
  builder.end().before_directory = std::string(16, 'h');
  const zip::Directory directory = read_directory(builder);
  check_only_finding(
      directory.findings(), ErrorCode::corrupt,
      "16 bytes at " + std::to_string(builder.layout().directory_offset - 16) + " belong to no record");
}

TEST_CASE("end records: a gap behind the directory is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::plain, Style::torch));
  builder.end().behind_directory = std::string(16, 'h');
  check_only_finding(builder, ErrorCode::corrupt, "16 bytes at ");
}

TEST_CASE("end records: a ZIP64 directory size or offset that wraps is corrupt", "[zip]") {
  ZipBuilder size = torch_archive();
  size.end().zip64_directory_bytes = 1ULL << 62U;
  CHECK(directory_error(size).code == ErrorCode::corrupt);
  ZipBuilder offset = torch_archive();
  offset.end().zip64_directory_offset = ~0ULL - 9;
  const Error error = directory_error(offset);
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(says(error, "directory at 18446744073709551606 is past the end"));
}

TEST_CASE("end records: a ZIP64 count above the limit is a limit only where it could be true", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().zip64_records = 2'000'000;
  builder.end().records = 0xFFFF;
  check_only_finding(builder, ErrorCode::corrupt, "directory says 2000000 records, holds 4");
}

TEST_CASE("end records: numbers in which ZIP64 and plain end record differ are ambiguous", "[zip]") {
  ZipBuilder count = torch_archive();
  count.end().records = 3;
  check_finding(count, ErrorCode::ambiguous, "end record says 3 records, ZIP64 end record 4");
  ZipBuilder offset = torch_archive();
  offset.end().directory_offset = 17;
  check_only_finding(offset, ErrorCode::ambiguous, "end record says 17 as directory offset");
  ZipBuilder bytes = torch_archive();
  bytes.end().directory_bytes = 46;
  check_only_finding(bytes, ErrorCode::ambiguous, "end record says 46 bytes of directory");
}

TEST_CASE("end records: all-ones fields come from ZIP64", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().disk = 0xFFFF;
  builder.end().directory_disk = 0xFFFF;
  builder.end().records = 0xFFFF;
  builder.end().directory_bytes = 0xFFFFFFFF;
  builder.end().directory_offset = 0xFFFFFFFF;
  check_clean(read_directory(builder));
}

TEST_CASE("end records: a locator that points elsewhere is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().locator_offset = GENERATE(7ULL, 1ULL << 40U, ~0ULL);
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     "locator says " + std::to_string(*builder.end().locator_offset) + ", record is at " +
                         std::to_string(builder.layout().zip64_offset));
}

TEST_CASE("end records: a locator without a ZIP64 record is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().zip64_signature = 0x11111111;
  check_finding(builder, ErrorCode::corrupt, "no ZIP64 end record is there");
}

TEST_CASE("end records: extensible data in the ZIP64 record is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().zip64_extension = "12345678";
  check_only_finding(builder, ErrorCode::corrupt, "extensible data not allowed here");
}

TEST_CASE("end records: a ZIP64 record size below 44 is corrupt", "[zip]") {
  for (const std::uint64_t size : {0ULL, 4ULL, 43ULL}) {
    ZipBuilder builder = torch_archive();
    builder.end().zip64_record_bytes = size;
    check_only_finding(builder, ErrorCode::corrupt,
                       "ZIP64 record size " + std::to_string(size) + ", at least 44 needed");
  }
  ZipBuilder huge = torch_archive();
  huge.end().zip64_record_bytes = 1ULL << 63U;
  check_only_finding(huge, ErrorCode::corrupt, "ZIP64 record size 9223372036854775808");
}

TEST_CASE("end records: two million entries are refused from count and size alone", "[zip]") {
  constexpr std::uint64_t kCount = 2'000'000;
  constexpr std::uint64_t kDirectory = kCount * (46 + 9);
  ZipBuilder builder(Style::torch);
  builder.end().zip64_records = kCount;
  builder.end().zip64_directory_bytes = kDirectory;
  builder.end().zip64_directory_offset = 0;
  builder.end().locator_offset = kDirectory;
  builder.end().records = 0xFFFF;
  builder.end().directory_bytes = 0xFFFFFFFF;
  builder.end().directory_offset = 0xFFFFFFFF;
  const std::vector<std::byte> end = builder.build();
  const auto source = std::make_shared<SparseSource>(
      std::map<std::uint64_t, std::vector<std::byte>>{{kDirectory, end}}, kDirectory + end.size());
  const Error error = directory_error(source);
  CHECK(error.code == ErrorCode::limit);
  CHECK(says(error, "2000000 records"));
  CHECK(source->count().reads == 1);
}

TEST_CASE("end records: a directory of gigabytes is refused before it is read", "[zip]") {
  constexpr std::uint64_t kDirectory = 12ULL << 30U;
  ZipBuilder builder(Style::torch);
  builder.end().zip64_records = 65535;
  builder.end().zip64_directory_bytes = kDirectory;
  builder.end().zip64_directory_offset = 0;
  builder.end().locator_offset = kDirectory;
  builder.end().records = 0xFFFF;
  builder.end().directory_bytes = 0xFFFFFFFF;
  builder.end().directory_offset = 0xFFFFFFFF;
  const std::vector<std::byte> end = builder.build();
  const auto source = std::make_shared<SparseSource>(
      std::map<std::uint64_t, std::vector<std::byte>>{{kDirectory, end}}, kDirectory + end.size());
  const Error error = directory_error(source);
  CHECK(error.code == ErrorCode::limit);
  CHECK(says(error, "directory-bytes"));
  CHECK(source->count().reads == 1);
}
