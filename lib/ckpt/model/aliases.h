#pragma once

#include <vector>

#include "ckpt/model/model.h"

namespace ckpt {

/// Bytes of a storage that something touches.
struct UsedRange {
  std::uint32_t storage = kNoIndex;
  std::uint64_t begin = 0;  ///< bytes from the start of the storage
  std::uint64_t end = 0;
};

/// Fills `alias_of` and `overlaps` of the model's tensors: found by the bytes that they touch, not by the storage they
/// share. Costs a sort of the tensors that share a storage.
void find_aliases(Model& model);

/// Bytes in the model's storages that neither its tensors nor `outside` touch. A storage counts once, however many tensors view it.
[[nodiscard]] std::uint64_t count_unused_bytes(const Model& model, const std::vector<UsedRange>& outside);

}  // namespace ckpt
