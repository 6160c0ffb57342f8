#include "ckpt/torch/checkpoint.h"

#include "support/model_checks.h"
#include "support/torch_file.h"
#include "support/zip_checks.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;

Result<Checkpoint> read_from(ZipBuilder& builder, const Limits& limits = {}) {
  auto archive = zip::Archive::open(builder.build_source(), limits);
  if (!archive) FAIL(error_line(archive.error()));
  return read_checkpoint(*archive, limits);
}

Checkpoint good(ZipBuilder builder, const Limits& limits = {}) {
  auto checkpoint = read_from(builder, limits);
  if (!checkpoint) FAIL(error_line(checkpoint.error()));
  return *std::move(checkpoint);
}

std::string fact(const Checkpoint& checkpoint, std::string_view name) {
  for (const auto& [key, value] : checkpoint.facts) {
    if (key == name) return value;
  }
  return "none";
}

/// The baseline with one small record of this content instead of its own, or without it.
Checkpoint with_record(const std::string& name, const std::optional<std::string>& content) {
  ZipBuilder builder;
  builder.add("m/data.pkl", p0_pickle());
  for (const std::string& record : {std::string("m/byteorder"), std::string("m/version")}) {
    if (record != name) builder.add(record, record == "m/version" ? "3\n" : "little");
  }
  if (content) builder.add(name, *content);
  return good(builder.add("m/data/0", pattern_bytes(16)));
}

}  // namespace

TEST_CASE("checkpoint: the baseline is read without findings", "[torch]") {
  const Checkpoint checkpoint = good(torch_file(p0_pickle(), {{"0", pattern_bytes(16)}}));
  CHECK(checkpoint.findings.empty());
  CHECK(checkpoint.root_folder == "m/");
  CHECK(checkpoint.pickle_record == "m/data.pkl");
  CHECK(checkpoint.protocol == 2);
  CHECK(checkpoint.top != pickle::kNoRef);
  CHECK(checkpoint.storage_record("7") == "m/data/7");
  CHECK(fact(checkpoint, "archive version") == "3");
  CHECK(fact(checkpoint, "byte order") == "little");
  CHECK_FALSE(checkpoint.is_big_endian);
}

TEST_CASE("checkpoint: records of newer writers are facts", "[torch]") {
  ZipBuilder builder = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  builder.add("m/.format_version", "1")
      .add("m/.storage_alignment", "4096")
      .add("m/.data/serialization_id", "12");
  const Checkpoint checkpoint = good(builder);
  CHECK(fact(checkpoint, "format version") == "1");
  CHECK(fact(checkpoint, "storage alignment") == "4096");
  CHECK(checkpoint.findings.empty());
}

TEST_CASE("checkpoint: a missing byte order is little, a bad one corrupt", "[torch]") {
  const Checkpoint missing = with_record("m/byteorder", std::nullopt);
  CHECK(missing.findings.empty());
  CHECK(fact(missing, "byte order") == "not recorded, taken as little");
  CHECK(with_record("m/byteorder", "big").is_big_endian);
  check_only_finding(with_record("m/byteorder", "middle").findings, ErrorCode::corrupt,
                     "byte order is \"middle\"");
  check_only_finding(with_record("m/byteorder", "").findings, ErrorCode::corrupt, "byte order is \"\"");
  check_only_finding(with_record("m/byteorder", "little\n").findings, ErrorCode::corrupt,
                     "byte order is \"little\\n\"");
  check_only_finding(with_record("m/byteorder", std::string(1 << 20, 'x')).findings, ErrorCode::corrupt,
                     "record has 1048576 bytes, at most 64 make sense");
}

TEST_CASE("checkpoint: a version that is no number is corrupt, one above 10 unsupported", "[torch]") {
  check_only_finding(with_record("m/version", "x").findings, ErrorCode::corrupt,
                     "archive version is \"x\", not a number");
  check_only_finding(with_record("m/version", "").findings, ErrorCode::corrupt, "archive version is \"\"");
  check_only_finding(with_record("m/version", "-1").findings, ErrorCode::corrupt, "not a number");
  check_only_finding(with_record("m/version", "0\n").findings, ErrorCode::corrupt, "archive version is 0");
  CHECK(with_record("m/version", "10").findings.empty());
  for (const char* version : {"11", "99999999999999999999"}) {
    ZipBuilder builder;
    builder.add("m/data.pkl", p0_pickle()).add("m/version", version).add("m/data/0", pattern_bytes(16));
    const auto refused = read_from(builder);
    REQUIRE_FALSE(refused);
    check_error(refused.error(), ErrorCode::unsupported, std::string("archive version is ") + version);
  }
}

TEST_CASE("checkpoint: a missing version is a note, and .data/version goes first", "[torch]") {
  const Checkpoint missing = with_record("m/version", std::nullopt);
  REQUIRE(missing.findings.size() == 1);
  CHECK(has_finding(missing.findings, ErrorCode::corrupt, "version is missing", Severity::note));
  ZipBuilder builder = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  CHECK(fact(good(builder.add("m/.data/version", "6\n")), "archive version") == "6");
}

TEST_CASE("checkpoint: a pickle that is damaged, empty or too long has no top", "[torch]") {
  const Checkpoint empty = good(torch_file("", {}));
  CHECK(empty.top == pickle::kNoRef);
  check_only_finding(empty.findings, ErrorCode::truncated, "pickle is empty");
  const std::string whole = p0_pickle();
  const Checkpoint cut = good(torch_file(whole.substr(0, whole.size() - 5), {}));
  CHECK(cut.top == pickle::kNoRef);
  check_only_finding(cut.findings, ErrorCode::truncated, "m/data.pkl");
  Limits limits;
  limits.pickle_bytes = whole.size() - 1;
  check_only_finding(good(torch_file(whole, {}), limits).findings, ErrorCode::limit, "m/data.pkl");
  ZipBuilder wrong = torch_file(whole, {});
  wrong.record("m/data.pkl").crc = 1;
  check_only_finding(good(wrong).findings, ErrorCode::corrupt, "m/data.pkl");
}

TEST_CASE("checkpoint: bytes behind the pickle are corrupt", "[torch]") {
  const Checkpoint checkpoint = good(torch_file(p0_pickle() + "rest", {}));
  CHECK(checkpoint.top != pickle::kNoRef);
  CHECK(has_finding(checkpoint.findings, ErrorCode::corrupt, "4"));
}

TEST_CASE("checkpoint: an import before the damage counts", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).global("os", "system").binunicode("x").tuple1().reduce().raw("X\xff\xff\xff\x7f");
  const Checkpoint checkpoint = good(torch_file(builder.bytes(), {}));
  CHECK(checkpoint.top == pickle::kNoRef);
  REQUIRE(checkpoint.imports.size() == 1);
  CHECK(checkpoint.imports[0].verdict.level == pickle::ImportClass::dangerous);
}

TEST_CASE("checkpoint: a deflated pickle is read", "[torch]") {
  ZipBuilder builder;
  builder.add_deflated("m/data.pkl", p0_pickle()).add("m/version", "3\n").add("m/data/0", pattern_bytes(16));
  const Checkpoint checkpoint = good(builder);
  CHECK(checkpoint.top != pickle::kNoRef);
}

TEST_CASE("checkpoint: each record costs one look-up", "[torch]") {
  ZipBuilder builder = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  const auto archive = zip::Archive::open(builder.build_source(), {});
  REQUIRE(archive);
  REQUIRE(read_checkpoint(*archive, {}));
  CHECK(archive->directory().lookups() < 12);
}

}  // namespace ckpt::torch
