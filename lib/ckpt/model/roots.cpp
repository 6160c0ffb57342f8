#include "ckpt/model/roots.h"

#include <algorithm>
#include <array>

namespace ckpt {

namespace {

constexpr std::array<std::string_view, 8> kWrapperKeys = {"state_dict", "model_state_dict", "model", "module",
                                                          "params_ema", "params",           "net",   "ema"};
constexpr std::array<std::string_view, 4> kSideKeys = {"scaler", "callbacks", "loops", "hyper_parameters"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string_view top_key(const torch::Leaf& leaf) {
  return std::string_view(leaf.path).substr(0, leaf.top_bytes);
}

/// Tensors that lie neither under `wrapper` nor under a side key.
bool has_stray_tensor(const torch::Walk& walk, std::string_view wrapper) {
  return std::any_of(walk.tensors.begin(), walk.tensors.end(), [&](const torch::Leaf& leaf) {
    return top_key(leaf) != wrapper && !is_side_key(top_key(leaf));
  });
}

}  // namespace

bool is_wrapper_key(std::string_view key) { return contains(kWrapperKeys, key); }

bool is_side_key(std::string_view key) {
  const auto holds = [key](std::string_view part) { return key.find(part) != std::string_view::npos; };
  return key.rfind("optim", 0) == 0 || holds("sched") || holds("rng") || contains(kSideKeys, key);
}

RootChoice choose_root(const torch::Walk& walk, const std::optional<std::string>& asked) {
  if (asked) return {*asked, false};
  std::vector<std::string_view> wrappers;
  for (const torch::TopMapping& top : walk.top) {
    if (top.tensors > 0 && is_wrapper_key(top.key)) wrappers.push_back(top.key);
  }
  if (wrappers.empty()) return {};
  if (wrappers.size() == 1 && !has_stray_tensor(walk, wrappers[0])) return {std::string(wrappers[0]), false};
  return {"/", true};
}

std::optional<std::string> name_in_root(const torch::Leaf& leaf, const RootChoice& root, bool is_asked) {
  if (root.key == "/") return std::string(leaf.path);
  const bool is_inside =
      is_asked ? leaf.root_bytes == root.key.size() && leaf.root_bytes > 0 : top_key(leaf) == root.key;
  if (!is_inside) return std::nullopt;
  return leaf.path.size() > root.key.size() ? leaf.path.substr(root.key.size() + 1) : std::string();
}

}  // namespace ckpt
