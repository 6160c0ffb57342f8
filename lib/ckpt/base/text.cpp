#include "ckpt/base/text.h"

#include <array>
#include <fnmatch.h>

#include <fmt/format.h>

namespace ckpt {

namespace {

std::uint32_t decode(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  std::uint32_t value = lead & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = (value << 6U) | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return value;
}

// Characters that are printable by themselves but change how the rest of a line is shown.
bool is_deceptive(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F) || (c & 0xFFFEU) == 0xFFFE;
}

std::string shown(std::string_view character, bool quote) {
  if (character == "\\") return "\\\\";
  if (quote && character == "\"") return "\\\"";
  if (character == "\n") return "\\n";
  if (character == "\r") return "\\r";
  if (character == "\t") return "\\t";
  const std::uint32_t c = decode(character);
  if (!is_deceptive(c)) return std::string(character);
  return c < 0x80 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{{{:x}}}", c);
}

/// Most names need no escaping at all.
bool is_plain(std::string_view raw) {
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '\\' || c == '"') return false;
  }
  return true;
}

std::string escape(std::string_view raw, std::size_t max_bytes, bool quote) {
  if (raw.size() <= max_bytes && is_plain(raw)) return std::string(raw);
  std::string out;
  while (!raw.empty()) {
    const std::size_t length = utf8_length(raw);
    const std::string piece = length == 0 ? fmt::format("\\x{:02X}", static_cast<unsigned char>(raw[0]))
                                          : shown(raw.substr(0, length), quote);
    if (out.size() + piece.size() > max_bytes) return out + "...";
    out += piece;
    raw.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view raw) {
  if (raw.empty()) return 0;
  const auto lead = static_cast<unsigned char>(raw[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || raw.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(raw[i]) & 0xC0U) != 0x80U) return 0;
  }
  const auto second = static_cast<unsigned char>(raw[1]);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) return 0;
  return length;
}

bool is_utf8(std::string_view raw) {
  while (!raw.empty()) {
    const std::size_t length = utf8_length(raw);
    if (length == 0) return false;
    raw.remove_prefix(length);
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0U | (c >> 6U));
    byte(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    byte(0xE0U | (c >> 12U));
    byte(0x80U | ((c >> 6U) & 0x3FU));
    byte(0x80U | (c & 0x3FU));
  } else {
    byte(0xF0U | (c >> 18U));
    byte(0x80U | ((c >> 12U) & 0x3FU));
    byte(0x80U | ((c >> 6U) & 0x3FU));
    byte(0x80U | (c & 0x3FU));
  }
}

std::string escaped(std::string_view raw, std::size_t max_bytes) { return escape(raw, max_bytes, false); }

std::string in_quotes(std::string_view raw, std::size_t max_bytes) {
  return "\"" + escape(raw, max_bytes, true) + "\"";
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string byte_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

bool glob_match(const std::string& glob, const std::string& name) {
  // A name with a NUL byte cannot be handed to fnmatch; a lone "*" still takes it.
  if (name.find('\0') != std::string::npos) return glob == "*";
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace ckpt
