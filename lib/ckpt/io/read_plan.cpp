#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/io/span_reader.h"

namespace ckpt {

namespace {

constexpr std::uint64_t pieces(std::uint64_t length, std::uint64_t piece) {
  return length / piece + (length % piece != 0 ? 1 : 0);
}

}  // namespace

std::uint32_t RangePlan::add_file(std::shared_ptr<const FileSource> file) {
  files_.push_back(std::move(file));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

Status RangePlan::add(std::uint32_t file, std::uint64_t offset, std::uint64_t length, std::uint64_t tag,
                      unsigned spans_per_run) {
  if (file >= files_.size()) {
    return fail(ErrorCode::internal, fmt::format("the plan has {} files, no number {}", files_.size(), file));
  }
  if (!checked_add(offset, length)) {
    return fail(ErrorCode::internal, fmt::format("{} bytes at {} end behind 64 bits", length, offset));
  }
  const std::uint64_t run_bytes = kMaxSpanBytes * std::max(1U, spans_per_run);
  if (pieces(length, run_bytes) > kMaxRuns - std::min(kMaxRuns, runs_.size())) {
    return fail(make_error(ErrorCode::limit, fmt::format("{} bytes need more than {} runs", length, kMaxRuns))
                    .in_file(files_[file]->path()));
  }
  for (std::uint64_t done = 0; done < length; done += runs_.back().bytes) {
    runs_.push_back({file, offset + done, std::min(length - done, run_bytes), tag});
  }
  return {};
}

bool RangePlan::spans_of(std::size_t index, std::uint64_t part, std::vector<Span>& spans) const {
  if (part > 0) return false;
  const Run& run = runs_[index];
  spans.clear();
  for (std::uint64_t done = 0; done < run.bytes; done += spans.back().length) {
    spans.push_back({run.file, run.offset + done, std::min(run.bytes - done, kMaxSpanBytes), run.tag});
  }
  return true;
}

}  // namespace ckpt
