#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "ckpt/io/span_reader.h"
#include "ckpt/jobs/common.h"
#include "ckpt/jobs/prefetch_files.h"

namespace ckpt {

namespace {

/// How much of a file is asked about at a time: 32 KiB of answers for 4 KiB pages.
constexpr std::uint64_t kWindowBytes = 128ULL << 20U;
constexpr unsigned kSpansPerRun = 8;
/// The share of the free memory that missing pages may take.
constexpr std::uint64_t kHeadroomPercent = 90;

/// Resident bytes of a file; none if the system would not tell the truth.
Result<std::optional<std::uint64_t>> resident_bytes(const FileSource& source) {
  std::uint64_t pages = 0;
  for (std::uint64_t offset = 0; offset < source.size(); offset += kWindowBytes) {
    const std::uint64_t length = std::min(kWindowBytes, source.size() - offset);
    CKPT_LET(const auto resident, platform::ask_resident(source.file(), offset, length, false));
    if (!resident) return std::optional<std::uint64_t>();
    pages += resident->resident_pages;
  }
  return std::optional(std::min(pages * platform::page_size(), source.size()));
}

class Prefetch {
 public:
  Prefetch(PrefetchInputs inputs, const PrefetchOptions& options)
      : inputs_(std::move(inputs)), options_(options) {}

  Result<PrefetchResult> run() {
    result_.readers = options_.readers;
    result_.page_bytes = platform::page_size();
    result_.findings = std::move(inputs_.findings);
    const bool is_damaged = gravest_finding(result_.findings) != nullptr;
    if (!is_damaged && (options_.readers > 0 || options_.query || options_.evict)) CKPT_TRY(work());
    for (PrefetchInput& input : inputs_.files) result_.files.push_back(std::move(input.report));
    return std::move(result_);
  }

 private:
  Status work() {
    CKPT_TRY(ask(&PrefetchedFile::resident_before));
    if (options_.query) return {};
    if (options_.evict) {
      CKPT_TRY(evict());
    } else {
      CKPT_TRY(plan());
      CKPT_TRY(check_memory());
      CKPT_TRY(read());
    }
    return ask(&PrefetchedFile::resident_after);
  }

  Status ask(std::optional<std::uint64_t> PrefetchedFile::*field) {
    for (PrefetchInput& input : inputs_.files) {
      auto resident = resident_bytes(*input.source);
      if (!resident) return fail(Error(resident.error()).in_file(input.report.path));
      input.report.*field = *resident;
    }
    return {};
  }

  Status evict() {
    set_activity(options_.progress, "evicting");
    for (const PrefetchInput& input : inputs_.files) {
      const Status status = platform::evict(input.source->file());
      if (!status) return fail(Error(status.error()).in_file(input.report.path));
    }
    return {};
  }

  Status plan() {
    for (PrefetchInput& input : inputs_.files) {
      const std::uint32_t number = plan_.add_file(input.source);
      CKPT_TRY(plan_file(number, input));
    }
    return {};
  }

  /// Spans with a page that is missing, or where nobody can say, neighbours put together.
  Status plan_file(std::uint32_t number, PrefetchInput& input) {
    const FileSource& source = *input.source;
    const bool may_skip = options_.skip_resident && input.report.resident_before.has_value();
    std::uint64_t begin = 0;  // of the missing bytes that are being put together
    std::uint64_t end = 0;
    for (std::uint64_t window = 0; window < source.size(); window += kWindowBytes) {
      const std::uint64_t window_bytes = std::min(kWindowBytes, source.size() - window);
      std::optional<platform::Resident> resident;
      if (may_skip) {
        CKPT_LET(resident, platform::ask_resident(source.file(), window, window_bytes, true));
      }
      for (std::uint64_t at = 0; at < window_bytes; at += kMaxSpanBytes) {
        const std::uint64_t length = std::min(kMaxSpanBytes, window_bytes - at);
        if (resident && is_resident(*resident, at, length)) {
          input.report.skipped_bytes += length;
          continue;
        }
        if (window + at != end || end == 0) {
          CKPT_TRY(add(number, input, begin, end));
          begin = window + at;
        }
        end = window + at + length;
      }
    }
    return add(number, input, begin, end);
  }

  Status add(std::uint32_t number, PrefetchInput& input, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t length = end - begin;
    if (options_.max_bytes)
      length = std::min(length, *options_.max_bytes - std::min(*options_.max_bytes, planned_));
    planned_ += length;
    input.report.planned_bytes += length;
    return plan_.add(number, begin, length, 0, kSpansPerRun);
  }

  static bool is_resident(const platform::Resident& resident, std::uint64_t at, std::uint64_t length) {
    const std::uint64_t page = platform::page_size();
    const auto first = resident.map.begin() + static_cast<std::ptrdiff_t>(at / page);
    const auto last = resident.map.begin() + static_cast<std::ptrdiff_t>((at + length + page - 1) / page);
    return std::all_of(first, last, [](unsigned char present) { return (present & 1U) != 0; });
  }

  /// Missing pages that do not fit would throw each other out. Bytes that are resident need no room.
  Status check_memory() const {
    if (options_.force || planned_ == 0) return {};
    const auto headroom = platform::memory_headroom();
    if (!headroom) return {};  // a system that does not say cannot be held against it
    const std::uint64_t allowed = headroom->bytes / 100 * kHeadroomPercent;
    if (planned_ <= allowed) return {};
    Error error = make_error(ErrorCode::over_memory,
                             fmt::format("{} bytes are missing, {} of {} bytes of {} may be used", planned_,
                                         allowed, headroom->bytes, headroom->decided_by));
    error.in_file(inputs_.files.front().report.path)
        .numbers(std::to_string(allowed), std::to_string(planned_));
    return fail(std::move(error.with_advice("read a part with --max-bytes, or all of it with --force")));
  }

  Status read() {
    set_activity(options_.progress, "reading ahead");
    SpanReaderOptions reader_options;
    reader_options.threads = options_.readers;
    if (options_.progress != nullptr) {
      options_.progress->total_bytes = planned_;
      reader_options.done_bytes = &options_.progress->done_bytes;
    }
    const auto start = std::chrono::steady_clock::now();
    CKPT_LET(SpanReader reader, SpanReader::start(plan_, nullptr, reader_options));
    CKPT_TRY(reader.check());
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result_.read_bytes = reader.progress().bytes;
    result_.reads = reader.progress().reads;
    return {};
  }

  PrefetchInputs inputs_;
  const PrefetchOptions& options_;
  PrefetchResult result_;
  RangePlan plan_;
  std::uint64_t planned_ = 0;
};

}  // namespace

Result<PrefetchResult> prefetch(const std::vector<std::string>& paths, const PrefetchOptions& options) {
  if (options.readers > kMaxReaders) {
    return fail(ErrorCode::usage,
                fmt::format("{} readers, at most {} make sense", options.readers, kMaxReaders));
  }
  CKPT_LET(PrefetchInputs inputs, open_prefetch_files(paths, options));
  return Prefetch(std::move(inputs), options).run();
}

}  // namespace ckpt
