#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace ckpt::app {

/// The text of one column for one tensor, escaped. `human`: numbers grouped, shapes in brackets; else plain.
[[nodiscard]] std::string column_text(Column column, const InspectResult& result, std::uint32_t tensor,
                                      bool human);
[[nodiscard]] std::string column_heading(Column column);
[[nodiscard]] bool is_right_aligned(Column column);

/// What is worth saying of a tensor: "view", "expanded", "shared", "overlaps", "meta", …; the words of JSON's `flags`.
[[nodiscard]] std::vector<std::string> flag_words(const Model& model, const Tensor& tensor);

/// Bytes from the start of the file where a tensor's first byte lies; none if it lies nowhere in place.
[[nodiscard]] std::optional<std::uint64_t> file_offset(const Model& model, const Tensor& tensor);

/// The chosen tensors in the order that `--sort` asks for; equal ones stay in file order.
[[nodiscard]] std::vector<std::uint32_t> sorted_tensors(const InspectResult& result, SortKey key);

}  // namespace ckpt::app
