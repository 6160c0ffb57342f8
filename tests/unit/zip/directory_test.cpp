#include "ckpt/zip/directory.h"

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

std::string name_of(std::size_t number) { return "m/data/" + std::to_string(number); }

ZipBuilder many_records(std::size_t count, std::size_t data_bytes) {
  ZipBuilder builder;
  const std::string data(data_bytes, 'd');
  for (std::size_t i = 0; i < count; ++i) builder.add(name_of(i), data);
  return builder;
}

bool all_data_is_at(const zip::Directory& directory, const ZipLayout& layout) {
  for (const zip::Entry& entry : directory.entries()) {
    const auto at = layout.data_offsets.find(std::string(entry.name));
    if (at == layout.data_offsets.end() || at->second != entry.data_offset) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("directory: the smallest torch archive is read without findings", "[zip]") {
  ZipBuilder builder = torch_archive();
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  REQUIRE(directory.entries().size() == 4);
  CHECK(directory.has_zip64());
  CHECK(directory.has_one_end());
  CHECK(directory.comment_bytes() == 0);
  CHECK(directory.directory_offset() == builder.layout().directory_offset);
  CHECK(directory.directory_offset() + directory.directory_bytes() == builder.layout().zip64_offset);
  const zip::Entry& data = directory.entries()[2];
  CHECK(data.name == "m/data/0");
  CHECK(data.bytes == 16);
  CHECK(data.data_offset % 64 == 0);
  CHECK(data.local_offset == builder.layout().local_offsets.at("m/data/0"));
  CHECK(data.end_offset == data.data_offset + 16 + 16);
  CHECK(data.flags == 0x0808);
  CHECK(data.has_checksum());
  CHECK(data.is_stored());
  CHECK(all_data_is_at(directory, builder.layout()));
}

TEST_CASE("directory: a plain archive is read without findings", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries().size() == 4);
  CHECK_FALSE(directory.has_zip64());
  CHECK(all_data_is_at(directory, builder.layout()));
}

TEST_CASE("directory: find takes one look-up whether the name is there or not", "[zip]") {
  ZipBuilder builder = many_records(1000, 1);
  const zip::Directory directory = read_directory(builder);
  REQUIRE(directory.find("m/data/999") != nullptr);
  CHECK(directory.find("m/data/999")->name == "m/data/999");
  CHECK(directory.find("m/data/1000") == nullptr);
  CHECK(directory.find("") == nullptr);
  CHECK(directory.lookups() == 4);
  std::size_t found = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    if (directory.find(name_of(i)) == &directory.entries()[i]) ++found;
  }
  CHECK(found == 1000);
  CHECK(directory.lookups() == 1004);
}

TEST_CASE("directory: names stay valid when it is moved", "[zip]") {
  ZipBuilder builder = torch_archive();
  zip::Directory first = read_directory(builder);
  const zip::Directory second = std::move(first);
  CHECK(second.entries()[0].name == "m/data.pkl");
  CHECK(second.find("m/version") == &second.entries()[3]);
  STATIC_REQUIRE(!std::is_copy_constructible_v<zip::Directory>);
}

TEST_CASE("directory: empty records have neither flag bit 3 nor a descriptor", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.add("m/data/1", "");
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[4].flags == 0x0800);
  CHECK(directory.entries()[4].has_checksum());
}

TEST_CASE("directory: an empty record with a descriptor is accepted", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  ZipRecordOptions options;
  options.descriptor = 16;
  builder.add("m/data/1", "", options).add("m/data/2", "", {});
  check_clean(read_directory(builder));
}

TEST_CASE("directory: all four forms of a descriptor are accepted", "[zip]") {
  const unsigned length = GENERATE(12U, 16U, 20U, 24U);
  const Style style = GENERATE(Style::torch, Style::plain);
  ZipBuilder builder(style);
  ZipRecordOptions options;
  options.descriptor = length;
  // The large one lies outside of what is read with the headers.
  builder.add("m/small", "abcd", options)
      .add("m/large", std::string(200'000, 'x'), options)
      .add("m/end", "e", options);
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[1].end_offset == directory.entries()[1].data_offset + 200'000 + length);
}

TEST_CASE("directory: names with spaces, dots and Unicode are accepted", "[zip]") {
  ZipBuilder builder(Style::torch);
  for (const std::string_view root :
       {"my model", "a.b.c", ".x", "..x", "a..b", "mod\xC3\xA8le", "\xE6\xA8\xA1\xE5\x9E\x8B"}) {
    builder.add(std::string(root) + "/data.pkl", "N.");
  }
  check_clean(read_directory(builder));
}

TEST_CASE("directory: folders, __MACOSX and a plain comment are accepted", "[zip]") {
  ZipBuilder builder(Style::plain);
  builder.add("m/", "").add("m/data.pkl", "N.").add("__MACOSX/m/._data.pkl", "x").add("m/data/", "");
  builder.end().comment = "made by hand";
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[0].is_folder());
  CHECK_FALSE(directory.entries()[1].is_folder());
  CHECK(directory.comment_bytes() == 12);
}

TEST_CASE("directory: a comment of 65,535 bytes is accepted", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.end().comment = std::string(65535, 'c');
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.comment_bytes() == 65535);
}

TEST_CASE("directory: entries in another order than the records are accepted", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.set_directory_order({3, 1, 0, 2});
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[0].name == "m/version");
  CHECK(all_data_is_at(directory, builder.layout()));
}

TEST_CASE("directory: any alignment is accepted", "[zip]") {
  const std::uint64_t alignment = GENERATE(1U, 16U, 64U, 100U, 4096U, 65536U);
  ZipBuilder builder = torch_archive();
  builder.set_alignment(alignment);
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[2].data_offset % alignment == 0);
}

TEST_CASE("directory: checksums that were switched off are no finding", "[zip]") {
  ZipBuilder builder(Style::torch);
  ZipRecordOptions options;
  options.crc = 0;
  builder.add("m/data.pkl", "N.", options).add("m/empty", "", options);
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK_FALSE(directory.entries()[0].has_checksum());
  CHECK(directory.entries()[1].has_checksum());
}

TEST_CASE("directory: a ZIP64 field that nobody needs is accepted where it is true", "[zip]") {
  ZipBuilder builder(Style::plain);
  ZipRecordOptions options;
  options.directory.extra = zip64_field({4, 4, 0});
  options.local.extra = zip64_field({4, 0});
  builder.add("m/data.pkl", "abcd", options);
  check_clean(read_directory(builder));
}

TEST_CASE("directory: all-ones fields are taken from the ZIP64 field in order", "[zip]") {
  ZipBuilder builder(Style::plain);
  builder.add("m/first", "12");
  ZipRecordOptions options;
  options.directory.extra = zip64_field({4, 4, 39});
  options.directory.bytes = 0xFFFFFFFF;
  options.directory.compressed = 0xFFFFFFFF;
  options.directory.offset = 0xFFFFFFFF;
  options.local.extra = zip64_field({4, 4});
  options.local.bytes = 0xFFFFFFFF;
  options.local.compressed = 0xFFFFFFFF;
  builder.add("m/data.pkl", "abcd", options);
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries()[1].local_offset == 39);
  CHECK(directory.entries()[1].bytes == 4);
}

TEST_CASE("directory: a record above 4 GiB and a small one behind it are read as torch writes them",
          "[zip]") {
  constexpr std::uint64_t kLarge = (4ULL << 30U) + 123;
  ZipBuilder builder(Style::torch);
  ZipRecordOptions hole;
  hole.hole_bytes = kLarge;
  builder.add("m/data.pkl", "N.").add("m/data/0", "", hole).add("m/data/1", "abcd").add("m/version", "3\n");
  const auto source = builder.build_sparse();
  const zip::Directory directory = read_directory(source);
  check_clean(directory);
  const zip::Entry& large = directory.entries()[1];
  CHECK(large.bytes == kLarge);
  CHECK(large.end_offset == large.data_offset + kLarge + 24);
  const zip::Entry& behind = directory.entries()[2];
  CHECK(behind.local_offset > kLarge);
  CHECK(behind.data_offset % 64 == 0);
  CHECK(behind.bytes == 4);
  // 8-byte ZIP64 field in the local header, numbers 0 there, 64-bit descriptor.
  CHECK(behind.end_offset == behind.data_offset + 4 + 24);
  CHECK(source->count().bytes < 200'000);
}

TEST_CASE("directory: more than 65,535 records are counted by ZIP64", "[zip]") {
  ZipBuilder builder(Style::plain);
  for (std::size_t i = 0; i < 70'000; ++i) builder.add(name_of(i), "");
  const zip::Directory directory = read_directory(builder);
  check_clean(directory);
  CHECK(directory.entries().size() == 70'000);
  CHECK(directory.has_zip64());
}

TEST_CASE("directory: every prefix of a good archive fails cleanly", "[zip]") {
  for (const Style style : {Style::torch, Style::plain}) {
    ZipBuilder builder = torch_archive(style);
    const std::vector<std::byte> whole = builder.build();
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Error error = directory_error(std::make_shared<MemorySource>(
          std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))));
      CAPTURE(length, error_line(error));
      REQUIRE(error.code == (length < 4 ? ErrorCode::unknown_format : ErrorCode::truncated));
    }
  }
}

TEST_CASE("directory: no flipped byte leads outside of the file", "[zip]") {
  ZipBuilder builder = torch_archive();
  const std::vector<std::byte> whole = builder.build();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned mask : {0x01U, 0x80U, 0xFFU}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= static_cast<std::byte>(mask);
      const auto source = std::make_shared<MemorySource>(std::move(bytes));
      const auto directory = zip::Directory::read(source, {});
      if (!directory) continue;
      for (const zip::Entry& entry : directory->entries()) {
        REQUIRE(entry.data_offset <= source->size());
        if (entry.data_offset > 0) REQUIRE(entry.compressed_bytes <= source->size() - entry.data_offset);
      }
    }
  }
}

TEST_CASE("directory: random cuts and copies inside an archive do not crash", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.add_deflated("m/code.py", std::string(1000, 'p'));
  const std::vector<std::byte> whole = builder.build();
  std::uint32_t state = 1;
  const auto next = [&state](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::size_t>(state >> 8U) % below;
  };
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> bytes = whole;
    const std::size_t length = 1 + next(64);
    const std::size_t from = next(bytes.size() - length);
    const std::size_t to = next(bytes.size() - length);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(from), length,
                bytes.begin() + static_cast<std::ptrdiff_t>(to));
    const auto directory = zip::Directory::read(std::make_shared<MemorySource>(std::move(bytes)), {});
    if (directory) CHECK(directory->entries().size() <= whole.size() / 46);
  }
}

TEST_CASE("directory: reads and bytes grow with the number of records, not faster", "[zip]") {
  struct Work {
    std::size_t records;
    ReadCount count;
    std::uint64_t size;
  };
  std::vector<Work> work;
  for (const std::size_t records : {1'000U, 10'000U, 100'000U}) {
    ZipBuilder builder = many_records(records, 64);
    const auto source = builder.build_source();
    const zip::Directory directory = read_directory(source);
    check_clean(directory);
    REQUIRE(directory.entries().size() == records);
    work.push_back({records, source->count(), source->size()});
  }
  for (const Work& each : work) {
    CAPTURE(each.records, each.count.reads, each.count.bytes, each.size);
    // Headers of small records are neighbours: all bytes once, in windows of 256 KiB; the directory and the
    // tail once more.
    CHECK(each.count.reads <= 2 + each.size / (200 << 10U) + 1);
    CHECK(each.count.bytes <= each.size + (65ULL << 10U) + 256 * each.count.reads);
  }
}

TEST_CASE("directory: large records cost one small read each", "[zip]") {
  for (const std::size_t records : {100U, 1'000U}) {
    ZipBuilder builder(Style::torch);
    ZipRecordOptions hole;
    hole.hole_bytes = 1ULL << 20U;
    for (std::size_t i = 0; i < records; ++i) builder.add(name_of(i), "", hole);
    const auto source = builder.build_sparse();
    const zip::Directory directory = read_directory(source);
    check_clean(directory);
    CAPTURE(records, source->count().reads, source->count().bytes);
    CHECK(source->count().reads <= records + 2);
    CHECK(source->count().bytes <= records * 300 + (66ULL << 10U));
  }
}

TEST_CASE("directory: too many records or too large a directory is a limit, before it is read", "[zip]") {
  ZipBuilder builder = many_records(100, 1);
  const auto source = builder.build_source();
  Limits limits;
  limits.zip_records = 99;
  Error error = directory_error(source, limits);
  CHECK(error.code == ErrorCode::limit);
  CHECK(error.message.find("zip-records") != std::string::npos);
  CHECK(error.expected == "99");
  CHECK(error.found == "100");
  CHECK(source->count().reads == 1);
  limits = {};
  limits.directory_bytes = 5000;
  error = directory_error(source, limits);
  CHECK(error.code == ErrorCode::limit);
  CHECK(error.message.find("directory-bytes") != std::string::npos);
  limits.directory_bytes = 256ULL << 20U;
  limits.zip_records = 100;
  check_clean(read_directory(source, limits));
}

TEST_CASE("directory: more entries than promised still stop at the limit", "[zip]") {
  ZipBuilder builder = many_records(100, 1);
  builder.end().zip64_records = 5;
  builder.end().records = 5;
  Limits limits;
  limits.zip_records = 50;
  CHECK(directory_error(builder.build_source(), limits).code == ErrorCode::limit);
}

TEST_CASE("directory: at most 50 findings of one kind, then one that counts the rest", "[zip]") {
  ZipBuilder builder(Style::torch);
  for (std::size_t i = 0; i < 120; ++i) {
    ZipRecordOptions options;
    options.local.method = 8;
    builder.add(name_of(i), "x", options);
  }
  const zip::Directory directory = read_directory(builder);
  CHECK(directory.findings().size() == 51);
  CHECK(directory.findings()[0].what.record == "m/data/0");
  CHECK(directory.findings()[49].what.record == "m/data/49");
  CHECK(has_finding(directory.findings(), ErrorCode::ambiguous, "and 70 more"));
}

TEST_CASE("directory: a file that shrinks under the reader is an error", "[zip]") {
  class FailingSource final : public ByteSource {
   public:
    explicit FailingSource(std::shared_ptr<const ByteSource> inner) : inner_(std::move(inner)) {}
    std::uint64_t size() const override { return inner_->size(); }
    Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
      if (offset == 0) return fail(ErrorCode::changed, "file changed");
      return inner_->read_at(offset, out);
    }

   private:
    std::shared_ptr<const ByteSource> inner_;
  };
  ZipBuilder builder(Style::torch);
  builder.add("m/data.pkl", std::string(100'000, 'p')).add("m/x", "y");
  const auto source = std::make_shared<FailingSource>(builder.build_source());
  CHECK(directory_error(source).code == ErrorCode::changed);
}
