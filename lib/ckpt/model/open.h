#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/model/model.h"

namespace ckpt {

struct OpenOptions {
  Limits limits;
  std::optional<std::string> root;          ///< dotted path or "/"; none: decided by the rules of roots.h
  bool ignores_root_without_roots = false;  ///< a format that has no roots takes any `root` for "/"
};

/// Opens any input and says what it holds. Reads metadata only.
///
/// Damage that still lets something be listed is a finding of the model, not an error.
/// Errors: not_found, permission, io; unknown_format - with what the file looks like instead; unsupported - known,
///         but not read; truncated, corrupt, limit - nothing can be listed; no_match - no such root.
[[nodiscard]] Result<Model> open_model(const std::string& path, const OpenOptions& options);

}  // namespace ckpt
