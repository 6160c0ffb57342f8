#pragma once

#include <cstdint>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/tensor/dtype.h"

namespace ckpt::safetensors {

/// Bytes of a whole tensor: elements × bits ÷ 8. Types below 8 bits are packed over the whole tensor, not by
/// row.
///
/// The product is taken from left to right as the reference reader does, so [0, 2^40, 2^40] is empty and
/// [2^40, 2^40, 0] is too large.
/// Errors: corrupt - the product does not fit 64 bits, or the bits are not whole bytes.
[[nodiscard]] Result<std::uint64_t> packed_size(Dtype dtype, const std::vector<std::uint64_t>& shape);

/// What a dimension may be at most: no tensor library counts in more than 63 bits.
inline constexpr std::uint64_t kMaxDim = (1ULL << 63U) - 1;

}  // namespace ckpt::safetensors
