#pragma once

#include <vector>

#include "ckpt/pickle/value.h"

namespace ckpt::torch {

/// One step from a container to a value in it.
struct Child {
  pickle::Ref key = pickle::kNoRef;  ///< none: `index` counts
  std::uint64_t index = 0;
  pickle::Ref value = pickle::kNoRef;
};

/// True for a whole pickled `nn.Module`: an object whose attributes hold `_parameters`, `_buffers` and `_modules`.
[[nodiscard]] bool is_module(const pickle::Values& values, pickle::Ref ref);

/// Its parameters, buffers (those named in `_non_persistent_buffers_set` left out) and sub-modules, under the names that
/// `state_dict()` gives them.
void module_children(const pickle::Values& values, pickle::Ref ref, std::vector<Child>& out);

}  // namespace ckpt::torch
