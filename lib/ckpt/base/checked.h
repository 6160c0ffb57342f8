#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace ckpt {

/// Arithmetic on sizes that come from a file. The only home of such maths: an empty optional means
/// that the exact result does not fit.

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  if (b > std::numeric_limits<std::uint64_t>::max() - a) return std::nullopt;
  return a + b;
}

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

/// True if `length` bytes at `offset` lie inside `size` bytes. Subtracts, never adds, so it cannot wrap.
[[nodiscard]] constexpr bool range_fits(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

template <std::unsigned_integral To>
[[nodiscard]] constexpr std::optional<To> narrow(std::uint64_t value) {
  if (value > std::numeric_limits<To>::max()) return std::nullopt;
  return static_cast<To>(value);
}

/// The smallest multiple of `unit` (not 0) that is at least `value`; empty if it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> round_up(std::uint64_t value, std::uint64_t unit) {
  const std::uint64_t rest = value % unit;
  return rest == 0 ? std::optional(value) : checked_add(value, unit - rest);
}

}  // namespace ckpt
