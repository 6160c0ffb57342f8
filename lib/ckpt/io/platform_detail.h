#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>

#include "ckpt/io/platform.h"

/// What the files for all POSIX systems need from the one that knows the system, and the errors that all
/// of them make. Only for the platform files and the span reader.
namespace ckpt::platform {

/// Below what one call takes on every system (INT_MAX on macOS, 0x7ffff000 on Linux).
inline constexpr std::size_t kMaxCallBytes = 1U << 30U;

/// The word for an `errno` value: not_found, permission, no_space, would_overwrite or io.
[[nodiscard]] ErrorCode code_of(int number);

/// True for an `errno` value that says "this file system has no such operation".
[[nodiscard]] bool is_unsupported(int number);

/// The system's text for an `errno` value, starting in lower case.
[[nodiscard]] std::string system_text(int number);

/// "`what`: <system text>" about `path`.
[[nodiscard]] Error system_error(std::string_view what, int number, const std::string& path);

/// Repeats a system call while a signal interrupts it.
template <class Call>
auto retry_interrupted(Call call) {
  for (;;) {
    const auto outcome = call();
    if (outcome >= 0 || errno != EINTR) return outcome;
  }
}

/// While it lives, threads that are started leave all signals to the program's own threads, so that its
/// handlers run there.
class SignalsElsewhere {
 public:
  SignalsElsewhere();
  SignalsElsewhere(const SignalsElsewhere&) = delete;
  SignalsElsewhere& operator=(const SignalsElsewhere&) = delete;
  ~SignalsElsewhere();

 private:
  sigset_t before_{};
};

// One definition for each system, in platform_linux.cpp and platform_macos.cpp.

[[nodiscard]] std::int64_t modified_ns(const struct stat& status);
[[nodiscard]] std::int64_t status_changed_ns(const struct stat& status);

/// A new open file description made from a descriptor alone, or -1 where the system has no way.
[[nodiscard]] int reopen_descriptor(int descriptor);

/// Reserves blocks for `bytes`; 0 or an `errno` value. The size may or may not be set afterwards.
[[nodiscard]] int reserve_blocks(int descriptor, off_t bytes);

/// Flushes data and size to the disk; -1 and `errno` on failure.
[[nodiscard]] int sync_data(int descriptor);

/// Renames without replacing, without a race; -1 and `errno` on failure (EINVAL, ENOSYS or ENOTSUP: the
/// file system cannot).
[[nodiscard]] int rename_exclusive(const char* from, const char* to);

/// The umask of this process.
[[nodiscard]] mode_t current_umask();

/// True if the system tells this process the truth about the file's pages.
[[nodiscard]] bool may_ask_residency(const File& file);

/// Called first in every reader thread.
void prepare_reader_thread() noexcept;

/// Calls `use(address, length)` for read-only mappings of at most 128 MiB that together cover the pages
/// of a byte range, until a call returns an `errno` value other than 0, which is handed back. Windows
/// keep mincore's vector flat (32 KiB for pages of 4 KiB), and a range of any size can be mapped.
[[nodiscard]] int for_each_window(const File& file, std::uint64_t offset, std::uint64_t length,
                                  const std::function<int(void*, std::size_t)>& use);

}  // namespace ckpt::platform
