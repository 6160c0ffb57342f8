#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/io/byte_reader.h"
#include "ckpt/pickle/import_table.h"
#include "ckpt/pickle/machine.h"
#include "ckpt/pickle/memo.h"
#include "ckpt/pickle/opcode.h"
#include "ckpt/pickle/text_opcodes.h"

/// The machine from inside: private to this module. One loop (machine.cpp) reads an opcode with its operand,
/// then calls one action; the actions lie in stack_actions.cpp, scalar_actions.cpp, container_actions.cpp and
/// object_actions.cpp.
namespace ckpt::pickle {

/// An opcode's operand; which member counts follows from its OperandKind.
struct Operand {
  std::uint64_t number = 0;  // signed ones are sign-extended; length of the text for the bytes_ kinds
  std::string_view text;     // the bytes, or the first line
  std::string_view second;   // the second line
};

/// Actions return true or keep the failure in `failure_` and return false: a Status takes 250 bytes, and
/// building one for each of millions of opcodes took two thirds of the time.
struct Machine::State {
  State(std::span<const std::byte> input, const Limits& given_limits, const MachineOptions& given_options);

  // machine.cpp: the loop.
  Status run();
  bool run_to_stop();
  bool step();
  bool check_input_size();
  /// Holds what the values take, and `more` bytes that are about to be taken, against the limit.
  bool check_memory(std::uint64_t more = 0) {
    // No opcode pushes more than one value: a full stack is counted as grown before it grows.
    const std::uint64_t room = stack_.size() == stack_.capacity() ? 2 * stack_.capacity() : stack_.capacity();
    const std::uint64_t used =
        values_.memory() + room * sizeof(Ref) + memo_.memory() + imports_.memory() + more;
    return used <= value_limit_ || over_memory(used);
  }
  bool over_memory(std::uint64_t used);
  bool take_operand(Operand& operand);
  bool ends_without_stop();
  bool has_no_operand(const Operand& operand);
  bool crosses_frame();
  bool perform(const Operand& operand);
  bool stop();
  void look_behind_stop();

  // stack_actions.cpp
  void push(Ref ref) { stack_.push_back(ref); }
  bool push_nested(Ref ref);
  bool need(std::size_t values) {
    if (stack_.size() - floor_ < values) return underflow(values);
    return true;
  }
  bool underflow(std::size_t values);
  bool mark();
  bool pop();
  bool pop_mark();
  bool dup();
  /// Takes the mark away; the values that stood above it begin at `first` and are still on the stack.
  bool take_mark(std::size_t& first);
  [[nodiscard]] std::span<const Ref> above(std::size_t first) const {
    return std::span(stack_).subspan(first);
  }
  void drop_to(std::size_t first) { stack_.resize(first); }
  bool put(std::uint32_t index);
  bool put_line(std::string_view line);
  bool get(std::uint32_t index);
  bool get_line(std::string_view line);

  // scalar_actions.cpp
  bool push_int_line(std::string_view line);
  bool push_long_line(std::string_view line);
  bool push_integer_text(const std::optional<IntegerText>& number, std::string_view line);
  bool push_float_line(std::string_view line);
  void push_long(std::string_view bytes);
  bool push_string_line(std::string_view line);
  bool push_unicode_line(std::string_view line);
  bool push_decoded(Kind kind, Result<DecodedText> decoded);
  bool push_utf8(std::string_view text);
  bool proto(std::uint64_t version);
  bool frame(std::uint64_t length);

  // container_actions.cpp
  bool tuple(std::size_t values);
  bool tuple_above_mark();
  bool list_above_mark();
  bool dict_above_mark();
  bool frozen_set_above_mark();
  bool append();
  bool appends();
  bool setitem();
  bool setitems();
  bool additems();
  bool append_to(Ref target, std::span<const Ref> items);
  bool set_pairs_of(Ref target, std::span<const Ref> pairs);
  bool check_target(Ref target, Kind wanted);
  bool check_key(Ref key);
  bool check_nesting(Ref ref);
  [[nodiscard]] bool is_tensor_rebuild(Ref ref) const;

  // object_actions.cpp
  bool global(std::string_view module, std::string_view name);
  bool check_name(std::string_view what, std::string_view text);
  bool stack_global();
  bool check_name_operand(std::string_view what, Ref ref);
  void extension(std::int64_t code);
  bool inst(std::string_view module, std::string_view name);
  bool obj();
  bool call(CallKind kind);
  bool newobj_ex();
  bool build();
  bool persid(std::string_view line);
  bool binpersid();

  /// Keeps the failure and says no.
  bool failed(Error error);
  /// At the current opcode.
  [[nodiscard]] Error place(ErrorCode code, std::string message) const;
  /// The same with the opcode's name in front.
  [[nodiscard]] Error error(ErrorCode code, const std::string& message) const;
  bool bad(const std::string& message) { return failed(error(ErrorCode::corrupt, message)); }
  bool over_limit(const std::string& message) { return failed(error(ErrorCode::limit, message)); }
  /// Adds a note, the first of its kind only.
  enum class Oddity : std::uint8_t { second_proto, late_proto, build_on_scalar };
  void note_once(Oddity oddity, const std::string& message);

  std::span<const std::byte> input_;
  Limits limits_;
  MachineOptions options_;
  ByteReader reader_;
  bool is_input_cut_ = false;  // bytes behind limits_.pickle_bytes are not looked at

  const Opcode* opcode_ = nullptr;
  std::size_t opcode_at_ = 0;
  std::size_t frame_end_ = SIZE_MAX;
  std::uint64_t opcodes_ = 0;
  unsigned protocol_ = 0;
  bool has_proto_ = false;
  bool is_stopped_ = false;
  Error failure_;
  std::size_t end_ = 0;
  Ref root_ = kNoRef;

  Values values_;
  std::vector<Ref> stack_;
  std::vector<std::uint32_t> marks_;  // heights of the stack
  std::size_t floor_ = 0;             // the topmost mark's height: no opcode takes what lies below
  std::uint64_t value_limit_ = 0;
  Memo memo_;
  ImportTable imports_;
  std::vector<Finding> findings_;
  std::array<bool, 3> noted_{};
};

}  // namespace ckpt::pickle
