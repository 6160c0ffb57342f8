#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/zip/directory.h"
#include "ckpt/zip/extra_field.h"
#include "ckpt/zip/finding_list.h"

namespace ckpt::zip {

/// One local header (4.3.7). Views borrow the bytes it was parsed from.
struct LocalHeader {
  std::uint32_t signature = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint32_t compressed = 0;
  std::uint32_t bytes = 0;
  std::uint16_t name_length = 0;
  std::uint16_t extra_length = 0;
  std::string_view name;
  std::string_view extra;
  bool is_whole = false;  ///< name and extra are there too

  /// Bytes from its start to the data.
  [[nodiscard]] std::uint64_t length() const;
};

/// Parses the header at the start of `bytes`; empty if they are fewer than its fixed part.
[[nodiscard]] std::optional<LocalHeader> parse_local_header(std::span<const std::byte> bytes);

/// One bit for each kind of fault from Kind::start_outside to Kind::descriptor.
using Faults = std::uint16_t;
inline constexpr Kind kFirstFault = Kind::start_outside;
inline constexpr Kind kLastFault = Kind::descriptor;
[[nodiscard]] constexpr Faults fault(Kind kind) {
  return static_cast<Faults>(1U << (static_cast<unsigned>(kind) - static_cast<unsigned>(kFirstFault)));
}
static_assert(static_cast<unsigned>(kLastFault) - static_cast<unsigned>(kFirstFault) < 16);

/// What a whole local header with the right signature has that its directory entry denies.
[[nodiscard]] Faults compare_headers(const Entry& entry, const LocalHeader& local);

/// Words one fault that compare_headers found.
[[nodiscard]] Error describe_difference(Kind kind, const Entry& entry, const LocalHeader& local);

/// Whether these 12, 16, 20 or 24 bytes are a data descriptor (4.3.9) with the entry's numbers: signature or
/// not, sizes of 32 or 64 bits.
[[nodiscard]] bool is_descriptor_of(const Entry& entry, std::span<const std::byte> bytes);

}  // namespace ckpt::zip
