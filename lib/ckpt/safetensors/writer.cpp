#include "ckpt/safetensors/writer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/safetensors/packed_size.h"

namespace ckpt::safetensors {

namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;

using Metadata = std::vector<std::pair<std::string, std::string>>;

Status check_text(std::string_view text, std::string_view what) {
  if (is_utf8(text)) return {};
  return fail(ErrorCode::would_lose, fmt::format("{} {} is not UTF-8", what, in_quotes(text)));
}

Status check_tensor(const OutputTensor& tensor) {
  CKPT_TRY(check_text(tensor.name, "name"));
  if (tensor.name == kMetadata) {
    return fail(ErrorCode::name_collision, "no tensor can be called __metadata__ in Safetensors");
  }
  if (!has_safetensors_form(tensor.dtype)) {
    return fail(ErrorCode::unsupported,
                fmt::format("dtype {} has no Safetensors form", dtype_word(tensor.dtype)));
  }
  for (const std::uint64_t dim : *tensor.shape) {
    if (dim > kMaxDim) return fail(ErrorCode::corrupt, fmt::format("dimension {} does not fit 63 bits", dim));
  }
  return {};
}

Status check_distinct(std::vector<std::string_view> names, std::string_view what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return fail(ErrorCode::name_collision, fmt::format("two {} are called {}", what, in_quotes(*twice)));
}

std::vector<std::uint32_t> file_order(const std::vector<OutputTensor>& tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&tensors](std::uint32_t a, std::uint32_t b) {
    // string_view compares as unsigned bytes, which is the reference's order too.
    return tensors[a].dtype != tensors[b].dtype ? tensors[a].dtype > tensors[b].dtype
                                                : tensors[a].name < tensors[b].name;
  });
  return order;
}

class LayoutPlanner {
 public:
  LayoutPlanner(const std::vector<OutputTensor>& tensors, const Limits& limits)
      : tensors_(tensors), limits_(limits) {}

  Result<Layout> plan(const Metadata* metadata) {
    CKPT_TRY(measure());
    layout_.order = file_order(tensors_);
    json_ = "{";
    if (metadata != nullptr) CKPT_TRY(append_metadata(*metadata));
    for (const std::uint32_t index : layout_.order) CKPT_TRY(append_tensor(index));
    json_ += '}';
    CKPT_TRY(finish());
    return std::move(layout_);
  }

 private:
  Status measure() {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    layout_.bytes.reserve(tensors_.size());
    for (const OutputTensor& tensor : tensors_) {
      auto checked = check_tensor(tensor);
      if (!checked) return fail(std::move(checked).error().in_tensor(tensor.name));
      auto bytes = packed_size(tensor.dtype, *tensor.shape);
      if (!bytes) return fail(std::move(bytes).error().in_tensor(tensor.name));
      names.push_back(tensor.name);
      layout_.bytes.push_back(*bytes);
    }
    layout_.offsets.resize(tensors_.size());
    return check_distinct(std::move(names), "tensors");
  }

  Status append_metadata(Metadata metadata) {
    // Without tensors the reference writes `{},"__metadata__":{}}` for an empty map, which nobody can read.
    if (metadata.empty() && tensors_.empty()) return {};
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : metadata) {
      CKPT_TRY(check_text(key, "metadata key"));
      CKPT_TRY(check_text(value, "metadata value"));
      keys.emplace_back(key);
    }
    CKPT_TRY(check_distinct(std::move(keys), "metadata keys"));
    std::sort(metadata.begin(), metadata.end());
    json_ += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (json_.back() != '{') json_ += ',';
      append_json_string(json_, key);
      json_ += ':';
      append_json_string(json_, value);
    }
    json_ += '}';
    return check_limit(json_.size());
  }

  Status append_tensor(std::uint32_t index) {
    const OutputTensor& tensor = tensors_[index];
    const auto end = checked_add(data_bytes_, layout_.bytes[index]);
    if (!end) return fail(ErrorCode::corrupt, "the tensors have more bytes than 64 bits can count");
    if (json_.size() > 1) json_ += ',';
    append_json_string(json_, tensor.name);
    fmt::format_to(std::back_inserter(json_), R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                   dtype_facts(tensor.dtype).safetensors, fmt::join(*tensor.shape, ","), data_bytes_, *end);
    layout_.offsets[index] = data_bytes_;  // `finish` adds where the data begins
    data_bytes_ = *end;
    return check_limit(json_.size());
  }

  Status check_limit(std::uint64_t bytes) const {
    if (bytes <= limits_.header_bytes) return {};
    return fail(make_error(ErrorCode::limit,
                           fmt::format("header would be {} bytes or more, the limit header_bytes is {}",
                                       bytes, limits_.header_bytes))
                    .numbers(std::to_string(limits_.header_bytes), std::to_string(bytes)));
  }

  Status finish() {
    json_.resize((json_.size() + 7) / 8 * 8, ' ');
    CKPT_TRY(check_limit(json_.size()));
    const std::uint64_t length = json_.size();
    layout_.header.reserve(kLengthBytes + json_.size());
    for (unsigned i = 0; i < kLengthBytes; ++i) {
      layout_.header.push_back(static_cast<char>(static_cast<unsigned char>(length >> (8 * i))));
    }
    layout_.header += json_;
    const auto total = checked_add(layout_.header.size(), data_bytes_);
    if (!total) return fail(ErrorCode::corrupt, "the file would have more bytes than 64 bits can count");
    for (std::uint64_t& offset : layout_.offsets) offset += layout_.header.size();
    layout_.file_bytes = *total;
    return {};
  }

  const std::vector<OutputTensor>& tensors_;
  const Limits& limits_;
  std::string json_;
  std::uint64_t data_bytes_ = 0;
  Layout layout_;
};

}  // namespace

Result<Layout> plan_layout(const std::vector<OutputTensor>& tensors, const Metadata* metadata,
                           const Limits& limits) {
  if (tensors.size() > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::limit, fmt::format("{} tensors, at most 2^32 - 1 can be written", tensors.size()));
  }
  return LayoutPlanner(tensors, limits).plan(metadata);
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        if (byte >= 0x20) {
          out += c;
        } else {
          out += "\\u00";
          out += kHex[byte >> 4U];
          out += kHex[byte & 15U];
        }
    }
  }
  out += '"';
}

}  // namespace ckpt::safetensors
