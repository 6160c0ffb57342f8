#include "ckpt/model/aliases.h"

#include "support/model_checks.h"

namespace ckpt::test {
namespace {

Model storages_of(const std::vector<std::uint64_t>& sizes) {
  Model model;
  for (const std::uint64_t bytes : sizes) {
    Storage storage;
    storage.bytes = bytes;
    model.storages.push_back(storage);
  }
  return model;
}

Tensor& add(Model& model, std::string name, std::uint32_t storage, std::uint64_t offset, Dims dims,
            Dims stride) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = Dtype::f32;
  tensor.storage = storage;
  tensor.view = {std::move(dims), std::move(stride), offset, 4};
  tensor.bytes = view_bytes(tensor.view);
  model.tensors.push_back(std::move(tensor));
  return model.tensors.back();
}

std::string alias_of(const Model& model, std::string_view name) {
  const Tensor& tensor = tensor_of(model, name);
  return tensor.alias_of == kNoIndex ? "none" : model.tensors[tensor.alias_of].name;
}

}  // namespace

TEST_CASE("aliases: the first name in code-point order is kept, whatever the order of the file", "[model]") {
  Model model = storages_of({40, 40});
  add(model, "z", 0, 0, {10}, {1});
  add(model, "b", 0, 0, {10}, {1});
  add(model, "a", 1, 0, {10}, {1});
  add(model, "B", 0, 0, {10}, {1});
  find_aliases(model);
  CHECK(alias_of(model, "B") == "none");
  CHECK(alias_of(model, "b") == "B");
  CHECK(alias_of(model, "z") == "B");
  CHECK(alias_of(model, "a") == "none");
  for (const Tensor& tensor : model.tensors) CHECK(tensor.overlaps.empty());
}

TEST_CASE("aliases: another dtype, shape, stride or offset is an overlap", "[model]") {
  Model model = storages_of({40});
  add(model, "a", 0, 0, {2, 2}, {2, 1});
  add(model, "dtype", 0, 0, {2, 2}, {2, 1}).dtype = Dtype::i32;
  add(model, "shape", 0, 0, {4}, {1});
  add(model, "stride", 0, 0, {2, 2}, {1, 2});
  add(model, "offset", 0, 4, {2, 2}, {2, 1});
  find_aliases(model);
  for (const Tensor& tensor : model.tensors) {
    INFO(tensor.name);
    CHECK(tensor.alias_of == kNoIndex);
    CHECK_FALSE(tensor.overlaps.empty());
  }
}

TEST_CASE("aliases: disjoint slices of one storage are neither", "[model]") {
  Model model = storages_of({40});
  add(model, "a", 0, 0, {5}, {1});
  add(model, "b", 0, 20, {5}, {1});
  find_aliases(model);
  CHECK(alias_of(model, "b") == "none");
  CHECK(model.tensors[0].overlaps.empty());
  CHECK(model.tensors[1].overlaps.empty());
}

TEST_CASE("aliases: empty and unreadable tensors share nothing", "[model]") {
  Model model = storages_of({40});
  add(model, "a", 0, 0, {0}, {1});
  add(model, "b", 0, 0, {0}, {1});
  add(model, "c", 0, 0, {10}, {1}).kind = TensorKind::unreadable;
  add(model, "d", 0, 0, {10}, {1});
  find_aliases(model);
  for (const Tensor& tensor : model.tensors) {
    CHECK(tensor.alias_of == kNoIndex);
    CHECK(tensor.overlaps.empty());
  }
}

TEST_CASE("aliases: at most 8 overlaps are listed, and all of them are marked", "[model]") {
  Model model = storages_of({4000});
  add(model, "whole", 0, 0, {1000}, {1});
  for (std::uint64_t i = 0; i < 50; ++i) add(model, "part" + std::to_string(i), 0, 8 * i, {2}, {1});
  find_aliases(model);
  CHECK(model.tensors[0].overlaps.size() == 8);
  for (const Tensor& tensor : model.tensors) CHECK_FALSE(tensor.overlaps.empty());
}

TEST_CASE("aliases: bytes that no tensor touches are counted once a storage", "[model]") {
  Model model = storages_of({40, 100, 10});
  add(model, "a", 0, 8, {2}, {1});
  add(model, "b", 0, 12, {2}, {1});
  add(model, "c", 1, 0, {25}, {1});
  CHECK(count_unused_bytes(model, {}) == 40 - 12 + 10);
  CHECK(count_unused_bytes(model, {{2, 0, 6}, {0, 0, 40}}) == 4);
}

}  // namespace ckpt::test
