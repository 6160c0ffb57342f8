#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "ckpt/jobs/jobs.h"

namespace ckpt::app {

/// Draws a job's progress on standard error from a thread of its own: after 200 ms, ten times a second, cleared when it
/// is destroyed. Borrows the progress.
class ProgressBar {
 public:
  /// `is_wanted` false: draws nothing and starts no thread.
  ProgressBar(const Progress& progress, bool is_wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void draw_until_done();
  const Progress& progress_;
  std::mutex mutex_;
  std::condition_variable is_done_changed_;
  bool is_done_ = false;
  std::thread thread_;
};

/// One line: a bar, bytes of all bytes, rate, time left and what is being done.
[[nodiscard]] std::string progress_line(const char* activity, std::uint64_t done, std::uint64_t total,
                                        double seconds, std::size_t width);

}  // namespace ckpt::app
