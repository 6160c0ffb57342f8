#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/zip/directory.h"
#include "ckpt/zip/finding_list.h"

namespace ckpt::zip {

/// Positions of `entries` in the order of their local headers.
[[nodiscard]] std::vector<std::uint32_t> file_order(const std::vector<Entry>& entries);

/// Reads the local header of each entry, fills in its data and end offset, and reports where the header
/// and the directory disagree.
///
/// Neighbours less than 4 KiB apart share a read of at most 256 KiB. Data descriptors are compared only
/// where such a read brings them in anyway: a system call for each would double the cost of opening.
/// Elsewhere only their length is checked, by the distance to what comes next.
///
/// An entry whose header cannot be read, or whose data would reach into the directory, keeps data offset 0;
/// its end offset is then 0 or the start of the directory.
///
/// Errors: io, short_file, changed - from the source.
/// Cost: findings take one more read each, for at most 50 of a kind.
[[nodiscard]] Status read_local_headers(const std::shared_ptr<const ByteSource>& source,
                                        const std::vector<std::uint32_t>& order,
                                        std::uint64_t directory_offset, std::vector<Entry>& entries,
                                        FindingList& findings);

}  // namespace ckpt::zip
