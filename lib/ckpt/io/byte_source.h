#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/platform.h"

namespace ckpt {

/// Reads made through a source so far; tests assert on these instead of on seconds.
struct ReadCount {
  std::uint64_t reads = 0;  ///< system calls (memory sources: calls of read_at)
  std::uint64_t bytes = 0;
};

/// Random-access bytes of known size. Parsers take this, never a path.
///
/// Threads: `read_at` is const, has no shared position and may be called from several threads.
class CKPT_API ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Bytes in the source when it was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// Fills `out` with the bytes at `offset`, all of them.
  ///
  /// Errors: short_file - the range ends behind `size()`, or the file ends before it should;
  ///         changed - it ended early and its size is no longer what it was; io - the system said no.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;

  [[nodiscard]] ReadCount count() const;

  /// `length` bytes at `offset`; the caller has held `length` against a limit before.
  [[nodiscard]] Result<std::vector<std::byte>> read_vector(std::uint64_t offset, std::uint64_t length) const;

  /// Counts a read that somebody made through the file's own descriptors.
  void add_read(std::uint64_t bytes) const;

 private:
  mutable std::atomic<std::uint64_t> reads_{0};
  mutable std::atomic<std::uint64_t> bytes_{0};
};

/// A regular file, opened once and read with positional reads.
class CKPT_API FileSource final : public ByteSource {
 public:
  /// Errors: those of platform::File::open_for_reading.
  [[nodiscard]] static Result<std::shared_ptr<FileSource>> open(const std::string& path);

  [[nodiscard]] std::uint64_t size() const override { return identity_.size; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const platform::File& file() const { return file_; }
  /// Who the file was when it was opened.
  [[nodiscard]] const platform::FileIdentity& identity() const { return identity_; }

  /// Errors: changed - size, times, device or inode are no longer those of the opening.
  [[nodiscard]] Status check_unchanged() const;

  /// Errors: short_file - `length` bytes at `offset` end behind `size()`.
  [[nodiscard]] Status check_range(std::uint64_t offset, std::uint64_t length) const;

  /// Why only `found` of `length` promised bytes came at `offset`: `changed` if the size has moved since
  /// the file was opened, else `short_file`.
  [[nodiscard]] Error ended_early(std::uint64_t offset, std::uint64_t length, std::uint64_t found) const;

 private:
  FileSource(platform::File file, platform::FileIdentity identity);
  platform::File file_;
  platform::FileIdentity identity_;
};

/// Bytes in memory. Owns them.
class CKPT_API MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace ckpt
