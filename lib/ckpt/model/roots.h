#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/torch/walk.h"

/// Where in an object graph the model lies (design: wrapper keys, entered once).
namespace ckpt {

/// `state_dict`, `model_state_dict`, `model`, `module`, `params_ema`, `params`, `net`, `ema`, exactly.
[[nodiscard]] bool is_wrapper_key(std::string_view key);

/// Keys beside the model that do not make its place doubtful: `optim*`, `*sched*`, `scaler`, `*rng*`, `callbacks`,
/// `loops`, `hyper_parameters`.
[[nodiscard]] bool is_side_key(std::string_view key);

struct RootChoice {
  std::string key = "/";  ///< joined path of the container that names are relative to
  bool is_ambiguous = false;
};

/// One wrapper qualifies, and every tensor outside it lies under a side key: it is entered. None qualifies: "/". Anything
/// else is ambiguous. `asked` decides: then the walk has marked what lies inside.
[[nodiscard]] RootChoice choose_root(const torch::Walk& walk, const std::optional<std::string>& asked);

/// Name of a leaf relative to the root, or nothing if it lies outside.
[[nodiscard]] std::optional<std::string> name_in_root(const torch::Leaf& leaf, const RootChoice& root,
                                                      bool is_asked);

}  // namespace ckpt
