#pragma once

#include <chrono>

#include "ckpt/io/byte_source.h"
#include "ckpt/model/model.h"

namespace ckpt {

/// Measures one phase after the other: time since the last lap, and what was read from `source` meanwhile.
/// Borrows the source.
class PhaseClock {
 public:
  explicit PhaseClock(const ByteSource& source) : source_(source), count_(source.count()) {}
  PhaseClock(const ByteSource&&) = delete;

  /// Adds everything since the last lap to `phase`.
  void lap(Phase& phase) {
    const auto now = std::chrono::steady_clock::now();
    const ReadCount count = source_.count();
    phase.seconds += std::chrono::duration<double>(now - start_).count();
    phase.bytes += count.bytes - count_.bytes;
    phase.reads += count.reads - count_.reads;
    start_ = now;
    count_ = count;
  }

 private:
  const ByteSource& source_;
  ReadCount count_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ckpt
