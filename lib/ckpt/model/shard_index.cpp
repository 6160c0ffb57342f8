#include "ckpt/model/shard_index.h"

#include <unordered_set>

#include <fmt/format.h>

#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/json/json.h"

namespace ckpt {

namespace {

constexpr std::size_t kLongestFileName = 255;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A name that cannot lead out of the index's own folder on any system.
bool is_plain_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.size() > kLongestFileName) return false;
  for (const char c : name) {
    if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return name.front() != '~';
}

Result<std::vector<std::string>> names_of(const json::Value& map) {
  std::vector<std::string> names;
  std::unordered_set<std::string, SeededHash> seen;
  json::Value key = map.first();
  for (std::size_t i = 0; i < map.size(); ++i) {
    const json::Value value = key.next();
    if (value.kind() != json::Kind::string) {
      return fail(ErrorCode::corrupt, "weight_map gives no file name for tensor " + in_quotes(key.string()));
    }
    if (!is_plain_name(value.string())) {
      return fail(ErrorCode::path_escape, "shard name " + in_quotes(value.string()) +
                                              " is not the plain name of a file beside the index");
    }
    if (seen.emplace(value.string()).second) names.emplace_back(value.string());
    if (i + 1 < map.size()) key = value.next();
  }
  return names;
}

}  // namespace

bool is_index_name(const std::string& path) {
  return ends_with(path, ".json") && path.find(".index.") != std::string::npos;
}

Result<std::vector<std::string>> read_shard_names(const std::string& path, const Limits& limits) {
  CKPT_LET(const auto source, FileSource::open(path));
  if (source->size() > limits.header_bytes) {
    return fail(ErrorCode::limit, fmt::format("index has {} bytes, the limit is {} (header bytes)",
                                              source->size(), limits.header_bytes));
  }
  CKPT_LET(const auto bytes, source->read_vector(0, source->size()));
  CKPT_LET(const json::Document document, json::Document::parse(as_text(bytes)));
  if (!document.duplicate_keys().empty()) {
    return fail(ErrorCode::ambiguous,
                "index names " + in_quotes(document.duplicate_keys()[0].key) + " twice");
  }
  const json::Value root = document.root();
  const auto map = root.kind() == json::Kind::object ? root.find("weight_map") : std::nullopt;
  if (!map || map->kind() != json::Kind::object) return fail(ErrorCode::corrupt, "index has no weight_map");
  if (map->size() == 0) return std::vector<std::string>();
  return names_of(*map);
}

}  // namespace ckpt
