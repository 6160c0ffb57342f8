#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/span_reader.h"
#include "ckpt/jobs/jobs.h"
#include "ckpt/model/model.h"
#include "ckpt/tensor/gather.h"

/// From "these tensors, these records" to bytes: one plan for the span reader, and the sink that takes its chunks apart.
///
/// Row-major tensors are byte ranges. Ranges that overlap form a cluster; clusters, the rest of each record whose checksum
/// is wanted, and nothing else, become *pieces* in file order. Small neighbouring pieces share one read of at most one
/// chunk; in any order a large piece is cut into spans that several threads take, in sequence it stays with one. Each piece has
/// a checksum of its own, combined to the record's at the end. Strided tensors are read a second time, in blocks
/// (gather.h): what they cost beyond the record's checksum is one more pass over pages that are warm.
namespace ckpt {

/// Takes the row-major bytes of tensors. Every call names the worker; one worker's calls come one after the other.
class TensorConsumer {
 public:
  virtual ~TensorConsumer() = default;
  virtual void prepare(unsigned workers) { (void)workers; }
  /// Bytes of `target` at `offset`. In sequence: rising offsets without gaps, from one worker.
  [[nodiscard]] virtual Status take(unsigned worker, std::uint32_t target, std::uint64_t offset,
                                    std::span<const std::byte> bytes) = 0;
  /// All bytes of `target` were taken; in sequence only.
  [[nodiscard]] virtual Status end(unsigned worker, std::uint32_t target) {
    (void)worker, (void)target;
    return {};
  }
  /// The worker has nothing pending in this run; buffers are written.
  [[nodiscard]] virtual Status flush(unsigned worker) {
    (void)worker;
    return {};
  }
};

enum class StreamOrder : std::uint8_t {
  sequential,  ///< each tensor's bytes in order, by one worker: for digests
  any,         ///< spans in any order by any worker: for writing at offsets
};

class TensorStream final : private ReadPlan, private SpanSink {
 public:
  TensorStream(StreamOrder order, TensorConsumer& consumer) : order_(order), consumer_(consumer) {}

  /// Adds the files of a model; tensors and records are then named with the returned number. Borrows it.
  std::uint32_t add_model(const Model& model);
  /// The checksum of this record is wanted, if it has one and lies in the file as it is.
  void add_record(std::uint32_t model, const Record& record);
  /// The bytes of this tensor are wanted under the number `target`. It has plain data, bytes and a storage that lies
  /// in the file as it is.
  void add_tensor(std::uint32_t model, const Tensor& tensor, std::uint32_t target);
  /// The whole file as one target; in sequence only.
  void add_file(std::uint32_t model, std::uint32_t target);

  /// Reads all of it. Errors: those of SpanReader and of the consumer.
  [[nodiscard]] Status run(unsigned threads, Progress* progress);

  /// After `run`: `corrupt` for each record whose checksum is wrong, in file order.
  [[nodiscard]] std::vector<Finding> wrong_checksums() const;
  [[nodiscard]] ReadProgress work() const { return work_; }

 private:
  /// A contiguous range that a target wants.
  struct Use {
    std::uint32_t file, target;
    std::uint64_t begin, end;  // bytes from the start of the file
  };
  struct CheckedRecord {
    std::uint32_t file;
    std::uint64_t begin, end;
    const Record* record;
    std::uint32_t first_piece = 0, piece_count = 0;
  };
  struct Piece {
    std::uint32_t file;
    std::uint32_t first_use, use_count;
    std::uint32_t crc = 0;
    bool is_checked = false;
    std::uint64_t begin, end;
  };
  struct Strided {
    std::uint32_t file, target;
    std::uint64_t storage_offset;
    std::uint32_t unit_bytes;
    std::uint64_t bytes;
    GatherPlan plan;
  };
  /// What a run of the reader means: pieces, or blocks of a strided tensor.
  struct RunPart {
    std::uint32_t first;  // piece, or index into strided_
    std::uint32_t count;  // pieces; 0 for strided
    std::uint64_t block;  // first block
    std::uint64_t block_end;
  };
  struct Worker {
    std::uint32_t piece = 0;
    std::uint32_t strided = 0;
    GatherBlock block;  // row_bytes 0 outside runs of strided tensors
    std::uint64_t block_index = 0;
    std::uint64_t block_filled = 0;
    std::vector<std::byte> rows, gathered;
  };

  [[nodiscard]] const Tensor* tensor_at(std::uint32_t file, std::uint64_t offset) const;
  void plan();
  void plan_pieces();
  void plan_file_uses(std::size_t first_use, std::size_t end_use);
  void add_piece(std::uint32_t file, std::uint64_t begin, std::uint64_t end, std::size_t first_use,
                 std::size_t end_use, bool is_checked);
  void plan_runs();
  void plan_blocks();

  [[nodiscard]] const std::vector<std::shared_ptr<const FileSource>>& files() const override {
    return files_;
  }
  [[nodiscard]] const std::vector<Run>& runs() const override { return runs_; }
  bool spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const override;
  void prepare(unsigned workers) override;
  [[nodiscard]] Status begin_run(unsigned worker, std::size_t run) override;
  [[nodiscard]] Status take(unsigned worker, const Span& span, std::uint64_t at,
                            std::span<std::byte> chunk) override;
  [[nodiscard]] Status end_run(unsigned worker, std::size_t run) override;
  [[nodiscard]] Status take_piece(unsigned worker, Piece& piece, std::uint64_t position,
                                  std::span<const std::byte> bytes);
  [[nodiscard]] Status take_rows(unsigned worker, const Strided& strided, std::uint64_t place,
                                 std::span<const std::byte> bytes);

  StreamOrder order_;
  TensorConsumer& consumer_;
  std::vector<std::shared_ptr<const FileSource>> files_;
  std::vector<std::uint32_t> model_base_;
  std::vector<const Model*> models_;
  std::vector<Use> uses_;
  std::vector<CheckedRecord> records_;
  std::vector<Piece> pieces_;
  std::vector<Strided> strided_;
  std::vector<Run> runs_;
  std::vector<RunPart> parts_;
  std::vector<Worker> workers_;
  Progress* progress_ = nullptr;
  ReadProgress work_;
  mutable std::map<std::pair<std::uint32_t, std::uint64_t>, const Tensor*> by_place_;
};

}  // namespace ckpt
