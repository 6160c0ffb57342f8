#include "ckpt/pickle/memo.h"

namespace ckpt::pickle {

namespace {

// Room for writers that leave gaps: entries that were dropped again keep their number.
constexpr std::uint64_t kDenseExtra = 1024;

}  // namespace

void Memo::store(std::uint32_t index, Ref ref) {
  if (find(index) == kNoRef) {
    if (index >= dense_.size() && index <= std::uint64_t{count_} * 2 + kDenseExtra) {
      dense_.resize(std::size_t{index} + 1, kNoRef);
    }
    ++count_;
  }
  // What was stored far out stays there when the dense part grows over its number.
  const bool is_far = index >= dense_.size() || (!pages_.empty() && find_far(index) != kNoRef);
  (is_far ? far_slot(index) : dense_[index]) = ref;
}

Ref Memo::find_far(std::uint32_t index) const {
  const auto found = pages_.find(index >> kPageBits);
  return found == pages_.end() ? kNoRef : found->second[index & kPageMask];
}

Ref& Memo::far_slot(std::uint32_t index) {
  const auto [place, is_new] = pages_.try_emplace(index >> kPageBits);
  if (is_new) place->second.fill(kNoRef);
  return place->second[index & kPageMask];
}

}  // namespace ckpt::pickle
