#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/zip/record_index.h"

/// The directory of a ZIP archive, read without libzip, which tells no data offsets, cannot account for
/// every byte and costs 0.7 to 7 µs a record where 0.4 is enough.
///
/// Layout (all numbers little-endian; APPNOTE 6.3.9 sections 4.3.7 to 4.3.16):
///   local header   PK\3\4, version u16, flags u16, method u16, time u16, date u16, crc u32, compressed u32,
///                  size u32, name length u16, extra length u16, name, extra; then the data; then, if
///                  flag bit 3 is set, a descriptor: [PK\7\8] crc u32, compressed and size as u32 or u64
///   directory      PK\1\2 entries
///   ZIP64 end      PK\6\6, then its locator PK\6\7 - torch writes both even for tiny archives
///   end record     PK\5\6
/// torch leaves crc and sizes of the local header 0 and pads the extra field so that data starts at a
/// multiple of 64; a local ZIP64 extra of 8 bytes with sizes 0 occurs in real shards above 4 GiB.
/// Details and where torch departs from the specification: docs/formats/zip.md.
namespace ckpt::zip {

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

struct Entry {
  std::string_view name;               ///< raw bytes; borrowed from the Directory
  std::uint64_t directory_offset = 0;  ///< of its directory entry, bytes from the start of the file
  std::uint64_t local_offset = 0;      ///< of its local header
  std::uint64_t data_offset = 0;       ///< of its data; 0 if the local header could not be read, or the data
                                       ///< would reach into the directory
  std::uint64_t compressed_bytes = 0;
  std::uint64_t bytes = 0;       ///< uncompressed
  std::uint64_t end_offset = 0;  ///< behind data and descriptor; tells nothing where data_offset is 0
  std::uint32_t crc = 0;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;

  /// False where the writer switched checksums off: crc 0 for data that is there.
  [[nodiscard]] bool has_checksum() const { return crc != 0 || bytes == 0; }
  [[nodiscard]] bool is_stored() const { return method == kStored; }
  [[nodiscard]] bool is_folder() const { return !name.empty() && name.back() == '/'; }
};

class Directory {
 public:
  /// Reads the end records, the directory and one local header for each entry (neighbours closer than
  /// 4 KiB in one read of at most 256 KiB; many reads in flight where there are many).
  ///
  /// Two views must agree: ZIP64 and plain end record, local header and directory (name, method, flags;
  /// sizes and crc where the local header has them), descriptor and directory. All byte ranges together must
  /// cover the file without overlap, gap, prefix or suffix. What does not hold is a finding; the
  /// entries are given as far as they go.
  ///
  /// Errors (no entries can be given): truncated - no end record, in a file that starts like an archive;
  ///         unknown_format - neither; corrupt - end records or directory lie; unsupported - several disks;
  ///         limit - zip_records or directory_bytes, before anything is reserved; io, short_file,
  ///         changed - from the source.
  /// Cost: about 80 bytes of memory an entry plus the directory's bytes; end records in one read of
  ///       65,633, the directory in one (none if it lies in the former).
  [[nodiscard]] static Result<Directory> read(const std::shared_ptr<const ByteSource>& source,
                                              const Limits& limits);

  // Names point into the buffer: a move keeps them valid, a copy would not.
  Directory(Directory&&) noexcept = default;
  Directory& operator=(Directory&&) noexcept = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() = default;

  /// In the order of the directory.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// The entry of that exact name, the first of several: one hash look-up. Null if there is none.
  /// Threads: one at a time, because it counts.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  /// Calls of `find` so far.
  [[nodiscard]] std::uint64_t lookups() const { return lookups_; }

  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] std::uint64_t directory_offset() const { return directory_offset_; }
  [[nodiscard]] std::uint64_t directory_bytes() const { return directory_bytes_; }
  [[nodiscard]] bool has_zip64() const { return has_zip64_; }
  [[nodiscard]] std::uint64_t comment_bytes() const { return comment_bytes_; }
  /// True if the end records hold and nothing near them looks like another one, so that every reader has
  /// to start from the same directory.
  [[nodiscard]] bool has_one_end() const { return has_one_end_; }

 private:
  friend class DirectoryReader;
  Directory() = default;
  std::vector<std::byte> buffer_;  // the directory's bytes
  std::vector<Entry> entries_;
  RecordIndex by_name_;
  std::vector<Finding> findings_;
  std::uint64_t directory_offset_ = 0;
  std::uint64_t directory_bytes_ = 0;
  std::uint64_t comment_bytes_ = 0;
  bool has_zip64_ = false;
  bool has_one_end_ = false;
  mutable std::uint64_t lookups_ = 0;
};

}  // namespace ckpt::zip
