#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "ckpt/io/span_reader.h"

/// What the threads of one span reader share: who takes which run, how far they are, and the failure
/// that counts. Taking a run is one atomic addition; the lock is only for failures.
namespace ckpt {

/// Where something failed. The lowest place is the verdict, so the run breaks ties.
struct ReadPlace {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::size_t run = 0;

  [[nodiscard]] bool is_before(const ReadPlace& other) const {
    return std::tie(file, offset, run) < std::tie(other.file, other.offset, other.run);
  }
};

class ReadJob {
 public:
  /// Borrows `plan` and `sink`. `workers` decides which runs are so long that they must start first.
  ReadJob(const ReadPlan& plan, SpanSink* sink, std::size_t chunk_bytes, unsigned workers);

  [[nodiscard]] const ReadPlan& plan() const { return plan_; }
  [[nodiscard]] SpanSink* sink() const { return sink_; }
  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }
  [[nodiscard]] ReadPlace start_of(std::size_t run) const;

  /// The next run to read; empty when there is none or the job was stopped. Runs behind a failure are
  /// passed over, those before it are not: one of them may hold a lower failure.
  [[nodiscard]] std::optional<std::size_t> take_run();
  void finish_run() { finished_.fetch_add(1, std::memory_order_relaxed); }
  void count_read(std::uint64_t bytes) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (done_bytes_ != nullptr) done_bytes_->fetch_add(bytes, std::memory_order_relaxed);
  }
  /// A counter of the caller's that follows the bytes read.
  void follow_with(std::atomic<std::uint64_t>* done_bytes) { done_bytes_ = done_bytes; }

  void fail_at(const ReadPlace& place, Error error);
  void stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

  /// Once all threads have ended: the lowest failure, else `busy` if runs are left, else success.
  [[nodiscard]] Status verdict() const;
  [[nodiscard]] ReadProgress progress() const noexcept;

 private:
  struct Failure {
    ReadPlace place;
    Error error;
  };
  [[nodiscard]] bool is_behind_failure(std::size_t run) const;

  const ReadPlan& plan_;
  SpanSink* const sink_;
  const std::size_t chunk_bytes_;
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::uint64_t>* done_bytes_ = nullptr;
  std::vector<std::size_t> order_;

  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> finished_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<bool> is_stopped_{false};
  std::atomic<bool> has_failure_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;  // guarded by mutex_
};

}  // namespace ckpt
