#include "ckpt/safetensors/writer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/io/sha256.h"
#include "ckpt/safetensors/header.h"
#include "support/catch.h"
#include "support/header_builder.h"

namespace ckpt::safetensors {
namespace {

using namespace std::string_view_literals;
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Input {
  std::string name;
  Dtype dtype;
  std::vector<std::uint64_t> shape;
  std::string data;
};

Result<Layout> plan(const std::vector<Input>& inputs, const std::optional<Metadata>& metadata = std::nullopt,
                    const Limits& limits = {}) {
  std::vector<OutputTensor> tensors;
  for (const Input& input : inputs) tensors.push_back({input.name, input.dtype, &input.shape});
  return plan_layout(tensors, metadata ? &*metadata : nullptr, limits);
}

std::string written(const std::vector<Input>& inputs,
                    const std::optional<Metadata>& metadata = std::nullopt) {
  const auto layout = plan(inputs, metadata);
  REQUIRE(layout);
  std::string file = layout->header;
  for (const std::uint32_t index : layout->order) {
    CHECK(layout->offsets[index] == file.size());
    CHECK(layout->bytes[index] == inputs[index].data.size());
    file += inputs[index].data;
  }
  CHECK(layout->file_bytes == file.size());
  return file;
}

std::string sha256(std::string_view file) {
  Sha256 digest;
  digest.update(as_bytes(file));
  return digest_hex(digest.finish());
}

std::string_view json_of(std::string_view file) { return file.substr(8, file.rfind('}') - 7); }

const std::vector<Input>& vector_c() {
  static const std::vector<Input> inputs = {
      {"layer.weight", Dtype::f32, {2, 2}, std::string("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\x80\x7f", 16)},
      {"layer.bias", Dtype::f16, {3}, std::string("\0\x3c\0\xc0\0\x7e", 6)},
      {"mask", Dtype::boolean, {5}, std::string("\1\0\1\1\0", 5)},
      {"step", Dtype::i64, {}, std::string("\7\0\0\0\0\0\0\0", 8)},
      {"empty", Dtype::f32, {0, 4}, ""},
      {"layer.weight_bf", Dtype::bf16, {1}, "\x80\x3f"},
  };
  return inputs;
}

const std::vector<Input>& vector_d() {
  static const std::vector<Input> inputs = {
      {"q", Dtype::f4, {2, 2}, "\x21\x43"},
      {"s", Dtype::f8_e8m0, {1}, "\x7f"},
      {"z", Dtype::c64, {1}, std::string("\0\0\x80\x3f\0\0\x80\xbf", 8)},
      {"p", Dtype::f6_e2m3, {4}, "\xaa\xbb\xcc"},
      {"h", Dtype::f8_e4m3, {2}, "\x38\xb8"},
  };
  return inputs;
}

}  // namespace

// Vectors A to E: files of the reference writer, with their SHA-256.

TEST_CASE("writer: vector A, nothing at all", "[safetensors]") {
  const std::string file = written({});
  CHECK(file == "\x08\0\0\0\0\0\0\0{}      "sv);
  CHECK(sha256(file) == "9bbcbf73561f6bc5d0a17ea6a2081feed2d1304e87602d8c502d9a5c4bd85576");
}

TEST_CASE("writer: vector B, metadata alone", "[safetensors]") {
  const std::string file = written({}, Metadata{{"format", "pt"}});
  CHECK(json_of(file) == R"({"__metadata__":{"format":"pt"}})");
  CHECK(file.size() == 40);
  CHECK(sha256(file) == "60d95b10b6e140a9626a7058d5038528f2ff80148dc4569b881db56052046509");
}

TEST_CASE("writer: vector C, a small model", "[safetensors]") {
  const std::string file = written(vector_c(), Metadata{{"format", "pt"}});
  CHECK(json_of(file) ==
        R"({"__metadata__":{"format":"pt"},"step":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
        R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]},)"
        R"("layer.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)"
        R"("layer.weight_bf":{"dtype":"BF16","shape":[1],"data_offsets":[24,26]},)"
        R"("layer.bias":{"dtype":"F16","shape":[3],"data_offsets":[26,32]},)"
        R"("mask":{"dtype":"BOOL","shape":[5],"data_offsets":[32,37]}})");
  CHECK(file.size() == 453);
  CHECK(sha256(file) == "56d3480c69c427055e8f49e0686f684b1d677e0988e0d258e099d691ae6507ea");
}

TEST_CASE("writer: vector D, small types by their rank", "[safetensors]") {
  const std::string file = written(vector_d());
  CHECK(file.size() == 312);
  CHECK(plan(vector_d())->order == std::vector<std::uint32_t>{2, 1, 4, 3, 0});
  CHECK(sha256(file) == "029c1392c78c63ff79e2009ef964941cf643ddc648f34badfb6c3c358cf81559");
}

TEST_CASE("writer: vector E, names and escapes", "[safetensors]") {
  const std::vector<Input> inputs = {{"a/b\"c\\d", Dtype::u8, {1}, "\1"}, {"tab\tnl\n", Dtype::u8, {1}, "\2"},
                                     {"\1\x7f", Dtype::u8, {1}, "\3"},    {"\xC3\xA9", Dtype::u8, {1}, "\4"},
                                     {"Z", Dtype::u8, {1}, "\5"},         {"a.10", Dtype::u8, {1}, "\6"},
                                     {"a.9", Dtype::u8, {1}, "\7"}};
  const std::string file = written(inputs, Metadata{{"k\b", "v/\f\r"}});
  CHECK(json_of(file).starts_with(R"({"__metadata__":{"k\b":"v/\f\r"},"\u0001)"));
  CHECK(file.ends_with("\3\5\6\7\1\2\4"));
  CHECK(file.size() == 447);
  CHECK(sha256(file) == "3b8663a196ca85b88b9b27dfc9f5e27255a2c08c013e22a99d99f19efc90c568");
}

TEST_CASE("writer: every type stands in the reference's order", "[safetensors]") {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < kSafetensorsDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    inputs.push_back({"t", dtype, {8}, std::string(dtype_facts(dtype).bits, 'x')});
    inputs.back().name += std::to_string(i);
  }
  std::string words;
  const auto layout = plan(inputs);
  REQUIRE(layout);
  for (const std::uint32_t index : layout->order) words.append(dtype_word(inputs[index].dtype)).append(" ");
  CHECK(words ==
        "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 F8_E4M3 F8_E5M2 I8 U8 "
        "F6_E3M2 F6_E2M3 F4 BOOL ");
}

TEST_CASE("writer: metadata keys are sorted by bytes", "[safetensors]") {
  const std::string file = written({}, Metadata{{"b", "1"}, {"\xC3\xA9", "2"}, {"B", "3"}, {"", "4"}});
  CHECK(json_of(file) == "{\"__metadata__\":{\"\":\"4\",\"B\":\"3\",\"b\":\"1\",\"\xC3\xA9\":\"2\"}}");
}

TEST_CASE("writer: an empty map is written with tensors and left out without", "[safetensors]") {
  CHECK(
      json_of(written({{"a", Dtype::u8, {1}, "x"}}, Metadata{})).starts_with("{\"__metadata__\":{},\"a\":"));
  CHECK(json_of(written({}, Metadata{})) == "{}");
}

TEST_CASE("writer: strings are escaped as the reference does", "[safetensors]") {
  std::string raw;
  for (char c = 0; c < 0x20; ++c) raw += c;
  std::string out = "x";
  append_json_string(out, raw + "\"\\/\x7f\xE2\x80\xA8");
  CHECK(out ==
        "x\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u00"
        "10\\u0011"
        "\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f\\"
        "\"\\\\/\x7f"
        "\xE2\x80\xA8\"");
}

TEST_CASE("writer: what Safetensors cannot hold is refused by name", "[safetensors]") {
  const auto error = [](Input input) {
    return plan({{"good", Dtype::u8, {1}, ""}, std::move(input)}).error();
  };
  CHECK(error({"a", Dtype::c128, {1}, ""}).code == ErrorCode::unsupported);
  CHECK(error({"a", Dtype::c128, {1}, ""}).tensor == "a");
  CHECK(error({"a", Dtype::qint8, {1}, ""}).message == "dtype qint8 has no Safetensors form");
  CHECK(error({"\xFF", Dtype::u8, {1}, ""}).code == ErrorCode::would_lose);
  CHECK(error({"\xED\xA0\x80", Dtype::u8, {1}, ""}).code == ErrorCode::would_lose);
  CHECK(error({"__metadata__", Dtype::u8, {1}, ""}).code == ErrorCode::name_collision);
  CHECK(error({"good", Dtype::f64, {1}, ""}).code == ErrorCode::name_collision);
  CHECK(error({"a", Dtype::f4, {3}, ""}).message == "12 bits are not whole bytes");
  CHECK(error({"a", Dtype::f4, {}, ""}).code == ErrorCode::corrupt);
  CHECK(error({"a", Dtype::u8, {1ULL << 32U, 1ULL << 32U}, ""}).code == ErrorCode::corrupt);
  CHECK(error({"a", Dtype::u8, {1ULL << 61U}, ""}).code == ErrorCode::corrupt);
  CHECK(error({"a", Dtype::u8, {0, 1ULL << 63U}, ""}).code == ErrorCode::corrupt);
}

TEST_CASE("writer: metadata that is no UTF-8 or has a key twice is refused", "[safetensors]") {
  CHECK(plan({}, Metadata{{"\xFF", "a"}}).error().code == ErrorCode::would_lose);
  CHECK(plan({}, Metadata{{"a", "\xFF"}}).error().code == ErrorCode::would_lose);
  CHECK(plan({}, Metadata{{"a", "1"}, {"a", "2"}}).error().code == ErrorCode::name_collision);
}

TEST_CASE("writer: sizes that add up beyond 64 bits are corrupt", "[safetensors]") {
  std::vector<Input> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back({std::to_string(i), Dtype::u8, {(1ULL << 61U) - 1}, ""});
  CHECK(plan(inputs).error().code == ErrorCode::corrupt);
}

TEST_CASE("writer: a header above the limit is a limit, padding counted", "[safetensors]") {
  Limits limits;
  limits.header_bytes = 408;
  CHECK(plan(vector_c(), Metadata{{"format", "pt"}}, limits));
  limits.header_bytes = 407;
  const Error error = plan(vector_c(), Metadata{{"format", "pt"}}, limits).error();
  CHECK(error.code == ErrorCode::limit);
  CHECK(error.message == "header would be 408 bytes or more, the limit header_bytes is 407");
  limits.header_bytes = 20;
  CHECK(plan({}, Metadata{{"long", std::string(1000, 'x')}}, limits).error().code == ErrorCode::limit);
}

TEST_CASE("writer: what is written is read back the same, for generated inputs", "[safetensors]") {
  std::mt19937 random(20240229);
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  constexpr std::array kPieces = {"a",  "b",    ".",        "weight",           "\"", "\\",
                                  "\n", "\x01", "\xC3\xA9", "\xF0\x9F\x98\x80", "/",  " "};
  for (int round = 0; round < 200; ++round) {
    std::vector<Input> inputs;
    for (std::uint32_t count = below(12); count > 0; --count) {
      Input input{"t" + std::to_string(count), static_cast<Dtype>(below(kSafetensorsDtypeCount)), {8}, ""};
      for (std::uint32_t pieces = below(5); pieces > 0; --pieces)
        input.name += kPieces[below(kPieces.size())];
      for (std::uint32_t rank = below(4); rank > 0; --rank) input.shape.push_back(below(4));
      std::uint64_t elements = 1;
      for (const std::uint64_t dim : input.shape) elements *= dim;
      input.data.assign(elements * dtype_facts(input.dtype).bits / 8, static_cast<char>(count));
      inputs.push_back(std::move(input));
    }
    std::optional<Metadata> metadata;
    if (below(2) == 0) metadata = Metadata{{"format", "pt"}};
    const auto header = read_header(test::source_of(written(inputs, metadata)), {});
    REQUIRE(header);
    for (const Finding& finding : header->findings) FAIL(error_line(finding.what));
    CHECK(header->metadata == metadata.value_or(Metadata{}));
    REQUIRE(header->tensors.size() == inputs.size());
    for (const HeaderTensor& tensor : header->tensors) {
      const auto input =
          std::find_if(inputs.begin(), inputs.end(), [&](const Input& i) { return i.name == tensor.name; });
      REQUIRE(input != inputs.end());
      CHECK(tensor.dtype == input->dtype);
      CHECK(tensor.shape == input->shape);
      CHECK(tensor.end - tensor.begin == input->data.size());
    }
  }
}

}  // namespace ckpt::safetensors
