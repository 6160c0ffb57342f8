#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/torch/checkpoint.h"
#include "ckpt/zip/directory.h"

namespace ckpt::torch {

/// Where a checkpoint's records lie in an archive.
struct Layout {
  ArchiveKind kind = ArchiveKind::torch_save;
  std::string root_folder;  ///< with its slash; may be empty
  std::vector<Finding> findings;
};

/// Finds the root folder as torch does (the folder of the first directory entry), else the only folder that
/// holds a data.pkl, and tells the kind by the records in it.
/// Errors: as read_checkpoint.
[[nodiscard]] Result<Layout> find_layout(const zip::Directory& directory);

}  // namespace ckpt::torch
