#include <algorithm>
#include <fcntl.h>
#include <mach/mach.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ckpt/io/platform.h"
#include "ckpt/io/platform_detail.h"

namespace ckpt::platform {

namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t modified_ns(const struct stat& status) { return nanoseconds(status.st_mtimespec); }
std::int64_t status_changed_ns(const struct stat& status) { return nanoseconds(status.st_ctimespec); }

int reopen_descriptor(int descriptor) {
  // Opening /dev/fd/N only duplicates: both would share one position and one read-ahead.
  (void)descriptor;
  return -1;
}

int reserve_blocks(int descriptor, off_t bytes) {
  fstore_t store{};
  store.fst_flags = F_ALLOCATEALL;
  store.fst_posmode = F_PEOFPOSMODE;
  store.fst_length = bytes;
  const int outcome = retry_interrupted([&] { return ::fcntl(descriptor, F_PREALLOCATE, &store); });
  return outcome == -1 ? errno : 0;
}

int sync_data(int descriptor) {
  // fsync leaves the bytes in the drive's own memory; F_FULLFSYNC does not, where it is known.
  if (::fcntl(descriptor, F_FULLFSYNC) != -1) return 0;
  const bool is_refused = errno == ENOTSUP || errno == ENOTTY || errno == EINVAL;
  return is_refused ? ::fsync(descriptor) : -1;
}

int rename_exclusive(const char* from, const char* to) { return ::renamex_np(from, to, RENAME_EXCL); }

mode_t current_umask() {
  // There is no way to ask without changing it for a moment.
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

bool may_ask_residency(const File& file) {
  (void)file;  // the system answers for files of others too
  return true;
}

void prepare_reader_thread() noexcept {
  // A background caller must not hand its throttled I/O and its missing read-ahead down to the readers.
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
}

Status evict(const File& file) {
  const int flushed = retry_interrupted([&] { return ::fsync(file.descriptor()); });
  if (flushed != 0 && errno != EROFS && errno != EINVAL) {
    return fail(system_error("cannot be flushed to disk", errno, file.path()));
  }
  CKPT_LET(const FileIdentity identity, file.identity());
  const int refused = for_each_window(file, 0, identity.size, [](void* address, std::size_t bytes) {
    // EBUSY means that somebody has locked the pages; they stay, and ask_resident shows it.
    return ::msync(address, bytes, MS_INVALIDATE) == 0 || errno == EBUSY ? 0 : errno;
  });
  if (refused != 0) return fail(system_error("pages cannot be dropped", refused, file.path()));
  return {};
}

unsigned usable_processors() { return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

Result<Headroom> memory_headroom() {
  vm_statistics64_data_t counts{};
  mach_msg_type_number_t words = HOST_VM_INFO64_COUNT;
  const mach_port_t host = mach_host_self();
  const kern_return_t outcome =
      host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&counts), &words);
  mach_port_deallocate(mach_task_self(), host);
  if (outcome != KERN_SUCCESS) return fail(ErrorCode::io, "the system does not tell how much memory is free");
  const std::uint64_t pages = std::uint64_t{counts.free_count} + counts.inactive_count;
  return Headroom{pages * page_size(), "available memory"};
}

}  // namespace ckpt::platform
