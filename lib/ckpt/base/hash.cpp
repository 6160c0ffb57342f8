#include "ckpt/base/hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <random>

namespace ckpt {

namespace {

using Key = std::array<std::uint64_t, 2>;

Key draw_key() {
  std::random_device device;
  const auto word = [&device] { return (static_cast<std::uint64_t>(device()) << 32U) | device(); };
  return {word(), word()};
}

struct SipState {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }

  void absorb(std::uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

/// Up to 8 bytes in the machine's own order: a hash that never leaves the process needs no other.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

}  // namespace

std::size_t SeededHash::operator()(std::string_view key) const noexcept {
  static const Key seed = draw_key();
  SipState state{seed[0] ^ 0x736f6d6570736575ULL, seed[1] ^ 0x646f72616e646f6dULL,
                 seed[0] ^ 0x6c7967656e657261ULL, seed[1] ^ 0x7465646279746573ULL};
  const std::uint64_t length = key.size();
  for (; key.size() >= 8; key.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data(), sizeof word);
    state.absorb(word);
  }
  state.absorb(word_of(key));
  state.absorb(length);
  state.c ^= 0xFF;
  for (int i = 0; i < 3; ++i) state.round();
  return static_cast<std::size_t>(state.a ^ state.b ^ state.c ^ state.d);
}

}  // namespace ckpt
