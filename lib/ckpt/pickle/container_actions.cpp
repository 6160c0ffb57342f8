#include <fmt/format.h>

#include "ckpt/pickle/machine_state.h"

/// Tuples, lists, dicts and sets.
namespace ckpt::pickle {

namespace {

bool is_unhashable(Kind kind) {
  return kind == Kind::list || kind == Kind::dict || kind == Kind::set || kind == Kind::byte_array;
}

}  // namespace

bool Machine::State::tuple(std::size_t values) {
  if (!need(values)) return false;
  const std::size_t first = stack_.size() - values;
  const Ref made = values_.add_tuple(above(first));
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::tuple_above_mark() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  const Ref made = values_.add_tuple(above(first));
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::list_above_mark() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  const Ref made = values_.add_container(Kind::list);
  values_.append(made, above(first));
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::dict_above_mark() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  const Ref made = values_.add_container(Kind::dict);
  if (!set_pairs_of(made, above(first))) return false;
  drop_to(first);
  push(made);
  return true;
}

bool Machine::State::frozen_set_above_mark() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  for (const Ref item : above(first))
    if (!check_key(item)) return false;
  const Ref made = values_.add_container(Kind::frozen_set);
  values_.append(made, above(first));
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::append() {
  if (!need(2)) return false;
  const std::size_t first = stack_.size() - 1;
  if (!append_to(stack_[first - 1], above(first))) return false;
  drop_to(first);
  return true;
}

bool Machine::State::appends() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  if (first <= floor_) return bad("no list below the mark");
  if (!append_to(stack_[first - 1], above(first))) return false;
  drop_to(first);
  return true;
}

bool Machine::State::append_to(Ref target, std::span<const Ref> items) {
  if (!check_target(target, Kind::list)) return false;
  values_.append(target, items);
  return check_nesting(target);
}

bool Machine::State::setitem() {
  if (!need(3)) return false;
  const std::size_t first = stack_.size() - 2;
  if (!set_pairs_of(stack_[first - 1], above(first))) return false;
  drop_to(first);
  return true;
}

bool Machine::State::setitems() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  if (first <= floor_) return bad("no dict below the mark");
  if (!set_pairs_of(stack_[first - 1], above(first))) return false;
  drop_to(first);
  return true;
}

bool Machine::State::set_pairs_of(Ref target, std::span<const Ref> pairs) {
  if (!check_target(target, Kind::dict)) return false;
  if (pairs.size() % 2 != 0) return bad(fmt::format("odd number of values ({})", pairs.size()));
  for (std::size_t i = 0; i < pairs.size(); i += 2)
    if (!check_key(pairs[i])) return false;
  values_.set_pairs(target, pairs);
  return check_nesting(target);
}

bool Machine::State::additems() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  if (first <= floor_) return bad("no set below the mark");
  const Ref target = stack_[first - 1];
  if (!check_target(target, Kind::set)) return false;
  for (const Ref item : above(first))
    if (!check_key(item)) return false;
  values_.append(target, above(first));
  drop_to(first);
  return check_nesting(target);
}

// What a call makes is not known, so it may be a list or a mapping. A tensor is neither: a loader that did
// not look wrote into tensor memory here (CVE-2026-24747).
bool Machine::State::check_target(Ref target, Kind wanted) {
  const Kind kind = values_.kind(target);
  if (kind == wanted) return true;
  const bool is_tensor = is_tensor_rebuild(target);
  if (kind == Kind::call && !is_tensor) return true;
  const std::string what = is_tensor ? "a tensor" : kind_phrase(kind);
  return failed(place(ErrorCode::corrupt, fmt::format("{} on {}", opcode_->name, what)));
}

bool Machine::State::check_key(Ref key) {
  const Kind kind = values_.kind(key);
  if (!is_unhashable(kind)) return true;
  return bad(fmt::format("key of type {}", kind_word(kind)));
}

bool Machine::State::check_nesting(Ref ref) {
  const unsigned depth = values_.depth(ref);
  if (depth <= limits_.nesting && depth < UINT16_MAX) return true;
  return failed(error(ErrorCode::limit,
                      fmt::format("values nested {} deep, more than the limit of {}", depth, limits_.nesting))
                    .numbers(std::to_string(limits_.nesting), std::to_string(depth)));
}

bool Machine::State::is_tensor_rebuild(Ref ref) const {
  if (values_.kind(ref) != Kind::call) return false;
  const Ref callee = values_.callee(ref);
  if (values_.kind(callee) != Kind::global) return false;
  const std::string_view module = values_.module(callee);
  const std::string_view name = values_.name(callee);
  if (module == "torch._utils") return name.starts_with("_rebuild_");
  return (module == "torch._tensor" || module == "torch.tensor") && name.starts_with("_rebuild_from_type");
}

}  // namespace ckpt::pickle
