#include "ckpt/tensor/view.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/checked.h"

namespace ckpt {

namespace {

constexpr std::uint64_t kLargestDim = INT64_MAX;  // no tensor library holds more

Status check_dims(const View& view, std::uint32_t max_rank) {
  if (view.dims.size() > max_rank) {
    return fail(ErrorCode::limit,
                fmt::format("has {} dimensions, the limit is {} (rank)", view.dims.size(), max_rank));
  }
  if (view.stride.size() != view.dims.size()) {
    return fail(ErrorCode::corrupt,
                fmt::format("has {} dimensions but {} strides", view.dims.size(), view.stride.size()));
  }
  for (const std::uint64_t dim : view.dims) {
    if (dim > kLargestDim)
      return fail(ErrorCode::corrupt, fmt::format("dimension {} does not fit 63 bits", dim));
  }
  return {};
}

/// Index of the last unit, relative to the view's offset; empty if it overflows.
std::optional<std::uint64_t> last_unit(const View& view) {
  std::uint64_t last = 0;
  for (std::size_t k = 0; k < view.dims.size(); ++k) {
    if (view.dims[k] <= 1) continue;
    const auto step = checked_multiply(view.dims[k] - 1, view.stride[k]);
    const auto sum = step ? checked_add(last, *step) : std::nullopt;
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return last;
}

bool is_empty(const View& view) {
  return std::find(view.dims.begin(), view.dims.end(), 0U) != view.dims.end();
}

}  // namespace

std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0U) != dims.end()) return 0;
  std::optional<std::uint64_t> product = 1;
  for (const std::uint64_t dim : dims) {
    product = checked_multiply(*product, dim);
    if (!product) break;
  }
  return product;
}

std::optional<std::uint64_t> packed_bytes(std::uint64_t elements, unsigned bits) {
  if (bits % 8 == 0) return checked_multiply(elements, bits / 8);
  const auto total = checked_multiply(elements, bits);
  if (!total || *total % 8 != 0) return std::nullopt;
  return *total / 8;
}

Dims row_major_strides(std::span<const std::uint64_t> dims) {
  Dims stride(dims.size(), 1);
  for (std::size_t k = dims.size(); k > 1; --k) {
    stride[k - 2] = stride[k - 1] * std::max<std::uint64_t>(dims[k - 1], 1);
  }
  return stride;
}

bool is_row_major(const View& view) {
  if (is_empty(view)) return true;
  std::uint64_t expected = 1;
  for (std::size_t k = view.dims.size(); k > 0; --k) {
    if (view.dims[k - 1] == 1) continue;
    if (view.stride[k - 1] != expected) return false;
    expected *= view.dims[k - 1];
  }
  return true;
}

bool is_expanded(const View& view) {
  for (std::size_t k = 0; k < view.dims.size(); ++k) {
    if (view.dims[k] > 1 && view.stride[k] == 0) return true;
  }
  return false;
}

std::uint64_t view_bytes(const View& view) { return element_count(view.dims).value_or(0) * view.unit_bytes; }

std::uint64_t view_extent(const View& view) {
  return is_empty(view) ? 0 : (last_unit(view).value_or(0) + 1) * view.unit_bytes;
}

Status check_view(const View& view, std::uint64_t storage_bytes, std::uint32_t max_rank) {
  CKPT_TRY(check_dims(view, max_rank));
  const auto count = element_count(view.dims);
  if (!count || !checked_multiply(*count, view.unit_bytes)) {
    return fail(ErrorCode::corrupt, "the product of its dimensions does not fit 64 bits");
  }
  if (is_empty(view)) return {};
  const auto last = last_unit(view);
  const auto units = last ? checked_add(*last, 1) : std::nullopt;
  const auto bytes = units ? checked_multiply(*units, view.unit_bytes) : std::nullopt;
  if (!bytes || !range_fits(view.offset, *bytes, storage_bytes)) {
    const std::string end = bytes && checked_add(view.offset, *bytes) ? std::to_string(view.offset + *bytes)
                                                                      : std::string("a number above 64 bits");
    auto error =
        make_error(ErrorCode::corrupt,
                   fmt::format("needs its storage up to byte {}, storage has {} bytes", end, storage_bytes));
    error.numbers(end, std::to_string(storage_bytes));
    return fail(std::move(error));
  }
  return {};
}

}  // namespace ckpt
