#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"

/// The one reader of tensor bytes, for prefetch, verify, convert and for loaders that link the library.
///
/// A plan is *runs* in file order; a run is consecutive spans that one thread takes in order. A span is
/// one request of at most 8 MiB; the bytes reach a sink in chunks that still lie in the core's cache
/// when it looks at them. Measured on 2 cores (docs/decisions/0006-spans-and-chunks.md): an 8 MiB buffer loses 18 to 29 %
/// against 256 KiB, while 8 MiB requests gain 60 % where the device's read-ahead is small; so the span
/// is the request and not the buffer. Memory is threads × chunk plus the plan, whatever the file size.
/// Rejected: mapping (SIGBUS when a file shrinks, no error text), O_DIRECT (does not warm),
/// io_uring (blocked in containers, no gain over threads).
namespace ckpt {

inline constexpr std::uint64_t kMaxSpanBytes = 8ULL << 20U;
inline constexpr std::size_t kChunkBytes = 256ULL << 10U;
inline constexpr unsigned kMaxReaders = 16;
inline constexpr unsigned kDefaultReaders = 16;

/// Runs of a RangePlan, so that the plan for a file that only claims to be large stays below 512 MiB.
/// With the default of 8 spans a run it reaches 1 PiB.
inline constexpr std::size_t kMaxRuns = 1U << 24U;

/// Consecutive bytes of one file.
struct Span {
  std::uint32_t file = 0;    ///< index into the plan's files
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t length = 0;  ///< bytes, 1 to kMaxSpanBytes
  std::uint64_t tag = 0;     ///< the caller's; handed back to the sink
};

/// Spans that one thread takes in order.
struct Run {
  std::uint32_t file = 0;  ///< where its first byte lies; orders failures
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< sum of its spans, for scheduling
  std::uint64_t tag = 0;    ///< the caller's
};

/// What is to be read. Must outlive the reader and not change meanwhile.
class CKPT_API ReadPlan {
 public:
  virtual ~ReadPlan() = default;
  [[nodiscard]] virtual const std::vector<std::shared_ptr<const FileSource>>& files() const = 0;
  [[nodiscard]] virtual const std::vector<Run>& runs() const = 0;
  /// Replaces `spans` with part number `part` (0, 1, …) of run `index`; false, and nothing done, behind
  /// the last part. Called by the thread that takes the run, so that a plan may work the spans out only
  /// then, a part at a time. Threads: called from several at once.
  virtual bool spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const = 0;
  /// Bytes of the longest span if the plan knows them without working out its spans, else 0.
  [[nodiscard]] virtual std::uint64_t longest_span() const { return 0; }
};

/// A plan of byte ranges, each cut into spans of at most kMaxSpanBytes.
class CKPT_API RangePlan final : public ReadPlan {
 public:
  /// Adds a file; returns its index for `add`.
  std::uint32_t add_file(std::shared_ptr<const FileSource> file);
  /// Adds runs of at most `spans_per_run` spans each that cover the range. An empty range adds nothing.
  /// Errors: internal - the range does not fit 64 bits, or there is no such file; limit - more than
  ///         kMaxRuns runs.
  [[nodiscard]] Status add(std::uint32_t file, std::uint64_t offset, std::uint64_t length,
                           std::uint64_t tag = 0, unsigned spans_per_run = 8);
  [[nodiscard]] const std::vector<std::shared_ptr<const FileSource>>& files() const override {
    return files_;
  }
  [[nodiscard]] const std::vector<Run>& runs() const override { return runs_; }
  bool spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const override;
  [[nodiscard]] std::uint64_t longest_span() const override { return kMaxSpanBytes; }

 private:
  std::vector<std::shared_ptr<const FileSource>> files_;
  std::vector<Run> runs_;
};

/// Where the bytes go. Every call names the worker (0 to threads - 1), which the same thread keeps for
/// the life of the reader, so state by worker needs no lock.
///
/// An error that a call returns ends its run. A verdict on the bytes (a word of exit status 1, such as
/// corrupt) is then treated like a failure to read them: the lowest place wins. Any other word (no_space,
/// io, …) says that going on is pointless and stops all threads at once.
class CKPT_API SpanSink {
 public:
  virtual ~SpanSink() = default;
  /// Called once, before any thread starts, with the number of workers.
  virtual void prepare(unsigned workers) { (void)workers; }
  [[nodiscard]] virtual Status begin_run(unsigned worker, std::size_t run) {
    (void)worker, (void)run;
    return {};
  }
  /// Takes the next bytes of a span: `at` is their distance from the start of the span. `chunk` is
  /// the sink's to change until it returns, and gone afterwards.
  [[nodiscard]] virtual Status take(unsigned worker, const Span& span, std::uint64_t at,
                                    std::span<std::byte> chunk) = 0;
  [[nodiscard]] virtual Status end_run(unsigned worker, std::size_t run) {
    (void)worker, (void)run;
    return {};
  }
};

struct ReadProgress {
  std::uint64_t bytes = 0;        ///< read so far
  std::uint64_t reads = 0;        ///< system calls so far
  std::uint64_t total_bytes = 0;  ///< of the plan
};

struct SpanReaderOptions {
  unsigned threads = kDefaultReaders;  ///< 0 to kMaxReaders; 0 reads nothing
  std::size_t chunk_bytes = kChunkBytes;
  std::atomic<std::uint64_t>* done_bytes = nullptr;  ///< grows with every read; borrowed, may be null
};

/// Threads: `progress` and `cancel` from any; the rest from the owner.
class CKPT_API SpanReader {
 public:
  /// Checks the plan and starts the threads, never more than there are runs. Returns at once. A plan of
  /// one run starts no thread: `check` reads it. So it does when the system gives no thread.
  ///
  /// `sink` null drops the bytes: each span is one vectored read into one chunk.
  /// Borrows: `plan` and `sink`, until `check` returned or the reader is destroyed.
  /// Errors: usage - more than kMaxReaders threads, no chunk, or a plan whose `longest_span` is longer
  ///         than kMaxSpanBytes. A span that is too long (usage) or outside its file by the size at
  ///         opening (short_file) otherwise fails `check`, before a byte of its part is read.
  [[nodiscard]] static Result<SpanReader> start(const ReadPlan& plan, SpanSink* sink,
                                                const SpanReaderOptions& options);
  SpanReader(SpanReader&&) noexcept;
  SpanReader& operator=(SpanReader&&) noexcept;
  /// Cancels and waits.
  ~SpanReader();

  /// Waits for the end and says how it went; the same answer every time it is asked. Of several failures
  /// the one with the lowest file index and offset, whatever the number of threads: after a failure only
  /// runs that start before its place are still read.
  ///
  /// Errors: short_file - the file ended before the span did (expected and found: bytes of the span);
  ///         changed - the same, and the size has moved since the opening (its size then and now); io;
  ///         internal - an exception in a thread; busy - cancelled before the end; and whatever the sink
  ///         said.
  [[nodiscard]] Status check();
  /// Threads stop after the chunk that they are at. Async-signal-safe.
  void cancel() noexcept;
  [[nodiscard]] ReadProgress progress() const noexcept;

 private:
  struct State;
  explicit SpanReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Number of readers for prefetch and loaders: `CKPT_PREFETCH`, else `TF_LOAD_PREFETCH`, else 16. The
/// only place in the library that looks at the environment.
/// Errors: usage - a variable is set to something other than an integer from 0 to 16.
[[nodiscard]] CKPT_API Result<unsigned> ckpt_readers();

/// Parses a reader count, 0 to kMaxReaders; `origin` names the option or variable in the error (usage).
[[nodiscard]] CKPT_API Result<unsigned> parse_readers(const std::string& text, const std::string& origin);

}  // namespace ckpt
