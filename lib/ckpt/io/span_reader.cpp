#include "ckpt/io/span_reader.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "ckpt/io/platform_detail.h"
#include "ckpt/io/read_job.h"
#include "ckpt/io/span_worker.h"

namespace ckpt {

namespace {

Status check_options(const SpanReaderOptions& options) {
  if (options.threads > kMaxReaders) {
    return fail(
        make_error(ErrorCode::usage, fmt::format("{} threads are more than {}", options.threads, kMaxReaders))
            .numbers(std::to_string(kMaxReaders), std::to_string(options.threads)));
  }
  if (options.chunk_bytes == 0) return fail(ErrorCode::usage, "chunks of 0 bytes hold nothing");
  return {};
}

Status check_plan(const ReadPlan& plan) {
  if (plan.longest_span() > kMaxSpanBytes) {
    return fail(make_error(ErrorCode::usage, fmt::format("span of {} bytes is longer than {}",
                                                         plan.longest_span(), kMaxSpanBytes))
                    .numbers(std::to_string(kMaxSpanBytes), std::to_string(plan.longest_span())));
  }
  const auto& files = plan.files();
  if (std::find(files.begin(), files.end(), nullptr) != files.end()) {
    return fail(ErrorCode::usage, "a file of the plan is not open");
  }
  for (const Run& run : plan.runs()) {
    if (run.file < files.size()) continue;
    return fail(ErrorCode::usage,
                fmt::format("run of file {}, but there are {} files", run.file, files.size()));
  }
  return {};
}

unsigned workers_for(const ReadPlan& plan, unsigned threads) {
  return static_cast<unsigned>(std::min<std::size_t>(threads, plan.runs().size()));
}

}  // namespace

struct SpanReader::State {
  State(const ReadPlan& plan, SpanSink* sink, const SpanReaderOptions& options)
      : workers(workers_for(plan, options.threads)),
        job(plan, sink, std::min<std::size_t>(options.chunk_bytes, kMaxSpanBytes), workers) {
    job.follow_with(options.done_bytes);
  }
  ~State() {
    job.stop();
    join();
  }

  void start_threads();
  void join();
  [[nodiscard]] Status check();

  const unsigned workers;
  ReadJob job;
  std::vector<std::thread> threads;
  bool reads_in_check = false;  ///< no thread was started for the runs
};

void SpanReader::State::start_threads() {
  reads_in_check = workers != 0;
  if (job.plan().runs().size() <= 1) return;
  const platform::SignalsElsewhere guard;
  threads.reserve(workers);
  try {
    for (unsigned worker = 0; worker < workers; ++worker) {
      threads.emplace_back([this, worker] {
        platform::prepare_reader_thread();
        SpanWorker(job, worker).work();
      });
      reads_in_check = false;
    }
  } catch (const std::system_error&) {
    // A limit on threads: those that run share the work, and without any `check` does it.
  }
}

void SpanReader::State::join() {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

Status SpanReader::State::check() {
  if (workers == 0) return {};
  join();
  if (std::exchange(reads_in_check, false)) SpanWorker(job, 0).work();
  return job.verdict();
}

Result<SpanReader> SpanReader::start(const ReadPlan& plan, SpanSink* sink, const SpanReaderOptions& options) {
  CKPT_TRY(check_options(options));
  CKPT_TRY(check_plan(plan));
  try {
    auto state = std::make_unique<State>(plan, sink, options);
    if (sink != nullptr) sink->prepare(state->workers);
    state->start_threads();
    return SpanReader(std::move(state));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::internal, fmt::format("reading cannot start: {}", exception.what()));
  }
}

SpanReader::SpanReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
SpanReader::SpanReader(SpanReader&&) noexcept = default;
SpanReader& SpanReader::operator=(SpanReader&&) noexcept = default;
SpanReader::~SpanReader() = default;

Status SpanReader::check() {
  if (!state_) return fail(ErrorCode::internal, "the reader was moved away");
  return state_->check();
}

void SpanReader::cancel() noexcept {
  if (state_) state_->job.stop();
}

ReadProgress SpanReader::progress() const noexcept {
  return state_ ? state_->job.progress() : ReadProgress{};
}

}  // namespace ckpt
