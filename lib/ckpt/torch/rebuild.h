#pragma once

#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/pickle/value.h"
#include "ckpt/tensor/dtype.h"
#include "ckpt/tensor/view.h"

namespace ckpt::torch {

/// What kind of tensor a rebuild call would make.
enum class RebuiltKind : std::uint8_t { plain, meta, quantized, sparse, nested, wrapped };

/// A tensor as its rebuild call describes it. Nothing is held against the storage yet.
struct Rebuilt {
  RebuiltKind kind = RebuiltKind::plain;
  pickle::Ref storage = pickle::kNoRef;  ///< value of kind `persistent`; none for meta and composite tensors
  std::optional<Dtype> dtype;            ///< none: that of the storage's class
  Dims dims;                             ///< in torch's elements
  Dims stride;                           ///< in torch's elements; empty = row-major
  std::uint64_t offset = 0;              ///< in torch's elements
  bool is_conjugate = false;
  bool is_negative = false;
  std::string type;  ///< of what is not plain: the function or class that makes it
};

/// True if `ref` is a call of one of torch's rebuild functions (by name, in the modules torch used over time).
[[nodiscard]] bool is_rebuild_call(const pickle::Values& values, pickle::Ref ref);

/// Reads a rebuild call, through parameters and subclasses down to the tensor.
///
/// Errors: corrupt - wrong number or kind of arguments ("_rebuild_tensor_v2 takes 6 or 7 values, got 2"), a negative
///         size, stride or offset, calls nested more than 8 deep; unsupported - a dtype that is not known.
/// Source: torch/_utils.py, torch/_tensor.py; docs/formats/torch.md has the table of arguments.
[[nodiscard]] Result<Rebuilt> read_rebuild_call(const pickle::Values& values, pickle::Ref ref);

}  // namespace ckpt::torch
