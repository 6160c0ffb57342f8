#include "ckpt/io/span_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace ckpt {

namespace {

/// The kernel copies whole pages, fastest to a page's start.
constexpr std::align_val_t kChunkAlignment{4096};

/// How a run ends that `cancel` interrupts; never seen outside, because a stopped job keeps no failure.
tl::unexpected<Error> fail_stopped() { return fail(ErrorCode::busy, "cancelled"); }

/// The words of exit status 1 speak about the bytes; they stand first in the list.
bool is_verdict(ErrorCode code) { return code < ErrorCode::usage; }

}  // namespace

void SpanWorker::FreeChunk::operator()(std::byte* chunk) const { ::operator delete(chunk, kChunkAlignment); }

std::span<std::byte> SpanWorker::chunk() {
  if (!chunk_) chunk_.reset(static_cast<std::byte*>(::operator new(job_.chunk_bytes(), kChunkAlignment)));
  return {chunk_.get(), job_.chunk_bytes()};
}

void SpanWorker::work() noexcept {
  while (const auto run = job_.take_run()) {
    place_ = job_.start_of(*run);
    try {
      work_on(*run);
    } catch (const std::exception& exception) {
      job_.fail_at(place_,
                   make_error(ErrorCode::internal, fmt::format("reading failed: {}", exception.what())));
      job_.stop();
    } catch (...) {
      job_.fail_at(place_, make_error(ErrorCode::internal, "reading failed"));
      job_.stop();
    }
  }
}

void SpanWorker::work_on(std::size_t run) {
  Status outcome = read_run(run);
  if (outcome) {
    job_.finish_run();
    return;
  }
  if (job_.is_stopped() && !ends_all_) return;
  job_.fail_at(place_, std::move(outcome).error());
  job_.finish_run();
  if (ends_all_) job_.stop();
}

Status SpanWorker::read_run(std::size_t run) {
  bool has_part = job_.plan().spans_of(run, 0, spans_);
  if (has_part) CKPT_TRY(check_spans(run));
  if (job_.sink() != nullptr) CKPT_TRY(heed(job_.sink()->begin_run(worker_, run)));
  for (std::uint64_t part = 1; has_part; ++part) {
    for (const Span& span : spans_) {
      place_ = {span.file, span.offset, run};
      CKPT_TRY(read_span(span));
    }
    has_part = job_.plan().spans_of(run, part, spans_);
    if (has_part) CKPT_TRY(check_spans(run));
  }
  place_ = job_.start_of(run);
  if (job_.sink() != nullptr) CKPT_TRY(heed(job_.sink()->end_run(worker_, run)));
  return {};
}

Status SpanWorker::check_spans(std::size_t run) {
  for (const Span& span : spans_) {
    place_ = {span.file, span.offset, run};
    CKPT_TRY(check_span(span));
  }
  place_ = job_.start_of(run);
  return {};
}

Status SpanWorker::check_span(const Span& span) const {
  const auto& files = job_.plan().files();
  if (span.file >= files.size()) {
    return fail(ErrorCode::usage,
                fmt::format("span of file {}, but there are {} files", span.file, files.size()));
  }
  if (span.length == 0 || span.length > kMaxSpanBytes) {
    const char* const comparison = span.length == 0 ? "shorter than 1" : "longer than 8388608";
    return fail(make_error(ErrorCode::usage, fmt::format("span of {} bytes is {}", span.length, comparison))
                    .in_file(files[span.file]->path())
                    .at(span.offset)
                    .numbers(std::to_string(kMaxSpanBytes), std::to_string(span.length)));
  }
  return source_of(span).check_range(span.offset, span.length);
}

Status SpanWorker::heed(Status from_sink) {
  if (!from_sink) ends_all_ = !is_verdict(from_sink.error().code);
  return from_sink;
}

void SpanWorker::count_read(const Span& span, std::uint64_t bytes) {
  job_.count_read(bytes);
  source_of(span).add_read(bytes);
}

Result<const platform::File*> SpanWorker::file_of(const Span& span) {
  const FileSource& source = source_of(span);
  if (worker_ == 0) return &source.file();
  if (file_ && file_index_ == span.file) return &*file_;
  auto reopened = source.file().reopen();
  if (!reopened && reopened.error().code == ErrorCode::changed) return fail(std::move(reopened).error());
  // Without descriptors left the plan's own does too: positional reads share nothing but the read-ahead.
  if (!reopened) return &source.file();
  file_ = *std::move(reopened);
  file_index_ = span.file;
  return &*file_;
}

Status SpanWorker::read_span(const Span& span) {
  CKPT_LET(const platform::File* const file, file_of(span));
  return job_.sink() == nullptr ? drop_span(span, *file) : deliver_span(span, *file);
}

Status SpanWorker::drop_span(const Span& span, const platform::File& file) {
  for (std::uint64_t done = 0; done < span.length;) {
    if (job_.is_stopped()) return fail_stopped();
    CKPT_LET(const std::size_t got, file.read_and_drop(span.offset + done, span.length - done, chunk()));
    count_read(span, got);
    if (got == 0) return fail(source_of(span).ended_early(span.offset, span.length, done));
    done += got;
  }
  return {};
}

Status SpanWorker::deliver_span(const Span& span, const platform::File& file) {
  for (std::uint64_t at = 0; at < span.length;) {
    const std::span<std::byte> whole = chunk();
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(whole.size(), span.length - at));
    CKPT_TRY(fill(span, at, file, whole.first(bytes)));
    CKPT_TRY(heed(job_.sink()->take(worker_, span, at, whole.first(bytes))));
    at += bytes;
  }
  return {};
}

Status SpanWorker::fill(const Span& span, std::uint64_t at, const platform::File& file,
                        std::span<std::byte> chunk) {
  for (std::size_t done = 0; done < chunk.size();) {
    if (job_.is_stopped()) return fail_stopped();
    CKPT_LET(const std::size_t got, file.read_some(span.offset + at + done, chunk.subspan(done)));
    count_read(span, got);
    if (got == 0) return fail(source_of(span).ended_early(span.offset, span.length, at + done));
    done += got;
  }
  return {};
}

}  // namespace ckpt
