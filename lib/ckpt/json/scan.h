#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A lexical look at JSON text, for what simdjson's document does not tell: where a text is wrong, and how
/// its numbers were written. It builds nothing, and it accepts nothing that simdjson refused.
namespace ckpt::json {

struct Token {
  /// One of `{ } [ ] , :`, or `"` for a string, `w` for a word (number or literal), 0 for the end.
  char kind = 0;
  std::size_t begin = 0;  ///< byte in the text
  std::string_view text;  ///< with the quotes of a string; the closing one may be missing
};

/// Borrows the text.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}
  [[nodiscard]] Token take_token();

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

struct Defect {
  std::size_t offset = 0;  ///< byte in the text
  std::string what;
};

/// The first place that breaks RFC 8259, a lone surrogate and an integer beyond 64 bits included. Depth does
/// not count.
[[nodiscard]] std::optional<Defect> find_defect(std::string_view text);

/// First byte that does not begin or continue a UTF-8 character.
[[nodiscard]] std::optional<std::size_t> find_bad_utf8(std::string_view text);

/// The bracket that opens level `max_depth` + 1.
[[nodiscard]] std::optional<std::size_t> find_too_deep(std::string_view text, unsigned max_depth);

/// True if there is a `\u` escape of a surrogate, alone or not.
[[nodiscard]] bool has_surrogate_escape(std::string_view text);

/// Of the numbers in the order of the text, the indices of those written `-0`, ascending.
[[nodiscard]] std::vector<std::uint64_t> find_negative_zeros(std::string_view text);

/// Scalars, keys, arrays and objects.
[[nodiscard]] std::uint64_t count_values(std::string_view text);

}  // namespace ckpt::json
