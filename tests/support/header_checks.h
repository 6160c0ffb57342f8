#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/safetensors/header.h"
#include "support/catch.h"
#include "support/header_builder.h"

/// Reads what header_builder.h builds and shows findings as lines.
namespace ckpt::test {

using safetensors::Header;
using safetensors::read_header;

inline const std::string kA = entry("a", "F32", "2", "0,8");
inline const std::string kB = entry("b", "F32", "2", "8,16");

inline Result<Header> read(std::string_view file, const Limits& limits = {}) {
  return read_header(source_of(file), limits);
}

inline Header good(std::string_view file) {
  auto header = read(file);
  INFO(file.substr(8, 300));
  REQUIRE(header);
  for (const Finding& finding : header->findings) FAIL(error_line(finding.what));
  return *std::move(header);
}

inline Error refused(std::string_view file, const Limits& limits = {}) {
  auto header = read(file, limits);
  INFO(file);
  REQUIRE_FALSE(header);
  return header.error();
}

/// Header of one JSON object over S0's data.
inline Header listed(std::string_view json, std::string_view data = s0_data(), const Limits& limits = {}) {
  auto header = read(header_file(padded(std::string(json)), data), limits);
  INFO(json);
  REQUIRE(header);
  return *std::move(header);
}

/// Header of one tensor called "a" whose entry is `value`, over 16 bytes of data.
inline Header with_entry(std::string_view value) { return listed("{\"a\":" + std::string(value) + "}"); }

inline std::string lines(const Header& header) {
  std::string all;
  for (const Finding& finding : header.findings) {
    all += (finding.severity == Severity::note ? "note " : "") + error_line(finding.what) + "\n";
  }
  return all;
}

/// The findings of `header` are exactly `expected`, one a line.
inline void check_lines(const Header& header, std::string_view expected) { CHECK(lines(header) == expected); }

inline bool has_line(const Header& header, std::string_view line) {
  return ("\n" + lines(header)).find("\n" + std::string(line) + "\n") != std::string::npos;
}

}  // namespace ckpt::test
