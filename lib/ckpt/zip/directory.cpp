#include "ckpt/zip/directory.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/directory_entry.h"
#include "ckpt/zip/end_records.h"
#include "ckpt/zip/finding_list.h"
#include "ckpt/zip/local_headers.h"
#include "ckpt/zip/range_table.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

// Bytes read behind the promised end of a directory that does not reach up to the end records.
constexpr std::uint64_t kMaxBehind = 1ULL << 20U;

Error over_limit(std::string_view what, std::uint64_t count, std::uint64_t limit, std::string_view name) {
  Error error = make_error(ErrorCode::limit,
                           fmt::format("directory of {} {}, limit {} is {}", count, what, name, limit));
  return error.numbers(std::to_string(limit), std::to_string(count));
}

}  // namespace

class DirectoryReader {
 public:
  DirectoryReader(const std::shared_ptr<const ByteSource>& source, const Limits& limits)
      : source_(source), limits_(limits) {}

  Result<Directory> read() {
    CKPT_LET(end_, read_end_records(*source_, findings_));
    CKPT_TRY(load());
    CKPT_TRY(parse());
    check_counts();
    index_names();
    const std::vector<std::uint32_t> order = file_order(out_.entries_);
    CKPT_TRY(check_split_marker(order));
    CKPT_TRY(read_local_headers(source_, order, out_.directory_offset_, out_.entries_, findings_));
    check_ranges(order);
    finish();
    return std::move(out_);
  }

 private:
  // The bytes up to the end records, which are those of the directory unless its size is a lie; then one
  // sees how long it really is, within reason.
  Status load() {
    const std::uint64_t offset = end_.directory_offset;
    const std::uint64_t up_to_end = end_.first_offset - offset;
    const std::uint64_t behind = std::min(up_to_end - end_.directory_bytes, kMaxBehind);
    const std::uint64_t length = end_.directory_bytes + behind;
    if (length > limits_.directory_bytes) {
      return fail(over_limit("bytes", length, limits_.directory_bytes, "directory-bytes"));
    }
    if (end_.records > limits_.zip_records && end_.records <= length / kEntryBytes) {
      return fail(over_limit("records", end_.records, limits_.zip_records, "zip-records"));
    }
    out_.directory_offset_ = offset;
    if (offset >= end_.tail_offset) {
      const auto first = end_.tail.begin() + static_cast<std::ptrdiff_t>(offset - end_.tail_offset);
      out_.buffer_.assign(first, first + static_cast<std::ptrdiff_t>(length));
      return {};
    }
    CKPT_LET(out_.buffer_, source_->read_vector(offset, length));
    return {};
  }

  Status parse() {
    ByteReader in(out_.buffer_, out_.directory_offset_);
    out_.entries_.reserve(
        static_cast<std::size_t>(std::min<std::uint64_t>(end_.records, in.remaining() / kEntryBytes)));
    RawEntry raw;
    while (in.remaining() >= kEntryBytes) {
      const std::uint64_t offset = in.offset();
      if (!take_entry(in, raw)) break;
      if (out_.entries_.size() == limits_.zip_records) {
        return fail(over_limit("records", limits_.zip_records + 1, limits_.zip_records, "zip-records"));
      }
      out_.entries_.push_back(check_entry(raw, offset, end_.base, findings_));
      out_.directory_bytes_ = in.offset() - out_.directory_offset_;
    }
    if (out_.entries_.empty() && !out_.buffer_.empty()) return fail(no_entry_error());
    return {};
  }

  [[nodiscard]] Error no_entry_error() const {
    const std::string_view start = as_text(out_.buffer_).substr(0, 4);
    Error error = make_error(ErrorCode::corrupt,
                             fmt::format("directory at {} does not start with a whole entry: bytes {}",
                                         out_.directory_offset_, hex(start)));
    return error.at(out_.directory_offset_);
  }

  void check_counts() {
    const std::uint64_t count = out_.entries_.size();
    report(count == end_.records, Kind::record_count,
           fmt::format("directory says {} records, holds {}", end_.records, count), end_.records, count);
    report(out_.directory_bytes_ == end_.directory_bytes, Kind::directory_size,
           fmt::format("directory size {} but entries take {}", end_.directory_bytes, out_.directory_bytes_),
           end_.directory_bytes, out_.directory_bytes_);
    if (count == 0 && end_.records == 0) {
      findings_.add(Kind::no_records,
                    [] { return make_error(ErrorCode::corrupt, "archive holds no records"); });
    }
  }

  void report(bool holds, Kind kind, std::string text, std::uint64_t expected, std::uint64_t found) {
    if (holds) return;
    findings_.add(kind, [&] {
      Error error = make_error(ErrorCode::corrupt, std::move(text));
      return error.at(out_.directory_offset_).numbers(std::to_string(expected), std::to_string(found));
    });
  }

  void index_names() {
    const std::vector<Entry>& entries = out_.entries_;
    out_.by_name_.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t first = out_.by_name_.insert(i, entries);
      if (first == i) continue;
      findings_.add(Kind::name_twice, [&] {
        return record_error(ErrorCode::ambiguous, entries[i].name, entries[i].directory_offset,
                            fmt::format("record appears twice, at {} and at {}", entries[first].local_offset,
                                        entries[i].local_offset));
      });
    }
  }

  // A split archive starts with the signature of a descriptor, in its first part (APPNOTE 8.5.3).
  [[nodiscard]] Status check_split_marker(const std::vector<std::uint32_t>& order) const {
    const std::uint64_t first = order.empty() ? out_.directory_offset_ : out_.entries_[order[0]].local_offset;
    if (first != 4 || source_->size() < 4) return {};
    std::array<std::byte, 4> bytes{};
    CKPT_TRY(source_->read_at(0, bytes));
    std::uint32_t signature = 0;
    if (!ByteReader(bytes).take_u32le(signature) || signature != kDescriptorSignature) return {};
    return fail(ErrorCode::unsupported, "part of a split archive", 0);
  }

  void check_ranges(const std::vector<std::uint32_t>& order) {
    RangeTable table(out_.entries_);
    table.reserve(order.size() + 4);
    for (const std::uint32_t position : order) {
      const Entry& entry = out_.entries_[position];
      if (entry.end_offset > 0) {
        table.add(entry.local_offset, entry.end_offset, position);
      } else if (entry.local_offset < out_.directory_offset_) {
        table.add_open(entry.local_offset);
      }
    }
    if (out_.directory_bytes_ > 0) {
      table.add(out_.directory_offset_, out_.directory_offset_ + out_.directory_bytes_,
                RangeTable::kDirectory);
    }
    if (end_.has_zip64) table.add(end_.zip64_offset, end_.zip64_end, RangeTable::kZip64End);
    if (end_.has_locator)
      table.add(end_.locator_offset, end_.locator_offset + kLocatorBytes, RangeTable::kLocator);
    table.add(end_.end_offset, end_.end_offset + kEndBytes + end_.comment_bytes, RangeTable::kEndRecord);
    table.check(source_->size(), findings_);
  }

  void finish() {
    out_.comment_bytes_ = end_.comment_bytes;
    out_.has_zip64_ = end_.has_zip64;
    out_.has_one_end_ = end_.is_alone && findings_.count(Kind::end_record) == 0 &&
                        findings_.count(Kind::suffix) == 0 && findings_.count(Kind::record_count) == 0 &&
                        findings_.count(Kind::directory_size) == 0;
    out_.findings_ = std::move(findings_).finish();
  }

  const std::shared_ptr<const ByteSource>& source_;
  const Limits& limits_;
  FindingList findings_;
  EndRecords end_;
  Directory out_;
};

Result<Directory> Directory::read(const std::shared_ptr<const ByteSource>& source, const Limits& limits) {
  return DirectoryReader(source, limits).read();
}

const Entry* Directory::find(std::string_view name) const {
  ++lookups_;
  const std::size_t position = by_name_.find(name, entries_);
  return position < entries_.size() ? &entries_[position] : nullptr;
}

}  // namespace ckpt::zip
