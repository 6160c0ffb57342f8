#include "ckpt/zip/archive.h"

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

zip::Archive open_archive(ZipBuilder& builder) {
  auto archive = zip::Archive::open(builder.build_source(), {});
  if (!archive) FAIL(error_line(archive.error()));
  return *std::move(archive);
}

std::string read_text(const zip::Archive& archive, std::string_view name) {
  const zip::Entry* entry = archive.directory().find(name);
  REQUIRE(entry != nullptr);
  const auto bytes = archive.read(*entry, 1U << 20U, "pickle-bytes");
  if (!bytes) FAIL(error_line(bytes.error()));
  return std::string(as_text(*bytes));
}

Error read_error(ZipBuilder& builder, std::string_view name, std::uint64_t max_bytes = 1U << 20U) {
  const zip::Archive archive = open_archive(builder);
  const zip::Entry* entry = archive.directory().find(name);
  REQUIRE(entry != nullptr);
  const auto bytes = archive.read(*entry, max_bytes, "pickle-bytes");
  REQUIRE_FALSE(bytes.has_value());
  CHECK(bytes.error().record == name);
  return bytes.error();
}

bool says(const Error& error, std::string_view part) {
  return error_line(error).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("archive: a stored record is read in one read", "[zip]") {
  ZipBuilder builder = torch_archive();
  const zip::Archive archive = open_archive(builder);
  const std::uint64_t before = archive.source()->count().reads;
  CHECK(read_text(archive, "m/byteorder") == "little");
  CHECK(archive.source()->count().reads == before + 1);
}

TEST_CASE("archive: a deflated record is inflated", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::torch, Style::plain));
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * i);
  builder.add_deflated("m/code.py", text)
      .add_deflated("m/empty", "")
      .add_deflated("m/zeros", std::string(500'000, '\0'));
  const zip::Archive archive = open_archive(builder);
  check_clean(archive.directory());
  CHECK(read_text(archive, "m/code.py") == text);
  CHECK(read_text(archive, "m/empty").empty());
  CHECK(read_text(archive, "m/zeros") == std::string(500'000, '\0'));
}

TEST_CASE("archive: inflating costs the same however many records there are", "[zip]") {
  std::uint64_t reads[2] = {};
  for (const std::size_t i : {0U, 1U}) {
    ZipBuilder builder(Style::torch);
    builder.add_deflated("m/code.py", std::string(1000, 'c'));
    for (std::size_t k = 0; k < (i == 0 ? 10U : 5000U); ++k) builder.add("m/" + std::to_string(k), "x");
    const zip::Archive archive = open_archive(builder);
    const std::uint64_t before = archive.source()->count().reads;
    CHECK(read_text(archive, "m/code.py").size() == 1000);
    reads[i] = archive.source()->count().reads - before;
  }
  CHECK(reads[0] == reads[1]);
}

TEST_CASE("archive: a wrong checksum is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions options;
  options.crc = 0x11223344;
  builder.add("m/stored", "data", options).add_deflated("m/deflated", "data data data", options);
  const Error stored = read_error(builder, "m/stored");
  CHECK(stored.code == ErrorCode::corrupt);
  CHECK(says(stored, "wrong checksum: directory says 11223344, data has adf3f363"));
  const Error inflated = read_error(builder, "m/deflated");
  CHECK(inflated.code == ErrorCode::corrupt);
  CHECK(says(inflated, "wrong checksum"));
}

TEST_CASE("archive: a checksum that is not recorded is not checked", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions options;
  options.crc = 0;
  builder.add("m/stored", "data", options).add_deflated("m/deflated", "data data data", options);
  const zip::Archive archive = open_archive(builder);
  CHECK(read_text(archive, "m/stored") == "data");
  CHECK(read_text(archive, "m/deflated") == "data data data");
}

TEST_CASE("archive: a record above the limit is refused from the directory alone", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.add_deflated("m/bomb", std::string(1'000'000, '\0'));
  const zip::Archive archive = open_archive(builder);
  const std::uint64_t before = archive.source()->count().reads;
  const auto bytes = archive.read(*archive.directory().find("m/bomb"), 999'999, "pickle-bytes");
  REQUIRE_FALSE(bytes.has_value());
  CHECK(bytes.error().code == ErrorCode::limit);
  CHECK(says(bytes.error(), "m/bomb: record of 1000000 bytes, limit pickle-bytes is 999999"));
  CHECK(archive.source()->count().reads == before);
}

TEST_CASE("archive: encrypted records and other methods are unsupported", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions encrypted;
  encrypted.flags = 0x0809;
  ZipRecordOptions lzma;
  lzma.method = 14;
  builder.add("m/encrypted", "data", encrypted).add("m/lzma", "data", lzma);
  CHECK(read_error(builder, "m/encrypted").code == ErrorCode::unsupported);
  const Error error = read_error(builder, "m/lzma");
  CHECK(error.code == ErrorCode::unsupported);
  CHECK(says(error, "method 14"));
}

TEST_CASE("archive: a record without a readable header is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.record("m/version").local.signature = 0;
  CHECK(read_error(builder, "m/version").code == ErrorCode::corrupt);
}

TEST_CASE("archive: a damaged deflate stream is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions options;
  options.method = 8;
  options.bytes = 100;
  builder.add("m/code.py", "\xff\xff\xff\xff", options);
  const Error error = read_error(builder, "m/code.py");
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(says(error, "deflate stream"));
  CHECK(error.offset == builder.layout().data_offsets.at("m/code.py"));
}

TEST_CASE("archive: a deflate stream that ends early or goes on is corrupt", "[zip]") {
  for (const std::uint64_t claimed : {13U, 15U}) {
    ZipBuilder builder = torch_archive();
    ZipRecordOptions options;
    options.bytes = claimed;
    builder.add_deflated("m/code.py", "data data data", options);
    CHECK(read_error(builder, "m/code.py").code == ErrorCode::corrupt);
  }
}

TEST_CASE("archive: a deflate stream cut anywhere is corrupt", "[zip]") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i * 7919);
  const std::vector<std::byte> stream = deflated(text);
  for (std::size_t length = 1; length + 1 < stream.size(); length += 7) {
    ZipBuilder builder(Style::plain);
    ZipRecordOptions options;
    options.method = 8;
    options.bytes = text.size();
    builder.add("m/code.py", {stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(length)}, options);
    CAPTURE(length);
    CHECK(read_error(builder, "m/code.py").code == ErrorCode::corrupt);
  }
}

TEST_CASE("archive: bytes after the deflate stream are corrupt", "[zip]") {
  std::string text;
  const std::size_t length = GENERATE(1U, 100U, 40'000U);
  for (std::size_t i = 0; text.size() < length; ++i) text += std::to_string(i * i);
  for (const std::size_t junk : {1U, 8U, 8191U, 8192U, 20'000U}) {
    ZipBuilder builder = torch_archive();
    std::vector<std::byte> stream = deflated(text);
    stream.resize(stream.size() + junk, std::byte{'j'});
    ZipRecordOptions options;
    options.method = 8;
    options.bytes = text.size();
    options.crc = 0;
    builder.add("m/code.py", stream, options);
    CAPTURE(length, junk);
    CHECK(says(read_error(builder, "m/code.py"), "bytes after the deflate stream"));
  }
}

TEST_CASE("archive: an empty record that says deflated is read", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  ZipRecordOptions options;
  options.method = 8;
  builder.add("m/empty", "", options);
  CHECK(read_text(open_archive(builder), "m/empty").empty());
}

TEST_CASE("archive: an impossible ratio is refused before anything is reserved", "[zip]") {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions options;
  options.bytes = 1'000'000'000'000;
  builder.add_deflated("m/code.py", "print(1)", options);
  const Error error = read_error(builder, "m/code.py", ~0ULL);
  CHECK(error.code == ErrorCode::corrupt);
  CHECK(says(error, "deflate cannot make 1000000000000 bytes"));
}
