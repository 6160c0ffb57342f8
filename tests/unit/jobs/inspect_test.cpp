#include <array>
#include <filesystem>

#include "ckpt/jobs/jobs.h"
#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

InspectResult inspected(const std::string& path, const InspectOptions& options = {}) {
  auto result = inspect(path, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

/// A file of torch.save with that many tensors of 16 floats.
std::string write_many(const TempDir& folder, std::size_t count) {
  std::vector<PickledTensor> tensors;
  Storages storages;
  const std::vector<std::byte> floats = pattern_bytes(64);
  for (std::size_t i = 0; i < count; ++i) {
    tensors.push_back(pickled("layer." + std::to_string(i), std::to_string(i), {16}));
    storages.emplace_back(std::to_string(i), floats);
  }
  return write(folder, "many.pt", torch_file(state_dict_pickle(tensors), storages));
}

/// Both grow tenfold, within a fifth.
void check_tenfold(std::uint64_t small, std::uint64_t large) {
  INFO(small << " and " << large);
  CHECK(static_cast<double>(large) / static_cast<double>(small) < 12.0);
  CHECK(static_cast<double>(large) / static_cast<double>(small) > 10.0 / 1.2);
}

constexpr std::uint64_t kHoleBytes = 5ULL << 30U;

}  // namespace

TEST_CASE("inspect: look-ups, reads and bytes grow linearly with records", "[jobs]") {
  constexpr std::array<std::size_t, 3> kCounts = {1'000, 10'000, 100'000};
  std::vector<InspectResult> results;
  for (const std::size_t count : kCounts) {
    const TempDir folder;
    results.push_back(inspected(write_many(folder, count)));
    CHECK(results.back().selected.size() == count);
  }
  const std::uint64_t fixed = results[0].model.lookups - kCounts[0];
  CHECK(fixed < 20);
  for (std::size_t i = 1; i < results.size(); ++i) {
    const Phases& small = results[i - 1].model.phases;
    const Phases& large = results[i].model.phases;
    CHECK(results[i].model.lookups == kCounts[i] + fixed);
    // A few reads are the same for every size, so that the smallest file has more than a tenth of them.
    CHECK(large.container.reads < 12 * small.container.reads);
    CHECK(large.metadata.reads == small.metadata.reads);
    check_tenfold(small.container.bytes, large.container.bytes);
    check_tenfold(small.metadata.bytes, large.metadata.bytes);
    CHECK(large.data.bytes == 0);
  }
  const auto reads = [&](std::size_t i) { return results[i].model.phases.container.reads; };
  check_tenfold(reads(1) - reads(0), reads(2) - reads(1));
}

TEST_CASE("inspect: reads no tensor bytes unless digests are asked for", "[jobs]") {
  const TempDir folder;
  const std::string path = write(folder, "a.pt", torch_file({pickled("w", "0", {1 << 20})}));
  const InspectResult listed = inspected(path);
  CHECK(listed.model.phases.data.bytes == 0);
  CHECK(listed.digests.empty());
  CHECK(listed.model.phases.container.bytes + listed.model.phases.metadata.bytes < 1U << 20U);

  InspectOptions options;
  options.with_digests = true;
  const InspectResult digested = inspected(path, options);
  CHECK(digested.model.phases.data.bytes == 4U << 20U);
  REQUIRE(digested.digests.at(0));
  Sha256 sha;
  sha.update(pattern_bytes(4U << 20U, 1));
  CHECK(*digested.digests[0] == sha.finish());
  CHECK(digested.model_digest);
}

TEST_CASE("inspect: digests check the records' checksums on the way", "[jobs]") {
  const TempDir folder;
  ZipBuilder archive = torch_file({pickled("w", "0", {4})});
  archive.record("m/data/0").crc = 0x12345678;
  const std::string path = write(folder, "a.pt", archive);
  CHECK(inspected(path).model.findings.empty());
  InspectOptions options;
  options.with_digests = true;
  check_defect(inspected(path, options).model, ErrorCode::corrupt, "wrong checksum: directory says 12345678");
}

TEST_CASE("inspect: patterns choose tensors, and one that matches nothing is no-match", "[jobs]") {
  const TempDir folder;
  const std::string path =
      write(folder, "a.pt",
            torch_file({pickled("a.w", "0", {2}), pickled("a.b", "1", {2}), pickled("c.w", "2", {2})}));
  InspectOptions options;
  options.input.selection.include = {"*.w"};
  CHECK(inspected(path, options).selected == std::vector<std::uint32_t>{0, 2});
  options.input.selection.exclude = {"c*"};
  CHECK(inspected(path, options).selected == std::vector<std::uint32_t>{0});
  options.input.selection.include = {"a.[bw]", "c.w"};
  CHECK(inspected(path, options).selected == std::vector<std::uint32_t>{0, 1});
  options.input.selection.include = {"*.w", "nothing"};
  const auto refused = inspect(path, options);
  REQUIRE_FALSE(refused);
  check_error(refused.error(), ErrorCode::no_match, "no tensor matches \"nothing\"; the file has 3");
}

TEST_CASE("inspect: a dangerous import is found unless it is allowed, and the listing is complete",
          "[jobs]") {
  const std::string path = CKPT_TEST_FIXTURES "/bad-dangerous-import.pt";
  const InspectResult result = inspected(path);
  check_defect(result.model, ErrorCode::dangerous_import, "posix.system");
  CHECK(tensor_names(result.model) == "weight");
  InspectOptions options;
  options.input.allow_dangerous = true;
  CHECK(inspected(path, options).model.findings.empty());
}

TEST_CASE("inspect: two tensors with one name are a note", "[jobs]") {
  const InspectResult result = inspected(CKPT_TEST_FIXTURES "/good-collision.pt");
  check_note(result.model, ErrorCode::name_collision, "two tensors have the name \"a.b\"");
}

TEST_CASE("inspect: totals count parameters of aliases once and bytes in full", "[jobs]") {
  const InspectResult result = inspected(CKPT_TEST_FIXTURES "/good-tied.pt");
  const Totals totals = totals_of(result.model, result.selected);
  CHECK(totals.tensors == 3);
  const Tensor& kept = tensor_of(result.model, "embed.weight");
  std::uint64_t elements = 0;
  for (const Tensor& tensor : result.model.tensors) elements += tensor.elements;
  CHECK(totals.parameters == elements - kept.elements);
  CHECK(totals.bytes == 4 * elements);
  CHECK(totals.by_dtype.at("F32").tensors == 3);
}

TEST_CASE("inspect: a tensor behind a record of 5 GiB is found without reading the record", "[jobs]") {
  const TempDir folder;
  const std::vector<PickledTensor> tensors = {pickled("hole", "0", {kHoleBytes / 4}),
                                              pickled("small", "1", {4})};
  ZipBuilder archive = torch_file(p0_pickle(tensors), {{"0", {}}, {"1", pattern_bytes(16)}});
  archive.record("m/data/0").hole_bytes = kHoleBytes;
  archive.record("m/data/0").crc = 0;
  const std::string path = write_sparse(folder, "large.pt", archive);
  REQUIRE(std::filesystem::file_size(path) > kHoleBytes);
  const InspectResult result = inspected(path);
  check_no_findings(result.model);
  CHECK(tensor_of(result.model, "hole").bytes == kHoleBytes);
  const Storage& storage = result.model.storages[tensor_of(result.model, "small").storage];
  CHECK(storage.offset > kHoleBytes);
  CHECK(result.model.phases.container.bytes + result.model.phases.metadata.bytes < 1U << 20U);
}

TEST_CASE("inspect: a tensor behind 5 GiB of Safetensors is found without reading them", "[jobs]") {
  const TempDir folder;
  const std::string end = std::to_string(kHoleBytes);
  const std::string json =
      padded("{" + entry("hole", "F32", std::to_string(kHoleBytes / 4), "0," + end) + "," +
             entry("small", "F32", "2", end + "," + std::to_string(kHoleBytes + 8)) + "}");
  const std::string path = folder.write_file("large.safetensors", header_file(json, ""));
  std::filesystem::resize_file(path, 8 + json.size() + kHoleBytes + 8);
  InspectOptions options;
  options.with_digests = true;
  options.input.selection.include = {"small"};
  const InspectResult result = inspected(path, options);
  check_no_findings(result.model);
  CHECK(tensor_of(result.model, "hole").elements == kHoleBytes / 4);
  CHECK(result.model.phases.data.bytes == 8);
  CHECK(result.digests[1]);
}

}  // namespace ckpt::test
