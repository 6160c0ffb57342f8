#include "ckpt/io/span_reader.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <signal.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "ckpt/io/sha256.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using namespace ckpt;
using ckpt::test::pattern_bytes;
using ckpt::test::TempDir;

constexpr std::uint64_t kMiB = 1U << 20U;

SpanReaderOptions with_threads(unsigned threads, std::size_t chunk_bytes = kChunkBytes) {
  SpanReaderOptions options;
  options.threads = threads;
  options.chunk_bytes = chunk_bytes;
  return options;
}

/// A plan of exactly these runs and spans, right or wrong.
class ListedPlan final : public ReadPlan {
 public:
  explicit ListedPlan(std::vector<std::shared_ptr<const FileSource>> files) : files_(std::move(files)) {}
  void add(std::vector<Span> spans) {
    Run run{spans.at(0).file, spans.at(0).offset, 0, runs_.size()};
    for (const Span& span : spans) run.bytes += span.length;
    runs_.push_back(run);
    spans_.push_back(std::move(spans));
  }
  [[nodiscard]] const std::vector<std::shared_ptr<const FileSource>>& files() const override {
    return files_;
  }
  [[nodiscard]] const std::vector<Run>& runs() const override { return runs_; }
  bool spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const override {
    if (part > 0) return false;
    spans = spans_[index];
    return true;
  }

 private:
  std::vector<std::shared_ptr<const FileSource>> files_;
  std::vector<Run> runs_;
  std::vector<std::vector<Span>> spans_;
};

/// Digests every run and remembers who did it.
class DigestSink final : public SpanSink {
 public:
  explicit DigestSink(std::size_t runs) : digests_(runs) {}
  void prepare(unsigned workers) override {
    workers_ = workers;
    states_ = std::vector<State>(workers);
  }
  Status begin_run(unsigned worker, std::size_t run) override {
    states_[worker].run = run;
    const std::lock_guard lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    order_.push_back(run);
    return {};
  }
  Status take(unsigned worker, const Span& span, std::uint64_t at, std::span<std::byte> chunk) override {
    is_whole_ = is_whole_ && at + chunk.size() <= span.length;
    states_[worker].sha.update(chunk);
    ++takes_;
    return {};
  }
  Status end_run(unsigned worker, std::size_t run) override {
    is_whole_ = is_whole_ && states_[worker].run == run;
    digests_[run] = states_[worker].sha.finish();
    return {};
  }

  /// One text for the bytes of all runs.
  [[nodiscard]] std::string digests() const {
    std::string all;
    for (const Digest& digest : digests_) all += digest_hex(digest) + "\n";
    return all;
  }
  struct State {
    Sha256 sha;
    std::size_t run = 0;
  };
  unsigned workers_ = 99;
  std::vector<State> states_;
  std::vector<Digest> digests_;
  std::atomic<std::uint64_t> takes_{0};
  std::atomic<bool> is_whole_{true};
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
  std::vector<std::size_t> order_;
};

/// Does what the test says with each chunk.
class CallSink final : public SpanSink {
 public:
  using Call = std::function<Status(const Span& span, std::uint64_t at)>;
  explicit CallSink(Call call) : call_(std::move(call)) {}
  Status take(unsigned, const Span& span, std::uint64_t at, std::span<std::byte>) override {
    return call_(span, at);
  }

 private:
  Call call_;
};

struct TestFiles {
  TempDir folder;
  std::vector<std::byte> bytes = pattern_bytes(20 * kMiB + 12'345);
  std::string path = folder.write_file("a", bytes);
  std::shared_ptr<const FileSource> source = FileSource::open(path).value();
};

/// Runs of one span, so that there are several.
RangePlan plan_of(const std::shared_ptr<const FileSource>& source) {
  RangePlan plan;
  REQUIRE(plan.add(plan.add_file(source), 0, source->size(), 0, 1));
  return plan;
}

Status read_all(const ReadPlan& plan, SpanSink* sink, const SpanReaderOptions& options) {
  auto reader = SpanReader::start(plan, sink, options);
  if (!reader) return fail(reader.error());
  return reader->check();
}

TEST_CASE("range_plan: a range, covered once by spans of at most 8 MiB", "[io]") {
  const TestFiles files;
  RangePlan plan;
  const auto file = plan.add_file(files.source);
  REQUIRE(plan.add(file, 5, 20 * kMiB, 7, 2));
  REQUIRE(plan.add(file, 0, 0));
  REQUIRE(plan.add(file, 3, 1, 8));
  REQUIRE(plan.runs().size() == 3);
  std::vector<Span> spans;
  REQUIRE(plan.spans_of(0, 0, spans));
  REQUIRE(spans.size() == 2);
  CHECK(spans[1].offset == 5 + 8 * kMiB);
  CHECK(spans[1].length == 8 * kMiB);
  REQUIRE(plan.spans_of(1, 0, spans));
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].offset == 5 + 16 * kMiB);
  CHECK(spans[0].length == 4 * kMiB);
  CHECK(spans[0].tag == 7);
  REQUIRE(plan.spans_of(2, 0, spans));
  CHECK(spans[0].length == 1);
  CHECK(spans[0].tag == 8);
  CHECK_FALSE(plan.spans_of(2, 1, spans));
}

TEST_CASE("range_plan: wrong numbers, refused before any memory is spent", "[io]") {
  const TestFiles files;
  RangePlan plan;
  const auto file = plan.add_file(files.source);
  CHECK(plan.add(file + 1, 0, 1).error().code == ErrorCode::internal);
  CHECK(plan.add(file, 2, UINT64_MAX - 1).error().code == ErrorCode::internal);
  CHECK(plan.add(file, 0, 1ULL << 60U).error().code == ErrorCode::limit);
  CHECK(plan.runs().empty());
}

TEST_CASE("span_reader: 1, 2 and 16 threads and any chunk, the same bytes", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  DigestSink once(plan.runs().size());
  REQUIRE(read_all(plan, &once, with_threads(1)));
  Sha256 sha;
  sha.update(std::span(files.bytes).first(8 * kMiB));
  CHECK(once.digests_[0] == sha.finish());
  for (const unsigned threads : {2U, 16U}) {
    for (const std::size_t chunk :
         {std::size_t{4096}, std::size_t{100'003}, kChunkBytes, std::size_t{64 * kMiB}}) {
      DigestSink sink(plan.runs().size());
      REQUIRE(read_all(plan, &sink, with_threads(threads, chunk)));
      CHECK(sink.digests() == once.digests());
      CHECK(sink.is_whole_);
    }
  }
}

TEST_CASE("span_reader: progress, every byte and every call", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  DigestSink sink(plan.runs().size());
  auto reader = SpanReader::start(plan, &sink, with_threads(2)).value();
  REQUIRE(reader.check());
  CHECK(reader.progress().total_bytes == files.bytes.size());
  CHECK(reader.progress().bytes == files.bytes.size());
  CHECK(reader.progress().reads == sink.takes_);
  CHECK(sink.takes_ == 81);

  std::atomic<std::uint64_t> done_bytes{7};
  SpanReaderOptions options = with_threads(2);
  options.done_bytes = &done_bytes;
  auto dropper = SpanReader::start(plan, nullptr, options).value();
  REQUIRE(dropper.check());
  CHECK(done_bytes == 7 + files.bytes.size());
  CHECK(dropper.progress().bytes == files.bytes.size());
  CHECK(dropper.progress().reads == plan.runs().size());
}

TEST_CASE("span_reader: 0 threads, nothing is read and check is fine", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  DigestSink sink(plan.runs().size());
  auto reader = SpanReader::start(plan, &sink, with_threads(0)).value();
  CHECK(reader.check());
  CHECK(reader.check());
  CHECK(reader.progress().reads == 0);
  CHECK(sink.takes_ == 0);
}

TEST_CASE("span_reader: an empty plan, fine", "[io]") {
  const RangePlan plan;
  CHECK(read_all(plan, nullptr, with_threads(16)));
}

TEST_CASE("span_reader: one run, read by check in the caller's thread", "[io]") {
  const TestFiles files;
  RangePlan plan;
  REQUIRE(plan.add(plan.add_file(files.source), 0, 8 * kMiB));
  DigestSink sink(1);
  auto reader = SpanReader::start(plan, &sink, with_threads(16)).value();
  CHECK(reader.progress().reads == 0);
  REQUIRE(reader.check());
  CHECK(sink.workers_ == 1);
  CHECK(sink.threads_ == std::set<std::thread::id>{std::this_thread::get_id()});
  CHECK(reader.check());
  CHECK(reader.progress().bytes == 8 * kMiB);
}

TEST_CASE("span_reader: more threads than runs, no more workers than runs", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  DigestSink sink(plan.runs().size());
  REQUIRE(read_all(plan, &sink, with_threads(16)));
  CHECK(sink.workers_ == 3);
  CHECK(sink.threads_.size() <= 3);
  CHECK(sink.threads_.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("span_reader: a run longer than a thread's share, starts first", "[io]") {
  const TestFiles files;
  ListedPlan plan({files.source});
  for (std::uint64_t i = 0; i < 8; ++i) plan.add({{0, i * 100, 100, 0}});
  plan.add({{0, kMiB, kMiB, 0}, {0, 2 * kMiB, kMiB, 0}});
  DigestSink alone(plan.runs().size());
  REQUIRE(read_all(plan, &alone, with_threads(1)));
  CHECK(alone.order_.front() == 0);
  DigestSink shared(plan.runs().size());
  REQUIRE(read_all(plan, &shared, with_threads(2)));
  CHECK((shared.order_[0] == 8 || shared.order_[1] == 8));
  CHECK(shared.digests() == alone.digests());
}

TEST_CASE("span_reader: wrong options, usage from start", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  CHECK(SpanReader::start(plan, nullptr, with_threads(17)).error().code == ErrorCode::usage);
  CHECK(SpanReader::start(plan, nullptr, with_threads(1, 0)).error().code == ErrorCode::usage);
}

TEST_CASE("span_reader: a span of 8 MiB, read; one byte more, usage before a byte is read", "[io]") {
  const TestFiles files;
  ListedPlan good({files.source});
  good.add({{0, 1, kMaxSpanBytes, 0}});
  CHECK(read_all(good, nullptr, with_threads(2)));

  ListedPlan plan({files.source});
  plan.add({{0, 0, 10, 0}, {0, 10, kMaxSpanBytes + 1, 0}});
  auto reader = SpanReader::start(plan, nullptr, with_threads(2)).value();
  const auto outcome = reader.check();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::usage);
  CHECK(outcome.error().message == "span of 8388609 bytes is longer than 8388608");
  CHECK(outcome.error().offset == 10U);
  CHECK(reader.progress().reads == 0);
}

TEST_CASE("span_reader: a plan known to hold a longer span, refused by start", "[io]") {
  class LongPlan final : public ReadPlan {
   public:
    [[nodiscard]] const std::vector<std::shared_ptr<const FileSource>>& files() const override {
      return files_;
    }
    [[nodiscard]] const std::vector<Run>& runs() const override { return runs_; }
    bool spans_of(std::size_t, std::uint64_t, std::vector<Span>&) const override { return false; }
    [[nodiscard]] std::uint64_t longest_span() const override { return kMaxSpanBytes + 1; }

   private:
    std::vector<std::shared_ptr<const FileSource>> files_;
    std::vector<Run> runs_;
  };
  const LongPlan plan;
  const auto reader = SpanReader::start(plan, nullptr, with_threads(2));
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == ErrorCode::usage);
  CHECK(reader.error().found == "8388609");
}

/// A run whose spans come one a part.
class PartedPlan final : public ReadPlan {
 public:
  PartedPlan(std::shared_ptr<const FileSource> file, std::vector<Span> spans)
      : files_{std::move(file)},
        runs_{{0, spans.empty() ? 0 : spans[0].offset, 1, 0}},
        spans_(std::move(spans)) {}
  [[nodiscard]] const std::vector<std::shared_ptr<const FileSource>>& files() const override {
    return files_;
  }
  [[nodiscard]] const std::vector<Run>& runs() const override { return runs_; }
  bool spans_of(std::size_t, std::uint64_t part, std::vector<Span>& spans) const override {
    if (part >= spans_.size()) return false;
    spans = {spans_[part]};
    return true;
  }

 private:
  std::vector<std::shared_ptr<const FileSource>> files_;
  std::vector<Run> runs_;
  std::vector<Span> spans_;
};

TEST_CASE("span_reader: a run in parts, read in order and each checked before it is read", "[io]") {
  const TestFiles files;
  const PartedPlan good(files.source, {{0, 0, 1000, 0}, {0, 1000, 5, 0}, {0, 7000, kMaxSpanBytes, 0}});
  DigestSink sink(1);
  REQUIRE(read_all(good, &sink, with_threads(2)));
  Sha256 sha;
  sha.update(std::span(files.bytes).first(1005));
  sha.update(std::span(files.bytes).subspan(7000, kMaxSpanBytes));
  CHECK(sink.digests_[0] == sha.finish());

  const PartedPlan bad(files.source, {{0, 0, 1000, 0}, {0, 1000, kMaxSpanBytes + 1, 0}});
  auto reader = SpanReader::start(bad, nullptr, with_threads(2)).value();
  CHECK(reader.check().error().offset == 1000U);
  CHECK(reader.progress().bytes == 1000);

  const PartedPlan none(files.source, {});
  DigestSink nothing(1);
  CHECK(read_all(none, &nothing, with_threads(2)));
  CHECK(nothing.takes_ == 0);
}

TEST_CASE("span_reader: an empty span or a span of no file, usage", "[io]") {
  const TestFiles files;
  ListedPlan empty({files.source});
  empty.add({{0, 5, 0, 0}});
  CHECK(read_all(empty, nullptr, with_threads(1)).error().code == ErrorCode::usage);
  ListedPlan foreign({files.source});
  foreign.add({{0, 5, 1, 0}, {1, 0, 1, 0}});
  CHECK(read_all(foreign, nullptr, with_threads(1)).error().code == ErrorCode::usage);
  ListedPlan foreign_run({files.source});
  foreign_run.add({{1, 0, 1, 0}});
  CHECK(read_all(foreign_run, nullptr, with_threads(1)).error().code == ErrorCode::usage);
  ListedPlan closed({nullptr});
  CHECK(read_all(closed, nullptr, with_threads(1)).error().code == ErrorCode::usage);
}

TEST_CASE("span_reader: a span behind its file, short-file with both sizes", "[io]") {
  const TestFiles files;
  ListedPlan plan({files.source});
  for (std::uint64_t i = 0; i < 20; ++i) plan.add({{0, i * 1000, 1000, 0}});
  plan.add({{0, files.bytes.size() - 10, 11, 0}});
  for (const unsigned threads : {1U, 16U}) {
    const auto outcome = read_all(plan, nullptr, with_threads(threads));
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::short_file);
    CHECK(outcome.error().file == files.path);
    CHECK(outcome.error().expected == std::to_string(files.bytes.size() + 1));
    CHECK(outcome.error().found == std::to_string(files.bytes.size()));
  }
}

TEST_CASE("span_reader: cut after it was opened, changed at the same place with any threads", "[io]") {
  const TestFiles files;
  RangePlan plan;
  REQUIRE(plan.add(plan.add_file(files.source), 0, files.source->size(), 0, 1));
  ListedPlan small({files.source});
  for (std::uint64_t at = 0; at < 20 * kMiB; at += 100'000) small.add({{0, at, 100'000, 0}});
  REQUIRE(truncate(files.path.c_str(), 9 * kMiB + 77) == 0);
  const std::array<const ReadPlan*, 2> plans = {&plan, &small};
  for (const ReadPlan* const each : plans) {
    DigestSink ignored(each->runs().size());
    const std::array<SpanSink*, 2> sinks = {nullptr, &ignored};
    for (SpanSink* const sink : sinks) {
      const auto first = read_all(*each, sink, with_threads(1));
      REQUIRE_FALSE(first);
      CHECK(first.error().code == ErrorCode::changed);
      CHECK(first.error().expected == std::to_string(files.bytes.size()));
      CHECK(first.error().found == std::to_string(9 * kMiB + 77));
      for (const unsigned threads : {2U, 16U}) {
        const auto outcome = read_all(*each, sink, with_threads(threads));
        REQUIRE_FALSE(outcome);
        CHECK(error_line(outcome.error()) == error_line(first.error()));
        CHECK(outcome.error().offset == first.error().offset);
      }
    }
  }
}

TEST_CASE("span_reader: two files, the failure of the first counts", "[io]") {
  const TestFiles first;
  const TestFiles second;
  RangePlan plan;
  for (const auto& source : {first.source, second.source}) {
    REQUIRE(plan.add(plan.add_file(source), 0, source->size(), 0, 1));
  }
  REQUIRE(truncate(first.path.c_str(), 20 * kMiB) == 0);
  REQUIRE(truncate(second.path.c_str(), 10) == 0);
  for (const unsigned threads : {1U, 2U, 16U}) {
    const auto outcome = read_all(plan, nullptr, with_threads(threads));
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().file == first.path);
    CHECK(outcome.error().offset == 16 * kMiB);
  }
}

TEST_CASE("span_reader: a verdict of the sink, the lowest with any number of threads", "[io]") {
  const TestFiles files;
  ListedPlan plan({files.source});
  for (std::uint64_t at = 0; at < 20 * kMiB; at += 100'000) plan.add({{0, at, 100'000, 0}});
  CallSink sink([](const Span& span, std::uint64_t) -> Status {
    if (span.offset < 5'000'000) return {};
    return fail(ErrorCode::corrupt, "checksum differs at " + std::to_string(span.offset));
  });
  for (const unsigned threads : {1U, 2U, 16U}) {
    const auto outcome = read_all(plan, &sink, with_threads(threads));
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::corrupt);
    CHECK(outcome.error().message == "checksum differs at 5000000");
  }
}

TEST_CASE("span_reader: a full disk, told once and nothing more is read", "[io]") {
  const TestFiles files;
  ListedPlan plan({files.source});
  for (std::uint64_t at = 0; at < 20 * kMiB; at += 100'000) plan.add({{0, at, 100'000, 0}});
  std::atomic<unsigned> takes{0};
  CallSink sink([&](const Span&, std::uint64_t) -> Status {
    ++takes;
    return fail(ErrorCode::no_space, "no space left");
  });
  CHECK(read_all(plan, &sink, with_threads(1)).error().code == ErrorCode::no_space);
  CHECK(takes == 1);
  takes = 0;
  CHECK(read_all(plan, &sink, with_threads(4)).error().code == ErrorCode::no_space);
  CHECK(takes <= 4);
}

TEST_CASE("span_reader: errors of begin_run and end_run, the reader's", "[io]") {
  class RunSink final : public SpanSink {
   public:
    Status begin_run(unsigned, std::size_t run) override {
      if (run == 2) return fail(ErrorCode::corrupt, "begin");
      return {};
    }
    Status take(unsigned, const Span&, std::uint64_t, std::span<std::byte>) override { return {}; }
    Status end_run(unsigned, std::size_t run) override {
      if (run == 1) return fail(ErrorCode::differ, "end");
      return {};
    }
  };
  const TestFiles files;
  const auto plan = plan_of(files.source);
  for (const unsigned threads : {1U, 3U}) {
    RunSink sink;
    CHECK(read_all(plan, &sink, with_threads(threads)).error().message == "end");
  }
}

TEST_CASE("span_reader: exceptions of a sink, internal", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  RangePlan one;
  REQUIRE(one.add(one.add_file(files.source), 0, 10));
  CallSink standard([](const Span&, std::uint64_t) -> Status { throw std::runtime_error("boom"); });
  CallSink odd([](const Span&, std::uint64_t) -> Status { throw 5; });
  for (const unsigned threads : {1U, 3U}) {
    CHECK(read_all(plan, &standard, with_threads(threads)).error().message == "reading failed: boom");
    CHECK(read_all(plan, &odd, with_threads(threads)).error().code == ErrorCode::internal);
    CHECK(read_all(one, &odd, with_threads(threads)).error().code == ErrorCode::internal);
  }
}

TEST_CASE("span_reader: cancelled in the middle, busy", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  std::atomic<bool> started{false};
  std::atomic<bool> cancelled{false};
  CallSink sink([&](const Span&, std::uint64_t) -> Status {
    started = true;
    while (!cancelled) std::this_thread::yield();
    return {};
  });
  auto reader = SpanReader::start(plan, &sink, with_threads(2)).value();
  while (!started) std::this_thread::yield();
  reader.cancel();
  cancelled = true;
  const auto outcome = reader.check();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::busy);
  CHECK(reader.check().error().code == ErrorCode::busy);
  CHECK(reader.progress().bytes < files.bytes.size());
}

TEST_CASE("span_reader: cancelled after the end, still fine", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  auto reader = SpanReader::start(plan, nullptr, with_threads(2)).value();
  REQUIRE(reader.check());
  reader.cancel();
  CHECK(reader.check());
}

TEST_CASE("span_reader: cancelled before check reads the only run, busy and nothing read", "[io]") {
  const TestFiles files;
  RangePlan plan;
  REQUIRE(plan.add(plan.add_file(files.source), 0, 10));
  auto reader = SpanReader::start(plan, nullptr, with_threads(1)).value();
  reader.cancel();
  CHECK(reader.check().error().code == ErrorCode::busy);
  CHECK(reader.progress().reads == 0);
}

TEST_CASE("span_reader: destroyed while it reads, no thread calls the sink any more", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  std::atomic<bool> started{false};
  std::atomic<int> inside{0};
  {
    CallSink sink([&](const Span&, std::uint64_t) -> Status {
      ++inside;
      started = true;
      std::this_thread::yield();
      --inside;
      return {};
    });
    auto first = SpanReader::start(plan, &sink, with_threads(16)).value();
    SpanReader moved = std::move(first);
    while (!started) std::this_thread::yield();
    CHECK_FALSE(first.check());  // moved from: an error, not a crash
    moved = SpanReader::start(plan, nullptr, with_threads(2)).value();
    CHECK(inside == 0);
    CHECK(moved.check());
  }
}

TEST_CASE("span_reader: threads, block the signals that the program handles", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  std::atomic<unsigned> open_masks{0};
  CallSink sink([&](const Span&, std::uint64_t) -> Status {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (sigismember(&mask, SIGINT) == 0 || sigismember(&mask, SIGSEGV) == 1) ++open_masks;
    return {};
  });
  REQUIRE(read_all(plan, &sink, with_threads(3)));
  CHECK(open_masks == 0);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGINT) == 0);
}

TEST_CASE("span_reader: removed and replaced while open, the opened file or an error", "[io]") {
  const TestFiles files;
  const auto plan = plan_of(files.source);
  DigestSink before(plan.runs().size());
  REQUIRE(read_all(plan, &before, with_threads(3)));
  std::filesystem::remove(files.path);
  files.folder.write_file("a", pattern_bytes(21 * kMiB, 2));
  DigestSink after(plan.runs().size());
  const auto outcome = read_all(plan, &after, with_threads(3));
  if (outcome) {
    CHECK(after.digests() == before.digests());
  } else {
    CHECK(outcome.error().code == ErrorCode::changed);
  }
}

}  // namespace
