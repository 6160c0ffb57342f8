#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ckpt/zip/directory.h"

/// libzip, used twice: to inflate, and as a second reader of the directory whose view must be ours.
/// The only user of libzip; its handles read through a zip_source over our bytes, never a path.
namespace ckpt::zip {

/// Inflates an entry to its `entry.bytes` bytes and checks its checksum where one is recorded.
///
/// libzip sees an archive of this one record, put together around the compressed bytes: opening the real
/// one costs 0.7 to 7 µs a record each time, and an archive that libzip rejects can still be read.
/// The caller has held `bytes` against a limit and against what deflate can do, and `data_offset` is not 0.
///
/// Errors: corrupt - the stream is damaged, ends early, has bytes behind its end, or another checksum; and
///         those of the source.
[[nodiscard]] Result<std::vector<std::byte>> inflate_entry(const std::shared_ptr<const ByteSource>& source,
                                                           const Entry& entry);

/// What a second reader makes of the archive: `ambiguous` for each entry of which libzip sees another name,
/// method, size or checksum, or another number of entries (at most 50 findings, then one that counts the
/// rest). That libzip cannot open the archive at all is a note, and so is that it was not asked, because
/// the end records alone leave a choice (`Directory::has_one_end`).
/// Cost: 0.7 to 7 µs a record; worth a thread of its own beside the reading.
[[nodiscard]] std::vector<Finding> second_opinion(const std::shared_ptr<const ByteSource>& source,
                                                  const Directory& directory);

}  // namespace ckpt::zip
