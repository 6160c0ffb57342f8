#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <zip.h>

#include "ckpt/io/byte_source.h"

namespace ckpt::zip {

struct SourceDeleter {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct ArchiveDeleter {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct FileDeleter {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using ZipSource = std::unique_ptr<zip_source_t, SourceDeleter>;
using ZipArchive = std::unique_ptr<zip_t, ArchiveDeleter>;
using ZipFile = std::unique_ptr<zip_file_t, FileDeleter>;

/// Bytes as libzip reads them: a head, a range of a source, a tail, one behind the other. Buffers small
/// reads, because libzip takes a directory in pieces of 46 bytes. Must outlive the archive opened on it.
class LibzipView {
 public:
  LibzipView(std::shared_ptr<const ByteSource> source, std::uint64_t offset, std::uint64_t length)
      : source_(std::move(source)), offset_(offset), length_(length) {}
  void set_head(std::vector<std::byte> head) { head_ = std::move(head); }
  void set_tail(std::vector<std::byte> tail) { tail_ = std::move(tail); }

  /// Opens an archive on the view, read-only. Null if libzip does not want it; `error` says why.
  [[nodiscard]] ZipArchive open(zip_error_t* error);

  /// Why a read failed, if one did.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// How far libzip has read since `forget_reach`, bytes from the start of the view.
  [[nodiscard]] std::uint64_t reach() const { return reach_; }
  void forget_reach() { reach_ = 0; }

 private:
  static zip_int64_t handle(void* view, void* data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t read(std::span<std::byte> out);
  zip_int64_t seek(void* data, zip_uint64_t length);
  zip_int64_t describe(void* data, zip_uint64_t length);
  zip_int64_t fail_with(int code);
  [[nodiscard]] Status copy(std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] Status copy_from_source(std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] std::uint64_t size() const { return head_.size() + length_ + tail_.size(); }

  std::shared_ptr<const ByteSource> source_;
  const std::uint64_t offset_;
  const std::uint64_t length_;
  std::vector<std::byte> head_;
  std::vector<std::byte> tail_;
  std::vector<std::byte> block_;    // bytes of the range that were read ahead
  std::uint64_t block_offset_ = 0;  // in the range
  std::uint64_t position_ = 0;
  std::uint64_t reach_ = 0;
  int error_code_ = 0;
  std::optional<Error> failure_;
};

}  // namespace ckpt::zip
