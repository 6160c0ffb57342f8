#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "ckpt/base/result.h"

namespace ckpt {

/// Bounds-checked cursor over bytes in memory: the only place where bytes become numbers.
///
/// Borrows the bytes; they must outlive it and every view that `take_bytes` gave.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, std::uint64_t base = 0)
      : bytes_(bytes), base_(base) {}

  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] std::size_t position() const { return position_; }
  /// Offset of the cursor in the file or record: `base` plus position.
  [[nodiscard]] std::uint64_t offset() const { return base_ + position_; }

  // Each returns false, and moves nothing, if fewer bytes remain.
  [[nodiscard]] bool take_u8(std::uint8_t& out) { return take_number(out); }
  [[nodiscard]] bool take_u16le(std::uint16_t& out) { return take_number(out); }
  [[nodiscard]] bool take_u32le(std::uint32_t& out) { return take_number(out); }
  [[nodiscard]] bool take_u64le(std::uint64_t& out) { return take_number(out); }
  [[nodiscard]] bool take_u64be(std::uint64_t& out) {
    if (!take_number(out)) return false;
    std::uint64_t swapped = 0;
    for (int i = 0; i < 8; ++i) swapped |= ((out >> (8 * i)) & 0xFFU) << (56 - 8 * i);
    out = swapped;
    return true;
  }
  [[nodiscard]] bool take_bytes(std::uint64_t length, std::string_view& out) {
    if (length > remaining()) return false;
    out = {reinterpret_cast<const char*>(bytes_.data()) + position_, static_cast<std::size_t>(length)};
    position_ += static_cast<std::size_t>(length);
    return true;
  }
  [[nodiscard]] bool skip(std::uint64_t length) {
    if (length > remaining()) return false;
    position_ += static_cast<std::size_t>(length);
    return true;
  }
  /// Bytes up to the next line feed, which is consumed and not part of `out`.
  [[nodiscard]] bool take_line(std::string_view& out) {
    const std::string_view rest{reinterpret_cast<const char*>(bytes_.data()) + position_, remaining()};
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return false;
    out = rest.substr(0, end);
    position_ += end + 1;
    return true;
  }

 private:
  template <class T>
  [[nodiscard]] bool take_number(T& out) {
    if (sizeof(T) > remaining()) return false;
    T value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, bytes_.data() + position_, sizeof(T));  // one load: this is the hottest line of all
    } else {
      for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>(
            value | (static_cast<T>(std::to_integer<std::uint8_t>(bytes_[position_ + i])) << (8 * i)));
      }
    }
    position_ += sizeof(T);
    out = value;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::uint64_t base_ = 0;
};

/// Views of text as bytes and back, for APIs that want the other kind.
[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ckpt
