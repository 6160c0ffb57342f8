#include "ckpt/jobs/tensor_stream.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include "ckpt/io/crc32.h"
#include "support/model_checks.h"
#include "support/temp_dir.h"

namespace ckpt::test {
namespace {

using Bytes = std::vector<std::byte>;

/// A file of pattern bytes with storages and tensors anywhere in it.
class Layout {
 public:
  explicit Layout(std::size_t file_bytes) : content_(pattern_bytes(file_bytes, 7)) {
    const std::string path = folder_.write_file("data", content_);
    model_.files.emplace_back();
    model_.files[0].path = path;
    model_.files[0].source = *FileSource::open(path);
  }

  std::uint32_t add_storage(std::uint64_t offset, std::uint64_t bytes) {
    Storage storage;
    storage.offset = offset;
    storage.bytes = bytes;
    model_.storages.push_back(storage);
    return static_cast<std::uint32_t>(model_.storages.size() - 1);
  }

  void add_tensor(std::uint32_t storage, View view) {
    Tensor tensor;
    tensor.storage = storage;
    tensor.shape = view.dims;
    tensor.bytes = view_bytes(view);
    tensor.is_contiguous = is_row_major(view);
    tensor.view = std::move(view);
    model_.tensors.push_back(std::move(tensor));
  }

  /// `bytes` bytes at `offset` of a storage.
  void add_range(std::uint32_t storage, std::uint64_t offset, std::uint64_t bytes) {
    add_tensor(storage, {{bytes}, {1}, offset, 1});
  }

  void add_record(std::uint64_t offset, std::uint64_t bytes) {
    Record record;
    record.name = "record " + std::to_string(model_.records.size());
    record.offset = offset;
    record.bytes = bytes;
    record.has_checksum = true;
    record.crc = crc32(0, std::span(content_).subspan(offset, bytes));
    model_.records.push_back(std::move(record));
  }

  /// The tensor's row-major bytes, unit by unit.
  [[nodiscard]] Bytes naive(const Tensor& tensor) const {
    Bytes out;
    Dims index(tensor.view.dims.size(), 0);
    const std::uint64_t units = tensor.bytes / tensor.view.unit_bytes;
    for (std::uint64_t i = 0; i < units; ++i) {
      std::uint64_t place = model_.storages[tensor.storage].offset + tensor.view.offset;
      for (std::size_t k = 0; k < index.size(); ++k)
        place += index[k] * tensor.view.stride[k] * tensor.view.unit_bytes;
      const auto first = content_.begin() + static_cast<std::ptrdiff_t>(place);
      out.insert(out.end(), first, first + tensor.view.unit_bytes);
      for (std::size_t k = index.size(); k > 0 && ++index[k - 1] == tensor.view.dims[k - 1]; --k)
        index[k - 1] = 0;
    }
    return out;
  }

  Model& model() { return model_; }
  [[nodiscard]] const Bytes& content() const { return content_; }
  [[nodiscard]] std::string path() const { return model_.files[0].path; }

 private:
  TempDir folder_;
  Bytes content_;
  Model model_;
};

/// Puts together what it is given and notes whatever must not happen.
class Collector final : public TensorConsumer {
 public:
  Collector(StreamOrder order, std::vector<std::uint64_t> sizes) : order_(order), ends_(sizes.size(), 0) {
    for (const std::uint64_t size : sizes) {
      data_.emplace_back(size);
      times_.emplace_back(size, 0);
    }
    next_.resize(sizes.size(), 0);
  }

  void prepare(unsigned workers) override { workers_ = workers; }

  Status take(unsigned worker, std::uint32_t target, std::uint64_t offset,
              std::span<const std::byte> bytes) override {
    if (worker >= workers_ || bytes.empty() || offset + bytes.size() > data_[target].size())
      return wrong("range");
    if (order_ == StreamOrder::sequential) {  // one worker a target: nothing to share
      if (offset != next_[target]) return wrong("order");
      next_[target] = offset + bytes.size();
    }
    std::copy(bytes.begin(), bytes.end(), data_[target].begin() + static_cast<std::ptrdiff_t>(offset));
    for (std::size_t i = 0; i < bytes.size(); ++i) ++times_[target][offset + i];
    return {};
  }

  Status end(unsigned, std::uint32_t target) override {
    ++ends_[target];
    return next_[target] == data_[target].size() ? Status() : wrong("end");
  }

  [[nodiscard]] const Bytes& data(std::uint32_t target) const { return data_[target]; }
  [[nodiscard]] int ends(std::uint32_t target) const { return ends_[target]; }
  /// Every byte came exactly once.
  [[nodiscard]] bool is_complete(std::uint32_t target) const {
    return std::all_of(times_[target].begin(), times_[target].end(), [](int times) { return times == 1; });
  }

 private:
  static Status wrong(const char* what) { return fail(ErrorCode::internal, what); }

  StreamOrder order_;
  unsigned workers_ = 0;
  std::vector<Bytes> data_;
  std::vector<std::vector<char>> times_;
  std::vector<std::uint64_t> next_;
  std::vector<int> ends_;
};

std::vector<std::uint64_t> sizes_of(const Model& model) {
  std::vector<std::uint64_t> sizes;
  for (const Tensor& tensor : model.tensors) sizes.push_back(tensor.bytes);
  return sizes;
}

struct Outcome {
  Status status;
  std::vector<Finding> wrong;
  ReadProgress work;
};

Outcome stream(Layout& layout, StreamOrder order, unsigned threads, TensorConsumer& consumer) {
  TensorStream tensors(order, consumer);
  const std::uint32_t number = tensors.add_model(layout.model());
  for (const Record& record : layout.model().records) tensors.add_record(number, record);
  for (std::uint32_t i = 0; i < layout.model().tensors.size(); ++i) {
    tensors.add_tensor(number, layout.model().tensors[i], i);
  }
  Outcome outcome;
  outcome.status = tensors.run(threads, nullptr);
  outcome.wrong = tensors.wrong_checksums();
  outcome.work = tensors.work();
  return outcome;
}

/// Every tensor arrives whole and right, in both orders, with one thread and with several.
void check_streams(Layout& layout) {
  std::vector<Bytes> expected;
  for (const Tensor& tensor : layout.model().tensors) expected.push_back(layout.naive(tensor));
  for (const StreamOrder order : {StreamOrder::sequential, StreamOrder::any}) {
    for (const unsigned threads : {1U, 4U}) {
      INFO("order " << static_cast<int>(order) << ", threads " << threads);
      Collector collector(order, sizes_of(layout.model()));
      const Outcome outcome = stream(layout, order, threads, collector);
      if (!outcome.status) FAIL(error_line(outcome.status.error()));
      CHECK(outcome.wrong.empty());
      for (std::uint32_t i = 0; i < layout.model().tensors.size(); ++i) {
        INFO("tensor " << i);
        CHECK(collector.is_complete(i));
        CHECK((collector.data(i) == expected[i]));
        CHECK(collector.ends(i) == (order == StreamOrder::sequential ? 1 : 0));
      }
    }
  }
}

Outcome streamed(Layout& layout, StreamOrder order = StreamOrder::any) {
  Collector collector(order, sizes_of(layout.model()));
  Outcome outcome = stream(layout, order, 1, collector);
  if (!outcome.status) FAIL(error_line(outcome.status.error()));
  return outcome;
}

/// Up to three dims of a few units, strides of any kind, inside `bytes` bytes.
View random_view(std::mt19937& random, std::uint64_t bytes) {
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  for (;;) {
    View view;
    view.unit_bytes = 1U << below(4);
    for (std::uint64_t k = below(4); k > 0; --k) {
      view.dims.push_back(1 + below(9));
      view.stride.push_back(below(40));
    }
    view.offset = below(64) * view.unit_bytes;
    if (check_view(view, bytes, 64)) return view;
  }
}

}  // namespace

TEST_CASE("tensor_stream: random layouts deliver what a loop over the elements does", "[jobs]") {
  std::mt19937 random(20240607);
  for (int round = 0; round < 12; ++round) {
    INFO("round " << round);
    Layout layout(400'000);
    std::uint64_t offset = random() % 100;
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t bytes = 1 + random() % 30'000;
      const std::uint32_t storage = layout.add_storage(offset, bytes);
      if (random() % 4 != 0) layout.add_record(offset, bytes);
      for (std::uint64_t k = random() % 4; k > 0; --k) {
        const std::uint64_t begin = random() % bytes;
        layout.add_range(storage, begin, 1 + random() % (bytes - begin));
      }
      if (bytes > 4000) layout.add_tensor(storage, random_view(random, bytes));
      offset += bytes + (random() % 3 == 0 ? random() % 9000 : random() % 80);
    }
    check_streams(layout);
  }
}

TEST_CASE("tensor_stream: overlapping ranges are read once and given to all", "[jobs]") {
  Layout layout(100'000);
  const std::uint32_t storage = layout.add_storage(1000, 50'000);
  layout.add_range(storage, 0, 50'000);
  layout.add_range(storage, 0, 50'000);
  layout.add_range(storage, 100, 20'000);
  layout.add_range(storage, 10'000, 40'000);
  layout.add_range(storage, 49'999, 1);
  layout.add_record(1000, 50'000);
  check_streams(layout);
  const Outcome outcome = streamed(layout);
  CHECK(outcome.work.bytes == 50'000);
}

TEST_CASE("tensor_stream: tiny neighbours share a read", "[jobs]") {
  Layout layout(200'000);
  for (std::uint64_t i = 0; i < 1000; ++i) layout.add_range(layout.add_storage(128 * i, 64), 0, 64);
  check_streams(layout);
  CHECK(streamed(layout).work.reads == 1);
  CHECK(streamed(layout, StreamOrder::sequential).work.reads == 1);
}

TEST_CASE("tensor_stream: what lies far apart is read apart, and nothing between", "[jobs]") {
  Layout layout(3'000'000);
  for (std::uint64_t i = 0; i < 3; ++i) layout.add_range(layout.add_storage(1'000'000 * i, 64), 0, 64);
  const Outcome outcome = streamed(layout);
  CHECK(outcome.work.reads == 3);
  CHECK(outcome.work.bytes == 192);
}

TEST_CASE("tensor_stream: a range longer than a span arrives whole", "[jobs]") {
  Layout layout(20'000'000);
  const std::uint32_t storage = layout.add_storage(64, 19'000'000);
  layout.add_range(storage, 8, 18'999'992);
  layout.add_record(64, 19'000'000);
  check_streams(layout);
}

TEST_CASE("tensor_stream: a transposed tensor larger than a block arrives row by row", "[jobs]") {
  Layout layout(12'000'000);
  const std::uint32_t storage = layout.add_storage(128, 11'000'000);
  layout.add_tensor(storage, {{2000, 1300}, {1, 2000}, 64, 4});
  layout.add_tensor(storage, {{30, 40, 50}, {7, 1000, 3}, 8, 2});
  layout.add_record(128, 11'000'000);
  check_streams(layout);
}

TEST_CASE("tensor_stream: a record's checksum is put together from its pieces", "[jobs]") {
  Layout layout(20'000'000);
  const std::uint32_t storage = layout.add_storage(4096, 19'000'000);
  layout.add_range(storage, 100, 9'000'000);
  layout.add_range(storage, 12'000'000, 5);
  layout.add_record(4096, 19'000'000);
  layout.add_record(19'100'000, 77);
  for (const StreamOrder order : {StreamOrder::sequential, StreamOrder::any}) {
    CHECK(streamed(layout, order).wrong.empty());
  }
  layout.model().records[1].crc ^= 1;
  layout.model().records[0].crc ^= 0x80000000;
  for (const StreamOrder order : {StreamOrder::sequential, StreamOrder::any}) {
    const std::vector<Finding> wrong = streamed(layout, order).wrong;
    REQUIRE(wrong.size() == 2);
    CHECK(wrong[0].what.record == "record 0");
    CHECK(wrong[1].what.record == "record 1");
    CHECK(wrong[0].what.code == ErrorCode::corrupt);
    CHECK(wrong[0].what.expected != wrong[0].what.found);
  }
}

TEST_CASE("tensor_stream: records without a checksum or without bytes cost nothing", "[jobs]") {
  Layout layout(10'000);
  layout.add_record(0, 5000);
  layout.model().records[0].has_checksum = false;
  layout.add_record(6000, 0);
  layout.add_record(7000, 100);
  layout.model().records[2].is_stored = false;
  const Outcome outcome = streamed(layout);
  CHECK(outcome.work.bytes == 0);
  CHECK(outcome.wrong.empty());
}

TEST_CASE("tensor_stream: the whole file is one target, beside its records", "[jobs]") {
  Layout layout(1'500'000);
  layout.add_range(layout.add_storage(1000, 1'000'000), 0, 1'000'000);
  layout.add_record(1000, 1'000'000);
  layout.add_range(layout.add_storage(1'200'000, 10), 0, 10);
  Collector collector(StreamOrder::sequential, {1'000'000, 10, 1'500'000});
  TensorStream tensors(StreamOrder::sequential, collector);
  const std::uint32_t number = tensors.add_model(layout.model());
  tensors.add_record(number, layout.model().records[0]);
  for (std::uint32_t i = 0; i < 2; ++i) tensors.add_tensor(number, layout.model().tensors[i], i);
  tensors.add_file(number, 2);
  REQUIRE(tensors.run(2, nullptr));
  CHECK((collector.data(2) == layout.content()));
  CHECK((collector.data(0) == layout.naive(layout.model().tensors[0])));
  CHECK(collector.ends(2) == 1);
  CHECK(tensors.wrong_checksums().empty());
}

TEST_CASE("tensor_stream: two models are read in one go", "[jobs]") {
  Layout first(50'000);
  Layout second(60'000);
  first.add_range(first.add_storage(10, 40'000), 0, 40'000);
  second.add_range(second.add_storage(20'000, 30'000), 5, 20'000);
  Collector collector(StreamOrder::sequential, {40'000, 20'000});
  TensorStream tensors(StreamOrder::sequential, collector);
  const std::uint32_t a = tensors.add_model(first.model());
  const std::uint32_t b = tensors.add_model(second.model());
  tensors.add_tensor(a, first.model().tensors[0], 0);
  tensors.add_tensor(b, second.model().tensors[0], 1);
  REQUIRE(tensors.run(2, nullptr));
  CHECK((collector.data(0) == first.naive(first.model().tensors[0])));
  CHECK((collector.data(1) == second.naive(second.model().tensors[0])));
}

TEST_CASE("tensor_stream: nothing to read is no failure", "[jobs]") {
  Layout layout(100);
  CHECK(streamed(layout).work.reads == 0);
}

TEST_CASE("tensor_stream: what the consumer refuses ends the run", "[jobs]") {
  class Refuser final : public TensorConsumer {
    Status take(unsigned, std::uint32_t, std::uint64_t, std::span<const std::byte>) override {
      return fail(ErrorCode::no_space, "disk is full");
    }
  };
  Layout layout(100'000);
  layout.add_range(layout.add_storage(0, 100'000), 0, 100'000);
  Refuser refuser;
  const Outcome outcome = stream(layout, StreamOrder::any, 2, refuser);
  REQUIRE_FALSE(outcome.status);
  CHECK(outcome.status.error().code == ErrorCode::no_space);
}

TEST_CASE("tensor_stream: a file that changed meanwhile is refused, even if every byte came", "[jobs]") {
  Layout layout(100'000);
  layout.add_range(layout.add_storage(0, 1000), 0, 1000);
  std::filesystem::resize_file(layout.path(), 50'000);
  Collector collector(StreamOrder::any, {1000});
  const Outcome outcome = stream(layout, StreamOrder::any, 1, collector);
  REQUIRE_FALSE(outcome.status);
  CHECK(outcome.status.error().code == ErrorCode::changed);
  CHECK(outcome.status.error().file == layout.path());
}

TEST_CASE("tensor_stream: progress reaches the total", "[jobs]") {
  Layout layout(3'000'000);
  layout.add_range(layout.add_storage(0, 2'000'000), 0, 2'000'000);
  layout.add_tensor(layout.add_storage(2'000'000, 1'000'000), {{100, 50}, {1, 100}, 0, 8});
  Progress progress;
  Collector collector(StreamOrder::any, sizes_of(layout.model()));
  TensorStream tensors(StreamOrder::any, collector);
  const std::uint32_t number = tensors.add_model(layout.model());
  for (std::uint32_t i = 0; i < 2; ++i) tensors.add_tensor(number, layout.model().tensors[i], i);
  REQUIRE(tensors.run(2, &progress));
  CHECK(progress.done_bytes == tensors.work().bytes);
  CHECK(progress.total_bytes == progress.done_bytes);
}

}  // namespace ckpt::test
