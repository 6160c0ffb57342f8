#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ckpt/zip/archive.h"
#include "ckpt/zip/libzip.h"

// An archive from arbitrary bytes: directory, every small record, and libzip's view of the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kSmall = 64U << 10U;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto source = std::make_shared<ckpt::MemorySource>(std::vector<std::byte>(bytes, bytes + size));
  const auto archive = ckpt::zip::Archive::open(source, {});
  if (!archive) return 0;
  for (const ckpt::zip::Entry& entry : archive->directory().entries()) {
    if (archive->directory().find(entry.name) == nullptr) std::abort();
    if (entry.data_offset > size) std::abort();
    if (entry.data_offset > 0 && entry.compressed_bytes > size - entry.data_offset) std::abort();
    const auto content = archive->read(entry, kSmall, "fuzz");
    if (content && content->size() != entry.bytes) std::abort();
  }
  static_cast<void>(ckpt::zip::second_opinion(source, archive->directory()));
  return 0;
}
