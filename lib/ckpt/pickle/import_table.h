#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/pickle/imports.h"

namespace ckpt::pickle {

/// Imports in the order in which a pickle names them first, each pair once.
class ImportTable {
 public:
  explicit ImportTable(bool in_torchscript) : in_torchscript_(in_torchscript) {}
  /// Takes a list over, to go on with it.
  ImportTable(bool in_torchscript, std::vector<Import> imports);

  /// Counts one opcode that names the pair; judges it the first time.
  void add(std::string_view module, std::string_view name, std::uint64_t offset);
  /// Counts one import without a name, for example one that an extension code hides.
  void add_nameless(std::string reason, std::uint64_t offset);
  /// Merges an import that was judged elsewhere: counts are added, the graver verdict stays.
  void merge(Import import);
  /// The same for one that may have been included before: nothing is counted twice.
  void include(Import import);

  /// Null if the pair is not in the table.
  [[nodiscard]] Import* find(std::string_view module, std::string_view name);
  [[nodiscard]] const std::vector<Import>& list() const { return list_; }
  [[nodiscard]] std::vector<Import> take_list() { return std::move(list_); }
  [[nodiscard]] std::uint64_t memory() const { return memory_; }
  [[nodiscard]] bool in_torchscript() const { return in_torchscript_; }

 private:
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  std::string_view key_of(std::string_view module, std::string_view name, std::string_view reason);
  [[nodiscard]] Import* find_as(const Import& import);
  void insert(Import import);

  bool in_torchscript_;
  std::vector<Import> list_;
  std::unordered_map<std::string, std::size_t, SeededHash, Equal> index_;
  std::string key_;  // kept for its memory
  std::uint64_t memory_ = 0;
};

}  // namespace ckpt::pickle
