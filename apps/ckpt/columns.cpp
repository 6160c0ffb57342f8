#include "columns.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ckpt/base/text.h"

namespace ckpt::app {

namespace {

std::string number(std::uint64_t value, bool human) { return human ? grouped(value) : std::to_string(value); }

std::string dims_text(const Dims& dims, bool human) {
  std::string out = human ? "[" : "";
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (k > 0) out += human ? ", " : ",";
    out += std::to_string(dims[k]);
  }
  if (human) out += "]";
  return out;
}

std::string storage_text(const Model& model, const Tensor& tensor) {
  if (tensor.storage == kNoIndex) return "-";
  const Storage& storage = model.storages[tensor.storage];
  return storage.key.empty() ? "-" : escaped(storage.key, 64);
}

std::string digest_text(const InspectResult& result, std::uint32_t tensor) {
  return tensor < result.digests.size() && result.digests[tensor] ? digest_hex(*result.digests[tensor]) : "-";
}

std::string offset_text(const Model& model, const Tensor& tensor, bool human) {
  const auto offset = file_offset(model, tensor);
  return offset ? number(*offset, human) : "-";
}

std::string flags_text(const Model& model, const Tensor& tensor) {
  const auto words = flag_words(model, tensor);
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ","));
}

/// Storage users by storage, so that "shared" costs one pass.
bool shares_storage(const Tensor& tensor) { return tensor.alias_of != kNoIndex || !tensor.overlaps.empty(); }

bool is_part_of_storage(const Model& model, const Tensor& tensor) {
  return tensor.storage != kNoIndex && !model.storages[tensor.storage].key.empty() &&
         view_extent(tensor.view) < model.storages[tensor.storage].bytes;
}

bool comes_before(const InspectResult& result, SortKey key, std::uint32_t a, std::uint32_t b) {
  const Tensor& x = result.model.tensors[a];
  const Tensor& y = result.model.tensors[b];
  switch (key) {
    case SortKey::name: return x.name < y.name;
    case SortKey::bytes: return x.bytes > y.bytes;
    case SortKey::dtype: return dtype_word(x.dtype) < dtype_word(y.dtype);
    case SortKey::offset:
      return file_offset(result.model, x).value_or(UINT64_MAX) <
             file_offset(result.model, y).value_or(UINT64_MAX);
    default: return false;
  }
}

}  // namespace

std::string column_heading(Column column) {
  constexpr const char* kHeadings[] = {"NAME",   "DTYPE",  "SHAPE",   "BYTES", "ELEMENTS",
                                       "OFFSET", "STRIDE", "STORAGE", "FLAGS", "SHA256"};
  return kHeadings[static_cast<int>(column)];
}

bool is_right_aligned(Column column) {
  return column == Column::bytes || column == Column::elements || column == Column::offset;
}

std::string column_text(Column column, const InspectResult& result, std::uint32_t index, bool human) {
  const Tensor& tensor = result.model.tensors[index];
  switch (column) {
    case Column::name: return escaped(tensor.name);
    case Column::dtype: return std::string(dtype_word(tensor.dtype));
    case Column::shape: return dims_text(tensor.shape, human);
    case Column::bytes: return number(tensor.bytes, human);
    case Column::elements: return number(tensor.elements, human);
    case Column::offset: return offset_text(result.model, tensor, human);
    case Column::stride: return dims_text(tensor.view.stride, human);
    case Column::storage: return storage_text(result.model, tensor);
    case Column::flags: return flags_text(result.model, tensor);
    default: return digest_text(result, index);
  }
}

std::vector<std::string> flag_words(const Model& model, const Tensor& tensor) {
  std::vector<std::string> words;
  if (tensor.kind != TensorKind::plain) words.emplace_back(tensor_kind_word(tensor.kind));
  if (!tensor.is_contiguous && !tensor.is_expanded) words.emplace_back("strided");
  if (tensor.is_expanded) words.emplace_back("expanded");
  if (is_part_of_storage(model, tensor)) words.emplace_back("view");
  if (shares_storage(tensor)) words.emplace_back(tensor.alias_of != kNoIndex ? "alias" : "overlaps");
  if (tensor.is_conjugate) words.emplace_back("conjugate");
  if (tensor.is_negative) words.emplace_back("negative");
  if (tensor.is_nameless) words.emplace_back("nameless");
  return words;
}

std::optional<std::uint64_t> file_offset(const Model& model, const Tensor& tensor) {
  if (tensor.storage == kNoIndex || tensor.kind == TensorKind::unreadable) return std::nullopt;
  const Storage& storage = model.storages[tensor.storage];
  if (storage.offset == 0) return std::nullopt;
  return storage.offset + tensor.view.offset;
}

std::vector<std::uint32_t> sorted_tensors(const InspectResult& result, SortKey key) {
  std::vector<std::uint32_t> order = result.selected;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return comes_before(result, key, a, b); });
  return order;
}

}  // namespace ckpt::app
