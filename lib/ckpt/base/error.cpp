#include "ckpt/base/error.h"

#include <array>

#include "ckpt/base/text.h"

namespace ckpt {

namespace {

constexpr std::array<std::string_view, kErrorCodeCount> kWords = {
    "differ",      "corrupt",         "truncated",   "short-file",     "ambiguous",      "dangerous-import",
    "path-escape", "would-overwrite", "would-lose",  "ambiguous-root", "name-collision", "missing-member",
    "expectation", "no-match",        "over-memory", "usage",          "not-found",      "unknown-format",
    "unsupported", "limit",           "io",          "no-space",       "permission",     "changed",
    "busy",        "internal",
};

void fill(std::string& place, std::string_view value) {
  if (place.empty()) place.assign(value);
}

}  // namespace

std::string_view error_word(ErrorCode code) { return kWords[static_cast<std::size_t>(code)]; }

Error& Error::in_file(std::string_view path) {
  fill(file, path);
  return *this;
}

Error& Error::in_record(std::string_view name) {
  fill(record, name);
  return *this;
}

Error& Error::in_tensor(std::string_view name) {
  fill(tensor, name);
  return *this;
}

Error& Error::at(std::uint64_t place) {
  if (!offset) offset = place;
  return *this;
}

Error& Error::numbers(std::string expected_text, std::string found_text) {
  expected = std::move(expected_text);
  found = std::move(found_text);
  return *this;
}

Error& Error::with_advice(std::string text) {
  fill(advice, text);
  return *this;
}

std::string error_line(const Error& error) {
  std::string line;
  if (!error.file.empty()) line += escaped(error.file, kMaxShownBytes) + ": ";
  if (!error.record.empty()) {
    line += escaped(error.record, kMaxShownBytes) + ": ";
  } else if (!error.tensor.empty()) {
    line += in_quotes(error.tensor) + ": ";
  }
  line += error.message;
  const std::string tail = " [" + std::string(error_word(error.code)) + "]";
  if (line.size() + tail.size() > kMaxErrorLineBytes) {
    line.resize(kMaxErrorLineBytes - tail.size() - 3);
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U) line.pop_back();
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0U) line.pop_back();
    line += "...";
  }
  return line + tail;
}

Finding note(Error what) { return {Severity::note, std::move(what)}; }
Finding defect(Error what) { return {Severity::error, std::move(what)}; }

}  // namespace ckpt
