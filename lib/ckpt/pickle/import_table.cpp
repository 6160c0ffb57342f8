#include "ckpt/pickle/import_table.h"

#include <algorithm>

namespace ckpt::pickle {

namespace {

// What one entry costs beside its texts: the import in a list that grows by doubling, its key's string, the
// links of the map.
constexpr std::uint64_t kEntryBytes = 2 * sizeof(Import) + sizeof(std::string) + 64;

bool is_nameless(std::string_view module, std::string_view name) { return module.empty() && name.empty(); }

}  // namespace

ImportTable::ImportTable(bool in_torchscript, std::vector<Import> imports) : in_torchscript_(in_torchscript) {
  for (Import& import : imports) insert(std::move(import));
}

void ImportTable::add(std::string_view module, std::string_view name, std::uint64_t offset) {
  if (Import* const known = find(module, name)) {
    ++known->count;
    return;
  }
  merge({std::string(module), std::string(name), classify_import(module, name, in_torchscript_), offset, 1});
}

void ImportTable::add_nameless(std::string reason, std::uint64_t offset) {
  merge({"", "", {ImportClass::dangerous, std::move(reason)}, offset, 1});
}

void ImportTable::merge(Import import) {
  if (Import* const known = find_as(import)) known->count += import.count;
  include(std::move(import));
}

void ImportTable::include(Import import) {
  Import* const known = find_as(import);
  if (known == nullptr) {
    insert(std::move(import));
  } else if (import.verdict.level > known->verdict.level) {
    known->verdict = std::move(import.verdict);
  }
}

Import* ImportTable::find_as(const Import& import) {
  const auto found = index_.find(key_of(import.module, import.name, import.verdict.reason));
  return found == index_.end() ? nullptr : &list_[found->second];
}

Import* ImportTable::find(std::string_view module, std::string_view name) {
  const auto found = index_.find(key_of(module, name, {}));
  return found == index_.end() ? nullptr : &list_[found->second];
}

// The length in front keeps ("a", "bc") and ("ab", "c") apart, whatever bytes they hold.
std::string_view ImportTable::key_of(std::string_view module, std::string_view name,
                                     std::string_view reason) {
  key_ = std::to_string(module.size());
  key_ += ':';
  key_ += module;
  key_ += name;
  if (is_nameless(module, name)) key_ += reason;
  return key_;
}

void ImportTable::insert(Import import) {
  const std::string key(key_of(import.module, import.name, import.verdict.reason));
  memory_ += kEntryBytes + 2 * key.size() + import.verdict.reason.size();
  index_.emplace(key, list_.size());
  list_.push_back(std::move(import));
}

}  // namespace ckpt::pickle
