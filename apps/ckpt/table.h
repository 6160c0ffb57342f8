#pragma once

#include <string>
#include <vector>

namespace ckpt::app {

/// Columns of text for a terminal. The first column is shortened when a line would be wider than `width`; nothing is padded
/// behind the last.
class Table {
 public:
  struct Column {
    std::string heading;
    bool is_right_aligned = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string render(std::size_t width, bool with_headings = true) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ckpt::app
