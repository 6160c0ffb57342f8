#include "suggest.h"

#include <algorithm>
#include <numeric>

namespace ckpt::app {

namespace {

/// Levenshtein distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> suggest(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMostEdits = 2;
  std::optional<std::string> best;
  std::size_t least = kMostEdits + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = word.size() > 2 * candidate.size() ? least : distance(word, candidate);
    if (edits >= least || edits >= word.size()) continue;
    least = edits;
    best = candidate;
  }
  return best;
}

}  // namespace ckpt::app
