#include <filesystem>

#include "ckpt/jobs/jobs.h"
#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

std::string fixture(std::string_view name) { return CKPT_TEST_FIXTURES "/" + std::string(name); }

CompareResult compared(const std::string& a, const std::string& b, const VerifyOptions& options = {}) {
  auto result = compare(a, b, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

Error compare_error(const std::string& a, const std::string& b, const VerifyOptions& options = {}) {
  const auto result = compare(a, b, options);
  REQUIRE_FALSE(result);
  return result.error();
}

VerifiedInput checked(const std::string& path, const VerifyOptions& options = {}) {
  auto result = check_input(path, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

VerifyOptions with_input(const InputOptions& input) {
  VerifyOptions options;
  options.input = input;
  return options;
}

VerifyOptions expecting(const std::vector<std::string>& texts) {
  VerifyOptions options;
  for (const std::string& text : texts) {
    auto expectation = parse_expectation(text);
    if (!expectation) FAIL(error_line(expectation.error()));
    options.expectations.push_back(*expectation);
  }
  return options;
}

/// "data a: 00… != 01…" a line, digests cut.
std::string difference_lines(const CompareResult& result) {
  std::string lines;
  for (const Difference& difference : result.differences) {
    lines += std::string(difference_word(difference.kind)) + " " + difference.name + ": " +
             difference.a.substr(0, 16) + " / " + difference.b.substr(0, 16) + "\n";
  }
  return lines;
}

/// Two names for one storage and one tensor of its own.
std::vector<PickledTensor> tied() {
  return {pickled("embed", "0", {8}), pickled("head", "0", {8}), pickled("other", "1", {8})};
}

void flip_byte(const std::string& path, std::uint64_t offset) {
  std::string content = read_file(path);
  content[offset] = static_cast<char>(content[offset] ^ 0x10);
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

constexpr std::uint64_t kHoleBytes = 5ULL << 30U;

}  // namespace

TEST_CASE("compare: one model in two forms is equal", "[jobs]") {
  const CompareResult result = compared(fixture("good-demo.pt"), fixture("good-demo.safetensors"));
  INFO(difference_lines(result) << findings_text(result.findings));
  CHECK(result.differences.empty());
  CHECK(result.equal == 27);
  CHECK(count_findings(result.findings, Severity::error) == 0);
  CHECK(result.a.model_digest == result.b.model_digest);
}

TEST_CASE("compare: every kind of difference is told apart", "[jobs]") {
  const TempDir folder;
  const std::string data(32, '\0');
  const std::string a = folder.write_file(
      "a.safetensors",
      header_file(padded("{" + entry("data", "F32", "2", "0,8") + "," + entry("dtype", "F32", "2", "8,16") +
                         "," + entry("left", "F32", "1", "16,20") + "," + entry("same", "F32", "1", "20,24") +
                         "," + entry("shape", "F32", "2", "24,32") + "}"),
                  data));
  const std::string b = folder.write_file(
      "b.safetensors",
      header_file(
          padded("{" + entry("data", "F32", "2", "0,8") + "," + entry("dtype", "I32", "2", "8,16") + "," +
                 entry("right", "F32", "1", "16,20") + "," + entry("same", "F32", "1", "20,24") + "," +
                 entry("shape", "F32", "1,2", "24,32") + "}"),
          "\1" + data.substr(1)));
  const CompareResult result = compared(a, b);
  CHECK(difference_lines(result) ==
        "data data: af5570f5a1810b7a / 7c9fa136d4413fa6\n"
        "dtype dtype: F32 / I32\n"
        "only in A left: F32 [1] / \n"
        "only in B right:  / F32 [1]\n"
        "shape shape: [2] / [1, 2]\n");
  CHECK(result.equal == 1);
  REQUIRE(count_findings(result.findings, Severity::error) == 1);
  CHECK(finds(result.findings, Severity::error, ErrorCode::differ, "5 of 6 names differ"));
  CHECK(finds(result.findings, Severity::error, ErrorCode::differ, "the first is \"data\" (data)"));
}

TEST_CASE("compare: an alias that a converter dropped is no difference", "[jobs]") {
  const TempDir folder;
  const std::string torch = write(folder, "a.pt", torch_file(tied()));
  ConvertOptions options;
  options.shared = SharedPolicy::drop;
  options.sync = false;
  REQUIRE(convert(torch, folder.file("b.safetensors"), options));
  const CompareResult result = compared(torch, folder.file("b.safetensors"));
  INFO(difference_lines(result));
  CHECK(result.differences.empty());
  CHECK(count_findings(result.findings, Severity::error) == 0);
  CHECK(result.equal == 2);
  REQUIRE(result.dropped.size() == 1);
  CHECK(result.dropped[0].name == "head");
  CHECK(result.dropped[0].kept == "embed");
  CHECK(result.dropped[0].is_in_a);

  const CompareResult swapped = compared(folder.file("b.safetensors"), torch);
  REQUIRE(swapped.dropped.size() == 1);
  CHECK_FALSE(swapped.dropped[0].is_in_a);
}

TEST_CASE("compare: an alias whose kept name has another content is a difference", "[jobs]") {
  const TempDir folder;
  const std::string torch = write(folder, "a.pt", torch_file(tied()));
  const std::string other =
      write(folder, "b.pt", torch_file({pickled("other", "1", {8}), pickled("embed", "0", {8})}));
  const CompareResult result = compared(torch, other);
  CHECK(result.dropped.empty());
  CHECK(result.differences.size() == 3);
}

TEST_CASE("compare: a name that is no alias is missed, even if another tensor has its content", "[jobs]") {
  const TempDir folder;
  const Storages twice = {{"0", pattern_bytes(32)}, {"1", pattern_bytes(32)}};
  const std::vector<PickledTensor> both = {pickled("a", "0", {8}), pickled("b", "1", {8})};
  const std::string full = write(folder, "a.pt", torch_file(p0_pickle(both), twice));
  const std::string less = write(folder, "b.pt", torch_file(p0_pickle(both[0]), {twice[0]}));
  const CompareResult result = compared(full, less);
  CHECK(result.dropped.empty());
  CHECK(difference_lines(result) == "only in A b: F32 [8] / \n");
}

TEST_CASE("compare: the root of one side does not trouble a file without roots", "[jobs]") {
  VerifyOptions options;
  options.input.root = "state_dict";
  const CompareResult result =
      compared(fixture("good-nested.ckpt"), fixture("good-flat.safetensors"), options);
  CHECK(result.differences.empty());
  CHECK(result.equal == 6);
}

TEST_CASE("compare: an undecided root is ambiguous-root, a chosen one is not", "[jobs]") {
  check_error(compare_error(fixture("good-ambiguous-roots.pt"), fixture("good-flat.pt")),
              ErrorCode::ambiguous_root,
              "\"model\" (2 tensors, 48 bytes), \"ema\" (2 tensors, 48 bytes), \"/\" (4 tensors, 96 bytes)");
  VerifyOptions options;
  options.input.root = "ema";
  CHECK(compared(fixture("good-ambiguous-roots.pt"), fixture("good-ambiguous-roots.pt"), options).equal == 2);
}

TEST_CASE("compare: patterns choose, and one that matches nothing is no-match", "[jobs]") {
  InputOptions input;
  input.selection.include = {"layers.0.*"};
  CHECK(compared(fixture("good-flat.pt"), fixture("good-flat.safetensors"), with_input(input)).equal == 2);
  input.selection.include = {"nothing"};
  check_error(compare_error(fixture("good-flat.pt"), fixture("good-flat.safetensors"), with_input(input)),
              ErrorCode::no_match, "\"nothing\"");
}

TEST_CASE("compare: a wrong checksum is found and the data differs", "[jobs]") {
  const CompareResult result = compared(fixture("good-demo.pt"), fixture("bad-flipped.pt"));
  CHECK(finds(result.findings, Severity::error, ErrorCode::corrupt, "good-demo/data/12: wrong checksum"));
  CHECK(finds(result.findings, Severity::error, ErrorCode::corrupt, "bad-flipped.pt"));
  REQUIRE(result.differences.size() == 1);
  CHECK(result.differences[0].kind == DifferenceKind::data);
  CHECK(result.differences[0].name == "stage1.1.running_var");
}

TEST_CASE("compare: threads do not change the outcome", "[jobs]") {
  InputOptions input;
  input.threads = 1;
  const CompareResult one =
      compared(fixture("good-strided.pt"), fixture("bad-flipped.pt"), with_input(input));
  input.threads = 16;
  const CompareResult many =
      compared(fixture("good-strided.pt"), fixture("bad-flipped.pt"), with_input(input));
  CHECK(difference_lines(one) == difference_lines(many));
  CHECK(findings_text(one.findings) == findings_text(many.findings));
  CHECK(one.a.model_digest == many.a.model_digest);
}

TEST_CASE("compare: tensors that are not read are never equal", "[jobs]") {
  const CompareResult result = compared(fixture("unsupported-sparse.pt"), fixture("unsupported-sparse.pt"));
  CHECK(result.equal == 1);
  CHECK(result.differences.size() == 2);
  CHECK(finds(result.findings, Severity::error, ErrorCode::unsupported, "\"coo\": a sparse tensor"));
}

TEST_CASE("compare: a dangerous import is an error unless it is allowed", "[jobs]") {
  const std::string path = fixture("bad-dangerous-import.pt");
  CHECK(finds(compared(path, path).findings, Severity::error, ErrorCode::dangerous_import, "posix.system"));
  VerifyOptions options;
  options.input.allow_dangerous = true;
  const CompareResult allowed = compared(path, path, options);
  CHECK(count_findings(allowed.findings, Severity::error) == 0);
  CHECK(allowed.equal == 1);
}

TEST_CASE("check: a whole file has no findings and a model digest", "[jobs]") {
  const VerifiedInput input = checked(fixture("good-flat.pt"));
  check_no_findings(input.model);
  REQUIRE(input.model_digest);
  CHECK(digest_hex(*input.model_digest) ==
        "73c5e6420777db23f7cc0e28897fbd9074aa1286ad575e0b4b2a95b51a87ea90");
  CHECK_FALSE(input.file_digest);
}

TEST_CASE("check: an undecided root is no obstacle, but there is no model digest", "[jobs]") {
  const VerifiedInput input = checked(fixture("good-ambiguous-roots.pt"));
  check_no_findings(input.model);
  CHECK_FALSE(input.model_digest);
}

TEST_CASE("check: every wrong checksum is found, in the order of the file", "[jobs]") {
  const TempDir folder;
  ZipBuilder archive =
      torch_file({pickled("a", "0", {64}), pickled("b", "1", {64}), pickled("c", "2", {64})});
  const std::string path = write(folder, "a.pt", archive);
  (void)archive.build();
  flip_byte(path, archive.layout().data_offsets.at("m/data/2"));
  flip_byte(path, archive.layout().data_offsets.at("m/data/0") + 255);
  flip_byte(path, archive.layout().data_offsets.at("m/byteorder"));
  const VerifiedInput input = checked(path);
  INFO(findings_text(input.model.findings));
  std::vector<std::string> records;
  for (const Finding& finding : input.model.findings) {
    if (finding.what.message.find("wrong checksum") != std::string::npos)
      records.push_back(finding.what.record);
  }
  CHECK(std::count(records.begin(), records.end(), "m/byteorder") >= 1);
  CHECK(std::vector<std::string>(records.end() - 2, records.end()) ==
        std::vector<std::string>{"m/data/0", "m/data/2"});
}

TEST_CASE("check: a wrong checksum of a deflated record is found", "[jobs]") {
  const TempDir folder;
  ZipBuilder archive = torch_file({pickled("a", "0", {4})});
  ZipRecordOptions options;
  options.crc = 0x01020304;
  archive.add_deflated("m/extra/notes.txt", std::string(1000, 'x'), options);
  check_defect(checked(write(folder, "a.pt", archive)).model, ErrorCode::corrupt, "m/extra/notes.txt");
}

TEST_CASE("check: missing checksums are a note", "[jobs]") {
  check_note(checked(fixture("good-no-crc.pt")).model, ErrorCode::corrupt, "checksums are not recorded for");
}

TEST_CASE("check: libzip is asked for its opinion", "[jobs]") {
  const TempDir folder;
  ZipBuilder archive = torch_file({pickled("a", "0", {4})});
  archive.add(std::string_view("m/extra/a\0b", 11), "x");
  const VerifiedInput input = checked(write(folder, "a.pt", archive));
  INFO(findings_text(input.model.findings));
  CHECK(finds(input.model.findings, Severity::error, ErrorCode::ambiguous, "for libzip"));
}

TEST_CASE("check: tensors that are not read are a finding, 50 of them by name", "[jobs]") {
  const VerifiedInput few = checked(fixture("unsupported-quantized.pt"));
  CHECK(count_findings(few.model.findings, Severity::error) == 3);
  CHECK(finds(few.model.findings, Severity::error, ErrorCode::unsupported,
              "\"per_tensor\": a quantized tensor"));

  const TempDir folder;
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back("t" + std::to_string(i));
  const std::string pickle = pickled_dict(keys, [](PickleBuilder& builder, const std::string&) {
    builder.global("torch._utils", "_rebuild_meta_tensor_no_storage").mark().global("torch", "float32");
    builder.integer(3).tuple1().integer(1).tuple1().newfalse().tuple().reduce();
  });
  const VerifiedInput many = checked(write(folder, "meta.pt", torch_file(pickle, {})));
  CHECK(count_findings(many.model.findings, Severity::error) == 51);
  CHECK(finds(many.model.findings, Severity::error, ErrorCode::unsupported, "and 10 more tensors"));
}

TEST_CASE("check: two tensors with one name are name-collision", "[jobs]") {
  check_defect(checked(fixture("good-collision.pt")).model, ErrorCode::name_collision, "\"a.b\"");
}

TEST_CASE("check: a Safetensors file has no root but the top", "[jobs]") {
  VerifyOptions options;
  options.input.root = "state_dict";
  const auto refused = check_input(fixture("good-flat.safetensors"), options);
  REQUIRE_FALSE(refused);
  check_error(refused.error(), ErrorCode::no_match, "no root \"state_dict\"");
}

TEST_CASE("check: a damaged Safetensors file is told with both numbers", "[jobs]") {
  const TempDir folder;
  const std::string path = folder.write_file("cut.safetensors", s0_file().substr(0, s0_file().size() - 4));
  const VerifiedInput input = checked(path);
  INFO(findings_text(input.model.findings));
  CHECK(finds(input.model.findings, Severity::error, ErrorCode::truncated, "16"));
  CHECK_FALSE(input.digests[1]);
}

TEST_CASE("check: expectations that hold", "[jobs]") {
  const VerifiedInput input =
      checked(fixture("good-flat.pt"),
              expecting({"tensors=6", "F16=2", "F32=3", "int64=1", "BF16=0", "parameters=00241", "bytes=712",
                         "sha256=3E66f171cfc609edfcdeb262c6f2477e76f06b8132d9688338c7b9df5fb315cf",
                         "model=73c5e6420777db23f7cc0e28897fbd9074aa1286ad575e0b4b2a95b51a87ea90"}));
  check_no_findings(input.model);
  REQUIRE(input.file_digest);
  CHECK(digest_hex(*input.file_digest) == "3e66f171cfc609edfcdeb262c6f2477e76f06b8132d9688338c7b9df5fb315cf");
}

TEST_CASE("check: each expectation that does not hold is told with both values", "[jobs]") {
  const std::string zeros(64, '0');
  const VerifiedInput input = checked(
      fixture("good-flat.pt"),
      expecting({"tensors=7", "F16=3", "parameters=1", "bytes=2", "sha256=" + zeros, "model=" + zeros}));
  CHECK(count_findings(input.model.findings, Severity::error) == 6);
  for (const char* text :
       {"expected tensors=7, found 6", "expected F16=3, found 2", "expected parameters=1, found 241",
        "expected bytes=2, found 712", "found 3e66f171", "found 73c5e642"}) {
    INFO(text);
    CHECK(finds(input.model.findings, Severity::error, ErrorCode::expectation, text));
  }
}

TEST_CASE("compare: expectations are held against both inputs", "[jobs]") {
  const CompareResult result =
      compared(fixture("good-flat.pt"), fixture("good-tied.pt"), expecting({"tensors=6"}));
  CHECK(finds(result.findings, Severity::error, ErrorCode::expectation,
              "good-tied.pt: expected tensors=6, found 3"));
  CHECK_FALSE(finds(result.findings, Severity::error, ErrorCode::expectation, "good-flat.pt"));
}

TEST_CASE("expectations: what cannot be meant is usage", "[jobs]") {
  for (const char* text :
       {"", "tensors", "tensors=", "tensors=x", "tensors=-1", "tensors=99999999999999999999", "names=3",
        "sha256=12", "model=g000000000000000000000000000000000000000000000000000000000000000", "f16=3",
        "=3"}) {
    INFO(text);
    const auto expectation = parse_expectation(text);
    REQUIRE_FALSE(expectation);
    CHECK(expectation.error().code == ErrorCode::usage);
  }
}

TEST_CASE("check: a small tensor behind a hole of 5 GiB costs a few reads", "[jobs]") {
  const TempDir folder;
  const std::vector<PickledTensor> tensors = {pickled("hole", "0", {kHoleBytes / 4}),
                                              pickled("small", "1", {4})};
  ZipBuilder archive = torch_file(p0_pickle(tensors), {{"0", {}}, {"1", pattern_bytes(16)}});
  archive.record("m/data/0").hole_bytes = kHoleBytes;
  archive.record("m/data/0").crc = 0;
  const std::string path = write_sparse(folder, "large.pt", archive);
  VerifyOptions options;
  options.input.selection.include = {"small"};
  const VerifiedInput input = checked(path, options);
  check_note(input.model, ErrorCode::corrupt, "checksums are not recorded for 1 of 5 records");
  CHECK(input.model.phases.data.bytes < 1U << 20U);
  Sha256 sha;
  sha.update(pattern_bytes(16));
  REQUIRE(input.digests[1]);
  CHECK(*input.digests[1] == sha.finish());
}

}  // namespace ckpt::test
