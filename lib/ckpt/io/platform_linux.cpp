#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <limits>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "ckpt/io/control_group.h"
#include "ckpt/io/platform.h"
#include "ckpt/io/platform_detail.h"

namespace ckpt::platform {

namespace {

std::string descriptor_path(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// True if the process may act as owner of files that it does not own (CAP_FOWNER).
bool acts_as_owner() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return geteuid() == 0;
  return (data[CAP_TO_INDEX(CAP_FOWNER)].effective & CAP_TO_MASK(CAP_FOWNER)) != 0;
}

ControlGroups own_control_groups() {
  return find_control_groups(read_small_file("/proc/self/cgroup"), read_small_file("/proc/self/mountinfo"));
}

unsigned processors_in_mask() {
  // The mask must be as long as the kernel's, whose length nobody tells.
  for (std::size_t processors = 1024; processors <= 1U << 20U; processors *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    cpu_set_t* const mask = CPU_ALLOC(processors);
    if (mask == nullptr) break;
    const int outcome = sched_getaffinity(0, bytes, mask);
    const int count = outcome == 0 ? CPU_COUNT_S(bytes, mask) : 0;
    const bool too_short = outcome != 0 && errno == EINVAL;
    CPU_FREE(mask);
    if (!too_short) return static_cast<unsigned>(std::max(count, 1));
  }
  return 1;
}

}  // namespace

std::int64_t modified_ns(const struct stat& status) { return nanoseconds(status.st_mtim); }
std::int64_t status_changed_ns(const struct stat& status) { return nanoseconds(status.st_ctim); }

int reopen_descriptor(int descriptor) {
  const std::string path = descriptor_path(descriptor);
  return retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC); });
}

int reserve_blocks(int descriptor, off_t bytes) {
  const int outcome = retry_interrupted([&] { return ::fallocate(descriptor, 0, 0, bytes); });
  return outcome == 0 ? 0 : errno;
}

int sync_data(int descriptor) { return ::fdatasync(descriptor); }

int rename_exclusive(const char* from, const char* to) {
  return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

mode_t current_umask() {
  // Asking umask() itself means to change it for a moment, for all threads.
  const std::string status = read_small_file("/proc/self/status");
  constexpr std::string_view kField = "\nUmask:";
  const std::size_t place = status.find(kField);
  if (place != std::string::npos) {
    return static_cast<mode_t>(std::strtoul(status.c_str() + place + kField.size(), nullptr, 8));
  }
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

bool may_ask_residency(const File& file) {
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) return false;
  if (status.st_uid == geteuid()) return true;
  // Files of owners unknown in this user namespace show this owner, and no capability covers them.
  constexpr uid_t kOverflowUser = 65534;
  if (status.st_uid != kOverflowUser && acts_as_owner()) return true;
  return faccessat(AT_FDCWD, descriptor_path(file.descriptor()).c_str(), W_OK, AT_EACCESS) == 0;
}

void prepare_reader_thread() noexcept {}

Status evict(const File& file) {
  // Dirty pages are not promised to go. A refusal (a read-only file system) means that there are none.
  const int flushed = retry_interrupted([&] { return ::fdatasync(file.descriptor()); });
  if (flushed != 0 && errno != EROFS && errno != EINVAL) {
    return fail(system_error("cannot be flushed to disk", errno, file.path()));
  }
  // Length 0 means to the end, and spares the rule that a partial page stays.
  const int refused = ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  if (refused != 0) return fail(system_error("pages cannot be dropped", refused, file.path()));
  return {};
}

unsigned usable_processors() {
  const unsigned in_mask = processors_in_mask();
  const auto in_group = group_processors(own_control_groups());
  return std::max(1U, in_group ? std::min(in_mask, *in_group) : in_mask);
}

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Result<Headroom> memory_headroom() {
  const auto available = available_memory(read_small_file("/proc/meminfo"));
  auto in_group = group_headroom(own_control_groups());
  if (!available && !in_group) return fail(ErrorCode::io, "the system does not tell how much memory is free");
  if (!available || (in_group && in_group->bytes < *available)) return *std::move(in_group);
  return Headroom{*available, "available memory"};
}

}  // namespace ckpt::platform
