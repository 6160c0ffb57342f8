#include "ckpt/pickle/text_opcodes.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#if !defined(__cpp_lib_to_chars)
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

#include "ckpt/base/text.h"

namespace ckpt::pickle {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take_prefix(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

// [0-9]*(.[0-9]*)?([eE][-+]?[0-9]+)? with at least one digit before the exponent.
bool is_decimal(std::string_view text) {
  std::size_t digits = take_digits(text).size();
  if (take_prefix(text, '.')) digits += take_digits(text).size();
  if (digits == 0) return false;
  if (text.empty()) return true;
  if (!take_prefix(text, 'e') && !take_prefix(text, 'E')) return false;
  if (!take_prefix(text, '-')) take_prefix(text, '+');
  return !take_digits(text).empty() && text.empty();
}

#if defined(__cpp_lib_to_chars)
// Decimal places of the first digit that counts before (positive) or behind the point, plus the exponent.
std::int64_t decimal_magnitude(std::string_view text) {
  constexpr std::int64_t kHugeExponent = 1'000'000'000'000;
  const std::size_t mark = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, mark);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (mark == std::string_view::npos) return place;
  std::string_view digits = text.substr(mark + 1);
  const bool is_negative = take_prefix(digits, '-');
  if (!is_negative) take_prefix(digits, '+');
  std::int64_t exponent = kHugeExponent;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) {
    exponent = kHugeExponent;
  }
  exponent = std::min(exponent, kHugeExponent);
  return place + (is_negative ? -exponent : exponent);
}

// Too large gives infinity and too small gives zero, as in Python; from_chars does not tell which it is.
double out_of_range_value(std::string_view text) {
  return decimal_magnitude(text) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}
#endif

// The only place that turns decimal text into a double; never by the locale of the process.
double decimal_value(std::string_view text) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc::result_out_of_range ? out_of_range_value(text) : value;
#else
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(std::string(text).c_str(), nullptr, plain);
#endif
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool take_hex(std::string_view& text, std::size_t digits, std::uint32_t& out) {
  if (text.size() < digits) return false;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return false;
    value = (value << 4U) | static_cast<std::uint32_t>(digit);
  }
  text.remove_prefix(digits);
  out = value;
  return true;
}

char take_octal(std::string_view& text, char first) {
  auto value = static_cast<unsigned>(first - '0');
  for (int i = 0; i < 2 && !text.empty() && text.front() >= '0' && text.front() <= '7'; ++i) {
    value = value * 8 + static_cast<unsigned>(text.front() - '0');
    text.remove_prefix(1);
  }
  return static_cast<char>(value & 0xFFU);
}

char simple_escape(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case '\\':
    case '\'':
    case '"': return c;
    default: return '\0';
  }
}

// `text` stands behind a back-slash. False: the escape is broken.
bool take_escape(std::string_view& text, std::string& out) {
  if (text.empty()) return false;
  const char c = text.front();
  text.remove_prefix(1);
  if (const char plain = simple_escape(c); plain != '\0') {
    out.push_back(plain);
  } else if (c >= '0' && c <= '7') {
    out.push_back(take_octal(text, c));
  } else if (c == 'x') {
    std::uint32_t value = 0;
    if (!take_hex(text, 2, value)) return false;
    out.push_back(static_cast<char>(value));
  } else {
    out.push_back('\\');
    out.push_back(c);
  }
  return true;
}

bool is_ascii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    if ((word & kHighBits) != 0) return false;
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

bool starts_with_surrogate(std::string_view text) {
  if (text.size() < 3) return false;
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  return byte(0) == 0xED && byte(1) >= 0xA0 && byte(1) <= 0xBF && byte(2) >= 0x80 && byte(2) <= 0xBF;
}

}  // namespace

std::optional<IntegerText> parse_integer(std::string_view line) {
  std::string_view rest = line;
  take_prefix(rest, '-');
  if (take_digits(rest).empty() || !rest.empty()) return std::nullopt;
  IntegerText number{std::nullopt, line};
  std::int64_t value = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc()) number.value = value;
  return number;
}

std::optional<IntegerText> parse_long(std::string_view line) {
  if (!line.empty() && line.back() == 'L') line.remove_suffix(1);
  return parse_integer(line);
}

std::optional<std::uint32_t> parse_memo_index(std::string_view line) {
  std::string_view rest = line;
  if (take_digits(rest).empty() || !rest.empty()) return std::nullopt;
  std::uint32_t value = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view line) {
  std::string_view rest = line;
  const double sign = take_prefix(rest, '-') ? -1.0 : 1.0;
  if (equals_ignoring_case(rest, "inf") || equals_ignoring_case(rest, "infinity")) {
    return sign * std::numeric_limits<double>::infinity();
  }
  if (equals_ignoring_case(rest, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (!is_decimal(rest)) return std::nullopt;
  return sign * decimal_value(rest);
}

Result<DecodedText> decode_string(std::string_view line) {
  const bool is_quoted =
      line.size() >= 2 && line.front() == line.back() && (line[0] == '\'' || line[0] == '"');
  if (!is_quoted) return fail(ErrorCode::corrupt, "text is not in quotes");
  std::string_view rest = line.substr(1, line.size() - 2);
  if (rest.find('\\') == std::string_view::npos) return DecodedText{rest, std::nullopt};
  std::string out;
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out.append(rest.substr(0, plain));
    rest.remove_prefix(plain);
    if (take_prefix(rest, '\\') && !take_escape(rest, out)) {
      return fail(ErrorCode::corrupt, "broken escape in " + in_quotes(line));
    }
  }
  return DecodedText{{}, std::move(out)};
}

Result<DecodedText> decode_unicode(std::string_view line) {
  if (is_ascii(line) && line.find('\\') == std::string_view::npos) return DecodedText{line, std::nullopt};
  std::string out;
  std::string_view rest = line;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    const char kind = rest.empty() ? '\0' : rest.front();
    if (c != '\\' || rest.empty()) {
      append_utf8(out, static_cast<unsigned char>(c));
    } else if (kind == 'u' || kind == 'U') {
      rest.remove_prefix(1);
      std::uint32_t code_point = 0;
      if (!take_hex(rest, kind == 'u' ? 4 : 8, code_point) || code_point > 0x10FFFF) {
        return fail(ErrorCode::corrupt, "broken escape in " + in_quotes(line));
      }
      append_utf8(out, code_point);
    } else {
      // The character behind any other back-slash is taken with it: "\\u" is no escape.
      out.push_back('\\');
      append_utf8(out, static_cast<unsigned char>(kind));
      rest.remove_prefix(1);
    }
  }
  return DecodedText{{}, std::move(out)};
}

bool is_pickle_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    if (length == 0 && starts_with_surrogate(text)) length = 3;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<std::string> encode_latin1(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const auto lead = static_cast<unsigned char>(utf8[0]);
    const std::size_t length = utf8_length(utf8);
    if (length == 0 || length > 2 || lead > 0xC3) return std::nullopt;
    if (length == 1) {
      out.push_back(utf8[0]);
    } else {
      out.push_back(
          static_cast<char>(((lead & 0x03U) << 6U) | (static_cast<unsigned char>(utf8[1]) & 0x3FU)));
    }
    utf8.remove_prefix(length);
  }
  return out;
}

}  // namespace ckpt::pickle
