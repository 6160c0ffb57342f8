#include <algorithm>
#include <fcntl.h>
#include <limits>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "ckpt/io/platform.h"
#include "ckpt/io/platform_detail.h"

namespace ckpt::platform {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

tl::unexpected<Error> fail_for_space(int number, std::uint64_t bytes, const std::string& path) {
  Error error = system_error("space cannot be reserved", number, path);
  const auto free = free_space(folder_of(path));
  if (error.code == ErrorCode::no_space && free) {
    error.message =
        fmt::format("no space left: needs {} bytes, has {}: {}", bytes, *free, system_text(number));
    error.numbers(std::to_string(bytes), std::to_string(*free));
  }
  return fail(std::move(error));
}

/// Takes the name with an empty file that only this process made, then renames over it: for file
/// systems with neither exclusive renames nor hard links. A crash between the two leaves the empty file.
int rename_over_placeholder(const std::string& from, const std::string& to) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int placeholder = retry_interrupted([&] { return ::open(to.c_str(), flags, 0600); });
  if (placeholder < 0) return -1;
  ::close(placeholder);
  if (::rename(from.c_str(), to.c_str()) == 0) return 0;
  unlink_quietly(to.c_str());
  return -1;
}

int rename_once(const std::string& from, const std::string& to, bool replace) {
  if (replace) return ::rename(from.c_str(), to.c_str());
  if (rename_exclusive(from.c_str(), to.c_str()) == 0) return 0;
  if (!is_unsupported(errno)) return -1;
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str());
  if (errno != EPERM && !is_unsupported(errno)) return -1;
  return rename_over_placeholder(from, to);
}

}  // namespace

OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return fail(make_error(ErrorCode::not_found, "the path contains a NUL byte").in_file(path));
  }
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags, 0600); });
  if (descriptor < 0) return fail(system_error("cannot be created", errno, path));
  return OutputFile(File(descriptor, path));
}

Status OutputFile::allocate(std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return fail_for_space(EFBIG, bytes, path());
  }
  const auto size = static_cast<off_t>(bytes);
  const int refused = reserve_blocks(file_.descriptor(), size);
  if (refused != 0 && !is_unsupported(refused)) return fail_for_space(refused, bytes, path());
  const int outcome = retry_interrupted([&] { return ::ftruncate(file_.descriptor(), size); });
  if (outcome != 0) return fail_for_space(errno, bytes, path());
  return {};
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::size_t want = std::min(bytes.size(), kMaxCallBytes);
    const ssize_t put = retry_interrupted(
        [&] { return ::pwrite(file_.descriptor(), bytes.data(), want, static_cast<off_t>(offset)); });
    if (put < 0) return fail(system_error("cannot be written", errno, path()).at(offset));
    if (put == 0) return fail(system_error("cannot be written", ENOSPC, path()).at(offset));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Status OutputFile::set_default_mode() const {
  const auto mode = static_cast<mode_t>(0666U & ~unsigned{current_umask()});
  if (::fchmod(file_.descriptor(), mode) == 0) return {};
  // File systems without modes refuse, and their files are readable all the same.
  if (errno == EPERM || is_unsupported(errno)) return {};
  return fail(system_error("mode cannot be set", errno, path()));
}

Status OutputFile::sync() const {
  const int outcome = retry_interrupted([&] { return sync_data(file_.descriptor()); });
  if (outcome != 0) return fail(system_error("cannot be flushed to disk", errno, path()));
  return {};
}

Status OutputFile::close() {
  const int descriptor = std::exchange(file_.descriptor_, -1);
  // After an interruption the descriptor is gone all the same (Linux, macOS), so it is not closed again.
  if (descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR) return {};
  return fail(system_error("cannot be closed", errno, path()));
}

Status rename_file(const std::string& from, const std::string& to, bool replace) {
  if (rename_once(from, to, replace) == 0) return {};
  return fail(system_error("cannot be given its name", errno, to));
}

}  // namespace ckpt::platform
