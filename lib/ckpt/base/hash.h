#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt {

/// Hash for tables whose keys come from a file: SipHash-1-3 (Aumasson and Bernstein) with a key drawn
/// once for each process, so that a file cannot be built to make every key collide.
struct SeededHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view key) const noexcept;
};

}  // namespace ckpt
