#include <atomic>
#include <chrono>

#include "ckpt/io/atomic_file.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/jobs/archive_check.h"
#include "ckpt/jobs/common.h"
#include "ckpt/jobs/convert_plan.h"
#include "ckpt/jobs/output_path.h"
#include "ckpt/jobs/tensor_stream.h"

namespace ckpt {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Writes each tensor's bytes at its place. Bytes that follow each other in the output are put together, so that a file of
/// tiny tensors does not cost a system call each.
class WriteConsumer final : public TensorConsumer {
 public:
  WriteConsumer(const AtomicFile& file, const safetensors::Layout& layout) : file_(file), layout_(layout) {}

  void prepare(unsigned workers) override { pending_.resize(workers); }

  Status take(unsigned worker, std::uint32_t target, std::uint64_t offset,
              std::span<const std::byte> bytes) override {
    Pending& pending = pending_[worker];
    const std::uint64_t place = layout_.offsets[target] + offset;
    if (place != pending.place + pending.bytes.size() ||
        pending.bytes.size() + bytes.size() > kPendingBytes) {
      CKPT_TRY(flush(worker));
    }
    if (bytes.size() >= kPendingBytes / 2) return write(place, bytes);
    if (pending.bytes.empty()) pending.place = place;
    pending.bytes.insert(pending.bytes.end(), bytes.begin(), bytes.end());
    return {};
  }

  Status flush(unsigned worker) override {
    Pending& pending = pending_[worker];
    if (pending.bytes.empty()) return {};
    const Status status = write(pending.place, pending.bytes);
    pending.bytes.clear();
    return status;
  }

  [[nodiscard]] std::uint64_t written() const { return bytes_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  static constexpr std::size_t kPendingBytes = 64ULL << 10U;
  struct Pending {
    std::uint64_t place = 0;
    std::vector<std::byte> bytes;
  };

  Status write(std::uint64_t place, std::span<const std::byte> bytes) {
    bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
    return file_.write_at(place, bytes);
  }

  const AtomicFile& file_;
  const safetensors::Layout& layout_;
  std::vector<Pending> pending_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> calls_{0};
};

/// Records that give a byte to the output: theirs are the checksums that count.
std::vector<const Record*> needed_records(const Model& model, const ConvertPlan& plan) {
  std::vector<bool> is_needed(model.records.size(), false);
  for (const std::uint32_t index : plan.tensors) {
    const Tensor& tensor = model.tensors[index];
    const std::uint32_t record = tensor.bytes == 0 ? kNoIndex : model.storages[tensor.storage].record;
    if (record != kNoIndex) is_needed[record] = true;
  }
  std::vector<const Record*> records;
  for (std::size_t i = 0; i < model.records.size(); ++i) {
    if (is_needed[i]) records.push_back(&model.records[i]);
  }
  return records;
}

class Conversion {
 public:
  Conversion(ConvertResult& result, const ConvertPlan& plan, const ConvertOptions& options)
      : result_(result), plan_(plan), options_(options) {}

  Status run() {
    set_activity(options_.input.progress, "reserving space");
    AtomicFileOptions file_options;
    file_options.replace = options_.replace;
    file_options.sync = options_.sync;
    CKPT_LET(AtomicFile file, AtomicFile::create(result_.output, plan_.layout.file_bytes, file_options));
    CKPT_TRY(copy(file));
    set_activity(options_.input.progress, options_.sync ? "flushing" : "finishing");
    const auto start = Clock::now();
    CKPT_TRY(file.commit());
    result_.sync_seconds = seconds_since(start);
    return {};
  }

 private:
  Status copy(const AtomicFile& file) {
    const auto start = Clock::now();
    WriteConsumer consumer(file, plan_.layout);
    TensorStream stream(StreamOrder::any, consumer);
    const std::uint32_t number = stream.add_model(result_.model);
    for (const Record* record : needed_records(result_.model, plan_)) stream.add_record(number, *record);
    for (std::uint32_t i = 0; i < plan_.tensors.size(); ++i) {
      const Tensor& tensor = result_.model.tensors[plan_.tensors[i]];
      if (tensor.bytes > 0) stream.add_tensor(number, tensor, i);
    }
    auto opinions = in_background([this] { return second_opinions(result_.model); });
    set_activity(options_.input.progress, "copying");
    Status status = file.write_at(0, as_bytes(plan_.layout.header));
    if (status) status = stream.run(thread_count(options_.input.threads), options_.input.progress);
    const std::vector<Finding> opinion = opinions.get();
    CKPT_TRY(std::move(status));
    CKPT_TRY(require_sound(stream.wrong_checksums()));
    CKPT_TRY(require_sound(opinion));
    for (const Finding& finding : opinion) result_.model.findings.push_back(finding);
    result_.model.phases.data = {seconds_since(start), stream.work().bytes, stream.work().reads};
    result_.write = {seconds_since(start), consumer.written() + plan_.layout.header.size(),
                     consumer.calls() + 1};
    return {};
  }

  ConvertResult& result_;
  const ConvertPlan& plan_;
  const ConvertOptions& options_;
};

void describe_output(ConvertResult& result, const ConvertPlan& plan) {
  result.output_bytes = plan.layout.file_bytes;
  result.dropped = plan.dropped;
  result.skipped = plan.skipped;
  for (const std::uint32_t index : plan.layout.order) {
    result.written.push_back({plan.tensors[index], plan.layout.offsets[index]});
    result.gathered += result.model.tensors[plan.tensors[index]].is_contiguous ? 0U : 1U;
  }
}

}  // namespace

Result<ConvertResult> convert(const std::string& input, const std::string& output,
                              const ConvertOptions& options) {
  ConvertResult result;
  CKPT_LET(result.model, open_input(input, options.input, true));
  note_missing_checksums(result.model);
  CKPT_LET(const ConvertPlan plan, plan_conversion(result.model, options));
  result.output = output_path(input, output);
  CKPT_TRY(check_output(result.output, result.model, options.replace));
  describe_output(result, plan);
  if (!options.dry_run) CKPT_TRY(Conversion(result, plan, options).run());
  return result;
}

}  // namespace ckpt
