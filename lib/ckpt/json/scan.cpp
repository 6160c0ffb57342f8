#include "ckpt/json/scan.h"

#include <algorithm>

#include "ckpt/base/text.h"

namespace ckpt::json {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_punctuation(char c) { return c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':'; }

std::size_t end_of_string(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

std::size_t end_of_word(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && !is_space(text[end]) && !is_punctuation(text[end]) && text[end] != '"') ++end;
  return end;
}

std::optional<std::uint32_t> hex_value(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

// Bytes of the escape at the start of `rest`, or 0 with a reason.
std::size_t escape_length(std::string_view rest, std::string& why) {
  why = "a bad escape in a string";
  if (rest.size() < 2) return 0;
  if (rest[1] != 'u') return std::string_view("\"\\/bfnrt").find(rest[1]) == std::string_view::npos ? 0 : 2;
  const auto first = hex_value(rest.substr(2));
  if (!first) return 0;
  if (*first < 0xD800 || *first > 0xDFFF) return 6;
  why = "a lone surrogate in a string";
  if (*first > 0xDBFF || rest.size() < 12 || rest.substr(6, 2) != "\\u") return 0;
  const auto second = hex_value(rest.substr(8));
  return second && *second >= 0xDC00 && *second <= 0xDFFF ? 12 : 0;
}

std::optional<Defect> string_defect(const Token& token) {
  const std::string_view text = token.text;
  for (std::size_t i = 1; i < text.size();) {
    if (text[i] == '"') return std::nullopt;
    if (static_cast<unsigned char>(text[i]) < 0x20)
      return Defect{token.begin + i, "a control byte in a string"};
    std::string why;
    const std::size_t length = text[i] == '\\' ? escape_length(text.substr(i), why) : 1;
    if (length == 0) return Defect{token.begin + i, why};
    i += length;
  }
  return Defect{token.begin, "a string without an end"};
}

std::string_view skip_digits(std::string_view text) {
  while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  return text;
}

// Takes what a number may start with; what is left of a good number is nothing.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text[0])) return false;
  text = text[0] == '0' ? text.substr(1) : skip_digits(text);
  if (text.starts_with('.')) {
    if (text.size() < 2 || !is_digit(text[1])) return false;
    text = skip_digits(text.substr(1));
  }
  if (!text.empty() && (text[0] | 0x20) == 'e') {
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    if (text.empty()) return false;
    text = skip_digits(text);
    return text.empty();
  }
  return text.empty();
}

bool is_too_big_an_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!skip_digits(text).empty()) return false;
  const std::string_view most = negative ? "9223372036854775808" : "18446744073709551615";
  return text.size() != most.size() ? text.size() > most.size() : text > most;
}

std::optional<Defect> word_defect(const Token& token) {
  const std::string_view text = token.text;
  if (text == "true" || text == "false" || text == "null") return std::nullopt;
  const bool numeric = is_digit(text[0]) || text[0] == '-';
  if (numeric && is_too_big_an_integer(text) && is_number(text)) {
    return Defect{token.begin, "an integer that does not fit 64 bits"};
  }
  if (numeric && is_number(text)) return std::nullopt;
  return Defect{token.begin, in_quotes(text, 24) + (numeric ? " is no number" : " is no value")};
}

// Which tokens may come next.
enum class Wanted { value, value_or_end_of_array, key, key_or_end_of_object, colon, comma_or_end, nothing };

class Grammar {
 public:
  // A reason if `token` may not stand here.
  std::optional<std::string> take(const Token& token) {
    if (token.kind == 0) return take_end();
    switch (wanted_) {
      case Wanted::value: return take_value(token);
      case Wanted::value_or_end_of_array: return token.kind == ']' ? close(token) : take_value(token);
      case Wanted::key: return take_key(token);
      case Wanted::key_or_end_of_object: return token.kind == '}' ? close(token) : take_key(token);
      case Wanted::colon:
        wanted_ = Wanted::value;
        return token.kind == ':' ? std::nullopt : std::optional<std::string>("a colon is missing");
      case Wanted::comma_or_end: return take_separator(token);
      case Wanted::nothing: break;
    }
    return "something behind the end";
  }

 private:
  std::optional<std::string> take_end() const {
    if (wanted_ == Wanted::nothing) return std::nullopt;
    return open_.empty() ? std::string("no value")
                         : "the end is missing: " + std::to_string(open_.size()) + " open";
  }
  std::optional<std::string> take_value(const Token& token) {
    if (token.kind == '{' || token.kind == '[') {
      open_.push_back(token.kind);
      wanted_ = token.kind == '{' ? Wanted::key_or_end_of_object : Wanted::value_or_end_of_array;
      return std::nullopt;
    }
    if (token.kind != '"' && token.kind != 'w') return "a value is missing";
    end_value();
    return std::nullopt;
  }
  std::optional<std::string> take_key(const Token& token) {
    if (token.kind != '"') return "a key is missing";
    wanted_ = Wanted::colon;
    return std::nullopt;
  }
  std::optional<std::string> take_separator(const Token& token) {
    if (token.kind == '}' || token.kind == ']') return close(token);
    if (token.kind != ',') return "a comma is missing";
    wanted_ = open_.back() == '{' ? Wanted::key : Wanted::value;
    return std::nullopt;
  }
  std::optional<std::string> close(const Token& token) {
    if (open_.back() != (token.kind == '}' ? '{' : '[')) return "a bracket of the wrong kind";
    open_.pop_back();
    end_value();
    return std::nullopt;
  }
  void end_value() { wanted_ = open_.empty() ? Wanted::nothing : Wanted::comma_or_end; }

  Wanted wanted_ = Wanted::value;
  std::string open_;
};

}  // namespace

Token Tokens::take_token() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  const std::size_t begin = position_;
  if (begin == text_.size()) return {0, begin, {}};
  const char c = text_[begin];
  const bool single = is_punctuation(c);
  position_ = single ? begin + 1 : c == '"' ? end_of_string(text_, begin) : end_of_word(text_, begin);
  return {single || c == '"' ? c : 'w', begin, text_.substr(begin, position_ - begin)};
}

std::optional<Defect> find_defect(std::string_view text) {
  Tokens tokens(text);
  Grammar grammar;
  for (Token token = tokens.take_token();; token = tokens.take_token()) {
    // An odd word is told by its text, which says more than the place it stands in.
    if (token.kind == 'w') {
      if (auto defect = word_defect(token)) return defect;
    }
    if (auto why = grammar.take(token)) return Defect{token.begin, *std::move(why)};
    if (token.kind == '"') {
      if (auto defect = string_defect(token)) return defect;
    }
    if (token.kind == 0) return std::nullopt;
  }
}

std::optional<std::size_t> find_bad_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_too_deep(std::string_view text, unsigned max_depth) {
  Tokens tokens(text);
  std::uint64_t depth = 0;
  for (Token token = tokens.take_token(); token.kind != 0; token = tokens.take_token()) {
    if (token.kind == '{' || token.kind == '[') ++depth;
    if (depth > max_depth) return token.begin;
    if ((token.kind == '}' || token.kind == ']') && depth > 0) --depth;
  }
  return std::nullopt;
}

bool has_surrogate_escape(std::string_view text) {
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 2)) {
    if (at + 2 < text.size() && (text[at + 2] | 0x20) == 'd') return true;
  }
  return false;
}

std::vector<std::uint64_t> find_negative_zeros(std::string_view text) {
  std::vector<std::uint64_t> found;
  Tokens tokens(text);
  std::uint64_t number = 0;
  for (Token token = tokens.take_token(); token.kind != 0; token = tokens.take_token()) {
    if (token.kind != 'w' || (!is_digit(token.text[0]) && token.text[0] != '-')) continue;
    if (token.text == "-0") found.push_back(number);
    ++number;
  }
  return found;
}

std::uint64_t count_values(std::string_view text) {
  Tokens tokens(text);
  std::uint64_t count = 0;
  for (Token token = tokens.take_token(); token.kind != 0; token = tokens.take_token()) {
    if (std::string_view("{[\"w").find(token.kind) != std::string_view::npos) ++count;
  }
  return count;
}

}  // namespace ckpt::json
