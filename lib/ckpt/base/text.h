#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/base/export.h"

namespace ckpt {

/// How much untrusted text one message may show (hostile-input rule: at most 256 bytes).
inline constexpr std::size_t kMaxShownBytes = 256;

/// Text from a file, safe to print: control bytes, DEL, invalid UTF-8, line and paragraph separators,
/// bidirectional and zero-width marks become \xNN or \u{NNNN}; a back-slash becomes \\.
/// Cut after `max_bytes` of output with "..." behind.
[[nodiscard]] CKPT_API std::string escaped(std::string_view raw, std::size_t max_bytes = SIZE_MAX);

/// `escaped` in double quotes, a double quote inside as \", for use in the middle of a sentence.
[[nodiscard]] CKPT_API std::string in_quotes(std::string_view raw, std::size_t max_bytes = kMaxShownBytes);

/// True if `raw` is UTF-8 of Unicode scalar values: no surrogates, no overlong forms, at most U+10FFFF.
[[nodiscard]] CKPT_API bool is_utf8(std::string_view raw);

/// Length in bytes of the UTF-8 character at the start of `raw`, or 0 if there is none that is valid.
[[nodiscard]] CKPT_API std::size_t utf8_length(std::string_view raw);

/// Appends the UTF-8 form of `code_point` (0 to 0x10FFFF). Surrogates are written in their
/// three-byte form, as Python's `surrogatepass` does; `is_utf8` then says no.
CKPT_API void append_utf8(std::string& out, std::uint32_t code_point);

/// Lower-case hexadecimal digits, two for each byte.
[[nodiscard]] CKPT_API std::string hex(std::string_view bytes);

/// "12,345" with a comma every three digits.
[[nodiscard]] CKPT_API std::string grouped(std::uint64_t number);

/// "2.61 GB" in decimal units with three digits; exact below 1,000 ("512 B").
[[nodiscard]] CKPT_API std::string byte_size(std::uint64_t bytes);

/// True if `name` matches the shell pattern `glob` (`*`, `?`, `[...]`; `*` also matches dots and slashes).
[[nodiscard]] CKPT_API bool glob_match(const std::string& glob, const std::string& name);

}  // namespace ckpt
