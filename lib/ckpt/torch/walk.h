#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/pickle/value.h"

/// From a pickled object graph to named leaves.
///
/// The graph is walked with a stack of its own, in the order of the file. Shared containers are entered again under each of
/// their names, except those that were found to hold no tensor: a graph of 2^n paths without tensors costs n. Containers on
/// the current path are not entered again, so that cycles end.
namespace ckpt::torch {

inline constexpr std::uint32_t kNoTop = UINT32_MAX;

/// A tensor, a bare storage or any other value under its path.
struct Leaf {
  std::string path;  ///< keys and indices joined by "."
  pickle::Ref ref = pickle::kNoRef;
  std::uint32_t top_bytes = 0;   ///< length of the first key in `path`
  std::uint32_t top = kNoTop;    ///< index into Walk::top of the mapping it lies in
  std::uint32_t root_bytes = 0;  ///< length of the asked root in `path`, 0 if it lies outside it
  bool is_nameless = false;  ///< a key on the path is None, a bool, a float or another value without a name
};

/// A key of the top-level mapping whose value is a mapping.
struct TopMapping {
  std::string key;
  std::uint64_t tensors = 0;
};

struct Walk {
  std::vector<Leaf> tensors;    ///< rebuild calls and bare storages
  std::vector<Leaf> others;     ///< everything else that is no container
  std::vector<TopMapping> top;  ///< in the order of the file
  bool is_root_found = false;   ///< the asked root is a container of the graph
  std::vector<Finding> findings;
};

/// `root`: joined path of a container; none or "/" for the top.
/// Errors: limit - nesting, the length of a name, or more visits than the graph's size explains.
[[nodiscard]] Result<Walk> walk(const pickle::Values& values, pickle::Ref top,
                                const std::optional<std::string>& root, const Limits& limits);

}  // namespace ckpt::torch
