// Seeds of the fuzz target `zip`. Same bytes every time.

#include "fuzz/make_seeds.h"
#include "support/zip_builder.h"

namespace ckpt::test {

namespace {

using Style = ZipBuilder::Style;

std::vector<std::byte> with_descriptors() {
  ZipBuilder builder(Style::plain);
  for (const unsigned length : {12U, 16U, 20U, 24U}) {
    ZipRecordOptions options;
    options.descriptor = length;
    builder.add("m/data/" + std::to_string(length), "abcd", options);
  }
  return builder.build();
}

std::vector<std::byte> with_zip64_fields() {
  ZipBuilder builder(Style::plain);
  ZipRecordOptions options;
  options.directory.extra = zip64_field({4, 4, 0});
  options.directory.bytes = 0xFFFFFFFF;
  options.directory.compressed = 0xFFFFFFFF;
  options.directory.offset = 0xFFFFFFFF;
  options.local.extra = zip64_field({4, 4});
  options.local.bytes = 0xFFFFFFFF;
  options.local.compressed = 0xFFFFFFFF;
  builder.add("m/data.pkl", "abcd", options);
  builder.end().has_zip64 = true;
  builder.end().records = 0xFFFF;
  builder.end().directory_bytes = 0xFFFFFFFF;
  builder.end().directory_offset = 0xFFFFFFFF;
  return builder.build();
}

std::vector<std::byte> deflated_records() {
  ZipBuilder builder(Style::plain);
  builder.add_deflated("m/code.py", "def forward(self, x): return x + x + x")
      .add("m/", "")
      .add("__MACOSX/m", "x");
  builder.add_deflated("m/zeros", std::string(5000, '\0'));
  builder.end().comment = "plain comment";
  return builder.build();
}

std::vector<std::byte> trailing_deflate_bytes() {
  ZipBuilder builder(Style::plain);
  std::vector<std::byte> stream = deflated("data data data");
  stream.resize(stream.size() + 8);
  ZipRecordOptions options;
  options.method = 8;
  options.bytes = 14;
  builder.add("m/code.py", stream, options);
  return builder.build();
}

std::vector<std::byte> names() {
  ZipBuilder builder(Style::torch);
  builder.add("../../evil", "x")
      .add("m\\data", "x")
      .add("m/\xFF", "x")
      .add("", "x")
      .add("m/x", "1")
      .add("m/x", "2");
  builder.add(std::string_view("m/data\0.txt", 11), "x");
  return builder.build();
}

std::vector<std::byte> zip_in_comment() {
  ZipBuilder builder = torch_archive(Style::plain);
  const std::vector<std::byte> inner = torch_archive(Style::plain).build();
  builder.end().comment.assign(reinterpret_cast<const char*>(inner.data()), inner.size());
  return builder.build();
}

std::vector<std::byte> with_prefix() {
  ZipBuilder builder = torch_archive();
  builder.end().prefix = std::string(64, 'e');
  builder.end().suffix = "TRAILING";
  return builder.build();
}

std::vector<std::byte> disagreeing_headers() {
  ZipBuilder builder = torch_archive();
  ZipRecordOptions& options = builder.record("m/data/0");
  options.local.name = "m/date/0";
  options.local.method = 8;
  options.local.flags = 0x0809;
  options.local.crc = 1;
  options.local.bytes = 2;
  options.descriptor_crc = 3;
  options.behind = "hidden";
  return builder.build();
}

}  // namespace

Seeds zip_seeds() {
  return {
      {"good-torch.zip", torch_archive().build()},
      {"good-plain.zip", torch_archive(Style::plain).build()},
      {"good-descriptors.zip", with_descriptors()},
      {"good-zip64.zip", with_zip64_fields()},
      {"good-deflated.zip", deflated_records()},
      {"bad-deflate-trailing.zip", trailing_deflate_bytes()},
      {"bad-names.zip", names()},
      {"bad-zip-in-comment.zip", zip_in_comment()},
      {"bad-prefix.zip", with_prefix()},
      {"bad-headers.zip", disagreeing_headers()},
  };
}

}  // namespace ckpt::test
