#include <algorithm>
#include <limits>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

#include "ckpt/base/checked.h"
#include "ckpt/io/platform.h"
#include "ckpt/io/platform_detail.h"

namespace ckpt::platform {

namespace {

constexpr std::uint64_t kWindowBytes = 128ULL << 20U;

/// mincore wants `unsigned char*` on Linux and `char*` on macOS.
template <class Byte>
int call_mincore(int (*function)(void*, std::size_t, Byte*), void* address, std::size_t bytes,
                 unsigned char* pages) {
  return function(address, bytes, reinterpret_cast<Byte*>(pages));
}
template <class Byte>
int call_mincore(int (*function)(const void*, std::size_t, Byte*), void* address, std::size_t bytes,
                 unsigned char* pages) {
  return function(address, bytes, reinterpret_cast<Byte*>(pages));
}

/// Adds the pages of one mapping to the answer; 0 or an `errno` value.
int add_pages(Resident& answer, std::vector<unsigned char>& pages, void* address, std::size_t bytes) {
  pages.resize((bytes + page_size() - 1) / page_size());
  if (call_mincore(&::mincore, address, bytes, pages.data()) != 0) return errno;
  for (unsigned char& page : pages) {
    page &= 1U;  // the other bits are macOS's and mean other things
    answer.resident_pages += page;
  }
  answer.pages += pages.size();
  return 0;
}

}  // namespace

int for_each_window(const File& file, std::uint64_t offset, std::uint64_t length,
                    const std::function<int(void*, std::size_t)>& use) {
  const std::uint64_t lead = offset % page_size();
  std::uint64_t start = offset - lead;
  std::uint64_t left = length == 0 ? 0 : length + lead;
  while (left > 0) {
    const auto bytes = static_cast<std::size_t>(std::min(left, kWindowBytes));
    void* const address =
        mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(start));
    if (address == MAP_FAILED) return errno;
    const int outcome = use(address, bytes);
    munmap(address, bytes);
    if (outcome != 0) return outcome;
    start += bytes;
    left -= bytes;
  }
  return 0;
}

Result<std::optional<Resident>> ask_resident(const File& file, std::uint64_t offset, std::uint64_t length,
                                             bool want_map) {
  constexpr auto kEnd = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (!range_fits(offset, length, kEnd)) {
    return fail(make_error(ErrorCode::usage, "the range ends behind every file").in_file(file.path()));
  }
  if (!may_ask_residency(file)) return std::optional<Resident>();
  Resident answer;
  std::vector<unsigned char> pages;
  const int outcome = for_each_window(file, offset, length, [&](void* address, std::size_t bytes) {
    const int failed = add_pages(answer, pages, address, bytes);
    if (failed == 0 && want_map) answer.map.insert(answer.map.end(), pages.begin(), pages.end());
    return failed;
  });
  // File systems that bypass the page cache cannot be mapped; there is no truth to tell.
  if (outcome == ENODEV || outcome == EACCES) return std::optional<Resident>();
  if (outcome != 0) return fail(system_error("resident pages cannot be asked", outcome, file.path()));
  return std::optional(std::move(answer));
}

}  // namespace ckpt::platform
