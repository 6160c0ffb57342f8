#include "ckpt/safetensors/packed_size.h"

#include <fmt/format.h>

#include "ckpt/base/checked.h"

namespace ckpt::safetensors {

Result<std::uint64_t> packed_size(Dtype dtype, const std::vector<std::uint64_t>& shape) {
  std::optional<std::uint64_t> elements = 1;
  for (const std::uint64_t dim : shape) {
    elements = checked_multiply(*elements, dim);
    if (!elements) return fail(ErrorCode::corrupt, "shape has more elements than 64 bits can count");
  }
  const auto bits = checked_multiply(*elements, dtype_facts(dtype).bits);
  if (!bits) return fail(ErrorCode::corrupt, "shape and dtype need more bits than 64 bits can count");
  if (*bits % 8 != 0) return fail(ErrorCode::corrupt, fmt::format("{} bits are not whole bytes", *bits));
  return *bits / 8;
}

}  // namespace ckpt::safetensors
