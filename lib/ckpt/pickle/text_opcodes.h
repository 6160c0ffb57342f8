#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

/// The text forms of protocol 0: what INT, LONG, FLOAT, STRING, UNICODE, GET and PUT write on their line.
/// The grammar is strict ASCII: no blanks, no underscores, no plus sign, no digits of other scripts, although
/// Python's own number parser takes them.
namespace ckpt::pickle {

/// Text as decoded; borrows the line where nothing had to be decoded.
struct DecodedText {
  std::string_view borrowed;
  std::optional<std::string> owned;
};

struct IntegerText {
  std::optional<std::int64_t> value;  ///< empty if the number does not fit
  std::string_view digits;            ///< the number without LONG's "L"
};

/// `-?[0-9]+`. Empty if it is none.
[[nodiscard]] std::optional<IntegerText> parse_integer(std::string_view line);
/// The same with an optional "L" behind.
[[nodiscard]] std::optional<IntegerText> parse_long(std::string_view line);
/// Digits of a number up to 2^32 - 1.
[[nodiscard]] std::optional<std::uint32_t> parse_memo_index(std::string_view line);
/// Decimal digits, point and exponent; "inf", "infinity" and "nan" in any case; a minus sign in front.
[[nodiscard]] std::optional<double> parse_float(std::string_view line);

/// STRING: quotes around, back-slash escapes as in a Python 2 string; an octal escape above 255 keeps its low
/// eight bits. Errors: corrupt - no quotes, a bad \x escape, a lone back-slash at the end.
[[nodiscard]] Result<DecodedText> decode_string(std::string_view line);
/// UNICODE: raw-unicode-escape (Latin-1 bytes, \uXXXX and \UXXXXXXXX) as UTF-8; surrogates are kept.
/// Errors: corrupt - an escape that is cut or above 10FFFF.
[[nodiscard]] Result<DecodedText> decode_unicode(std::string_view line);

/// True if `text` is UTF-8 or UTF-8 with surrogates (Python's `surrogatepass`).
[[nodiscard]] bool is_pickle_utf8(std::string_view text);

/// The bytes of UTF-8 text whose characters are all below 256, one for each: what the codec latin-1 makes.
[[nodiscard]] std::optional<std::string> encode_latin1(std::string_view utf8);

}  // namespace ckpt::pickle
