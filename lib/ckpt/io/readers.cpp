#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/span_reader.h"

namespace ckpt {

Result<unsigned> parse_readers(const std::string& text, const std::string& origin) {
  const bool is_number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  unsigned readers = 0;
  const auto outcome = std::from_chars(text.data(), text.data() + text.size(), readers);
  if (is_number && outcome.ec == std::errc() && readers <= kMaxReaders) return readers;
  return fail(make_error(ErrorCode::usage, fmt::format("{} is {}, not an integer from 0 to {}", origin,
                                                       in_quotes(text), kMaxReaders))
                  .numbers(fmt::format("0 to {}", kMaxReaders), escaped(text, kMaxShownBytes)));
}

Result<unsigned> ckpt_readers() {
  constexpr std::array<const char*, 2> kVariables = {"CKPT_PREFETCH", "TF_LOAD_PREFETCH"};
  for (const char* const variable : kVariables) {
    if (const char* const text = std::getenv(variable)) return parse_readers(text, variable);
  }
  return kDefaultReaders;
}

}  // namespace ckpt
