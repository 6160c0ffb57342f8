#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/pickle/value.h"

namespace ckpt::pickle {

/// A pickle machine's memo: index to value. Writers number their entries from 0, so small indices lie in a
/// vector; an index far beyond the number of entries goes to a page in a map, and no index from a file ever
/// sets a size. Pages make a flood of far indices reach the limit on memory before it costs seconds.
class Memo {
 public:
  /// `kNoRef` if nothing was stored there.
  [[nodiscard]] Ref find(std::uint32_t index) const {
    if (index < dense_.size() && dense_[index] != kNoRef) return dense_[index];
    return pages_.empty() ? kNoRef : find_far(index);
  }
  void store(std::uint32_t index, Ref ref);
  /// Entries, which is also the index that MEMOIZE takes next.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint64_t memory() const {
    return dense_.capacity() * sizeof(Ref) + pages_.size() * (sizeof(Page) + kMapEntryBytes);
  }

 private:
  static constexpr unsigned kPageBits = 8;
  static constexpr std::uint32_t kPageMask = (1U << kPageBits) - 1;
  static constexpr std::uint64_t kMapEntryBytes = 48;
  using Page = std::array<Ref, std::size_t{1} << kPageBits>;

  struct NumberHash {
    std::size_t operator()(std::uint32_t number) const {
      return SeededHash{}({reinterpret_cast<const char*>(&number), sizeof number});
    }
  };
  [[nodiscard]] Ref find_far(std::uint32_t index) const;
  [[nodiscard]] Ref& far_slot(std::uint32_t index);

  std::vector<Ref> dense_;
  std::unordered_map<std::uint32_t, Page, NumberHash> pages_;
  std::uint32_t count_ = 0;
};

}  // namespace ckpt::pickle
