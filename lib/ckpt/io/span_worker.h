#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "ckpt/io/read_job.h"

namespace ckpt {

/// One thread's part of a span reader: takes runs, reads their spans, hands the bytes to the sink. Owns
/// one chunk, one descriptor and the list of a run's spans, all reused.
class SpanWorker {
 public:
  /// Worker 0 reads through the plan's own descriptors, the others through descriptors of their own.
  SpanWorker(ReadJob& job, unsigned worker) : job_(job), worker_(worker) {}

  /// Reads until no run is left. Exceptions, the sink's too, become the job's failure.
  void work() noexcept;

 private:
  struct FreeChunk {
    void operator()(std::byte* chunk) const;
  };

  void work_on(std::size_t run);
  [[nodiscard]] Status read_run(std::size_t run);
  [[nodiscard]] Status check_spans(std::size_t run);
  [[nodiscard]] Status check_span(const Span& span) const;
  [[nodiscard]] Status read_span(const Span& span);
  [[nodiscard]] Status drop_span(const Span& span, const platform::File& file);
  [[nodiscard]] Status deliver_span(const Span& span, const platform::File& file);
  /// Fills `chunk` with the bytes at distance `at` from the start of the span.
  [[nodiscard]] Status fill(const Span& span, std::uint64_t at, const platform::File& file,
                            std::span<std::byte> chunk);
  void count_read(const Span& span, std::uint64_t bytes);
  [[nodiscard]] Status heed(Status from_sink);
  [[nodiscard]] Result<const platform::File*> file_of(const Span& span);
  [[nodiscard]] const FileSource& source_of(const Span& span) const {
    return *job_.plan().files()[span.file];
  }
  [[nodiscard]] std::span<std::byte> chunk();

  ReadJob& job_;
  const unsigned worker_;
  ReadPlace place_;        ///< what is being done, for failures
  bool ends_all_ = false;  ///< the failure makes going on pointless
  std::vector<Span> spans_;
  std::unique_ptr<std::byte, FreeChunk> chunk_;
  std::optional<platform::File> file_;
  std::uint32_t file_index_ = 0;  ///< of `file_`
};

}  // namespace ckpt
