#include <algorithm>
#include <array>
#include <fstream>

#include <nlohmann/json.hpp>

#include "ckpt/io/byte_reader.h"
#include "ckpt/jobs/jobs.h"
#include "support/model_checks.h"
#include "support/temp_dir.h"

/// Every file of tests/fixtures against what torch and the Safetensors reference writer made of it.
namespace ckpt::test {
namespace {

using Json = nlohmann::json;

/// Containers that are named, but not read.
constexpr std::array<std::string_view, 2> kNotRead = {"torch-legacy", "pickle"};

const Json& manifest() {
  static const Json document = [] {
    std::ifstream in(CKPT_TEST_FIXTURES "/manifest.json");
    return Json::parse(in);
  }();
  return document.at("files");
}

std::string path_of(const Json& entry) {
  return CKPT_TEST_FIXTURES "/" + entry.at("file").get<std::string>();
}

std::string text_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_read(const Json& entry) {
  return std::find(kNotRead.begin(), kNotRead.end(), text_of(entry, "container")) == kNotRead.end();
}

/// Files that the manifest lists tensors of and that can be read.
std::vector<Json> listed_files() {
  std::vector<Json> files;
  for (const Json& entry : manifest()) {
    if (entry.contains("tensors") && is_read(entry)) files.push_back(entry);
  }
  return files;
}

std::string sha256_text(std::string_view content) {
  Sha256 digest;
  digest.update(as_bytes(content));
  return digest_hex(digest.finish());
}

InspectResult inspected(const std::string& path) {
  InspectOptions options;
  options.with_digests = true;
  options.input.threads = 2;
  auto result = inspect(path, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

std::string name_of(const Json& tensor) {
  const std::string digits = text_of(tensor, "name_hex");
  if (digits.empty()) return tensor.at("name").get<std::string>();
  std::string name;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    name += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return name;
}

void check_tensor(const Json& expected, const Tensor& tensor, const std::optional<Digest>& digest) {
  INFO(expected.dump());
  CHECK(tensor.name == name_of(expected));
  CHECK(dtype_word(tensor.dtype) == expected.at("dtype").get<std::string>());
  CHECK(tensor.shape == expected.at("shape").get<Dims>());
  if (expected.contains("kind")) {
    CHECK(expected.at("kind").get<std::string>().rfind(tensor_kind_word(tensor.kind), 0) == 0);
    return;
  }
  CHECK(tensor.kind == TensorKind::plain);
  CHECK(tensor.bytes == expected.at("bytes").get<std::uint64_t>());
  CHECK(tensor.is_contiguous == expected.at("is_contiguous").get<bool>());
  CHECK(tensor.view.offset == expected.at("storage_offset_bytes").get<std::uint64_t>());
  if (expected.contains("lazy")) {
    CHECK((tensor.is_conjugate ? "conjugate" : "negative") == text_of(expected, "lazy"));
    CHECK_FALSE(digest);
    return;
  }
  REQUIRE(digest);
  CHECK(digest_hex(*digest) == text_of(expected, "sha256"));
}

std::string converted(const Json& entry, unsigned threads) {
  const TempDir folder;
  ConvertOptions options;
  options.sync = false;
  options.input.threads = threads;
  options.input.allow_dangerous = true;  // one fixture names a dangerous import; nothing is run either way
  const auto result = convert(path_of(entry), folder.path() + "/out.safetensors", options);
  if (!result) FAIL(error_line(result.error()));
  CHECK(folder.names() == std::vector<std::string>{"out.safetensors"});
  return read_file(result->output);
}

}  // namespace

TEST_CASE("fixtures: the manifest describes the files that are there", "[model]") {
  CHECK(manifest().size() > 50);
  for (const Json& entry : manifest()) {
    INFO(path_of(entry));
    const std::string content = read_file(path_of(entry));
    CHECK(content.size() == entry.at("bytes").get<std::size_t>());
    CHECK(sha256_text(content) == text_of(entry, "sha256"));
  }
}

TEST_CASE("fixtures: names, dtypes, shapes and digests are those of torch", "[model]") {
  for (const Json& entry : listed_files()) {
    INFO(path_of(entry));
    const InspectResult result = inspected(path_of(entry));
    std::vector<std::uint32_t> named;
    for (const std::uint32_t index : result.selected) {
      if (!result.model.tensors[index].is_nameless) named.push_back(index);
    }
    Json expected = entry.at("tensors");
    if (text_of(entry, "container") ==
        "safetensors") {  // the manifest has them as they were given to the writer
      std::sort(expected.begin(), expected.end(),
                [](const Json& a, const Json& b) { return name_of(a) < name_of(b); });
      std::sort(named.begin(), named.end(), [&](std::uint32_t a, std::uint32_t b) {
        return result.model.tensors[a].name < result.model.tensors[b].name;
      });
    }
    REQUIRE(named.size() == expected.size());
    CHECK(result.selected.size() - named.size() == entry.at("nameless").size());
    for (std::size_t i = 0; i < named.size(); ++i) {
      check_tensor(expected[i], result.model.tensors[named[i]], result.digests[named[i]]);
    }
  }
}

TEST_CASE("fixtures: roots, values outside and aliases are those of torch", "[model]") {
  for (const Json& entry : listed_files()) {
    INFO(path_of(entry));
    const Model model = opened(path_of(entry));
    CHECK(model.is_root_ambiguous == entry.at("root").is_null());
    if (!model.is_root_ambiguous) CHECK(model.root == text_of(entry, "root"));
    CHECK(model.outside_tensors == entry.at("outside").at("tensors").get<std::uint64_t>());
    CHECK(model.outside_bytes == entry.at("outside").at("bytes").get<std::uint64_t>());
    for (const Json& pair : entry.at("aliases")) {
      const Tensor& alias = tensor_of(model, pair[1].get<std::string>());
      REQUIRE(alias.alias_of != kNoIndex);
      CHECK(model.tensors[alias.alias_of].name == pair[0].get<std::string>());
    }
  }
}

TEST_CASE("fixtures: other values have torch's paths", "[model]") {
  for (const Json& entry : listed_files()) {
    if (text_of(entry, "container") == "torchscript") continue;  // torch lists no attributes of a script
    INFO(path_of(entry));
    const Model model = opened(path_of(entry));
    CHECK(model.others.size() == entry.at("others_count").get<std::size_t>());
    const auto expected = entry.at("others").get<std::vector<std::string>>();
    for (std::size_t i = 0; i < std::min(expected.size(), model.others.size()); ++i) {
      CHECK(model.others[i].path == expected[i]);
    }
  }
}

TEST_CASE("fixtures: the model digest is the same for every form of a model", "[model]") {
  for (const Json& entry : listed_files()) {
    const std::string expected = text_of(entry, "model_sha256");
    if (expected.empty()) continue;
    INFO(path_of(entry));
    const InspectResult result = inspected(path_of(entry));
    REQUIRE(result.model_digest);
    CHECK(digest_hex(*result.model_digest) == expected);
  }
}

TEST_CASE("fixtures: convert writes what the reference writer writes, with one thread and with four",
          "[model][jobs]") {
  for (const Json& entry : listed_files()) {
    const std::string expected = text_of(entry, "output_sha256");
    if (expected.empty()) continue;
    INFO(path_of(entry));
    const std::string output = converted(entry, 1);
    CHECK(output.size() == entry.at("output_bytes").get<std::size_t>());
    CHECK(sha256_text(output) == expected);
    CHECK(converted(entry, 4) == output);
  }
}

TEST_CASE("fixtures: containers that are not read are unsupported and named", "[model]") {
  for (const Json& entry : manifest()) {
    if (is_read(entry)) continue;
    INFO(path_of(entry));
    const bool is_pickle = text_of(entry, "container") == "pickle";
    check_error(open_error(path_of(entry)), ErrorCode::unsupported,
                is_pickle ? "a bare pickle" : "a legacy torch.save stream");
  }
}

TEST_CASE("fixtures: good files have no findings that are errors", "[model]") {
  for (const Json& entry : listed_files()) {
    if (text_of(entry, "file").rfind("good-", 0) != 0) continue;
    const Model model = opened(path_of(entry));
    INFO(path_of(entry) << "\n" << findings_text(model.findings));
    CHECK(count_findings(model.findings, Severity::error) == 0);
  }
}

TEST_CASE("fixtures: a dict that holds itself is walked once", "[model]") {
  const Model model = opened(CKPT_TEST_FIXTURES "/unsupported-cycle.pt");
  CHECK_FALSE(model.tensors.empty());
  CHECK(model.tensors.size() < 10);
}

TEST_CASE("fixtures: an archive that was cut is truncated", "[model]") {
  check_error(open_error(CKPT_TEST_FIXTURES "/bad-cut.pt"), ErrorCode::truncated, "bad-cut.pt");
}

}  // namespace ckpt::test
