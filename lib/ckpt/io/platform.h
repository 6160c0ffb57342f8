#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

/// The system calls that this library makes, and nothing else. Declared once here; what all POSIX
/// systems share is in platform_posix.cpp, the rest in platform_linux.cpp or platform_macos.cpp.
namespace ckpt::platform {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;     ///< bytes
  std::int64_t mtime_ns = 0;  ///< nanoseconds since 1970
  std::int64_t ctime_ns = 0;
  std::uint32_t mode = 0;  ///< permission bits
  bool is_regular = false;
  bool is_directory = false;
  bool is_link = false;  ///< only ever from identify_link

  [[nodiscard]] bool same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const FileIdentity&) const = default;
};

/// An open descriptor. Owns it.
class CKPT_API File {
 public:
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  /// Opens without blocking and without effects (O_NONBLOCK, O_NOCTTY, O_CLOEXEC), then demands a
  /// regular file.
  ///
  /// Errors: not_found - no such file (a dangling link too); permission; io - no regular file
  ///         ("is a directory", "is a FIFO", …) or another refusal, with the system's text.
  [[nodiscard]] static Result<File> open_for_reading(const std::string& path);

  /// A second open file description of the same file: each reader thread has its own, so that the
  /// system's read-ahead sees one rising stream each.
  ///
  /// Errors: changed - the path now leads to another file and the descriptor cannot be reopened.
  [[nodiscard]] Result<File> reopen() const;

  [[nodiscard]] Result<FileIdentity> identity() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// One read at `offset`; interruptions are retried. 0 means end of file.
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const;

  /// One vectored read of at most `length` bytes whose entries all point to `scratch`: the pages come
  /// in, the bytes are rubbish afterwards. 0 means end of file.
  [[nodiscard]] Result<std::size_t> read_and_drop(std::uint64_t offset, std::uint64_t length,
                                                  std::span<std::byte> scratch) const;

 private:
  friend class OutputFile;
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

/// Who `path` is, links followed. Errors: not_found, permission, io.
[[nodiscard]] CKPT_API Result<FileIdentity> identify(const std::string& path);
/// The same for the name itself: a link is not followed.
[[nodiscard]] Result<FileIdentity> identify_link(const std::string& path);

/// Names in a directory, "." and ".." left out, in no order. Errors: not_found, permission, io.
[[nodiscard]] Result<std::vector<std::string>> list_directory(const std::string& path);

/// A new file that is written at offsets, under a name of its own.
///
/// Threads: `write_at` may be called from several threads at once.
class OutputFile {
 public:
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  /// Creates `path`, which must not exist (O_EXCL, O_NOFOLLOW, mode 0600).
  /// Errors: would_overwrite - it exists; permission; no_space; not_found - no such folder; io.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path);

  /// Reserves the blocks of `bytes` and sets the size; where the file system cannot, only the size.
  /// Errors: no_space - with the bytes needed and the bytes free.
  [[nodiscard]] Status allocate(std::uint64_t bytes);

  /// Writes all of `bytes`; short writes and interruptions are continued.
  /// Errors: no_space (disk full, quota, size limit), io.
  [[nodiscard]] Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// Gives the file the mode that a plain creation under the caller's umask has (0666 & ~umask).
  [[nodiscard]] Status set_default_mode() const;
  /// Data and size reach the disk (Linux fdatasync, macOS F_FULLFSYNC).
  [[nodiscard]] Status sync() const;
  /// Errors of the final close count: NFS reports a full disk here.
  [[nodiscard]] Status close();
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] Result<FileIdentity> identity() const { return file_.identity(); }

 private:
  explicit OutputFile(File file) : file_(std::move(file)) {}
  File file_;
};

/// Renames within one folder. `replace` false: fails with would_overwrite if `to` exists, without a race.
[[nodiscard]] Status rename_file(const std::string& from, const std::string& to, bool replace);
[[nodiscard]] Status sync_directory(const std::string& path);
/// Removes a name; that it is not there is no error. Async-signal-safe.
void unlink_quietly(const char* path) noexcept;

/// Bytes that an ordinary user may still write in the file system of `directory`; the largest number
/// where the file system does not count.
[[nodiscard]] Result<std::uint64_t> free_space(const std::string& directory);

/// Processors that this process may use: affinity mask and control-group quota, at least 1.
[[nodiscard]] CKPT_API unsigned usable_processors();

/// Part of the names of temporary files.
[[nodiscard]] std::int64_t process_id();

/// Largest resident set of this process so far, in bytes.
[[nodiscard]] CKPT_API std::uint64_t peak_resident_bytes();

[[nodiscard]] std::uint64_t page_size();

/// Which pages of a byte range are in the page cache.
struct Resident {
  std::uint64_t pages = 0;           ///< pages that the range touches
  std::uint64_t resident_pages = 0;  ///< of these, present
  /// One entry a page, 1 = present; only if asked for.
  std::vector<unsigned char> map;
};

/// Asks mincore over a fresh mapping of the range. Reads nothing.
/// Empty if the system would not tell the truth: since Linux 5.2 a stranger without write permission
/// is told "resident" for every page.
[[nodiscard]] Result<std::optional<Resident>> ask_resident(const File& file, std::uint64_t offset,
                                                           std::uint64_t length, bool want_map);

/// Asks the system to drop the file's clean pages; dirty ones are written first. That it returns is no
/// proof: ask_resident is.
[[nodiscard]] Status evict(const File& file);

/// Memory that page cache may still take: available memory and every control-group limit above us.
struct Headroom {
  std::uint64_t bytes = 0;
  std::string decided_by;  ///< "available memory" or the control group's path
};
[[nodiscard]] Result<Headroom> memory_headroom();

/// One line for receipts: "Linux 6.1.0 x86_64".
[[nodiscard]] CKPT_API std::string system_name();

}  // namespace ckpt::platform
