#include "ckpt/io/crc32.h"

#include <array>

#include <libdeflate.h>

namespace ckpt {

namespace {

/// Polynomials over GF(2) modulo the CRC's, reflected: bit 31 is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0xEDB88320U;
constexpr std::uint32_t kOne = 0x80000000U;

constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1U) ^ ((a & 1U) != 0 ? kPolynomial : 0U); }

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t term = kOne; term != 0; term >>= 1U) {
    if ((a & term) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

/// Entry k is x^(8 × 2^k): what 2^k further bytes multiply a checksum by.
constexpr std::array<std::uint32_t, 64> make_byte_powers() {
  std::uint32_t power = kOne;
  for (int i = 0; i < 8; ++i) power = times_x(power);
  std::array<std::uint32_t, 64> powers{};
  for (std::uint32_t& entry : powers) {
    entry = power;
    power = multiply(power, power);
  }
  return powers;
}

constexpr std::array<std::uint32_t, 64> kBytePowers = make_byte_powers();

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  // libdeflate answers a null buffer with its start value, whatever `crc` is.
  return bytes.empty() ? crc : libdeflate_crc32(crc, bytes.data(), bytes.size());
}

std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  // The checksum is linear: A's part moves up by B's bits, B's part stays. The inversions at both ends
  // cancel out.
  for (std::size_t k = 0; length_b != 0; ++k, length_b >>= 1U) {
    if ((length_b & 1U) != 0) crc_a = multiply(kBytePowers[k], crc_a);
  }
  return crc_a ^ crc_b;
}

}  // namespace ckpt
