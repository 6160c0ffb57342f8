#include "support/torch_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "ckpt/tensor/dtype.h"

namespace ckpt::test {

namespace {

std::size_t item_bytes(const PickledTensor& tensor) {
  const auto dtype = dtype_of_storage(tensor.storage);
  return dtype ? dtype_facts(*dtype).torch_bytes : 1;
}

bool has_key(const Storages& storages, const std::string& key) {
  return std::any_of(storages.begin(), storages.end(),
                     [&](const auto& storage) { return storage.first == key; });
}

}  // namespace

ZipBuilder torch_file(std::string_view pickle, const Storages& storages) {
  ZipBuilder builder;
  builder.add("m/data.pkl", pickle).add("m/byteorder", "little");
  for (const auto& [key, bytes] : storages) builder.add("m/data/" + key, bytes);
  builder.add("m/version", "3\n");
  return builder;
}

ZipBuilder torch_file(const std::vector<PickledTensor>& tensors) {
  Storages storages;
  for (const PickledTensor& tensor : tensors) {
    if (has_key(storages, tensor.key)) continue;
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(tensor.numel, 0)) * item_bytes(tensor);
    storages.emplace_back(tensor.key, pattern_bytes(bytes, storages.size() + 1));
  }
  return torch_file(p0_pickle(tensors), storages);
}

PickledTensor pickled(std::string name, std::string key, std::vector<std::int64_t> size,
                      std::string storage) {
  PickledTensor tensor;
  tensor.name = std::move(name);
  tensor.key = std::move(key);
  tensor.storage = std::move(storage);
  tensor.stride.assign(size.size(), 1);
  tensor.numel = 1;
  for (std::size_t k = size.size(); k > 0; --k) {
    tensor.stride[k - 1] = tensor.numel;
    tensor.numel *= size[k - 1];
  }
  tensor.size = std::move(size);
  return tensor;
}

PickledTensor pickled_view(std::string name, std::string key, std::int64_t numel, std::int64_t offset,
                           std::vector<std::int64_t> size, std::vector<std::int64_t> stride) {
  PickledTensor tensor;
  tensor.name = std::move(name);
  tensor.key = std::move(key);
  tensor.numel = numel;
  tensor.offset = offset;
  tensor.size = std::move(size);
  tensor.stride = std::move(stride);
  return tensor;
}

void add_dict(PickleBuilder& builder, const std::vector<PickledTensor>& tensors) {
  builder.empty_dict();
  for (const PickledTensor& tensor : tensors) {
    builder.binunicode(tensor.name);
    add_tensor(builder, tensor);
    builder.setitem();
  }
}

std::string write(const TempDir& folder, std::string_view name, ZipBuilder archive) {
  return folder.write_file(name, archive.build());
}

std::string write_sparse(const TempDir& folder, std::string_view name, ZipBuilder archive) {
  const std::string path = folder.file(name);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (const auto& [offset, bytes] : archive.build_pieces()) {
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

}  // namespace ckpt::test
