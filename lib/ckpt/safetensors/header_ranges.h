#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ckpt/safetensors/header_findings.h"

/// The range table of a Safetensors data section: every byte belongs to exactly one tensor.
namespace ckpt::safetensors {

struct DataRange {
  std::uint64_t begin = 0;  ///< bytes, relative to the data section; begin <= end
  std::uint64_t end = 0;
  std::string_view name;  ///< borrowed
  /// A later entry has the same name. Nobody reads this one, so the file is not short of it, but the bytes
  /// that it covers are not unexplained either.
  bool is_superseded = false;
};

struct DataSection {
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< there are
  /// False if some entry has no readable range: then nobody can say which bytes belong to no tensor.
  bool is_fully_described = true;
};

/// Sorts `ranges` and adds to `findings`: overlaps, holes, ranges past the end, bytes after the last tensor,
/// and in front of everything how many bytes the file is short of. Two ranges of one name may overlap.
///
/// Cost: n log n.
void check_ranges(std::vector<DataRange>& ranges, const DataSection& data, HeaderFindings& findings);

}  // namespace ckpt::safetensors
