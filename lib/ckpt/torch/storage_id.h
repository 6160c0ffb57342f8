#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/pickle/value.h"
#include "ckpt/tensor/dtype.h"

namespace ckpt::torch {

/// What a persistent id says of a storage: `('storage', class, key, location, numel)`, with a sixth item (view
/// metadata) in legacy streams.
struct StorageId {
  std::string_view key_text;  ///< empty if the key is an integer
  std::int64_t key_number = 0;
  std::optional<Dtype> dtype;  ///< of the storage class; none for UntypedStorage, whose numel is in bytes
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  bool is_meta = false;  ///< located on `meta`: has no data

  [[nodiscard]] std::string key() const;
};

/// Reads the id of a value of kind `persistent`. Protocol 0 writes the tuple's Python text instead, for example
/// `('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)`; that form is read too.
/// Errors: corrupt - no tuple, another first item, wrong number of items, numel that is no integer or negative,
///         sizes that overflow; unsupported - a storage class that is not known.
[[nodiscard]] Result<StorageId> parse_storage_id(const pickle::Values& values, pickle::Ref persistent);

}  // namespace ckpt::torch
