#include <algorithm>
#include <tuple>

#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

bool precedes(const NameTable::Row& a, const NameTable::Row& b) {
  return std::tie(a.module, a.names) < std::tie(b.module, b.names);
}

}  // namespace

NameTable::NameTable(std::initializer_list<Row> rows) {
  for (Row row : rows) {
    while (!row.names.empty()) {
      const std::string_view name = row.names.substr(0, row.names.find(' '));
      if (!name.empty()) pairs_.push_back({row.module, name});
      row.names.remove_prefix(std::min(name.size() + 1, row.names.size()));
    }
  }
  std::sort(pairs_.begin(), pairs_.end(), precedes);
}

bool NameTable::contains(std::string_view module, std::string_view name) const {
  return std::binary_search(pairs_.begin(), pairs_.end(), Row{module, name}, precedes);
}

bool is_within(std::string_view module, std::string_view package) {
  if (!module.starts_with(package)) return false;
  return module.size() == package.size() || module[package.size()] == '.';
}

}  // namespace ckpt::pickle
