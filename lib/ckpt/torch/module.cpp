#include "ckpt/torch/module.h"

#include <algorithm>
#include <string_view>

#include "ckpt/torch/kinds.h"

namespace ckpt::torch {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;
using pickle::Values;

namespace {

/// Names of a set: EMPTY_SET with items, or a call of `set` with a list.
std::vector<std::string_view> names_of_set(const Values& values, Ref ref) {
  std::vector<std::string_view> names;
  if (ref == kNoRef) return names;
  std::span<const Ref> items;
  if (values.kind(ref) == Kind::set || values.kind(ref) == Kind::frozen_set) {
    items = values.items(ref);
  } else if (const auto list = sequence(values, ref)) {
    items = *list;
  }
  for (const Ref item : items) {
    if (is_text(values, item)) names.push_back(values.text(item));
  }
  return names;
}

void add_pairs(const Values& values, Ref mapping, const std::vector<std::string_view>& left_out,
               std::vector<Child>& out) {
  if (mapping == kNoRef || !is_mapping(values, mapping)) return;
  const auto pairs = mapping_pairs(values, mapping);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (values.kind(pairs[i + 1]) == Kind::none) continue;  // a parameter or buffer that was never set
    const bool skip = is_text(values, pairs[i]) &&
                      std::find(left_out.begin(), left_out.end(), values.text(pairs[i])) != left_out.end();
    if (!skip) out.push_back({pairs[i], 0, pairs[i + 1]});
  }
}

}  // namespace

bool is_module(const Values& values, Ref ref) {
  const auto pairs = attributes(values, ref);
  return find_key(values, pairs, "_parameters") != kNoRef && find_key(values, pairs, "_buffers") != kNoRef &&
         find_key(values, pairs, "_modules") != kNoRef;
}

void module_children(const Values& values, Ref ref, std::vector<Child>& out) {
  const auto pairs = attributes(values, ref);
  add_pairs(values, find_key(values, pairs, "_parameters"), {}, out);
  add_pairs(values, find_key(values, pairs, "_buffers"),
            names_of_set(values, find_key(values, pairs, "_non_persistent_buffers_set")), out);
  add_pairs(values, find_key(values, pairs, "_modules"), {}, out);
}

}  // namespace ckpt::torch
