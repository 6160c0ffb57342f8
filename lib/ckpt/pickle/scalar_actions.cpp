#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/pickle/machine_state.h"

/// Numbers and texts; PROTO and FRAME, which push nothing.
namespace ckpt::pickle {

namespace {

constexpr std::uint64_t kNewestProtocol = 5;

// Drops bytes that only repeat the sign, so that a long form of a small number is still a small number.
std::string_view without_sign_bytes(std::string_view bytes) {
  const auto is_negative = [&bytes](std::size_t i) {
    return (static_cast<unsigned char>(bytes[i]) & 0x80U) != 0;
  };
  while (bytes.size() > 1) {
    const char sign = is_negative(bytes.size() - 2) ? '\xFF' : '\0';
    if (bytes.back() != sign) break;
    bytes.remove_suffix(1);
  }
  return bytes;
}

std::int64_t signed_little_endian(std::string_view bytes) {
  const bool is_negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
  std::uint64_t value = is_negative ? UINT64_MAX : 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = (value << 8U) | static_cast<unsigned char>(bytes[i - 1]);
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool Machine::State::push_int_line(std::string_view line) {
  // Protocol 1 writes booleans so.
  if (line == "00" || line == "01") {
    push(values_.add_boolean(line == "01"));
    return true;
  }
  return push_integer_text(parse_integer(line), line);
}

bool Machine::State::push_long_line(std::string_view line) {
  return push_integer_text(parse_long(line), line);
}

bool Machine::State::push_integer_text(const std::optional<IntegerText>& number, std::string_view line) {
  if (!number) return bad(fmt::format("{} is no integer", in_quotes(line)));
  push(number->value ? values_.add_integer(*number->value)
                     : values_.add_text(Kind::big_integer, number->digits));
  return true;
}

bool Machine::State::push_float_line(std::string_view line) {
  const std::optional<double> number = parse_float(line);
  if (!number) return bad(fmt::format("{} is no number", in_quotes(line)));
  push(values_.add_real(*number));
  return true;
}

void Machine::State::push_long(std::string_view bytes) {
  const std::string_view needed = without_sign_bytes(bytes);
  const bool fits = needed.size() <= sizeof(std::int64_t);
  push(fits ? values_.add_integer(signed_little_endian(needed)) : values_.add_text(Kind::big_integer, bytes));
}

bool Machine::State::push_string_line(std::string_view line) {
  if (!check_memory(line.size())) return false;
  return push_decoded(Kind::string8, decode_string(line));
}

bool Machine::State::push_unicode_line(std::string_view line) {
  // A byte above 127 becomes two.
  if (!check_memory(2 * std::uint64_t{line.size()})) return false;
  return push_decoded(Kind::text, decode_unicode(line));
}

bool Machine::State::push_decoded(Kind kind, Result<DecodedText> decoded) {
  if (!decoded) return bad(decoded.error().message);
  push(decoded->owned ? values_.add_owned_text(kind, std::move(*decoded->owned))
                      : values_.add_text(kind, decoded->borrowed));
  return true;
}

bool Machine::State::push_utf8(std::string_view text) {
  if (!is_pickle_utf8(text)) return bad(fmt::format("text {} is not UTF-8", in_quotes(text)));
  push(values_.add_text(Kind::text, text));
  return true;
}

bool Machine::State::proto(std::uint64_t version) {
  if (version > kNewestProtocol) {
    return failed(error(ErrorCode::unsupported, fmt::format("protocol {} is newer than the newest known, {}",
                                                            version, kNewestProtocol)));
  }
  if (has_proto_) {
    note_once(Oddity::second_proto, "stands more than once");
  } else if (opcode_at_ != 0) {
    note_once(Oddity::late_proto, "is not the first opcode");
  }
  has_proto_ = true;
  protocol_ = std::max(protocol_, static_cast<unsigned>(version));
  return true;
}

bool Machine::State::frame(std::uint64_t length) {
  if (reader_.position() < frame_end_ && frame_end_ != SIZE_MAX) {
    return bad(fmt::format("a frame inside a frame, which goes on to byte {}", frame_end_));
  }
  if (length > reader_.remaining()) {
    return failed(error(ErrorCode::corrupt,
                        fmt::format("frame of {} bytes where {} are left", length, reader_.remaining()))
                      .numbers(std::to_string(length), std::to_string(reader_.remaining())));
  }
  frame_end_ = reader_.position() + static_cast<std::size_t>(length);
  return true;
}

}  // namespace ckpt::pickle
