#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ckpt/base/hash.h"

namespace ckpt::zip {

/// Index of records by name: open addressing with linear steps, one allocation, the names stay with the
/// entries. std::unordered_map took three times as long to fill: a node a record, and it hashes again
/// while it walks a bucket.
class RecordIndex {
 public:
  /// Room for `count` names (at most 2^31), at most half full.
  void reserve(std::size_t count) {
    slots_.assign(std::bit_ceil(2 * count + 2), Slot{});
    mask_ = slots_.size() - 1;
  }

  /// Position of the entry called `name`, or `entries.size()`.
  template <class Entries>
  [[nodiscard]] std::size_t find(std::string_view name, const Entries& entries) const {
    if (slots_.empty()) return entries.size();
    const Slot& slot = slots_[seek(name, SeededHash{}(name), entries)];
    return slot.number == 0 ? entries.size() : slot.number - 1;
  }

  /// Adds entry `position` under its name unless that is taken; returns the position that has the name.
  template <class Entries>
  std::size_t insert(std::size_t position, const Entries& entries) {
    const std::string_view name = entries[position].name;
    const std::size_t hash = SeededHash{}(name);
    Slot& slot = slots_[seek(name, hash, entries)];
    if (slot.number == 0) slot = {tag(hash), static_cast<std::uint32_t>(position + 1)};
    return slot.number - 1;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;     // upper half of the hash: names are compared only where it is equal
    std::uint32_t number = 0;  // position + 1; 0 is an empty slot
  };
  static std::uint32_t tag(std::size_t hash) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(hash) >> 32U);
  }

  template <class Entries>
  [[nodiscard]] std::size_t seek(std::string_view name, std::size_t hash, const Entries& entries) const {
    std::size_t at = hash & mask_;
    while (slots_[at].number != 0 &&
           (slots_[at].tag != tag(hash) || entries[slots_[at].number - 1].name != name)) {
      at = (at + 1) & mask_;
    }
    return at;
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

}  // namespace ckpt::zip
