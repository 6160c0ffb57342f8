#pragma once

#include <cstdint>
#include <forward_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The values that a pickle builds, without running anything: an arena of small nodes that refer to each
/// other by index. Sharing and cycles are kept (a memo GET is the same index), nothing is ever copied, and
/// destruction frees a few blocks without following references, so that depth and cycles cost nothing.
///
/// A node takes 16 bytes. The items of tuples, lists, dicts and sets lie in one pool of references. A growing
/// container moves to a run of twice the size when it is full and leaves the old one behind: that wastes at
/// most what it holds, and nothing has to be freed one by one.
namespace ckpt::pickle {

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,      ///< fits 64 bits
  big_integer,  ///< does not; `text` gives its bytes (two's complement little-endian, or decimal text)
  real,
  text,     ///< UTF-8, lone surrogates possible
  string8,  ///< 8-bit string of Python 2: bytes or text, nobody knows
  bytes,
  byte_array,
  tuple,
  list,
  dict,
  set,
  frozen_set,
  global,      ///< an imported name; never looked up
  call,        ///< callee(args): what REDUCE, NEWOBJ, NEWOBJ_EX, OBJ or INST would make
  persistent,  ///< a persistent id: a storage, for torch
};

/// Python's word for the kind, for messages: "int", "list", "persistent id", …
[[nodiscard]] std::string_view kind_word(Kind kind);
/// The same for the middle of a sentence: "an int", "a list", "None".
[[nodiscard]] std::string kind_phrase(Kind kind);

enum class CallKind : std::uint8_t { reduce, newobj, newobj_ex, obj, inst };

/// Index of a value in its arena.
using Ref = std::uint32_t;
inline constexpr Ref kNoRef = UINT32_MAX;

class Values {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Kind kind(Ref ref) const { return node(ref).kind; }
  /// Bytes of memory that the values take: held against Limits::value_bytes.
  [[nodiscard]] std::uint64_t memory() const { return memory_; }
  /// Containers, calls and persistent ids inside each other: 0 for a value that holds none, at most 65,535.
  /// Taken when a value is put into another: what is put into a child later is not counted, nor are cycles.
  [[nodiscard]] unsigned depth(Ref ref) const { return node(ref).depth; }

  // Each getter needs the kind it names.
  [[nodiscard]] bool boolean(Ref ref) const { return node(ref).integer != 0; }
  [[nodiscard]] std::int64_t integer(Ref ref) const { return node(ref).integer; }
  [[nodiscard]] double real(Ref ref) const { return node(ref).real; }
  /// Of text, string8, bytes, byte_array and big_integer. Borrows the pickle's bytes or the arena.
  [[nodiscard]] std::string_view text(Ref ref) const;
  /// Of tuple, list, set and frozen_set: the items. Of dict: key, value, key, value … in the order of
  /// insertion, duplicates kept. Of call: what was appended to it (APPEND, APPENDS, ADDITEMS).
  /// Valid until the arena is changed.
  [[nodiscard]] std::span<const Ref> items(Ref ref) const;

  [[nodiscard]] std::string_view module(Ref global) const;  ///< as written in the file
  [[nodiscard]] std::string_view name(Ref global) const;    ///< as written; may be dotted
  /// True if `ref` is a global with exactly these names as written in the file.
  [[nodiscard]] bool is_global(Ref ref, std::string_view module_name, std::string_view global_name) const;

  [[nodiscard]] CallKind call_kind(Ref call) const { return node(call).call_kind; }
  [[nodiscard]] Ref callee(Ref call) const { return node(call).call.callee; }
  [[nodiscard]] Ref arguments(Ref call) const {
    return node(call).call.arguments;
  }                                                          ///< whatever the pickle gave
  [[nodiscard]] Ref keywords(Ref call) const;                ///< kNoRef unless NEWOBJ_EX
  [[nodiscard]] std::span<const Ref> pairs(Ref call) const;  ///< SETITEM(S) on a call: key, value, …
  [[nodiscard]] std::span<const Ref> states(Ref ref) const;  ///< BUILD on this value, in order

  [[nodiscard]] Ref persistent_id(Ref persistent) const { return node(persistent).link; }

  // Making values; used by the machine and by tests.
  Ref add_none();
  Ref add_boolean(bool value);
  Ref add_integer(std::int64_t value);
  Ref add_real(double value);
  /// `kind` is text, string8, bytes, byte_array or big_integer. `borrowed` must outlive the arena.
  Ref add_text(Kind kind, std::string_view borrowed);
  Ref add_owned_text(Kind kind, std::string owned);
  Ref add_tuple(std::span<const Ref> items);
  Ref add_container(Kind kind);  ///< list, dict, set or frozen_set, empty
  Ref add_global(std::string_view borrowed_module, std::string_view borrowed_name);
  Ref add_call(CallKind kind, Ref callee, Ref arguments, Ref keywords = kNoRef);
  Ref add_persistent(Ref id);
  void append(Ref container_or_call, std::span<const Ref> items);
  void set_pairs(Ref dict_or_call, std::span<const Ref> keys_and_values);
  void add_state(Ref ref, Ref state);

 private:
  struct CallParts {
    Ref callee;
    Ref arguments;
  };
  /// `link` is the length of a text, the count of a container's items, an index (of a global's names, of what
  /// a call holds beyond its arguments) or the id of a persistent value.
  struct Node {
    Kind kind;
    CallKind call_kind;
    std::uint16_t depth;
    std::uint32_t link;
    union {
      std::int64_t integer;
      double real;
      const char* text;
      Ref* items;
      CallParts call;
    };
  };
  static_assert(sizeof(void*) > 8 || sizeof(Node) == 16);

  /// References that lie side by side in the pool.
  struct Run {
    Ref* first = nullptr;
    std::uint32_t count = 0;
    [[nodiscard]] std::span<const Ref> span() const { return {first, count}; }
  };
  struct CallRest {
    Ref keywords = kNoRef;
    Run appended, pairs, states;
  };
  struct Names {
    std::string_view module, name;
  };

  // Blocks of one size keep a look-up at two loads and never move nodes twice; only the first one grows.
  static constexpr unsigned kBlockBits = 14;
  static constexpr std::size_t kBlockNodes = std::size_t{1} << kBlockBits;

  [[nodiscard]] const Node& node(Ref ref) const {
    return blocks_[ref >> kBlockBits][ref & (kBlockNodes - 1)];
  }
  [[nodiscard]] Node& node(Ref ref) { return blocks_[ref >> kBlockBits][ref & (kBlockNodes - 1)]; }
  Node& add_node(Kind kind, unsigned depth);
  void add_block();
  [[nodiscard]] Ref last() const { return static_cast<Ref>(size_ - 1); }
  [[nodiscard]] unsigned depth_over(std::span<const Ref> items) const;
  void raise_depth(Ref ref, std::span<const Ref> items);
  Ref* take_refs(std::size_t count);
  void grow(Run& run, std::span<const Ref> items);
  void grow_items(Ref container, std::span<const Ref> items);
  CallRest& rest_of(Ref call);

  std::vector<std::unique_ptr<Node[]>> blocks_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  std::vector<std::unique_ptr<Ref[]>> pool_;
  Ref* pool_next_ = nullptr;
  std::size_t pool_left_ = 0;
  std::size_t pool_block_ = 32;
  std::vector<Names> names_;
  std::vector<CallRest> rests_;
  std::vector<std::string_view> long_texts_;
  std::forward_list<std::string> owned_;
  std::unordered_map<Ref, Run> states_;  // of values that are no calls: rare
  std::uint64_t memory_ = 0;
};

}  // namespace ckpt::pickle
