#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

/// JSON text to checked values. Strict RFC 8259 and UTF-8; the only user of simdjson.
namespace ckpt::json {

enum class Kind : std::uint8_t { null, boolean, unsigned_integer, number, string, array, object };

class Document;
struct DocumentState;

/// A value inside a Document. Borrows what the Document holds, which may be moved meanwhile.
class Value {
 public:
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool boolean() const;
  /// Of unsigned_integer: plain decimal digits that fit 64 bits. "1.0", "1e3", "-0" and negative numbers are
  /// of kind `number`.
  [[nodiscard]] std::uint64_t unsigned_integer() const;
  [[nodiscard]] std::string_view string() const;  ///< unescaped, valid UTF-8, NUL possible
  /// Items of an array, members of an object.
  [[nodiscard]] std::size_t size() const;

  /// First item of an array, or first member of an object; see `next`. Size 0: do not call.
  [[nodiscard]] Value first() const;
  /// The value behind this one in the same array or object. For objects values alternate: key (a
  /// string), value, key, value.
  [[nodiscard]] Value next() const;
  /// Of an object: the value of the last member with that key, as loaders take it.
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;
  /// Of a key: the same object has a later member with this key, which loaders take instead.
  [[nodiscard]] bool is_superseded() const;

 private:
  friend class Document;
  Value(const DocumentState* state, std::uint32_t node) : state_(state), node_(node) {}
  const DocumentState* state_;
  std::uint32_t node_;
};

/// A key that stands twice in one object.
struct DuplicateKey {
  std::string path;  ///< of the object, keys and array indices joined by "/"; empty for the top level
  std::string key;
};

class Document {
 public:
  /// `max_depth`: nesting of arrays and objects, 128 as in serde_json.
  /// Errors: corrupt - no JSON (a byte order mark, a lone surrogate and a number out of range count as that)
  ///         or no UTF-8, with the byte in message and `offset` where it can be told; limit - deeper than
  ///         max_depth, with the byte; 4 GiB of text; above 8 MiB of text more than one value in five bytes,
  ///         which would cost 20 times the text. Each message goes on after "<text> is ", for example
  ///         "not JSON at byte 5: a comma is missing".
  /// Cost: 16 bytes a value plus the unescaped text; while parsing also a copy of the text, and of simdjson
  ///       8 to 24 bytes a value.
  [[nodiscard]] static Result<Document> parse(std::string_view text, unsigned max_depth = 128);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] Value root() const;
  /// Every duplicate key, once for each time it is superseded, in the order of the text, compared after
  /// unescaping; at most 50.
  [[nodiscard]] const std::vector<DuplicateKey>& duplicate_keys() const;

 private:
  explicit Document(std::unique_ptr<DocumentState> state);
  std::unique_ptr<DocumentState> state_;
};

}  // namespace ckpt::json
