#include <algorithm>
#include <array>
#include <cctype>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/io/platform.h"
#include "ckpt/io/platform_detail.h"

namespace ckpt::platform {

namespace {

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Entries of one vectored read: 32 make a span of 8 MiB from chunks of 256 KiB; IOV_MAX is 1,024.
constexpr std::size_t kMaxVectors = 128;

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISFIFO(mode)) return "is a FIFO";
  if (S_ISSOCK(mode)) return "is a socket";
  if (S_ISCHR(mode)) return "is a character device";
  if (S_ISBLK(mode)) return "is a block device";
  return "is not a regular file";
}

FileIdentity identity_from(const struct stat& status) {
  FileIdentity identity;
  identity.device = static_cast<std::uint64_t>(status.st_dev);
  identity.inode = static_cast<std::uint64_t>(status.st_ino);
  identity.size = static_cast<std::uint64_t>(status.st_size);
  identity.mtime_ns = modified_ns(status);
  identity.ctime_ns = status_changed_ns(status);
  identity.mode = static_cast<std::uint32_t>(status.st_mode & 07777U);
  identity.is_regular = S_ISREG(status.st_mode);
  identity.is_directory = S_ISDIR(status.st_mode);
  identity.is_link = S_ISLNK(status.st_mode);
  return identity;
}

tl::unexpected<Error> fail_system(std::string_view what, int number, const std::string& path) {
  return fail(system_error(what, number, path));
}

/// A NUL byte would end the name early and lead to another file.
Status check_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) return {};
  return fail(make_error(ErrorCode::not_found, "the path contains a NUL byte").in_file(path));
}

tl::unexpected<Error> fail_to_find(int number, const std::string& path) {
  struct stat status {};
  if (number == ENOENT && lstat(path.c_str(), &status) == 0) {
    return fail(make_error(ErrorCode::not_found, "is a link to a file that does not exist").in_file(path));
  }
  return fail_system("cannot be opened", number, path);
}

Status check_regular(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return {};
  return fail(make_error(ErrorCode::io, fmt::format("{}, not a regular file", kind_of(status.st_mode)))
                  .in_file(path));
}

}  // namespace

ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR: return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorCode::no_space;
    case EEXIST:
    case EISDIR:
    case ENOTEMPTY: return ErrorCode::would_overwrite;
    default: return ErrorCode::io;
  }
}

bool is_unsupported(int number) {
  // The first two are one number on Linux and two on macOS.
  constexpr std::array<int, 4> kRefusals = {ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL};
  return std::find(kRefusals.begin(), kRefusals.end(), number) != kRefusals.end();
}

std::string system_text(int number) {
  std::string text = std::generic_category().message(number);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Error system_error(std::string_view what, int number, const std::string& path) {
  Error error = make_error(code_of(number), fmt::format("{}: {}", what, system_text(number)));
  error.in_file(path);
  return error;
}

SignalsElsewhere::SignalsElsewhere() {
  sigset_t blocked;
  sigfillset(&blocked);
  // What a thread raises by a fault of its own stays with it.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&blocked, fault);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

SignalsElsewhere::~SignalsElsewhere() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<File> File::open_for_reading(const std::string& path) {
  CKPT_TRY(check_path(path));
  // Looked at before it is opened, because opening a device can have effects, and after, because the
  // name may lead elsewhere by then.
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fail_to_find(errno, path);
  CKPT_TRY(check_regular(status, path));
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), kReadFlags); });
  if (descriptor < 0) return fail_to_find(errno, path);
  File file(descriptor, path);
  if (fstat(descriptor, &status) != 0) return fail_system("cannot be examined", errno, path);
  CKPT_TRY(check_regular(status, path));
  // Some file systems in user space heed O_NONBLOCK for regular files and would answer EAGAIN.
  fcntl(descriptor, F_SETFL, 0);
  return file;
}

Result<File> File::reopen() const {
  const int descriptor = reopen_descriptor(descriptor_);
  if (descriptor >= 0) return File(descriptor, path_);
  auto by_path = open_for_reading(path_);
  if (!by_path && by_path.error().code != ErrorCode::not_found) return by_path;
  if (by_path) {
    CKPT_LET(const FileIdentity now, by_path->identity());
    CKPT_LET(const FileIdentity then, identity());
    if (now.same_file(then)) return by_path;
  }
  return fail(make_error(ErrorCode::changed, "the path leads to another file than before").in_file(path_));
}

Result<FileIdentity> File::identity() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return fail_system("cannot be examined", errno, path_);
  return identity_from(status);
}

Result<std::size_t> File::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t want = std::min(out.size(), kMaxCallBytes);
  const ssize_t got =
      retry_interrupted([&] { return ::pread(descriptor_, out.data(), want, static_cast<off_t>(offset)); });
  if (got < 0) return fail(system_error("cannot be read", errno, path_).at(offset));
  return static_cast<std::size_t>(got);
}

Result<std::size_t> File::read_and_drop(std::uint64_t offset, std::uint64_t length,
                                        std::span<std::byte> scratch) const {
  std::array<iovec, kMaxVectors> vectors;
  std::size_t count = 0;
  for (; count < vectors.size() && length > 0; ++count) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(length, scratch.size()));
    vectors[count] = {scratch.data(), bytes};
    length -= bytes;
  }
  const ssize_t got = retry_interrupted([&] {
    return ::preadv(descriptor_, vectors.data(), static_cast<int>(count), static_cast<off_t>(offset));
  });
  if (got < 0) return fail(system_error("cannot be read", errno, path_).at(offset));
  return static_cast<std::size_t>(got);
}

Result<FileIdentity> identify(const std::string& path) {
  CKPT_TRY(check_path(path));
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fail_to_find(errno, path);
  return identity_from(status);
}

Result<FileIdentity> identify_link(const std::string& path) {
  CKPT_TRY(check_path(path));
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return fail_system("cannot be examined", errno, path);
  return identity_from(status);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  CKPT_TRY(check_path(path));
  const auto close_quietly = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close_quietly)> directory(opendir(path.c_str()), close_quietly);
  if (!directory) return fail_system("cannot be listed", errno, path);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return fail_system("cannot be listed", errno, path);
  return names;
}

Status sync_directory(const std::string& path) {
  const int descriptor =
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  // A folder that may be written but not listed cannot be synced by anybody but its owner.
  if (descriptor < 0 && errno == EACCES) return {};
  if (descriptor < 0) return fail_system("folder cannot be opened", errno, path);
  const int outcome = retry_interrupted([&] { return ::fsync(descriptor); });
  const int number = outcome == 0 ? 0 : errno;
  ::close(descriptor);
  // Several network file systems do not know how to sync a folder.
  if (number == 0 || is_unsupported(number)) return {};
  return fail_system("folder cannot be synced", number, path);
}

void unlink_quietly(const char* path) noexcept {
  const int before = errno;
  ::unlink(path);
  errno = before;
}

Result<std::uint64_t> free_space(const std::string& directory) {
  CKPT_TRY(check_path(directory));
  struct statvfs status {};
  const int outcome = retry_interrupted([&] { return statvfs(directory.c_str(), &status); });
  if (outcome != 0) return fail_system("free space cannot be asked", errno, directory);
  constexpr std::uint64_t kUncounted = std::numeric_limits<std::uint64_t>::max();
  if (status.f_blocks == 0) return kUncounted;
  return checked_multiply(status.f_bavail, status.f_frsize).value_or(kUncounted);
}

std::int64_t process_id() { return ::getpid(); }

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

}  // namespace ckpt::platform
