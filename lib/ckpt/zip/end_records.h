#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/zip/finding_list.h"

namespace ckpt::zip {

/// Where the directory is and what it promises, from the records at the end of an archive. Offsets are
/// bytes from the start of the file; what could be wrong with the directory's range was checked.
struct EndRecords {
  std::uint64_t records = 0;           ///< promised number of entries
  std::uint64_t directory_offset = 0;  ///< `base` included
  std::uint64_t directory_bytes = 0;   ///< promised
  std::uint64_t base = 0;              ///< bytes in front of the archive, from which its offsets count
  std::uint64_t first_offset = 0;      ///< of the first end record: the directory must reach up to here
  std::uint64_t zip64_offset = 0;      ///< of the ZIP64 end record, if has_zip64
  std::uint64_t zip64_end = 0;         ///< behind it
  std::uint64_t locator_offset = 0;    ///< of its locator, if has_locator
  std::uint64_t end_offset = 0;        ///< of the plain end record
  std::uint64_t comment_bytes = 0;     ///< as many as there are
  bool has_locator = false;
  bool has_zip64 = false;
  bool is_alone = false;          ///< no other end record signature in the bytes where readers look for one
  std::vector<std::byte> tail;    ///< the end of the file, read already
  std::uint64_t tail_offset = 0;  ///< of `tail`
};

/// Finds the end record in the last 64 KiB and follows the locator to its ZIP64 companion.
///
/// Errors: truncated - none, although the file starts like an archive; unknown_format - none, and it does
///         not; unsupported - several disks; corrupt - a directory that cannot lie where they say.
/// Cost: one read, one more for a ZIP64 record that is not near the end, and three where the directory does
///       not end at the end records; a cut file up to 1,000 more to find its last whole record.
[[nodiscard]] Result<EndRecords> read_end_records(const ByteSource& source, FindingList& findings);

}  // namespace ckpt::zip
