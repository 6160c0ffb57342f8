#include "ckpt/jobs/tensor_stream.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/crc32.h"

namespace ckpt {

namespace {

/// Pieces closer than this are read in one go: a system call costs about what copying 4 KiB does.
constexpr std::uint64_t kGapBytes = 4096;

}  // namespace

std::uint32_t TensorStream::add_model(const Model& model) {
  model_base_.push_back(static_cast<std::uint32_t>(files_.size()));
  models_.push_back(&model);
  for (const InputFile& file : model.files) files_.push_back(file.source);
  return static_cast<std::uint32_t>(model_base_.size() - 1);
}

void TensorStream::add_record(std::uint32_t model, const Record& record) {
  if (!record.has_checksum || !record.is_stored || record.offset == 0 || record.bytes == 0) return;
  records_.push_back(
      {model_base_[model] + record.file, record.offset, record.offset + record.bytes, &record});
}

void TensorStream::add_tensor(std::uint32_t model, const Tensor& tensor, std::uint32_t target) {
  const Storage& storage = models_[model]->storages[tensor.storage];
  const std::uint32_t file = model_base_[model] + storage.file;
  if (tensor.is_contiguous) {
    const std::uint64_t begin = storage.offset + tensor.view.offset;
    uses_.push_back({file, target, begin, begin + tensor.bytes});
  } else {
    strided_.push_back(
        {file, target, storage.offset, tensor.view.unit_bytes, tensor.bytes, GatherPlan(tensor.view)});
  }
}

void TensorStream::add_file(std::uint32_t model, std::uint32_t target) {
  const std::uint32_t file = model_base_[model];
  uses_.push_back({file, target, 0, files_[file]->size()});
}

// Planning ---------------------------------------------------------------------------------------------------------

void TensorStream::plan() {
  std::stable_sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
    return std::tie(a.file, a.begin, a.end) < std::tie(b.file, b.begin, b.end);
  });
  std::sort(records_.begin(), records_.end(), [](const CheckedRecord& a, const CheckedRecord& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
  plan_pieces();
  plan_runs();
  plan_blocks();
}

/// Clusters of overlapping uses and what records need around them, merged in file order.
void TensorStream::plan_pieces() {
  std::size_t use = 0;
  for (CheckedRecord& record : records_) {
    const auto is_before = [&](const Use& u) {
      return std::tie(u.file, u.begin) < std::tie(record.file, record.begin);
    };
    std::size_t first = use;
    while (use < uses_.size() && is_before(uses_[use])) ++use;
    plan_file_uses(first, use);
    record.first_piece = static_cast<std::uint32_t>(pieces_.size());
    std::uint64_t covered = record.begin;
    while (use < uses_.size() && uses_[use].file == record.file && uses_[use].begin < record.end) {
      std::size_t end = use;
      std::uint64_t reach = uses_[use].begin;
      do {
        reach = std::max(reach, uses_[end].end);
        ++end;
      } while (end < uses_.size() && uses_[end].file == record.file && uses_[end].begin < reach);
      if (uses_[use].begin > covered) add_piece(record.file, covered, uses_[use].begin, use, use, true);
      add_piece(record.file, uses_[use].begin, reach, use, end, true);
      covered = reach;
      use = end;
    }
    if (covered < record.end) add_piece(record.file, covered, record.end, use, use, true);
    record.piece_count = static_cast<std::uint32_t>(pieces_.size()) - record.first_piece;
  }
  plan_file_uses(use, uses_.size());
}

/// Uses outside checked records: each cluster is a piece.
void TensorStream::plan_file_uses(std::size_t use, std::size_t end_use) {
  while (use < end_use) {
    std::size_t end = use;
    std::uint64_t reach = uses_[use].begin;
    do {
      reach = std::max(reach, uses_[end].end);
      ++end;
    } while (end < end_use && uses_[end].file == uses_[use].file && uses_[end].begin < reach);
    add_piece(uses_[use].file, uses_[use].begin, reach, use, end, false);
    use = end;
  }
}

void TensorStream::add_piece(std::uint32_t file, std::uint64_t begin, std::uint64_t end,
                             std::size_t first_use, std::size_t end_use, bool is_checked) {
  const bool must_stay_whole = order_ == StreamOrder::sequential && end_use > first_use;
  const std::uint64_t step = must_stay_whole ? end - begin : kMaxSpanBytes;
  for (std::uint64_t at = begin; at < end; at += std::min(step, end - at)) {
    Piece piece{};
    piece.file = file;
    piece.first_use = static_cast<std::uint32_t>(first_use);
    piece.use_count = static_cast<std::uint32_t>(end_use - first_use);
    piece.is_checked = is_checked;
    piece.begin = at;
    piece.end = at + std::min(step, end - at);
    pieces_.push_back(piece);
  }
}

/// Neighbouring pieces that fit one chunk together share a run of one span.
void TensorStream::plan_runs() {
  for (std::uint32_t first = 0; first < pieces_.size();) {
    std::uint32_t end = first + 1;
    while (end < pieces_.size() && pieces_[end].file == pieces_[first].file &&
           pieces_[end].end - pieces_[first].begin <= kChunkBytes &&
           pieces_[end].begin - pieces_[end - 1].end <= kGapBytes) {
      ++end;
    }
    const Piece& piece = pieces_[first];
    runs_.push_back({piece.file, piece.begin, pieces_[end - 1].end - piece.begin, 0});
    parts_.push_back({first, end - first, 0, 0});
    first = end;
  }
}

void TensorStream::plan_blocks() {
  for (std::uint32_t i = 0; i < strided_.size(); ++i) {
    const Strided& strided = strided_[i];
    const std::uint64_t blocks = strided.plan.block_count();
    const std::uint64_t step = order_ == StreamOrder::sequential ? blocks : 1;
    for (std::uint64_t block = 0; block < blocks; block += step) {
      const GatherBlock first = strided.plan.block(block);
      runs_.push_back(
          {strided.file, strided.storage_offset + first.first_byte, strided.bytes / blocks * step, 0});
      parts_.push_back({i, 0, block, block + step});
    }
  }
}

bool TensorStream::spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const {
  const RunPart& meaning = parts_[index];
  const Run& run = runs_[index];
  if (meaning.count == 0) {
    if (part >= meaning.block_end - meaning.block) return false;
    const Strided& strided = strided_[meaning.first];
    const GatherBlock block = strided.plan.block(meaning.block + part);
    spans.clear();
    for (std::uint64_t row = 0; row < block.row_count; ++row) {
      spans.push_back(
          {run.file, strided.storage_offset + block.row_offset(row), block.row_bytes, row * block.row_bytes});
    }
    return true;
  }
  if (part > 0) return false;
  spans.clear();
  for (std::uint64_t done = 0; done < run.bytes; done += spans.back().length) {
    spans.push_back({run.file, run.offset + done, std::min(run.bytes - done, kMaxSpanBytes), 0});
  }
  return true;
}

// Reading ----------------------------------------------------------------------------------------------------------

Status TensorStream::run(unsigned threads, Progress* progress) {
  plan();
  progress_ = progress;
  SpanReaderOptions options;
  options.threads = std::max(threads, 1U);
  CKPT_LET(SpanReader reader, SpanReader::start(*this, this, options));
  if (progress != nullptr) progress->total_bytes += reader.progress().total_bytes;
  CKPT_TRY(reader.check());
  work_ = reader.progress();
  for (const auto& file : files_) {
    const Status unchanged = file->check_unchanged();
    if (!unchanged) return fail(Error(unchanged.error()).in_file(file->path()));
  }
  return {};
}

void TensorStream::prepare(unsigned workers) {
  workers_.resize(workers);
  consumer_.prepare(workers);
}

Status TensorStream::begin_run(unsigned worker, std::size_t run) {
  Worker& state = workers_[worker];
  const RunPart& part = parts_[run];
  if (part.count > 0) {
    state.piece = part.first;
    return {};
  }
  state.strided = part.first;
  state.block_index = part.block;
  state.block_filled = 0;
  state.block = strided_[part.first].plan.block(part.block);
  return {};
}

Status TensorStream::take(unsigned worker, const Span& span, std::uint64_t at, std::span<std::byte> chunk) {
  Worker& state = workers_[worker];
  if (progress_ != nullptr) progress_->done_bytes.fetch_add(chunk.size(), std::memory_order_relaxed);
  if (state.block.row_bytes > 0) return take_rows(worker, strided_[state.strided], span.tag + at, chunk);
  std::uint64_t position = span.offset + at;
  while (!chunk.empty()) {
    Piece& piece = pieces_[state.piece];
    if (position < piece.begin) {  // a gap that was read because its neighbours are small
      const std::uint64_t gap = std::min<std::uint64_t>(piece.begin - position, chunk.size());
      position += gap;
      chunk = chunk.subspan(gap);
      continue;
    }
    const std::uint64_t length = std::min<std::uint64_t>(piece.end - position, chunk.size());
    CKPT_TRY(take_piece(worker, piece, position, chunk.first(length)));
    position += length;
    chunk = chunk.subspan(length);
    if (position == piece.end) ++state.piece;
  }
  return {};
}

Status TensorStream::take_piece(unsigned worker, Piece& piece, std::uint64_t position,
                                std::span<const std::byte> bytes) {
  if (piece.is_checked) piece.crc = crc32(piece.crc, bytes);
  const std::uint64_t end = position + bytes.size();
  for (std::uint32_t i = piece.first_use; i < piece.first_use + piece.use_count; ++i) {
    const Use& use = uses_[i];
    if (use.begin >= end) break;  // sorted by begin
    if (use.end <= position) continue;
    const std::uint64_t from = std::max(use.begin, position);
    const std::uint64_t to = std::min(use.end, end);
    CKPT_TRY(consumer_.take(worker, use.target, from - use.begin, bytes.subspan(from - position, to - from)));
    if (order_ == StreamOrder::sequential && to == use.end) CKPT_TRY(consumer_.end(worker, use.target));
  }
  return {};
}

Status TensorStream::take_rows(unsigned worker, const Strided& strided, std::uint64_t place,
                               std::span<const std::byte> bytes) {
  Worker& state = workers_[worker];
  if (state.block_filled == 0) state.rows.resize(state.block.buffer_bytes());
  std::copy(bytes.begin(), bytes.end(), state.rows.begin() + static_cast<std::ptrdiff_t>(place));
  state.block_filled += bytes.size();
  if (state.block_filled < state.block.buffer_bytes()) return {};
  state.gathered.resize(state.block.output_bytes);
  gather_block(state.block, strided.unit_bytes, state.rows, state.gathered);
  CKPT_TRY(consumer_.take(worker, strided.target, state.block.output_offset, state.gathered));
  const bool is_last = state.block.output_offset + state.block.output_bytes == strided.bytes;
  if (order_ == StreamOrder::sequential && is_last) CKPT_TRY(consumer_.end(worker, strided.target));
  if (!is_last) state.block = strided.plan.block(++state.block_index);
  state.block_filled = 0;
  return {};
}

Status TensorStream::end_run(unsigned worker, std::size_t run) {
  (void)run;
  workers_[worker].block.row_bytes = 0;
  return consumer_.flush(worker);
}

/// A tensor whose storage starts there; the names are collected when the first wrong checksum asks.
const Tensor* TensorStream::tensor_at(std::uint32_t file, std::uint64_t offset) const {
  if (by_place_.empty()) {
    for (std::size_t m = 0; m < models_.size(); ++m) {
      for (const Tensor& tensor : models_[m]->tensors) {
        if (tensor.storage == kNoIndex) continue;
        const Storage& storage = models_[m]->storages[tensor.storage];
        by_place_.try_emplace({model_base_[m] + storage.file, storage.offset}, &tensor);
      }
    }
  }
  const auto found = by_place_.find({file, offset});
  return found == by_place_.end() ? nullptr : found->second;
}

std::vector<Finding> TensorStream::wrong_checksums() const {
  std::vector<Finding> findings;
  for (const CheckedRecord& record : records_) {
    std::uint32_t crc = 0;
    for (std::uint32_t i = record.first_piece; i < record.first_piece + record.piece_count; ++i) {
      crc = crc32_combine(crc, pieces_[i].crc, pieces_[i].end - pieces_[i].begin);
    }
    if (crc == record.record->crc) continue;
    Error error = make_error(
        ErrorCode::corrupt,
        fmt::format("wrong checksum: directory says {:08x}, data has {:08x}", record.record->crc, crc));
    error.in_file(files_[record.file]->path()).in_record(record.record->name);
    if (const Tensor* tensor = tensor_at(record.file, record.begin)) {
      error.in_tensor(tensor->name);
      error.message += "; it holds tensor " + in_quotes(tensor->name);
    }
    error.numbers(fmt::format("{:08x}", record.record->crc), fmt::format("{:08x}", crc));
    findings.push_back(defect(std::move(error)));
  }
  return findings;
}

}  // namespace ckpt
