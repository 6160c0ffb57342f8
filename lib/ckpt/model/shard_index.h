#pragma once

#include <string>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"

namespace ckpt {

/// True for names that end in ".index.json" (or ".index.VARIANT.json").
[[nodiscard]] bool is_index_name(const std::string& path);

/// The shard file names of an index JSON, each once, in the order of the text: plain names of siblings.
///
/// Errors: corrupt - no JSON, no `weight_map` object of texts, a tensor named twice; path_escape - a shard name that is no
///         plain sibling name (a folder, "..", a back-slash, a drive, a control character); limit - a longer file than
///         Limits::header_bytes.
[[nodiscard]] Result<std::vector<std::string>> read_shard_names(const std::string& path,
                                                                const Limits& limits);

}  // namespace ckpt
