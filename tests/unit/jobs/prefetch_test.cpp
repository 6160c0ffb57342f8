#include <filesystem>

#include "ckpt/jobs/jobs.h"
#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

using Names = std::vector<std::string>;

PrefetchResult prefetched(const std::vector<std::string>& paths, const PrefetchOptions& options = {}) {
  auto result = prefetch(paths, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

Error refused(const std::vector<std::string>& paths, const PrefetchOptions& options = {}) {
  const auto result = prefetch(paths, options);
  REQUIRE_FALSE(result);
  return result.error();
}

/// Reads whatever is resident, so that counts do not depend on the page cache.
PrefetchOptions all_of_it() {
  PrefetchOptions options;
  options.skip_resident = false;
  return options;
}

std::string shard(const std::string& name) {
  return header_file(padded("{" + entry(name, "F32", "2", "0,8") + "}"), "01234567");
}

std::string index_of(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string text = R"({"metadata":{"total_size":16},"weight_map":{)";
  for (const auto& [tensor, file] : map)
    text += (text.back() == '{' ? "\"" : ",\"") + tensor + "\":\"" + file + "\"";
  return text + "}}";
}

/// Two shards and their index, as people have them.
class Sharded {
 public:
  Sharded() {
    folder.write_file("model-00001-of-00002.safetensors", shard("a"));
    folder.write_file("model-00002-of-00002.safetensors", shard("b"));
    index = folder.write_file(
        "model.safetensors.index.json",
        index_of({{"a", "model-00001-of-00002.safetensors"}, {"b", "model-00002-of-00002.safetensors"}}));
  }
  TempDir folder;
  std::string index;
};

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

TEST_CASE("prefetch: reads a file whole, once, and counts it", "[jobs]") {
  const TempDir folder;
  const std::string path = folder.write_file("data", pattern_bytes(20'000'000));
  const std::string safetensors = folder.write_file("a.safetensors", shard("a"));
  const PrefetchResult result = prefetched({safetensors}, all_of_it());
  REQUIRE(result.files.size() == 1);
  CHECK(result.files[0].format == "safetensors");
  CHECK(result.files[0].bytes == shard("a").size());
  CHECK(result.files[0].expected_bytes == shard("a").size());
  CHECK(result.files[0].planned_bytes == shard("a").size());
  CHECK(result.read_bytes == shard("a").size());
  CHECK(result.reads == 1);
  CHECK(result.findings.empty());
}

TEST_CASE("prefetch: large files are read in spans of 8 MiB", "[jobs]") {
  const TempDir folder;
  const std::string path = write(folder, "a.pt", torch_file({pickled("w", "0", {6'000'000})}));
  const std::uint64_t bytes = std::filesystem::file_size(path);
  for (const unsigned readers : {1U, 16U}) {
    PrefetchOptions options = all_of_it();
    options.readers = readers;
    const PrefetchResult result = prefetched({path}, options);
    CHECK(result.read_bytes == bytes);
    CHECK(result.reads == 3);
    CHECK(result.files[0].format == "torch-zip");
    CHECK(result.files[0].expected_bytes == bytes);
  }
}

TEST_CASE("prefetch: what is resident costs no read", "[jobs]") {
  const TempDir folder;
  const std::string path = write(folder, "a.pt", torch_file({pickled("w", "0", {3'000'000})}));
  prefetched({path}, all_of_it());
  const PrefetchResult again = prefetched({path});
  if (!again.files[0].resident_before) {
    WARN("this system does not say what is resident");
    return;
  }
  CHECK(again.files[0].resident_before == again.files[0].bytes);
  CHECK(again.files[0].resident_after == again.files[0].bytes);
  CHECK(again.files[0].skipped_bytes == again.files[0].bytes);
  CHECK(again.read_bytes == 0);
  CHECK(again.reads == 0);
  CHECK(prefetched({path}, all_of_it()).read_bytes == again.files[0].bytes);
}

TEST_CASE("prefetch: 0 readers read nothing", "[jobs]") {
  const TempDir folder;
  const std::string path = folder.write_file("a.safetensors", shard("a"));
  PrefetchOptions options = all_of_it();
  options.readers = 0;
  const PrefetchResult result = prefetched({path}, options);
  CHECK(result.read_bytes == 0);
  CHECK(result.reads == 0);
  CHECK(result.files[0].planned_bytes == 0);
  CHECK_FALSE(result.files[0].resident_before);
  CHECK_FALSE(result.files[0].expected_bytes);
}

TEST_CASE("prefetch: a query reads nothing", "[jobs]") {
  const TempDir folder;
  PrefetchOptions options;
  options.query = true;
  const PrefetchResult result = prefetched({folder.write_file("a.safetensors", shard("a"))}, options);
  CHECK(result.read_bytes == 0);
  CHECK(result.files[0].planned_bytes == 0);
  CHECK_FALSE(result.files[0].resident_after);
}

TEST_CASE("prefetch: evicted files are asked afterwards", "[jobs]") {
  const TempDir folder;
  PrefetchOptions options;
  options.evict = true;
  const PrefetchResult result = prefetched({folder.write_file("a.safetensors", shard("a"))}, options);
  CHECK(result.read_bytes == 0);
  CHECK(result.files[0].resident_before.has_value() == result.files[0].resident_after.has_value());
}

TEST_CASE("prefetch: more than 16 readers are usage", "[jobs]") {
  const TempDir folder;
  PrefetchOptions options;
  options.readers = 17;
  check_error(refused({folder.write_file("a", shard("a"))}, options), ErrorCode::usage, "17 readers");
}

TEST_CASE("prefetch: stops after max_bytes, in the order of the files", "[jobs]") {
  const TempDir folder;
  const std::string a = folder.write_file("a.safetensors", shard("a"));
  const std::string b = folder.write_file("b.safetensors", shard("b"));
  PrefetchOptions options = all_of_it();
  options.max_bytes = shard("a").size() + 5;
  const PrefetchResult result = prefetched({a, b}, options);
  CHECK(result.read_bytes == shard("a").size() + 5);
  CHECK(result.files[0].planned_bytes == shard("a").size());
  CHECK(result.files[1].planned_bytes == 5);
  options.max_bytes = 0;
  CHECK(prefetched({a, b}, options).reads == 0);
}

TEST_CASE("prefetch: one file under several names is read once", "[jobs]") {
  const TempDir folder;
  const std::string path = folder.write_file("a.safetensors", shard("a"));
  std::filesystem::create_symlink(path, folder.file("link"));
  std::filesystem::create_hard_link(path, folder.file("hard"));
  const PrefetchResult result =
      prefetched({path, folder.file("link"), folder.file("hard"), path}, all_of_it());
  CHECK(result.files.size() == 1);
  CHECK(result.read_bytes == shard("a").size());
}

TEST_CASE("prefetch: an index leads to its shards", "[jobs]") {
  const Sharded set;
  const PrefetchResult result = prefetched({set.index}, all_of_it());
  REQUIRE(result.files.size() == 2);
  CHECK(last_name(result.files[0].path) == "model-00001-of-00002.safetensors");
  CHECK(last_name(result.files[1].path) == "model-00002-of-00002.safetensors");
  CHECK(result.read_bytes == 2 * shard("a").size());
}

TEST_CASE("prefetch: a folder means the shards of its index", "[jobs]") {
  const Sharded set;
  set.folder.write_file("stray.safetensors", shard("c"));
  CHECK(prefetched({set.folder.path()}, all_of_it()).files.size() == 2);
}

TEST_CASE("prefetch: a folder without an index means its weight files", "[jobs]") {
  const TempDir folder;
  folder.write_file("b.safetensors", shard("b"));
  write(folder, "a.pt", torch_file({pickled("w", "0", {4})}));
  folder.write_file("README.md", "a text that is no checkpoint");
  folder.write_file("config.json", "{}");
  folder.write_file(".hidden", shard("h"));
  const PrefetchResult result = prefetched({folder.path() + "/"}, all_of_it());
  REQUIRE(result.files.size() == 2);
  CHECK(last_name(result.files[0].path) == "a.pt");
  CHECK(last_name(result.files[1].path) == "b.safetensors");

  const TempDir empty;
  check_error(refused({empty.path()}), ErrorCode::no_match, "holds no weights");
}

TEST_CASE("prefetch: missing shards are named, the first with their number, and nothing is read", "[jobs]") {
  const Sharded set;
  std::filesystem::remove(set.folder.file("model-00002-of-00002.safetensors"));
  const PrefetchResult one = prefetched({set.index}, all_of_it());
  REQUIRE(one.findings.size() == 1);
  check_error(one.findings[0].what, ErrorCode::missing_member,
              "shard \"model-00002-of-00002.safetensors\" is named by the index");
  CHECK(one.read_bytes == 0);
  std::filesystem::remove(set.folder.file("model-00001-of-00002.safetensors"));
  const PrefetchResult both = prefetched({set.index}, all_of_it());
  REQUIRE(both.findings.size() == 2);
  check_error(both.findings[0].what, ErrorCode::missing_member, "2 shards are missing");
}

TEST_CASE("prefetch: a short shard is named with both sizes, and nothing is read", "[jobs]") {
  const Sharded set;
  const std::string path = set.folder.file("model-00002-of-00002.safetensors");
  const std::uint64_t full = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, full - 3);
  const PrefetchResult result = prefetched({set.index}, all_of_it());
  REQUIRE(result.findings.size() >= 1);
  INFO(findings_text(result.findings));
  CHECK(result.findings[0].what.file == path);
  CHECK(result.findings[0].what.code == ErrorCode::truncated);
  CHECK(result.read_bytes == 0);
  CHECK(result.files[1].expected_bytes == full);
  CHECK(result.files[1].bytes == full - 3);
}

TEST_CASE("prefetch: a cut archive and a file that is no checkpoint are findings", "[jobs]") {
  const TempDir folder;
  const std::string cut = write(folder, "cut.pt", torch_file({pickled("w", "0", {100})}));
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 50);
  CHECK(prefetched({cut}).findings.at(0).what.code == ErrorCode::truncated);
  const std::string pointer =
      folder.write_file("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4976698672\n");
  check_error(prefetched({pointer}).findings.at(0).what, ErrorCode::unknown_format, "4976698672 bytes");
}

TEST_CASE("prefetch: other formats are read without a word about their size", "[jobs]") {
  const PrefetchResult result = prefetched({CKPT_TEST_FIXTURES "/good-legacy.pt"}, all_of_it());
  CHECK(result.findings.empty());
  CHECK(result.files[0].format == "other");
  CHECK_FALSE(result.files[0].expected_bytes);
  CHECK(result.read_bytes == result.files[0].bytes);
}

TEST_CASE("prefetch: dangerous imports are no reason not to read", "[jobs]") {
  const PrefetchResult result = prefetched({CKPT_TEST_FIXTURES "/bad-dangerous-import.pt"}, all_of_it());
  CHECK(result.findings.empty());
  CHECK(result.read_bytes == result.files[0].bytes);
}

TEST_CASE("prefetch: an index that leads out of its folder is path-escape", "[jobs]") {
  const TempDir folder;
  for (const char* name : {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "..", "C:a", "a\\\\b"}) {
    INFO(name);
    const std::string index = folder.write_file("x.index.json", index_of({{"a", name}}));
    CHECK(refused({index}).code == ErrorCode::path_escape);
  }
}

TEST_CASE("prefetch: a path that is not there is not-found", "[jobs]") {
  const TempDir folder;
  check_error(refused({folder.file("none.safetensors")}), ErrorCode::not_found, "none.safetensors");
}

TEST_CASE("prefetch: an empty file in an index is a finding, not a crash", "[jobs]") {
  const Sharded set;
  set.folder.write_file("model-00001-of-00002.safetensors", "");
  check_error(prefetched({set.index}).findings.at(0).what, ErrorCode::unknown_format, "empty");
}

TEST_CASE("prefetch: progress reaches the planned bytes", "[jobs]") {
  const TempDir folder;
  const std::string path = write(folder, "a.pt", torch_file({pickled("w", "0", {3'000'000})}));
  Progress progress;
  PrefetchOptions options = all_of_it();
  options.progress = &progress;
  const PrefetchResult result = prefetched({path}, options);
  CHECK(progress.done_bytes == result.read_bytes);
  CHECK(progress.total_bytes == result.read_bytes);
}

}  // namespace ckpt::test
