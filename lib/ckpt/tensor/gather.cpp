#include "ckpt/tensor/gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ckpt/base/checked.h"

namespace ckpt {

namespace {

/// Bytes of the units behind dim `k`, for one index of it.
std::uint64_t inner_bytes(const View& view, std::size_t k) {
  std::uint64_t bytes = view.unit_bytes;
  for (std::size_t i = k + 1; i < view.dims.size(); ++i) bytes *= view.dims[i];
  return bytes;
}

/// Copies `count` units that lie `step` bytes apart. Sizes of real dtypes get a loop of their own that the
/// compiler can turn into plain moves.
template <std::size_t Size>
void copy_units(const std::byte* from, std::uint64_t step, std::uint64_t count, std::byte* to) {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(to + i * Size, from + i * step, Size);
}

void copy_line(const std::byte* from, std::uint64_t step, std::uint64_t count, std::uint32_t unit,
               std::byte* to) {
  if (step == unit) {
    std::memcpy(to, from, count * unit);
    return;
  }
  switch (unit) {
    case 1: return copy_units<1>(from, step, count, to);
    case 2: return copy_units<2>(from, step, count, to);
    case 4: return copy_units<4>(from, step, count, to);
    case 8: return copy_units<8>(from, step, count, to);
    default: return copy_units<16>(from, step, count, to);
  }
}

constexpr std::uint64_t kTile = 32;

/// Two innermost dims at once in small squares, so that neither side walks through memory line by line.
void copy_plane(const std::byte* from, std::uint64_t outer_step, std::uint64_t outer,
                std::uint64_t inner_step, std::uint64_t inner, std::uint32_t unit, std::byte* to) {
  const std::uint64_t tile = inner_step > outer_step ? kTile : inner;
  const std::uint64_t band = inner_step > outer_step ? kTile : outer;
  for (std::uint64_t i = 0; i < outer; i += band) {
    for (std::uint64_t j = 0; j < inner; j += tile) {
      const std::uint64_t width = std::min(tile, inner - j);
      for (std::uint64_t r = i; r < std::min(i + band, outer); ++r) {
        copy_line(from + r * outer_step + j * inner_step, inner_step, width, unit,
                  to + (r * inner + j) * unit);
      }
    }
  }
}

/// Next index in row-major order over the first `rank` dims; false behind the last.
bool advance(Dims& index, const Dims& dims, std::size_t rank) {
  for (std::size_t k = rank; k > 0; --k) {
    if (++index[k - 1] < dims[k - 1]) return true;
    index[k - 1] = 0;
  }
  return false;
}

}  // namespace

std::uint64_t GatherBlock::row_offset(std::uint64_t index) const {
  std::uint64_t offset = first_byte;
  for (std::size_t k = row_dims.size(); k > 0; --k) {
    offset += (index % row_dims[k - 1]) * row_step[k - 1];
    index /= row_dims[k - 1];
  }
  return offset;
}

GatherPlan::GatherPlan(const View& view) : view_(view) {
  if (view_.dims.empty()) {
    view_.dims.assign(1, 1);
    view_.stride.assign(1, 1);
  }
  while (split_ + 1 < view_.dims.size() && inner_bytes(view_, split_) > kBlockBytes) ++split_;
  const std::uint64_t fits = std::max<std::uint64_t>(kBlockBytes / inner_bytes(view_, split_), 1);
  split_count_ = std::min(fits, view_.dims[split_]);
  blocks_per_dim_ = (view_.dims[split_] + split_count_ - 1) / split_count_;
  block_count_ = blocks_per_dim_;
  for (std::size_t k = 0; k < split_; ++k) block_count_ *= view_.dims[k];
}

GatherBlock GatherPlan::block(std::uint64_t index) const {
  GatherBlock block;
  const std::uint64_t part = index % blocks_per_dim_;
  const std::uint64_t start = part * split_count_;
  const std::uint64_t count = std::min(split_count_, view_.dims[split_] - start);
  std::uint64_t outer = index / blocks_per_dim_;
  block.output_offset =
      outer * view_.dims[split_] * inner_bytes(view_, split_) + start * inner_bytes(view_, split_);
  block.output_bytes = count * inner_bytes(view_, split_);
  block.first_byte = view_.offset + start * view_.stride[split_] * view_.unit_bytes;
  for (std::size_t k = split_; k > 0; --k) {
    block.first_byte += (outer % view_.dims[k - 1]) * view_.stride[k - 1] * view_.unit_bytes;
    outer /= view_.dims[k - 1];
  }
  block.dims.assign(view_.dims.begin() + static_cast<std::ptrdiff_t>(split_), view_.dims.end());
  block.dims[0] = count;
  merge_rows(block);
  return block;
}

void GatherPlan::merge_rows(GatherBlock& block) const {
  const std::size_t rank = block.dims.size();
  std::vector<std::size_t> by_stride(rank);
  std::iota(by_stride.begin(), by_stride.end(), 0U);
  const auto step = [&](std::size_t k) { return view_.stride[split_ + k] * view_.unit_bytes; };
  std::stable_sort(by_stride.begin(), by_stride.end(),
                   [&](std::size_t a, std::size_t b) { return step(a) < step(b); });

  block.buffer_stride.assign(rank, 0);
  block.row_bytes = view_.unit_bytes;
  std::uint64_t used = view_.unit_bytes;  // bytes of the row that some unit needs
  std::vector<std::size_t> counting;
  for (const std::size_t k : by_stride) {
    if (block.dims[k] <= 1 || step(k) == 0) continue;
    const std::uint64_t grown = (block.dims[k] - 1) * step(k) + block.row_bytes;
    const std::uint64_t needed = used * block.dims[k];
    if (counting.empty() && grown <= 2 * needed && grown <= 2 * kBlockBytes) {
      block.buffer_stride[k] = step(k);
      block.row_bytes = grown;
      used = needed;
    } else {
      counting.push_back(k);
    }
  }
  std::uint64_t stride = block.row_bytes;
  for (const std::size_t k : counting) {  // ascending strides: the last is outermost
    block.buffer_stride[k] = stride;
    stride *= block.dims[k];
    block.row_dims.insert(block.row_dims.begin(), block.dims[k]);
    block.row_step.insert(block.row_step.begin(), step(k));
    block.row_count *= block.dims[k];
  }
}

void gather_block(const GatherBlock& block, std::uint32_t unit_bytes, std::span<const std::byte> buffer,
                  std::span<std::byte> out) {
  Dims dims = block.dims;
  Dims step = block.buffer_stride;
  while (dims.size() < 2) {
    dims.insert(dims.begin(), 1);
    step.insert(step.begin(), 0);
  }
  const std::size_t outer_rank = dims.size() - 2;
  const std::uint64_t plane_bytes = dims[outer_rank] * dims[outer_rank + 1] * unit_bytes;
  Dims index(outer_rank, 0);
  std::byte* to = out.data();
  do {
    const std::byte* from = buffer.data();
    for (std::size_t k = 0; k < outer_rank; ++k) from += index[k] * step[k];
    copy_plane(from, step[outer_rank], dims[outer_rank], step[outer_rank + 1], dims[outer_rank + 1],
               unit_bytes, to);
    to += plane_bytes;
  } while (advance(index, dims, outer_rank));
}

}  // namespace ckpt
