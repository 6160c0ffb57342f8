#include "ckpt/model/shard_index.h"

#include "support/model_checks.h"
#include "support/temp_dir.h"

namespace ckpt::test {
namespace {

Result<std::vector<std::string>> names_in(std::string_view text, const Limits& limits = {}) {
  const TempDir folder;
  return read_shard_names(folder.write_file("model.safetensors.index.json", text), limits);
}

void check_refused(std::string_view text, ErrorCode code, std::string_view part, const Limits& limits = {}) {
  INFO(text);
  const auto names = names_in(text, limits);
  REQUIRE_FALSE(names);
  check_error(names.error(), code, part);
}

std::string with_name(std::string_view name) {
  return R"({"weight_map":{"w":")" + std::string(name) + "\"}}";
}

}  // namespace

TEST_CASE("shard_index: each shard once, in the order of the text", "[model]") {
  const auto names =
      names_in(R"({"metadata":{"total_size":16},"extra":[1],)"
               R"("weight_map":{"b":"two.safetensors","a":"one.safetensors","c":"two.safetensors"}})");
  REQUIRE(names);
  CHECK(*names == std::vector<std::string>{"two.safetensors", "one.safetensors"});
  CHECK(names_in(R"({"weight_map":{}})")->empty());
}

TEST_CASE("shard_index: what is no index is corrupt", "[model]") {
  check_refused("", ErrorCode::corrupt, "");
  check_refused("{", ErrorCode::corrupt, "");
  check_refused("[]", ErrorCode::corrupt, "no weight_map");
  check_refused("{}", ErrorCode::corrupt, "no weight_map");
  check_refused(R"({"weight_map":[]})", ErrorCode::corrupt, "no weight_map");
  check_refused(R"({"weight_map":{"w":3}})", ErrorCode::corrupt, "no file name for tensor \"w\"");
}

TEST_CASE("shard_index: a tensor named twice is ambiguous", "[model]") {
  check_refused(R"({"weight_map":{"w":"a","w":"b"}})", ErrorCode::ambiguous, "\"w\" twice");
}

TEST_CASE("shard_index: names that are no plain siblings are path-escape", "[model]") {
  for (const char* name :
       {"../a", "a/b", "/a", "..", ".", "", "a\\\\b", "C:a", "~a", "a\\u0000b", "a\\nb", "a\\u007fb"}) {
    check_refused(with_name(name), ErrorCode::path_escape, "is not the plain name");
  }
  check_refused(with_name(std::string(256, 'a')), ErrorCode::path_escape, "");
  CHECK(names_in(with_name(std::string(255, 'a'))));
  CHECK(names_in(with_name("a b..c.safetensors")));
}

TEST_CASE("shard_index: a file above the limit is not read", "[model]") {
  Limits limits;
  limits.header_bytes = 10;
  check_refused(with_name("a"), ErrorCode::limit, "the limit is 10 (header bytes)", limits);
}

TEST_CASE("shard_index: names of index files", "[model]") {
  CHECK(is_index_name("x/model.safetensors.index.json"));
  CHECK(is_index_name("diffusion_pytorch_model.safetensors.index.fp16.json"));
  CHECK_FALSE(is_index_name("config.json"));
  CHECK_FALSE(is_index_name("model.safetensors"));
}

}  // namespace ckpt::test
