#include "ckpt/model/aliases.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ckpt {

namespace {

constexpr std::size_t kListedOverlaps = 8;

UsedRange range_of(const Tensor& tensor) {
  return {tensor.storage, tensor.view.offset, tensor.view.offset + view_extent(tensor.view)};
}

bool has_bytes(const Tensor& tensor) {
  return tensor.storage != kNoIndex && tensor.kind != TensorKind::unreadable && tensor.bytes > 0;
}

/// Indices of the tensors whose storage has another tensor, by storage, place and length.
std::vector<std::uint32_t> sharing_tensors(const Model& model) {
  std::vector<std::uint32_t> users(model.storages.size(), 0);
  for (const Tensor& tensor : model.tensors) {
    if (has_bytes(tensor)) ++users[tensor.storage];
  }
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
    if (has_bytes(model.tensors[i]) && users[model.tensors[i].storage] > 1) indices.push_back(i);
  }
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
    const UsedRange x = range_of(model.tensors[a]);
    const UsedRange y = range_of(model.tensors[b]);
    return std::tie(x.storage, x.begin, x.end) < std::tie(y.storage, y.begin, y.end);
  });
  return indices;
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.dtype == b.dtype && a.view.offset == b.view.offset &&
         a.view.dims == b.view.dims && a.view.stride == b.view.stride && a.is_conjugate == b.is_conjugate &&
         a.is_negative == b.is_negative;
}

/// Among tensors that cover one range, those with the same view are aliases of the first name.
void mark_aliases(Model& model, std::span<std::uint32_t> group) {
  std::sort(group.begin(), group.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Tensor& x = model.tensors[a];
    const Tensor& y = model.tensors[b];
    return std::tie(x.dtype, x.view.dims, x.view.stride, x.name, a) <
           std::tie(y.dtype, y.view.dims, y.view.stride, y.name, b);
  });
  std::uint32_t kept = group[0];
  for (std::size_t i = 1; i < group.size(); ++i) {
    if (same_view(model.tensors[group[i]], model.tensors[kept])) {
      model.tensors[group[i]].alias_of = kept;
    } else {
      kept = group[i];
    }
  }
}

void add_overlap(Tensor& tensor, std::uint32_t other) {
  if (tensor.overlaps.size() < kListedOverlaps) tensor.overlaps.push_back(other);
}

/// `sorted` is by storage and begin: each tensor is compared with the one that reaches furthest so far.
void mark_overlaps(Model& model, const std::vector<std::uint32_t>& sorted) {
  std::uint32_t furthest = kNoIndex;
  for (const std::uint32_t index : sorted) {
    if (model.tensors[index].alias_of != kNoIndex) continue;
    const UsedRange range = range_of(model.tensors[index]);
    const bool same_storage = furthest != kNoIndex && model.tensors[furthest].storage == range.storage;
    const std::uint64_t reach = same_storage ? range_of(model.tensors[furthest]).end : 0;
    if (same_storage && range.begin < reach) {
      add_overlap(model.tensors[index], furthest);
      add_overlap(model.tensors[furthest], index);
    }
    if (!same_storage || range.end > reach) furthest = index;
  }
}

}  // namespace

void find_aliases(Model& model) {
  std::vector<std::uint32_t> sorted = sharing_tensors(model);
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    const UsedRange first = range_of(model.tensors[sorted[i]]);
    while (end < sorted.size()) {
      const UsedRange next = range_of(model.tensors[sorted[end]]);
      if (next.storage != first.storage || next.begin != first.begin || next.end != first.end) break;
      ++end;
    }
    if (end - i > 1) mark_aliases(model, std::span(sorted).subspan(i, end - i));
    i = end;
  }
  mark_overlaps(model, sorted);
}

std::uint64_t count_unused_bytes(const Model& model, const std::vector<UsedRange>& outside) {
  std::vector<UsedRange> ranges = outside;
  for (const Tensor& tensor : model.tensors) {
    if (has_bytes(tensor)) ranges.push_back(range_of(tensor));
  }
  const auto comes_before = [](const UsedRange& a, const UsedRange& b) {
    return std::tie(a.storage, a.begin) < std::tie(b.storage, b.begin);
  };
  // Storages are numbered in the order of their tensors, so that most files need no sort.
  if (!std::is_sorted(ranges.begin(), ranges.end(), comes_before)) {
    std::sort(ranges.begin(), ranges.end(), comes_before);
  }
  std::uint64_t unused = 0;
  for (const Storage& storage : model.storages) unused += storage.bytes;
  std::uint32_t storage = kNoIndex;
  std::uint64_t reach = 0;
  for (const UsedRange& range : ranges) {
    if (range.storage != storage) reach = 0;
    storage = range.storage;
    if (range.end <= reach) continue;
    unused -= range.end - std::max(range.begin, reach);
    reach = range.end;
  }
  return unused;
}

}  // namespace ckpt
