#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/result.h"

namespace ckpt {

struct AtomicFileOptions {
  bool replace = false;  ///< an existing regular file may be replaced
  bool sync = true;      ///< data reaches the disk before the name does
};

/// An output that appears complete under its name or not at all: a temporary sibling
/// (`.NAME.ckpt-PID-N.tmp`, O_EXCL, mode 0600), written at offsets, synced, renamed, the folder synced.
/// Destroying it without `commit` removes the temporary, and so does `discard_unfinished_files` from a
/// signal handler.
///
/// Threads: `write_at` from several at once.
class AtomicFile {
 public:
  /// Errors: would_overwrite - `target` exists and may not be replaced, or is no regular file;
  ///         not_found - no such folder; permission; no_space - with the bytes needed and free; io.
  ///         Nothing is left behind.
  [[nodiscard]] static Result<AtomicFile> create(const std::string& target, std::uint64_t bytes,
                                                 const AtomicFileOptions& options);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  [[nodiscard]] Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// Sync, close, rename, sync the folder. A failed sync is final: the pages may be marked clean.
  [[nodiscard]] Status commit();

  /// The first half of `commit`: data on disk, name not yet given. `commit` does it if nobody did.
  [[nodiscard]] Status flush();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Removes the temporaries of all unfinished outputs of this process. Async-signal-safe.
CKPT_API void discard_unfinished_files() noexcept;

}  // namespace ckpt
