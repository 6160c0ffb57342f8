#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

/// The lists behind `classify_import`. Everything in them is a name as Python 3 has it.
namespace ckpt::pickle {

/// Exact pairs, written down as one module with its names between blanks.
class NameTable {
 public:
  struct Row {
    std::string_view module;
    std::string_view names;
  };
  NameTable(std::initializer_list<Row> rows);
  [[nodiscard]] bool contains(std::string_view module, std::string_view name) const;

 private:
  std::vector<Row> pairs_;  // sorted, one name each
};

/// Names that the program understands completely.
[[nodiscard]] bool is_known_safe(std::string_view module, std::string_view name);

/// Names that a closed rule below would call dangerous, but harmless files hold.
[[nodiscard]] bool is_harmless_exception(std::string_view module, std::string_view name);

/// What a module of the standard library (Python 2.7 to 3.15, by its first part) gives; empty if it is none.
[[nodiscard]] std::optional<std::string_view> standard_library_reason(std::string_view first_part);

/// Why a name of torch, numpy or another package is dangerous; empty if it is not.
[[nodiscard]] std::optional<std::string_view> package_reason(std::string_view module, std::string_view name);

/// True if `module` is `package` or lies in it, by whole parts: "pip" does not cover "pipeline".
[[nodiscard]] bool is_within(std::string_view module, std::string_view package);

}  // namespace ckpt::pickle
