#include "ckpt/pickle/value.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ckpt::pickle {

namespace {

constexpr std::array<std::string_view, 17> kWords = {
    "None",  "bool", "int",  "int", "float",     "str",    "8-bit str", "bytes",         "bytearray",
    "tuple", "list", "dict", "set", "frozenset", "global", "call",      "persistent id",
};
static_assert(kWords.size() == static_cast<std::size_t>(Kind::persistent) + 1);

constexpr std::uint32_t kLongText = UINT32_MAX;  // the length stands in long_texts_
constexpr std::size_t kFirstNodes = 32;
constexpr std::size_t kPoolBlockLimit = std::size_t{1} << 16U;
// What an entry of std::unordered_map costs beside its value: link, hash and the allocator's share.
constexpr std::uint64_t kMapEntryBytes = 48;

// A run's capacity follows from its count, so that it need not be stored.
std::size_t run_capacity(std::size_t count) {
  return count == 0 ? 0 : std::max<std::size_t>(4, std::bit_ceil(count));
}

}  // namespace

std::string_view kind_word(Kind kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::string kind_phrase(Kind kind) {
  const std::string_view word = kind_word(kind);
  if (kind == Kind::none || kind == Kind::bytes) return std::string(word);
  const bool takes_an = word.front() == 'i' || word.front() == '8';
  return std::string(takes_an ? "an " : "a ").append(word);
}

std::string_view Values::text(Ref ref) const {
  const Node& entry = node(ref);
  if (entry.link == kLongText) return long_texts_[static_cast<std::size_t>(entry.integer)];
  return {entry.text, entry.link};
}

std::span<const Ref> Values::items(Ref ref) const {
  const Node& entry = node(ref);
  if (entry.kind != Kind::call) return {entry.items, entry.link};
  if (entry.link == kNoRef) return {};
  return rests_[entry.link].appended.span();
}

std::string_view Values::module(Ref global) const { return names_[node(global).link].module; }
std::string_view Values::name(Ref global) const { return names_[node(global).link].name; }

bool Values::is_global(Ref ref, std::string_view module_name, std::string_view global_name) const {
  return kind(ref) == Kind::global && module(ref) == module_name && name(ref) == global_name;
}

Ref Values::keywords(Ref call) const {
  const Node& entry = node(call);
  return entry.link == kNoRef ? kNoRef : rests_[entry.link].keywords;
}

std::span<const Ref> Values::pairs(Ref call) const {
  const Node& entry = node(call);
  if (entry.link == kNoRef) return {};
  return rests_[entry.link].pairs.span();
}

std::span<const Ref> Values::states(Ref ref) const {
  const Node& entry = node(ref);
  if (entry.kind == Kind::call) {
    if (entry.link == kNoRef) return {};
    return rests_[entry.link].states.span();
  }
  const auto found = states_.find(ref);
  if (found == states_.end()) return {};
  return found->second.span();
}

Ref Values::add_none() {
  add_node(Kind::none, 0).integer = 0;
  return last();
}

Ref Values::add_boolean(bool value) {
  add_node(Kind::boolean, 0).integer = value ? 1 : 0;
  return last();
}

Ref Values::add_integer(std::int64_t value) {
  add_node(Kind::integer, 0).integer = value;
  return last();
}

Ref Values::add_real(double value) {
  add_node(Kind::real, 0).real = value;
  return last();
}

Ref Values::add_text(Kind kind, std::string_view borrowed) {
  Node& entry = add_node(kind, 0);
  if (borrowed.size() >= kLongText) {
    entry.link = kLongText;
    entry.integer = static_cast<std::int64_t>(long_texts_.size());
    long_texts_.push_back(borrowed);
    memory_ += sizeof(std::string_view);
  } else {
    entry.link = static_cast<std::uint32_t>(borrowed.size());
    entry.text = borrowed.data();
  }
  return last();
}

Ref Values::add_owned_text(Kind kind, std::string owned) {
  memory_ += sizeof(std::string) + sizeof(void*) + owned.capacity();
  return add_text(kind, owned_.emplace_front(std::move(owned)));
}

Ref Values::add_tuple(std::span<const Ref> items) {
  Ref* const first = take_refs(items.size());
  std::copy(items.begin(), items.end(), first);
  Node& entry = add_node(Kind::tuple, depth_over(items));
  entry.items = first;
  entry.link = static_cast<std::uint32_t>(items.size());
  return last();
}

Ref Values::add_container(Kind kind) {
  Node& entry = add_node(kind, 1);
  entry.items = nullptr;
  entry.link = 0;
  return last();
}

Ref Values::add_global(std::string_view borrowed_module, std::string_view borrowed_name) {
  Node& entry = add_node(Kind::global, 0);
  entry.integer = 0;
  entry.link = static_cast<std::uint32_t>(names_.size());
  names_.push_back({borrowed_module, borrowed_name});
  memory_ += sizeof(Names);
  return last();
}

Ref Values::add_call(CallKind kind, Ref callee, Ref arguments, Ref keywords) {
  const std::array parts = {callee, arguments, keywords};
  const unsigned depth = depth_over(std::span(parts).first(keywords == kNoRef ? 2 : 3));
  Node& entry = add_node(Kind::call, depth);
  entry.call_kind = kind;
  entry.call = {callee, arguments};
  entry.link = kNoRef;
  if (keywords != kNoRef) rest_of(last()).keywords = keywords;
  return last();
}

Ref Values::add_persistent(Ref id) {
  Node& entry = add_node(Kind::persistent, depth_over({&id, 1}));
  entry.integer = 0;
  entry.link = id;
  return last();
}

void Values::append(Ref container_or_call, std::span<const Ref> items) {
  raise_depth(container_or_call, items);
  if (kind(container_or_call) == Kind::call) {
    grow(rest_of(container_or_call).appended, items);
  } else {
    grow_items(container_or_call, items);
  }
}

void Values::set_pairs(Ref dict_or_call, std::span<const Ref> keys_and_values) {
  raise_depth(dict_or_call, keys_and_values);
  if (kind(dict_or_call) == Kind::call) {
    grow(rest_of(dict_or_call).pairs, keys_and_values);
  } else {
    grow_items(dict_or_call, keys_and_values);
  }
}

void Values::add_state(Ref ref, Ref state) {
  raise_depth(ref, {&state, 1});
  if (kind(ref) == Kind::call) {
    grow(rest_of(ref).states, {&state, 1});
    return;
  }
  const auto [place, is_new] = states_.try_emplace(ref);
  if (is_new) memory_ += kMapEntryBytes;
  grow(place->second, {&state, 1});
}

Values::Node& Values::add_node(Kind kind, unsigned depth) {
  if (size_ == room_) add_block();
  Node& entry = blocks_[size_ >> kBlockBits][size_ & (kBlockNodes - 1)];
  ++size_;
  memory_ += sizeof(Node);
  entry.kind = kind;
  entry.call_kind = CallKind::reduce;
  entry.depth = static_cast<std::uint16_t>(std::min(depth, 0xFFFFU));
  entry.link = 0;
  return entry;
}

// Most pickles are small, so the first block starts small and doubles up to the size of all others.
void Values::add_block() {
  if (size_ >= kBlockNodes || size_ == 0) {
    const std::size_t nodes = size_ == 0 ? kFirstNodes : kBlockNodes;
    blocks_.emplace_back(new Node[nodes]);
    room_ += nodes;
    return;
  }
  std::unique_ptr<Node[]> larger(new Node[room_ * 2]);
  std::copy_n(blocks_[0].get(), size_, larger.get());
  blocks_[0] = std::move(larger);
  room_ *= 2;
}

unsigned Values::depth_over(std::span<const Ref> items) const {
  unsigned depth = 0;
  for (const Ref item : items) depth = std::max<unsigned>(depth, node(item).depth);
  return depth + 1;
}

void Values::raise_depth(Ref ref, std::span<const Ref> items) {
  unsigned depth = node(ref).depth;
  for (const Ref item : items) {
    // What holds itself is not deeper for that.
    if (item != ref) depth = std::max<unsigned>(depth, node(item).depth + 1U);
  }
  node(ref).depth = static_cast<std::uint16_t>(std::min(depth, 0xFFFFU));
}

Ref* Values::take_refs(std::size_t count) {
  if (count > pool_left_) {
    pool_block_ = std::min(pool_block_ * 2, kPoolBlockLimit);
    pool_left_ = std::max(count, pool_block_);
    pool_.emplace_back(new Ref[pool_left_]);
    pool_next_ = pool_.back().get();
  }
  Ref* const first = pool_next_;
  pool_next_ += count;
  pool_left_ -= count;
  memory_ += count * sizeof(Ref);
  return first;
}

void Values::grow(Run& run, std::span<const Ref> items) {
  if (items.empty()) return;
  const std::size_t count = run.count + items.size();
  if (count > run_capacity(run.count)) {
    Ref* const larger = take_refs(run_capacity(count));
    std::copy_n(run.first, run.count, larger);
    run.first = larger;
  }
  std::copy(items.begin(), items.end(), run.first + run.count);
  run.count = static_cast<std::uint32_t>(count);
}

void Values::grow_items(Ref container, std::span<const Ref> items) {
  Run run{node(container).items, node(container).link};
  grow(run, items);
  node(container).items = run.first;
  node(container).link = run.count;
}

Values::CallRest& Values::rest_of(Ref call) {
  Node& entry = node(call);
  if (entry.link == kNoRef) {
    entry.link = static_cast<std::uint32_t>(rests_.size());
    rests_.emplace_back();
    memory_ += sizeof(CallRest);
  }
  return rests_[entry.link];
}

}  // namespace ckpt::pickle
