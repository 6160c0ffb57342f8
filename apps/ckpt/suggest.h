#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ckpt::app {

/// The candidate that `word` was probably meant to be: at most two edits away, and fewer than its length.
[[nodiscard]] std::optional<std::string> suggest(const std::string& word,
                                                 const std::vector<std::string>& candidates);

}  // namespace ckpt::app
