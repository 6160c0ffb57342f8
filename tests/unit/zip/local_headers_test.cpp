#include "ckpt/zip/local_headers.h"

#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

// A torch archive whose `m/data/0` has these options.
ZipBuilder with_options(const ZipRecordOptions& options, Style style = Style::torch) {
  ZipBuilder builder = torch_archive(style);
  builder.record("m/data/0") = options;
  return builder;
}

ZipBuilder with_local(const ZipHeaderFields& fields, Style style = Style::torch) {
  ZipRecordOptions options;
  options.local = fields;
  return with_options(options, style);
}

}  // namespace

TEST_CASE("local headers: another name is ambiguous", "[zip]") {
  for (const std::string_view name : {"m/date/0", "m/data/00", "m/data/", ""}) {
    ZipHeaderFields fields;
    fields.name = name;
    ZipBuilder builder = with_local(fields);
    const zip::Directory directory = read_directory(builder);
    check_only_finding(
        directory.findings(), ErrorCode::ambiguous,
        "named \"m/data/0\" in the directory, \"" + std::string(name) + "\" in the local header");
    CHECK(directory.entries()[2].data_offset == builder.layout().data_offsets.at("m/data/0"));
  }
}

TEST_CASE("local headers: a name or extra area that runs into the directory is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.record("m/version").local.extra_length = 60'000;
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt, "runs into the directory");
  CHECK(directory.entries()[3].data_offset == 0);
}

TEST_CASE("local headers: another method is ambiguous", "[zip]") {
  ZipHeaderFields fields;
  fields.method = 8;
  ZipBuilder builder = with_local(fields);
  check_only_finding(builder, ErrorCode::ambiguous, "method 0 in the directory, 8 in the local header");
}

TEST_CASE("local headers: other flags are ambiguous", "[zip]") {
  ZipHeaderFields fields;
  fields.flags = 0x0008;
  ZipBuilder builder = with_local(fields);
  check_only_finding(builder, ErrorCode::ambiguous,
                     "flags 0x0808 in the directory, 0x0008 in the local header");
}

TEST_CASE("local headers: the encrypted flag on one side is ambiguous, on both unsupported", "[zip]") {
  ZipRecordOptions directory_only;
  directory_only.directory.flags = 0x0809;
  ZipBuilder first = with_options(directory_only);
  check_only_finding(first, ErrorCode::ambiguous, "encrypted flag set in the directory only");
  ZipRecordOptions local_only;
  local_only.local.flags = 0x0809;
  ZipBuilder second = with_options(local_only);
  check_only_finding(second, ErrorCode::ambiguous, "encrypted flag set in the local header only");
  ZipRecordOptions both;
  both.flags = 0x0809;
  ZipBuilder third = with_options(both);
  check_only_finding(third, ErrorCode::unsupported, "m/data/0: record is encrypted");
}

TEST_CASE("local headers: sizes that are there and differ are corrupt", "[zip]") {
  const Style style = GENERATE(Style::plain, Style::torch);
  ZipHeaderFields fields;
  fields.compressed = 15;
  ZipBuilder compressed = with_local(fields, style);
  check_only_finding(compressed, ErrorCode::corrupt,
                     "compressed size 16 in the directory, 15 in the local header");
  fields = {};
  fields.bytes = 17;
  ZipBuilder bytes = with_local(fields, style);
  check_only_finding(bytes, ErrorCode::corrupt,
                     "uncompressed size 16 in the directory, 17 in the local header");
}

TEST_CASE("local headers: sizes of 0 need flag bit 3", "[zip]") {
  ZipHeaderFields fields;
  fields.compressed = 0;
  fields.bytes = 0;
  ZipBuilder builder = with_local(fields, Style::plain);
  check_only_finding(builder, ErrorCode::corrupt, "size 16 in the directory, 0 in the local header");
}

TEST_CASE("local headers: a checksum that is there and differs is corrupt", "[zip]") {
  ZipHeaderFields fields;
  fields.crc = 0x12345678;
  ZipBuilder builder = with_local(fields, GENERATE(Style::plain, Style::torch));
  check_only_finding(builder, ErrorCode::corrupt, "12345678 in the local header");
}

TEST_CASE("local headers: true sizes and checksum beside flag bit 3 are accepted", "[zip]") {
  ZipRecordOptions options;
  options.crc = 77;
  options.local.crc = 77;
  options.local.bytes = 16;
  options.local.compressed = 16;
  ZipBuilder builder = with_options(options);
  check_clean(read_directory(builder));
}

TEST_CASE("local headers: no signature is corrupt and shows the bytes", "[zip]") {
  ZipHeaderFields fields;
  fields.signature = 0x44434241;
  ZipBuilder builder = with_local(fields);
  const zip::Directory directory = read_directory(builder);
  check_only_finding(directory.findings(), ErrorCode::corrupt, "bytes 41424344 instead of 504b0304");
  CHECK(directory.findings()[0].what.offset == builder.layout().local_offsets.at("m/data/0"));
  CHECK(directory.entries()[2].data_offset == 0);
  CHECK(directory.entries()[3].data_offset != 0);
}

TEST_CASE("local headers: an offset inside another record is corrupt", "[zip]") {
  for (const std::uint32_t offset : {3U, 100U}) {
    ZipRecordOptions options;
    options.directory.offset = offset;
    ZipBuilder builder = with_options(options);
    const zip::Directory directory = read_directory(builder);
    INFO(finding_lines(directory.findings()));
    CHECK(has_finding(directory.findings(), ErrorCode::corrupt,
                      "no local header at " + std::to_string(offset)));
    CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "belong to no record"));
    CHECK(directory.entries()[2].data_offset == 0);
  }
}

TEST_CASE("local headers: an offset moved by one is corrupt, the others are still found", "[zip]") {
  ZipBuilder builder = torch_archive();
  static_cast<void>(builder.build());
  builder.record("m/data/0").directory.offset =
      static_cast<std::uint32_t>(builder.layout().local_offsets.at("m/data/0") + 1);
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "m/data/0: no local header"));
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt, "1 byte at "));
  CHECK(directory.entries()[1].data_offset != 0);
  CHECK(directory.entries()[3].data_offset != 0);
}

TEST_CASE("local headers: an offset past the end or in the directory is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive();
  static_cast<void>(builder.build());
  const auto inside = static_cast<std::uint32_t>(builder.layout().directory_offset + 5);
  for (const std::uint32_t offset : {1'000'000U, 0xFFFFFFFFU, inside}) {
    ZipRecordOptions options;
    options.directory.offset = offset;
    ZipBuilder changed = with_options(options);
    const zip::Directory directory = read_directory(changed);
    INFO(finding_lines(directory.findings()));
    CHECK(has_finding(directory.findings(), ErrorCode::corrupt,
                      "m/data/0: record starts at " + std::to_string(offset)));
    CHECK(directory.entries()[2].data_offset == 0);
  }
}

TEST_CASE("local headers: a size past the end of the file is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.directory.bytes = 0xFFFFFFF0;
  options.directory.compressed = 0xFFFFFFF0;
  ZipBuilder builder = with_options(options);
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  const std::uint64_t end = builder.layout().data_offsets.at("m/data/0") + 0xFFFFFFF0;
  CHECK(has_finding(directory.findings(), ErrorCode::corrupt,
                    "m/data/0: record ends at " + std::to_string(end) + ", file has " +
                        std::to_string(builder.layout().size) + " bytes"));
  CHECK(directory.entries()[2].data_offset == 0);
}

TEST_CASE("local headers: a size that wraps is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.directory.bytes = 0xFFFFFFFF;
  options.directory.compressed = 0xFFFFFFFF;
  options.directory.extra = zip64_field({~0ULL, ~0ULL});
  ZipBuilder builder = with_options(options);
  check_finding(builder, ErrorCode::corrupt, "m/data/0: record ends at ");
}

TEST_CASE("local headers: data that covers the directory is corrupt", "[zip]") {
  ZipBuilder builder = torch_archive(Style::plain);
  ZipRecordOptions& options = builder.record("m/version");
  options.directory.bytes = 62;
  options.directory.compressed = 62;
  options.local.bytes = 62;
  options.local.compressed = 62;
  const zip::Directory directory = read_directory(builder);
  const std::uint64_t start = directory.directory_offset();
  check_only_finding(
      directory.findings(), ErrorCode::corrupt,
      "record and the directory share bytes " + std::to_string(start) + ".." + std::to_string(start + 59));
  CHECK(directory.entries()[3].data_offset == 0);
}

TEST_CASE("local headers: an extra field past its area is corrupt", "[zip]") {
  for (const std::string& extra : {std::string("\x01\x00\xff\x00zz", 6), std::string("abc")}) {
    ZipHeaderFields fields;
    fields.extra = extra;
    ZipBuilder builder = with_local(fields, Style::plain);
    check_only_finding(builder, ErrorCode::corrupt, "extra field of the local header runs past its area");
  }
}

TEST_CASE("local headers: ZIP64 fields that repeat or disagree are corrupt", "[zip]") {
  ZipHeaderFields fields;
  fields.extra = zip64_field({16, 16}) + zip64_field({16, 16});
  ZipBuilder twice = with_local(fields);
  check_only_finding(twice, ErrorCode::corrupt, "duplicate ZIP64 field in the local header");
  fields.extra = zip64_field({16, 400});
  ZipBuilder differs = with_local(fields);
  check_only_finding(differs, ErrorCode::corrupt, "ZIP64 field of the local header disagrees");
  fields.extra = zip64_field({400, 400});
  fields.bytes = 0xFFFFFFFF;
  fields.compressed = 0xFFFFFFFF;
  ZipBuilder sizes = with_local(fields, Style::plain);
  check_finding(sizes, ErrorCode::corrupt, "size 16 in the directory, 400 in the local header");
}

TEST_CASE("local headers: an 8-byte ZIP64 field with sizes 0 is accepted", "[zip]") {
  ZipHeaderFields fields;
  fields.extra = zip64_field({0});
  ZipBuilder builder = with_local(fields);
  check_clean(read_directory(builder));
}

TEST_CASE("local headers: an extra area longer than the first read is read again", "[zip]") {
  ZipBuilder builder(Style::torch);
  builder.set_alignment(16384);
  builder.add("m/data.pkl", std::string(40'000, 'p')).add("m/data/0", std::string(40'000, 'd'));
  const auto source = builder.build_source();
  const zip::Directory directory = read_directory(source);
  check_clean(directory);
  CHECK(directory.entries()[1].data_offset % 16384 == 0);
  CHECK(source->count().reads == 1 + 2 * 2);
}

TEST_CASE("local headers: a descriptor that disagrees is corrupt where it is read", "[zip]") {
  const unsigned length = GENERATE(12U, 16U, 20U, 24U);
  ZipRecordOptions options;
  options.descriptor = length;
  options.descriptor_crc = 1;
  ZipBuilder crc = with_options(options);
  check_only_finding(crc, ErrorCode::corrupt, "m/data/0: data descriptor disagrees with the directory");
  options.descriptor_crc.reset();
  options.descriptor_bytes = 15;
  ZipBuilder bytes = with_options(options);
  check_only_finding(bytes, ErrorCode::corrupt, "m/data/0: data descriptor disagrees with the directory");
}

TEST_CASE("local headers: flag bit 3 without a descriptor is corrupt", "[zip]") {
  ZipRecordOptions options;
  options.descriptor = 0;
  options.flags = 0x0808;
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::corrupt, "m/data/0: data descriptor disagrees");
}

TEST_CASE("local headers: bytes behind a descriptor belong to no record", "[zip]") {
  const unsigned length = GENERATE(12U, 16U, 20U, 24U);
  const std::size_t hidden = GENERATE(1U, 5U, 100U);
  ZipRecordOptions options;
  options.descriptor = length;
  options.behind = std::string(hidden, 'h');
  ZipBuilder builder = with_options(options);
  const zip::Directory directory = read_directory(builder);
  const std::uint64_t at = builder.layout().data_offsets.at("m/data/0") + 16 + length;
  check_only_finding(directory.findings(), ErrorCode::corrupt,
                     (hidden == 1 ? "1 byte at " : std::to_string(hidden) + " bytes at ") +
                         std::to_string(at) + " belong to no record");
}

TEST_CASE("local headers: a descriptor without flag bit 3 belongs to no record", "[zip]") {
  ZipRecordOptions options;
  options.flags = 0x0800;
  options.local.bytes = 16;
  options.local.compressed = 16;
  options.local.crc = 7;
  options.crc = 7;
  ZipBuilder builder = with_options(options);
  check_only_finding(builder, ErrorCode::corrupt, "16 bytes at ");
}
