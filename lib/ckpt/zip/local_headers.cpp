#include "ckpt/zip/local_headers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/header_windows.h"
#include "ckpt/zip/local_header.h"
#include "ckpt/zip/zip_format.h"

namespace ckpt::zip {

namespace {

constexpr bool is_descriptor_length(std::uint64_t length) {
  return length == 12 || length == 16 || length == 20 || length == 24;
}

class LocalReader final : public WindowParser {
 public:
  LocalReader(const std::shared_ptr<const ByteSource>& source, const std::vector<std::uint32_t>& order,
              std::uint64_t directory_offset, std::vector<Entry>& entries, FindingList& findings)
      : source_(source),
        order_(order),
        directory_offset_(directory_offset),
        entries_(entries),
        findings_(findings) {}

  Status read() {
    faults_.assign(entries_.size(), 0);
    CKPT_TRY(read_windows(source_, plan_windows(), *this));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (faults_[i] != 0) CKPT_TRY(report(i));
    }
    return {};
  }

  // Threads: several at once, for different windows and so for different entries.
  Status parse_window(const Window& window, std::span<const std::byte> bytes,
                      std::vector<std::byte>& scratch) override {
    for (std::size_t k = window.first; k < window.first + window.count; ++k) {
      const std::uint64_t at = entries_[order_[k]].local_offset - window.offset;
      CKPT_LET(faults_[order_[k]], read_one(k, bytes.subspan(static_cast<std::size_t>(at)), scratch));
    }
    return {};
  }

 private:
  std::vector<Window> plan_windows() {
    WindowPlanner planner(directory_offset_);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const Entry& entry = entries_[order_[k]];
      if (range_fits(entry.local_offset, kLocalBytes, directory_offset_)) {
        planner.add(entry, static_cast<std::uint32_t>(k));
      } else {
        // In file order these are the last ones, so windows stay consecutive.
        faults_[order_[k]] = fault(Kind::start_outside);
      }
    }
    return std::move(planner).finish();
  }

  // `bytes`: from the entry's local header to the end of the window.
  Result<Faults> read_one(std::size_t k, std::span<const std::byte> bytes, std::vector<std::byte>& scratch) {
    Entry& entry = entries_[order_[k]];
    std::optional<LocalHeader> local = parse_local_header(bytes);
    if (!local || local->signature != kLocalSignature) return fault(Kind::no_local_header);
    const std::uint64_t length = local->length();
    if (length > directory_offset_ - entry.local_offset) return fault(Kind::local_cut);
    if (!local->is_whole) {
      CKPT_TRY(read_header(entry, length, scratch));
      local = parse_local_header(scratch);
    }
    const Faults faults = compare_headers(entry, *local);
    return static_cast<Faults>(faults | place(k, length, bytes));
  }

  Status read_header(const Entry& entry, std::uint64_t length, std::vector<std::byte>& out) const {
    out.resize(static_cast<std::size_t>(length));
    return source_->read_at(entry.local_offset, out);
  }

  Faults place(std::size_t k, std::uint64_t header_bytes, std::span<const std::byte> bytes) {
    Entry& entry = entries_[order_[k]];
    const std::uint64_t data_offset = entry.local_offset + header_bytes;
    if (entry.compressed_bytes > directory_offset_ - data_offset) {
      entry.end_offset = directory_offset_;
      return fault(Kind::end_outside);
    }
    entry.data_offset = data_offset;
    entry.end_offset = data_offset + entry.compressed_bytes;
    if ((entry.flags & kFlagDescriptor) == 0) return 0;
    return place_descriptor(entry, next_offset(k), bytes);
  }

  // The descriptor's length is what lies between the data and the next record.
  static Faults place_descriptor(Entry& entry, std::uint64_t next, std::span<const std::byte> bytes) {
    const std::uint64_t data_end = entry.end_offset;
    if (next < data_end) return 0;  // an overlap, which the range table reports
    const std::uint64_t length = next - data_end;
    if (length == 0 && entry.compressed_bytes == 0) return 0;
    if (!is_descriptor_length(length)) return fault(Kind::descriptor);
    entry.end_offset = next;
    const std::uint64_t at = data_end - entry.local_offset;
    if (!range_fits(at, length, bytes.size())) return 0;
    const bool same = is_descriptor_of(
        entry, bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
    return same ? Faults{0} : fault(Kind::descriptor);
  }

  [[nodiscard]] std::uint64_t next_offset(std::size_t k) const {
    if (k + 1 == order_.size()) return directory_offset_;
    return std::min(entries_[order_[k + 1]].local_offset, directory_offset_);
  }

  // Only now, in the order of the directory and for the few that are shown, the header is read again and the
  // fault is put into words.
  Status report(std::size_t position) {
    Entry& entry = entries_[position];
    std::vector<std::byte> bytes;
    std::optional<LocalHeader> local;
    for (auto kind = kFirstFault; kind <= kLastFault;
         kind = static_cast<Kind>(static_cast<unsigned>(kind) + 1)) {
      if ((faults_[position] & fault(kind)) == 0) continue;
      if (kind == Kind::descriptor) {
        CKPT_TRY(report_descriptor(entry));
        continue;
      }
      if (!local && kind != Kind::start_outside && findings_.wants(kind)) {
        CKPT_TRY(reread(entry, bytes, local));
      }
      findings_.add(kind, [&] { return describe(kind, entry, local.value_or(LocalHeader{})); });
    }
    return {};
  }

  Status reread(const Entry& entry, std::vector<std::byte>& bytes, std::optional<LocalHeader>& local) const {
    CKPT_TRY(read_header(entry, kLocalBytes, bytes));
    local = parse_local_header(bytes);
    const std::uint64_t length = std::min(local->length(), directory_offset_ - entry.local_offset);
    CKPT_TRY(read_header(entry, length, bytes));
    local = parse_local_header(bytes);
    return {};
  }

  [[nodiscard]] Error describe(Kind kind, const Entry& entry, const LocalHeader& local) const {
    switch (kind) {
      case Kind::start_outside: return start_error(entry);
      case Kind::no_local_header: return signature_error(entry, local.signature);
      case Kind::local_cut:
        return record_error(ErrorCode::corrupt, entry.name, entry.local_offset,
                            fmt::format("local header of {} runs into the directory at {}",
                                        bytes_text(local.length()), directory_offset_));
      case Kind::end_outside: return end_error(entry, local);
      default: return describe_difference(kind, entry, local);
    }
  }

  [[nodiscard]] Error start_error(const Entry& entry) const {
    const std::uint64_t size = source_->size();
    if (entry.local_offset >= size) {
      return record_error(
          ErrorCode::corrupt, entry.name, entry.directory_offset,
          fmt::format("record starts at {}, file has {}", entry.local_offset, bytes_text(size)), size,
          entry.local_offset);
    }
    return record_error(ErrorCode::corrupt, entry.name, entry.directory_offset,
                        fmt::format("record starts at {}, not before the directory at {}", entry.local_offset,
                                    directory_offset_),
                        directory_offset_, entry.local_offset);
  }

  static Error signature_error(const Entry& entry, std::uint32_t signature) {
    std::string bytes;
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((signature >> (8 * i)) & 0xFFU));
    Error error = record_error(
        ErrorCode::corrupt, entry.name, entry.local_offset,
        fmt::format("no local header at {}: bytes {} instead of 504b0304", entry.local_offset, hex(bytes)));
    return error.numbers("504b0304", hex(bytes));
  }

  [[nodiscard]] Error end_error(const Entry& entry, const LocalHeader& local) const {
    const std::uint64_t data_offset = entry.local_offset + local.length();
    const std::uint64_t size = source_->size();
    const auto end = checked_add(data_offset, entry.compressed_bytes);
    if (!end || *end > size) {
      const std::string place =
          end ? std::to_string(*end) : fmt::format("{} + {}", data_offset, entry.compressed_bytes);
      Error error = record_error(ErrorCode::corrupt, entry.name, entry.local_offset,
                                 fmt::format("record ends at {}, file has {}", place, bytes_text(size)));
      return error.numbers(place, std::to_string(size));
    }
    return record_error(
        ErrorCode::corrupt, entry.name, entry.local_offset,
        fmt::format("record and the directory share bytes {}..{}", directory_offset_, *end - 1),
        directory_offset_, *end);
  }

  // A descriptor of another length may still be there, with bytes of nobody behind it: then only those are
  // to be reported, by the range table.
  Status report_descriptor(Entry& entry) {
    const std::uint64_t data_end = entry.data_offset + entry.compressed_bytes;
    if (findings_.wants(Kind::descriptor) && entry.end_offset == data_end) {
      CKPT_LET(const std::uint64_t length, find_descriptor(entry, data_end));
      entry.end_offset = data_end + length;
      if (length > 0) return {};
    }
    findings_.add(Kind::descriptor, [&] {
      return record_error(
          ErrorCode::corrupt, entry.name, data_end,
          fmt::format(
              "data descriptor disagrees with the directory: no checksum {:08x} with sizes {} and {} at {}",
              entry.crc, entry.compressed_bytes, entry.bytes, data_end));
    });
    return {};
  }

  Result<std::uint64_t> find_descriptor(const Entry& entry, std::uint64_t data_end) const {
    std::array<std::byte, kMaxDescriptorBytes> bytes{};
    const auto left = static_cast<std::size_t>(std::min(kMaxDescriptorBytes, directory_offset_ - data_end));
    CKPT_TRY(source_->read_at(data_end, std::span(bytes).first(left)));
    for (const std::size_t length : {16U, 24U, 12U, 20U}) {
      if (length <= left && is_descriptor_of(entry, std::span(bytes).first(length))) return length;
    }
    return 0;
  }

  const std::shared_ptr<const ByteSource>& source_;
  const std::vector<std::uint32_t>& order_;
  const std::uint64_t directory_offset_;
  std::vector<Entry>& entries_;
  FindingList& findings_;
  std::vector<Faults> faults_;  // by position in the directory
};

}  // namespace

std::vector<std::uint32_t> file_order(const std::vector<Entry>& entries) {
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto earlier = [&entries](std::uint32_t a, std::uint32_t b) {
    return entries[a].local_offset < entries[b].local_offset;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  return order;
}

Status read_local_headers(const std::shared_ptr<const ByteSource>& source,
                          const std::vector<std::uint32_t>& order, std::uint64_t directory_offset,
                          std::vector<Entry>& entries, FindingList& findings) {
  return LocalReader(source, order, directory_offset, entries, findings).read();
}

}  // namespace ckpt::zip
