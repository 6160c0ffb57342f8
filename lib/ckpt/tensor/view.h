#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ckpt/base/export.h"
#include "ckpt/base/result.h"
#include "ckpt/tensor/dtype.h"

namespace ckpt {

using Dims = std::vector<std::uint64_t>;

/// How a tensor lies in its storage: element (i0, i1, …) is `unit_bytes` bytes at
/// `offset + unit_bytes × Σ ik × stride[k]`.
///
/// Units: `offset` in bytes from the start of the storage; `stride` in units. `dims` are counted in units, which
/// differ from the logical shape for sub-byte types only (one unit of F4 holds two elements).
struct View {
  Dims dims;
  Dims stride;
  std::uint64_t offset = 0;
  std::uint32_t unit_bytes = 1;
};

/// Product of the dims; 1 for none; empty if it does not fit 64 bits. A zero anywhere gives 0, whatever stands
/// beside it.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> dims);

/// Bytes of `elements` packed elements of `bits` bits; empty if that overflows or is no whole number of bytes.
[[nodiscard]] std::optional<std::uint64_t> packed_bytes(std::uint64_t elements, unsigned bits);

/// Row-major strides in units. The product must fit 64 bits.
[[nodiscard]] Dims row_major_strides(std::span<const std::uint64_t> dims);

/// True if the units lie in row-major order without gaps; strides of dims of size 1 do not count. Empty tensors
/// and single elements are.
[[nodiscard]] bool is_row_major(const View& view);

/// True if a stride of 0 makes more units than lie in the storage.
[[nodiscard]] bool is_expanded(const View& view);

/// Bytes of the view written out row by row. The product was checked by `check_view`.
[[nodiscard]] std::uint64_t view_bytes(const View& view);

/// Bytes from the first to behind the last byte that the view touches; 0 for an empty view.
[[nodiscard]] CKPT_API std::uint64_t view_extent(const View& view);

/// Holds a view against its storage of `storage_bytes` bytes, with checked arithmetic.
/// Errors: corrupt - rank and strides differ, a product overflows, a dim does not fit 63 bits; the last element lies
///         behind the storage (both numbers). limit - more than `max_rank` dims.
[[nodiscard]] Status check_view(const View& view, std::uint64_t storage_bytes, std::uint32_t max_rank);

}  // namespace ckpt
