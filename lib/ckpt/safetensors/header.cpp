#include "ckpt/safetensors/header.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/json/json.h"
#include "ckpt/safetensors/header_entry.h"
#include "ckpt/safetensors/header_findings.h"
#include "ckpt/safetensors/header_ranges.h"

namespace ckpt::safetensors {

namespace {

using json::Kind;
using json::Value;

constexpr std::uint64_t kLengthBytes = 8;
// A file up to this size is read at once: one request instead of two.
constexpr std::uint64_t kSmallFileBytes = 64U << 10U;
constexpr std::string_view kMetadata = "__metadata__";
// `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]},` less a few: bounds what is reserved for tensors.
constexpr std::uint64_t kMinEntryBytes = 48;
// No limit on headers is that high; eight bytes above it are a length only if JSON follows without doubt.
constexpr std::uint64_t kPlausibleLength = 1ULL << 27U;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Error over_limit(std::uint64_t length, const Limits& limits) {
  return make_error(ErrorCode::limit, fmt::format("header is {} bytes, the limit header_bytes is {}", length,
                                                  limits.header_bytes))
      .numbers(std::to_string(limits.header_bytes), std::to_string(length));
}

Status check_length(std::uint64_t length, std::uint64_t file_bytes, const Limits& limits) {
  const std::uint64_t left = file_bytes - kLengthBytes;
  if (length > left) {
    return fail(make_error(ErrorCode::truncated,
                           fmt::format("header length {}, file has {} bytes behind it", length, left))
                    .numbers(std::to_string(length), std::to_string(left))
                    .at(0));
  }
  if (length > limits.header_bytes) return fail(over_limit(length, limits).at(0));
  if (length == 0) return fail(ErrorCode::corrupt, "header is empty", 0);
  return {};
}

// Places in the header's text become places in the file.
Error in_header(Error what) {
  if (what.offset) *what.offset += kLengthBytes;
  // Of the limits only nesting has a place. The reference refuses it too: the file is wrong, not large.
  if (what.code == ErrorCode::limit && what.offset) what.code = ErrorCode::corrupt;
  what.message = "header is " + what.message;
  return what;
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::uint64_t data_bytes, const Limits& limits)
      : text_(text), limits_(limits), data_{kLengthBytes + text.size(), data_bytes, true} {}

  Result<Header> parse() {
    auto document = json::Document::parse(text_);
    if (!document) return fail(in_header(std::move(document).error()));
    const Value root = document->root();
    if (root.kind() != Kind::object) {
      return fail(ErrorCode::corrupt, fmt::format("header is {}, must be an object", kind_words(root.kind())),
                  kLengthBytes);
    }
    header_.header_bytes = text_.size();
    header_.data_offset = data_.offset;
    check_padding();
    take_members(root);
    check_ranges(ranges_, data_, findings_);
    header_.findings = findings_.take();
    return std::move(header_);
  }

 private:
  void error(ErrorCode code, std::string message) {
    findings_.add_error(make_error(code, std::move(message)));
  }
  void note(ErrorCode code, std::string message) { findings_.add_note(make_error(code, std::move(message))); }

  void check_padding() {
    if (is_space(text_.front())) note(ErrorCode::corrupt, "white space before the header's brace");
    const std::string_view padding = text_.substr(text_.rfind('}') + 1);
    if (padding.find_first_not_of(' ') != std::string_view::npos) {
      note(ErrorCode::corrupt, "header is padded with other white space than spaces");
    }
    if (text_.size() % 8 != 0) {
      note(ErrorCode::corrupt, fmt::format("header length {} is no multiple of 8", text_.size()));
    }
  }

  void take_members(Value root) {
    const auto room = std::min<std::uint64_t>(root.size(), text_.size() / kMinEntryBytes + 1);
    header_.tensors.reserve(static_cast<std::size_t>(room));
    ranges_.reserve(static_cast<std::size_t>(room));
    Value key = root;
    for (std::size_t left = root.size(); left > 0; --left) {
      key = left == root.size() ? root.first() : key.next().next();
      if (key.string() == kMetadata) {
        take_metadata(key, key.next());
      } else {
        take_tensor(key, key.next());
      }
    }
  }

  void take_tensor(Value name, Value entry) {
    if (name.is_superseded()) {
      findings_.add_error(make_error(ErrorCode::ambiguous, "tensor appears twice").in_tensor(name.string()));
    }
    ParsedEntry parsed = parse_entry(name, entry, limits_, findings_);
    if (parsed.has_range) {
      ranges_.push_back({parsed.tensor.begin, parsed.tensor.end, name.string(), name.is_superseded()});
    } else {
      data_.is_fully_described = false;
    }
    // Loaders take the last of two; both ranges count, so that no hole is told of where the other lies.
    if (parsed.is_listed && !name.is_superseded()) header_.tensors.push_back(std::move(parsed.tensor));
  }

  void take_metadata(Value key, Value value) {
    if (key.is_superseded()) return error(ErrorCode::ambiguous, "__metadata__ appears twice");
    if (value.kind() == Kind::null) return note(ErrorCode::corrupt, "__metadata__ is null");
    if (value.kind() != Kind::object) {
      return error(ErrorCode::corrupt,
                   fmt::format("__metadata__ is {}, must be an object", kind_words(value.kind())));
    }
    header_.has_metadata = true;
    Value member = value;
    for (std::size_t left = value.size(); left > 0; --left) {
      member = left == value.size() ? value.first() : member.next().next();
      take_metadata_member(member, member.next());
    }
  }

  void take_metadata_member(Value key, Value value) {
    if (value.kind() != Kind::string) {
      error(ErrorCode::corrupt, fmt::format("__metadata__ {} is {}, must be text", in_quotes(key.string()),
                                            kind_words(value.kind())));
    } else if (!key.is_superseded()) {
      header_.metadata.emplace_back(key.string(), value.string());
    }
    if (key.is_superseded()) {
      note(ErrorCode::ambiguous, fmt::format("__metadata__ {} appears twice", in_quotes(key.string())));
    }
  }

  std::string_view text_;
  const Limits& limits_;
  DataSection data_;
  Header header_;
  HeaderFindings findings_;
  std::vector<DataRange> ranges_;
};

}  // namespace

Result<Header> read_header(const ByteSource& source, const Limits& limits) {
  const std::uint64_t file_bytes = source.size();
  if (file_bytes < kLengthBytes) {
    return fail(make_error(ErrorCode::truncated,
                           fmt::format("file has {} bytes, the header's length alone takes 8", file_bytes))
                    .numbers("8", std::to_string(file_bytes)));
  }
  const bool is_small = file_bytes <= kSmallFileBytes;
  CKPT_LET(std::vector<std::byte> bytes, source.read_vector(0, is_small ? file_bytes : kLengthBytes));
  std::uint64_t length = 0;
  ByteReader reader(bytes);
  if (!reader.take_u64le(length)) return fail(ErrorCode::internal, "a read gave fewer bytes than asked for");
  CKPT_TRY(check_length(length, file_bytes, limits));
  const std::uint64_t data_bytes = file_bytes - kLengthBytes - length;
  std::string_view text;
  if (reader.take_bytes(length, text)) return parse_header(text, data_bytes, limits);
  CKPT_LET(const std::vector<std::byte> rest, source.read_vector(kLengthBytes, length));
  return parse_header(as_text(rest), data_bytes, limits);
}

Result<Header> parse_header(std::string_view json, std::uint64_t data_bytes, const Limits& limits) {
  if (json.size() > limits.header_bytes) return fail(over_limit(json.size(), limits));
  if (json.empty()) return fail(ErrorCode::corrupt, "header is empty");
  return HeaderParser(json, data_bytes, limits).parse();
}

bool looks_like_header(std::span<const std::byte> first_bytes, std::uint64_t file_bytes) {
  ByteReader reader(first_bytes);
  std::uint64_t length = 0;
  if (!reader.take_u64le(length)) return false;
  const std::string_view field = as_text(first_bytes).substr(0, kLengthBytes);
  std::string_view text = as_text(first_bytes).substr(kLengthBytes);
  const auto skip_space = [&text] {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  };
  skip_space();
  if (!text.starts_with('{')) return false;
  const bool fits = file_bytes >= kLengthBytes && length <= file_bytes - kLengthBytes;
  if (length >= 2 && (fits || length <= kPlausibleLength)) return true;
  // A damaged length in front of a header; `{"data":{"` is other JSON.
  const bool is_text =
      std::all_of(field.begin(), field.end(), [](char c) { return is_space(c) || (c >= 0x20 && c < 0x7F); });
  text.remove_prefix(1);
  skip_space();
  return !is_text && !text.empty() && (text.front() == '"' || text.front() == '}');
}

}  // namespace ckpt::safetensors
