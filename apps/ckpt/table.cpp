#include "table.h"

#include <algorithm>

#include "terminal.h"

namespace ckpt::app {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 16;  // of a shortened first column

void add_line(std::string& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
              const std::vector<Table::Column>& columns) {
  std::string shortened;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_too_wide = i == 0 && display_width(cells[i]) > widths[i];
    const std::string& text = is_too_wide ? shortened = shorten(cells[i], widths[i]) : cells[i];
    const std::size_t padding = widths[i] - std::min(display_width(text), widths[i]);
    if (columns[i].is_right_aligned) out.append(padding, ' ');
    out += text;
    if (!columns[i].is_right_aligned) out.append(padding, ' ');
    out.append(kGap, ' ');
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

std::string Table::render(std::size_t width, bool with_headings) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(with_headings ? display_width(column.heading) : 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::size_t total = kGap * (widths.size() - 1);
  for (const std::size_t w : widths) total += w;
  if (total > width) widths[0] -= std::min(total - width, widths[0] - std::min(widths[0], kNarrowest));
  std::string out;
  if (with_headings) {
    std::vector<std::string> headings;
    for (const Column& column : columns_) headings.push_back(column.heading);
    add_line(out, headings, widths, columns_);
  }
  for (const auto& row : rows_) add_line(out, row, widths, columns_);
  return out;
}

}  // namespace ckpt::app
