#include "ckpt/zip/libzip.h"

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/zip_builder.h"
#include "support/zip_checks.h"

using namespace ckpt;
using namespace ckpt::test;
using Style = ZipBuilder::Style;

namespace {

std::vector<Finding> opinion_of(ZipBuilder& builder) {
  const auto source = builder.build_source();
  return zip::second_opinion(source, read_directory(source));
}

}  // namespace

TEST_CASE("libzip: has nothing to say about good archives", "[zip]") {
  ZipBuilder builder = torch_archive(GENERATE(Style::torch, Style::plain));
  builder.add_deflated("m/code.py", std::string(1000, 'c')).add("m/folder/", "").add("m/\xC3\xA9", "x");
  const std::vector<Finding> findings = opinion_of(builder);
  INFO(finding_lines(findings));
  CHECK(findings.empty());
}

TEST_CASE("libzip: agrees about an archive above 4 GiB and one of many records", "[zip]") {
  ZipBuilder large(Style::torch);
  ZipRecordOptions hole;
  hole.hole_bytes = (4ULL << 30U) + 5;
  large.add("m/data.pkl", "N.").add("m/data/0", "", hole).add("m/version", "3\n");
  const auto source = large.build_sparse();
  CHECK(zip::second_opinion(source, read_directory(source)).empty());

  ZipBuilder many(Style::torch);
  for (std::size_t i = 0; i < 5000; ++i) many.add("m/data/" + std::to_string(i), "x");
  const auto many_source = many.build_source();
  const zip::Directory directory = read_directory(many_source);
  const std::uint64_t before = many_source->count().reads;
  CHECK(zip::second_opinion(many_source, directory).empty());
  CHECK(many_source->count().reads - before < 20);
}

TEST_CASE("libzip: another view of an entry is ambiguous", "[zip]") {
  ZipBuilder ours = torch_archive();
  const auto source = ours.build_source();
  const zip::Directory directory = read_directory(source);
  const auto opinion = [&directory](ZipBuilder& builder) {
    return zip::second_opinion(builder.build_source(), directory);
  };

  ZipBuilder name = torch_archive();
  name.record("m/data/0").directory.name = "m/data/1";
  check_only_finding(opinion(name), ErrorCode::ambiguous,
                     "named \"m/data/0\" for us, \"m/data/1\" for libzip");
  ZipBuilder method = torch_archive();
  method.record("m/data/0").directory.method = 8;
  check_only_finding(opinion(method), ErrorCode::ambiguous, "method 0 for us, 8 for libzip");
  ZipBuilder bytes = torch_archive();
  bytes.record("m/data/0").directory.bytes = 15;
  check_only_finding(opinion(bytes), ErrorCode::ambiguous, "size 16 for us, 15 for libzip");
  ZipBuilder compressed = torch_archive();
  compressed.record("m/data/0").directory.compressed = 15;
  check_only_finding(opinion(compressed), ErrorCode::ambiguous, "compressed size 16 for us, 15 for libzip");
  ZipBuilder crc = torch_archive();
  crc.record("m/data/0").directory.crc = 1;
  check_only_finding(opinion(crc), ErrorCode::ambiguous, "00000001 for libzip");
  ZipBuilder count = torch_archive();
  count.add("m/data/1", "x");
  check_only_finding(opinion(count), ErrorCode::ambiguous, "4 records for us, 5 for libzip");
}

TEST_CASE("libzip: a name with NUL is another one for it", "[zip]") {
  ZipBuilder builder = torch_archive();
  builder.add(std::string_view("m/data/0\0.txt", 13), "x");
  CHECK(has_finding(opinion_of(builder), ErrorCode::ambiguous, "for libzip"));
}

TEST_CASE("libzip: at most 50 differences are listed", "[zip]") {
  ZipBuilder ours(Style::torch);
  ZipBuilder theirs(Style::torch);
  for (std::size_t i = 0; i < 80; ++i) {
    ours.add("m/a" + std::to_string(i), "x");
    theirs.add("m/b" + std::to_string(i), "x");
  }
  const std::vector<Finding> findings = zip::second_opinion(theirs.build_source(), read_directory(ours));
  CHECK(findings.size() == 51);
  CHECK(has_finding(findings, ErrorCode::ambiguous, "and 30 more"));
}

TEST_CASE("libzip: that it cannot open an archive, or is not asked, is a note", "[zip]") {
  ZipBuilder good = torch_archive();
  const zip::Directory directory = read_directory(good);
  const auto junk = std::make_shared<MemorySource>(to_bytes("no archive"));
  std::vector<Finding> findings = zip::second_opinion(junk, directory);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::note);
  CHECK(findings[0].what.message.find("libzip cannot open the archive") == 0);

  ZipBuilder doubtful = torch_archive();
  doubtful.end().suffix = "x";
  findings = opinion_of(doubtful);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::note);
}
