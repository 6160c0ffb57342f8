#include "tree.h"

#include "ckpt/model/model.h"
#include "support/catch.h"

namespace ckpt::app {
namespace {

std::string tree_of(const std::vector<std::pair<std::string, std::uint64_t>>& tensors) {
  InspectResult result;
  for (const auto& [name, elements] : tensors) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = Dtype::f32;
    tensor.shape = {elements};
    tensor.elements = elements;
    tensor.bytes = 4 * elements;
    result.selected.push_back(static_cast<std::uint32_t>(result.model.tensors.size()));
    result.model.tensors.push_back(std::move(tensor));
  }
  return render_tree(result, 200);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("tree: modules have the bytes of all below them", "[apps]") {
  CHECK(tree_of({{"a.x", 100}, {"a.y", 100}, {"b", 200}}) ==
        "MODULE  BYTES  TENSORS  SHARE   TENSOR\n"
        "a       800 B        2  ██████\n"
        "  x     400 B        1  ███     F32 [100]\n"
        "  y     400 B        1  ███     F32 [100]\n"
        "b       800 B        1  ██████  F32 [200]\n");
}

TEST_CASE("tree: equal neighbouring layers are folded", "[apps]") {
  std::vector<std::pair<std::string, std::uint64_t>> tensors;
  for (int i = 0; i < 12; ++i)
    tensors.emplace_back("layers." + std::to_string(i) + ".weight", i == 5 ? 20 : 10);
  const std::string tree = tree_of(tensors);
  CHECK(has(tree, "{0..4}"));
  CHECK(has(tree, "\n  5.weight"));
  CHECK(has(tree, "{6..11}"));
  CHECK(has(tree, "F32 [10] × 5") == has(tree, "F32 [10] × 6"));
}

TEST_CASE("tree: a chain of single modules takes one line", "[apps]") {
  CHECK(has(tree_of({{"model.decoder.proj.weight", 4}}), "\nmodel.decoder.proj.weight"));
}

TEST_CASE("tree: names of any form end", "[apps]") {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "a.";
  const std::string tree =
      tree_of({{deep, 1}, {"", 1}, {".", 1}, {"..", 1}, {"a", 1}, {"a.b", 1}, {"x\x1b[31m", 1}});
  CHECK(has(tree, "x\\x1b[31m"));
  CHECK_FALSE(has(tree, "\x1b"));
}

TEST_CASE("tree: no tensors, no rows", "[apps]") {
  CHECK(tree_of({}) == "MODULE  BYTES  TENSORS  SHARE  TENSOR\n");
}

}  // namespace ckpt::app
