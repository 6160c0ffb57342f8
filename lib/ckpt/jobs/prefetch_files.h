#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ckpt/io/byte_source.h"
#include "ckpt/jobs/jobs.h"

namespace ckpt {

/// A file that prefetch is to read, opened.
struct PrefetchInput {
  PrefetchedFile report;
  std::shared_ptr<const FileSource> source;
};

struct PrefetchInputs {
  std::vector<PrefetchInput> files;  ///< each inode once
  std::vector<Finding> findings;
};

/// The files behind the paths: a file itself; the shards of an index, with the index; of a folder its indexes' shards, else its weight
/// files. Missing shards are findings; so is what a file's own header or directory says of its size when that does not hold.
/// Errors: of a path that the caller named.
[[nodiscard]] Result<PrefetchInputs> open_prefetch_files(const std::vector<std::string>& paths,
                                                         const PrefetchOptions& options);

}  // namespace ckpt
