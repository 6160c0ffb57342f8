#include "ckpt/io/read_job.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ckpt/base/checked.h"

namespace ckpt {

ReadJob::ReadJob(const ReadPlan& plan, SpanSink* sink, std::size_t chunk_bytes, unsigned workers)
    : plan_(plan), sink_(sink), chunk_bytes_(chunk_bytes) {
  const std::vector<Run>& runs = plan.runs();
  for (const Run& run : runs) {
    total_bytes_ = checked_add(total_bytes_, run.bytes).value_or(std::numeric_limits<std::uint64_t>::max());
  }
  order_.resize(runs.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // A run longer than a thread's share decides when the whole job ends, so it must not come last.
  const std::uint64_t share = total_bytes_ / std::max(1U, workers);
  std::stable_partition(order_.begin(), order_.end(),
                        [&](std::size_t run) { return runs[run].bytes > share; });
}

ReadPlace ReadJob::start_of(std::size_t run) const {
  const Run& start = plan_.runs()[run];
  return {start.file, start.offset, run};
}

bool ReadJob::is_behind_failure(std::size_t run) const {
  if (!has_failure_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  return failure_->place.is_before(start_of(run));
}

std::optional<std::size_t> ReadJob::take_run() {
  while (!is_stopped()) {
    const std::size_t place = next_.fetch_add(1, std::memory_order_relaxed);
    if (place >= order_.size()) break;
    if (!is_behind_failure(order_[place])) return order_[place];
    finish_run();
  }
  return std::nullopt;
}

void ReadJob::fail_at(const ReadPlace& place, Error error) {
  const std::lock_guard lock(mutex_);
  if (failure_ && !place.is_before(failure_->place)) return;
  failure_ = Failure{place, std::move(error)};
  has_failure_.store(true, std::memory_order_release);
}

Status ReadJob::verdict() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return fail(failure_->error);
  if (finished_.load(std::memory_order_relaxed) < order_.size()) return fail(ErrorCode::busy, "cancelled");
  return {};
}

ReadProgress ReadJob::progress() const noexcept {
  return {bytes_.load(std::memory_order_relaxed), reads_.load(std::memory_order_relaxed), total_bytes_};
}

}  // namespace ckpt
