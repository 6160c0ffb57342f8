#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/io/byte_reader.h"
#include "ckpt/io/byte_source.h"

/// Builds Safetensors files from raw JSON, so that any one thing in them can be wrong.
namespace ckpt::test {

inline std::string length_field(std::uint64_t length) {
  std::string field;
  for (unsigned i = 0; i < 8; ++i) {
    field.push_back(static_cast<char>(static_cast<unsigned char>(length >> (8 * i))));
  }
  return field;
}

/// Length, JSON as it is, data.
inline std::string header_file(std::string_view json, std::string_view data) {
  return length_field(json.size()).append(json).append(data);
}

/// `json` with spaces behind it to a multiple of 8.
inline std::string padded(std::string json) {
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

/// `"name":{"dtype":…,"shape":[…],"data_offsets":[…]}` of raw parts.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         std::string_view offsets) {
  std::string text = "\"";
  text.append(name).append("\":{\"dtype\":\"").append(dtype).append("\",\"shape\":[").append(shape);
  return text.append("],\"data_offsets\":[").append(offsets).append("]}");
}

/// Baseline S0: a and b, F32 [2] each.
inline std::string s0_json() {
  return padded("{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "2", "8,16") + "}");
}
inline std::string s0_data() { return std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16); }
inline std::string s0_file() { return header_file(s0_json(), s0_data()); }

inline MemorySource source_of(std::string_view file) {
  const auto bytes = as_bytes(file);
  return MemorySource(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

}  // namespace ckpt::test
