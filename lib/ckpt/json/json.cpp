#include "ckpt/json/json.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <fmt/format.h>
#include <simdjson.h>

#include "ckpt/base/hash.h"
#include "ckpt/json/scan.h"

namespace ckpt::json {

namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMaxDuplicateKeys = 50;
// Texts of real headers and indexes hold one value in 6 to 30 bytes; see Document::parse.
constexpr std::size_t kDenseTextBytes = 8U << 20U;
constexpr std::uint64_t kMinBytesPerValue = 5;
// Below this many members comparing each with each is faster than hashing.
constexpr std::uint64_t kFewMembers = 16;

struct Node {
  std::uint64_t payload = 0;  // integer; members or items; offset << 32 | length of a string
  std::uint32_t next = 0;     // the node behind this one and all it holds
  Kind kind = Kind::null;
  bool is_superseded = false;
};

}  // namespace

struct DocumentState {
  std::vector<Node> nodes;  // in the order of the text
  std::string strings;
  std::vector<DuplicateKey> duplicates;

  std::string_view text_of(std::uint32_t node) const {
    const std::uint64_t payload = nodes[node].payload;
    return std::string_view(strings).substr(payload >> 32U, payload & 0xFFFFFFFFU);
  }
};

namespace {

/// Copies simdjson's document into nodes, without recursion.
class Builder {
 public:
  Builder(DocumentState& state, std::vector<std::uint64_t> negative_zeros)
      : state_(state), negative_zeros_(std::move(negative_zeros)) {}

  // False: deeper than `max_depth`.
  [[nodiscard]] bool build(dom::element root, unsigned max_depth) {
    add(root);
    while (!open_.empty()) {
      if (open_.size() > max_depth) return false;
      Open& innermost = open_.back();
      const bool more = std::holds_alternative<Items>(innermost.rest)
                            ? add_item(std::get<Items>(innermost.rest))
                            : add_member(std::get<Members>(innermost.rest));
      if (!more) close();
    }
    return true;
  }

 private:
  struct Items {
    dom::array::iterator at, end;
  };
  struct Members {
    dom::object::iterator at, end;
  };
  struct Open {
    std::uint32_t node;
    std::uint64_t size;
    std::variant<Items, Members> rest;
  };

  Node& append(Kind kind, std::uint64_t payload) {
    const auto next = static_cast<std::uint32_t>(state_.nodes.size() + 1);
    return state_.nodes.emplace_back(Node{payload, next, kind, false});
  }

  void add_string(std::string_view text) {
    append(Kind::string, static_cast<std::uint64_t>(state_.strings.size()) << 32U | text.size());
    state_.strings.append(text);
  }

  void add_integer(std::int64_t value) {
    const bool is_zero_with_sign =
        value == 0 && std::binary_search(negative_zeros_.begin(), negative_zeros_.end(), numbers_);
    const bool is_plain = value >= 0 && !is_zero_with_sign;
    append(is_plain ? Kind::unsigned_integer : Kind::number,
           is_plain ? static_cast<std::uint64_t>(value) : 0);
    ++numbers_;
  }

  void add(dom::element element) {
    const auto node = static_cast<std::uint32_t>(state_.nodes.size());
    switch (element.type()) {
      case dom::element_type::ARRAY: {
        const dom::array array = element.get_array().value_unsafe();
        append(Kind::array, 0);
        open_.push_back({node, 0, Items{array.begin(), array.end()}});
        return;
      }
      case dom::element_type::OBJECT: {
        const dom::object object = element.get_object().value_unsafe();
        append(Kind::object, 0);
        open_.push_back({node, 0, Members{object.begin(), object.end()}});
        return;
      }
      case dom::element_type::STRING: return add_string(element.get_string().value_unsafe());
      case dom::element_type::INT64: return add_integer(element.get_int64().value_unsafe());
      case dom::element_type::BOOL: append(Kind::boolean, element.get_bool().value_unsafe() ? 1 : 0); return;
      case dom::element_type::NULL_VALUE: append(Kind::null, 0); return;
      case dom::element_type::UINT64:
        append(Kind::unsigned_integer, element.get_uint64().value_unsafe());
        ++numbers_;
        return;
      default:  // double, and the big integers of later versions
        append(Kind::number, 0);
        ++numbers_;
    }
  }

  // Both move on before `add`, which may move `open_` elsewhere.
  bool add_item(Items& items) {
    if (!(items.at != items.end)) return false;
    const dom::element item = *items.at;
    ++items.at;
    ++open_.back().size;
    add(item);
    return true;
  }

  bool add_member(Members& members) {
    if (!(members.at != members.end)) return false;
    add_string(members.at.key());
    const dom::element value = members.at.value();
    ++members.at;
    ++open_.back().size;
    add(value);
    return true;
  }

  void close() {
    Node& node = state_.nodes[open_.back().node];
    node.payload = open_.back().size;
    node.next = static_cast<std::uint32_t>(state_.nodes.size());
    open_.pop_back();
  }

  DocumentState& state_;
  std::vector<std::uint64_t> negative_zeros_;
  std::uint64_t numbers_ = 0;
  std::vector<Open> open_;
};

/// Marks every key that a later one of its object repeats.
class DuplicateFinder {
 public:
  explicit DuplicateFinder(DocumentState& state) : state_(state) {}

  void run() {
    for (std::uint32_t node = 0; node < state_.nodes.size(); ++node) {
      if (state_.nodes[node].kind == Kind::object) check(node);
    }
    std::sort(repeats_.begin(), repeats_.end());
    if (repeats_.size() > kMaxDuplicateKeys) repeats_.resize(kMaxDuplicateKeys);
    for (const std::uint32_t key : repeats_) {
      state_.duplicates.push_back({path_of_owner(key), std::string(state_.text_of(key))});
    }
  }

 private:
  void check(std::uint32_t object) {
    const bool is_small = state_.nodes[object].payload <= kFewMembers;
    keys_.clear();
    for (std::uint32_t key = object + 1; key < state_.nodes[object].next; key = state_.nodes[key + 1].next) {
      keys_.emplace_back(is_small ? 0 : hash_(state_.text_of(key)), key);
    }
    if (!is_small) std::sort(keys_.begin(), keys_.end());
    for (std::size_t first = 0; first < keys_.size();) {
      std::size_t last = first + 1;
      while (last < keys_.size() && keys_[last].first == keys_[first].first) ++last;
      compare(first, last);
      first = last;
    }
  }

  // Keys with one hash, in the order of the text. A later one that equals an earlier one settles that one.
  void compare(std::size_t first, std::size_t last) {
    for (std::size_t later = first + 1; later < last; ++later) {
      for (std::size_t i = later; i-- > first;) {
        if (state_.text_of(keys_[i].second) != state_.text_of(keys_[later].second)) continue;
        state_.nodes[keys_[i].second].is_superseded = true;
        repeats_.push_back(keys_[later].second);
        break;
      }
    }
  }

  // Walks down from the root: nodes know no parent, and at most 50 paths are asked for.
  std::string path_of_owner(std::uint32_t key) const {
    std::string path;
    std::uint32_t container = 0;
    for (;;) {
      const bool is_object = state_.nodes[container].kind == Kind::object;
      std::uint64_t index = 0;
      std::uint32_t name = container + 1;
      std::uint32_t child = is_object ? name + 1 : name;
      while (state_.nodes[child].next <= key) {
        name = state_.nodes[child].next;
        child = is_object ? name + 1 : name;
        ++index;
      }
      if (name == key) return path;
      if (!path.empty()) path += '/';
      path += is_object ? std::string(state_.text_of(name)) : std::to_string(index);
      container = child;
    }
  }

  DocumentState& state_;
  SeededHash hash_;
  std::vector<std::pair<std::size_t, std::uint32_t>> keys_;  // hash and node; kept for its memory
  std::vector<std::uint32_t> repeats_;
};

Error error_at(ErrorCode code, std::string_view what, std::uint64_t offset, std::string_view why = {}) {
  return make_error(code, fmt::format("{} at byte {}{}{}", what, offset, why.empty() ? "" : ": ", why))
      .at(offset);
}

// The first thing wrong with the text that can be told, whatever simdjson saw first.
std::optional<Error> find_error(std::string_view text, unsigned max_depth) {
  if (const auto bad = find_bad_utf8(text)) return error_at(ErrorCode::corrupt, "not UTF-8", *bad);
  const auto defect = find_defect(text);
  const auto deep = find_too_deep(text, max_depth);
  if (deep && (!defect || *deep < defect->offset)) {
    return error_at(ErrorCode::limit, fmt::format("nested deeper than {} levels", max_depth), *deep);
  }
  if (!defect) return std::nullopt;
  return error_at(ErrorCode::corrupt, "not JSON", defect->offset, defect->what);
}

Error parse_error(simdjson::error_code code, std::string_view text, unsigned max_depth) {
  if (code == simdjson::MEMALLOC) return make_error(ErrorCode::internal, "too large for the memory there is");
  if (auto error = find_error(text, max_depth)) return *std::move(error);
  if (code == simdjson::NUMBER_ERROR)
    return make_error(ErrorCode::corrupt, "not JSON: a number out of range");
  return make_error(ErrorCode::corrupt, fmt::format("not JSON: {}", simdjson::error_message(code)));
}

// Every value but the first has one of these in front.
std::uint64_t most_values(std::string_view text) {
  std::uint64_t count = 1;
  for (const char c : text) count += c == ',' || c == ':' || c == '[' || c == '{' ? 1U : 0U;
  return count;
}

Status check_size(std::string_view text, std::uint64_t values) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max() - simdjson::SIMDJSON_PADDING) {
    return fail(ErrorCode::limit,
                fmt::format("too long: {} bytes of JSON, at most 4 GiB can be read", text.size()));
  }
  const std::uint64_t most = text.size() / kMinBytesPerValue;
  if (text.size() <= kDenseTextBytes || values <= most) return {};
  const std::uint64_t exact = count_values(text);  // commas in strings do not count
  if (exact <= most) return {};
  return fail(ErrorCode::limit,
              fmt::format("too dense: {} values in {} bytes of JSON, at most {} can be read", exact,
                          text.size(), most));
}

Status parse_into(DocumentState& state, std::string_view text, unsigned max_depth) {
  dom::parser parser;
  // Two levels more than asked for: versions differ in how they count; Builder counts exactly.
  if (const auto code = parser.allocate(text.size(), max_depth + 2U))
    return fail(parse_error(code, text, max_depth));
  dom::element root;
  {
    std::string padded;
    padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    padded.append(text).append(simdjson::SIMDJSON_PADDING, '\0');
    if (const auto code = parser.parse(padded.data(), text.size(), false).get(root)) {
      return fail(parse_error(code, text, max_depth));
    }
  }
  const bool has_minus_zero = text.find("-0") != std::string_view::npos;
  Builder builder(state, has_minus_zero ? find_negative_zeros(text) : std::vector<std::uint64_t>());
  if (!builder.build(root, max_depth)) return fail(parse_error(simdjson::DEPTH_ERROR, text, max_depth));
  return {};
}

}  // namespace

Result<Document> Document::parse(std::string_view text, unsigned max_depth) {
  const std::uint64_t values = most_values(text);
  CKPT_TRY(check_size(text, values));
  // Later versions of simdjson skip the mark, and earlier ones do not see every lone surrogate.
  if (text.starts_with("\xEF\xBB\xBF"))
    return fail(error_at(ErrorCode::corrupt, "not JSON", 0, "a byte order mark"));
  if (has_surrogate_escape(text)) {
    if (auto error = find_error(text, max_depth)) return fail(*std::move(error));
  }
  auto state = std::make_unique<DocumentState>();
  state->nodes.reserve(values);
  CKPT_TRY(parse_into(*state, text, max_depth));
  DuplicateFinder(*state).run();
  return Document(std::move(state));
}

Document::Document(std::unique_ptr<DocumentState> state) : state_(std::move(state)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Value Document::root() const { return {state_.get(), 0}; }
const std::vector<DuplicateKey>& Document::duplicate_keys() const { return state_->duplicates; }

Kind Value::kind() const { return state_->nodes[node_].kind; }
bool Value::boolean() const { return state_->nodes[node_].payload != 0; }
std::uint64_t Value::unsigned_integer() const { return state_->nodes[node_].payload; }
std::string_view Value::string() const { return state_->text_of(node_); }
std::size_t Value::size() const { return state_->nodes[node_].payload; }
Value Value::first() const { return {state_, node_ + 1}; }
Value Value::next() const { return {state_, state_->nodes[node_].next}; }
bool Value::is_superseded() const { return state_->nodes[node_].is_superseded; }

std::optional<Value> Value::find(std::string_view key) const {
  std::optional<Value> found;
  Value at = first();
  for (std::size_t left = size(); left > 0; --left) {
    const Value value = at.next();
    if (at.string() == key) found = value;
    at = value.next();
  }
  return found;
}

}  // namespace ckpt::json
