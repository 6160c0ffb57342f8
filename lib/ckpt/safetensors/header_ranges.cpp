#include "ckpt/safetensors/header_ranges.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/result.h"
#include "ckpt/base/text.h"

namespace ckpt::safetensors {

namespace {

// An error at `begin` of the data section; the offset is left out where the file could not reach it.
Error error_at(ErrorCode code, const DataSection& data, std::uint64_t begin, std::string message) {
  Error what = make_error(code, std::move(message));
  if (const auto offset = checked_add(data.offset, begin)) what.at(*offset);
  return what;
}

Error past_end(const DataRange& range, const DataSection& data) {
  return error_at(ErrorCode::truncated, data, range.begin,
                  fmt::format("ends at {}, data has {}", range.end, counted(data.bytes, "byte")))
      .numbers(std::to_string(range.end), std::to_string(data.bytes))
      .in_tensor(range.name);
}

Error short_file(std::uint64_t needed_data, const DataSection& data, std::size_t whole, std::size_t all) {
  const auto needed = checked_add(data.offset, needed_data);
  const std::uint64_t found = checked_add(data.offset, data.bytes).value_or(UINT64_MAX);
  if (!needed) {
    return make_error(ErrorCode::corrupt,
                      fmt::format("file has {} bytes, needs more than 64 bits can count", found));
  }
  return make_error(ErrorCode::truncated, fmt::format("file is {} short: needs {}, has {} ({} of {} whole)",
                                                      counted(*needed - found, "byte"), *needed, found, whole,
                                                      counted(all, "tensor")))
      .numbers(std::to_string(*needed), std::to_string(found));
}

void check_length(const std::vector<DataRange>& ranges, const DataSection& data, HeaderFindings& findings) {
  std::uint64_t needed = 0;
  std::size_t cut = 0;
  std::size_t all = 0;
  for (const DataRange& range : ranges) {
    needed = std::max(needed, range.is_superseded ? std::min(range.end, data.bytes) : range.end);
    if (range.is_superseded) continue;
    ++all;
    if (range.end <= data.bytes) continue;
    ++cut;
    findings.add_error(past_end(range, data));
  }
  if (needed > data.bytes) findings.add_first(short_file(needed, data, all - cut, all));
  if (needed >= data.bytes || !data.is_fully_described) return;
  const std::uint64_t behind = data.bytes - needed;
  const std::string_view place = ranges.empty() ? "header, which lists no tensor" : "last tensor";
  findings.add_error(error_at(ErrorCode::corrupt, data, needed,
                              fmt::format("{} after the {}", counted(behind, "byte"), place))
                         .numbers(std::to_string(needed), std::to_string(data.bytes)));
}

Error overlap(const DataRange& range, const DataRange& other, const DataSection& data) {
  const bool is_empty = range.begin == range.end;
  return error_at(ErrorCode::corrupt, data, range.begin,
                  fmt::format("{} tensor {} at {}", is_empty ? "is empty and lies inside" : "overlaps",
                              in_quotes(other.name), range.begin))
      .in_tensor(range.name);
}

Error hole(std::uint64_t begin, std::uint64_t end, const DataSection& data) {
  return error_at(ErrorCode::corrupt, data, begin,
                  fmt::format("{} at {} belong to no tensor", counted(end - begin, "byte"), begin));
}

}  // namespace

void check_ranges(std::vector<DataRange>& ranges, const DataSection& data, HeaderFindings& findings) {
  check_length(ranges, data, findings);
  // Stable, so that of two equal ranges the one that the header lists later is said to overlap.
  std::stable_sort(ranges.begin(), ranges.end(), [](const DataRange& a, const DataRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t position = 0;
  const DataRange* farthest = nullptr;
  for (const DataRange& range : ranges) {
    if (range.begin > position && data.is_fully_described) {
      findings.add_error(hole(position, range.begin, data));
    }
    if (range.begin < position && range.name != farthest->name) {
      findings.add_error(overlap(range, *farthest, data));
    }
    if (range.end <= position && farthest != nullptr) continue;
    position = range.end;
    farthest = &range;
  }
}

}  // namespace ckpt::safetensors
