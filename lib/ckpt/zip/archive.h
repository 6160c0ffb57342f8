#pragma once

#include <memory>
#include <vector>

#include "ckpt/zip/directory.h"

namespace ckpt::zip {

/// An opened archive: its directory, and the reading of one small record.
class Archive {
 public:
  /// Errors: those of Directory::read.
  [[nodiscard]] static Result<Archive> open(std::shared_ptr<const ByteSource> source, const Limits& limits);

  [[nodiscard]] const Directory& directory() const { return directory_; }
  [[nodiscard]] const std::shared_ptr<const ByteSource>& source() const { return source_; }

  /// The bytes of one record, inflated where deflated, and checked against its checksum where it has one.
  /// For metadata only: tensor bytes go through the span reader.
  ///
  /// Errors: limit - more than `max_bytes` (named `limit_name`), from the directory alone, before
  ///         anything is reserved; corrupt - wrong checksum, or a deflate stream that lies; unsupported -
  ///         encrypted or another method; short_file, io, changed. All carry the record's name.
  [[nodiscard]] Result<std::vector<std::byte>> read(const Entry& entry, std::uint64_t max_bytes,
                                                    std::string_view limit_name) const;

 private:
  Archive(std::shared_ptr<const ByteSource> source, Directory directory)
      : source_(std::move(source)), directory_(std::move(directory)) {}
  std::shared_ptr<const ByteSource> source_;
  Directory directory_;
};

}  // namespace ckpt::zip
