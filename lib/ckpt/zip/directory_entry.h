#pragma once

#include <cstdint>
#include <string_view>

#include "ckpt/io/byte_reader.h"
#include "ckpt/zip/directory.h"
#include "ckpt/zip/finding_list.h"

namespace ckpt::zip {

/// One entry of the directory (4.3.12) as it stands there. Views borrow the directory's bytes.
struct RawEntry {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint32_t compressed = 0;
  std::uint32_t bytes = 0;
  std::uint16_t disk = 0;
  std::uint32_t local_offset = 0;
  std::string_view name;
  std::string_view extra;
};

/// Takes one entry with its name, extra area and comment. False, and nothing said about the cursor, if no
/// entry starts there or it is cut.
[[nodiscard]] bool take_entry(ByteReader& in, RawEntry& raw);

/// The entry with its 64-bit numbers, `base` added to the offset; data and end offset are left 0. Reports
/// what is wrong with it alone: name, flags, method, sizes, extra area.
[[nodiscard]] Entry check_entry(const RawEntry& raw, std::uint64_t directory_offset, std::uint64_t base,
                                FindingList& findings);

}  // namespace ckpt::zip
