#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/pickle/machine_state.h"

/// Imports, calls and persistent ids: everything that would run code elsewhere and is only written down here.
namespace ckpt::pickle {

namespace {

bool is_text(Kind kind) { return kind == Kind::text || kind == Kind::string8; }

// What a program would get from somewhere else at load time, so that the file does not tell it.
bool is_computed(Kind kind) { return kind == Kind::call || kind == Kind::global || kind == Kind::persistent; }

bool takes_state(Kind kind) { return kind >= Kind::byte_array; }

}  // namespace

// The import is written down before its name is looked at: it counts even if that is damaged.
bool Machine::State::global(std::string_view module, std::string_view name) {
  const std::size_t longest = std::max(module.size(), name.size());
  if (longest > limits_.name_bytes) {
    return over_limit(
        fmt::format("name of {} bytes, more than the limit of {}", longest, limits_.name_bytes));
  }
  imports_.add(module, name, opcode_at_);
  if (!check_name("module", module)) return false;
  if (!check_name("name", name)) return false;
  push(values_.add_global(module, name));
  return true;
}

bool Machine::State::check_name(std::string_view what, std::string_view text) {
  if (is_pickle_utf8(text)) return true;
  return bad(fmt::format("{} {} is not UTF-8", what, in_quotes(text)));
}

bool Machine::State::stack_global() {
  if (!need(2)) return false;
  const Ref name = stack_.back();
  const Ref module = stack_[stack_.size() - 2];
  if (!check_name_operand("module name", module)) return false;
  if (!check_name_operand("global name", name)) return false;
  drop_to(stack_.size() - 2);
  if (is_text(values_.kind(module)) && is_text(values_.kind(name))) {
    return global(values_.text(module), values_.text(name));
  }
  imports_.add_nameless("import name computed at load time", opcode_at_);
  push(values_.add_global({}, {}));
  return true;
}

bool Machine::State::check_name_operand(std::string_view what, Ref ref) {
  const Kind kind = values_.kind(ref);
  if (is_text(kind) || is_computed(kind)) return true;
  return bad(fmt::format("{} is {}", what, kind_phrase(kind)));
}

void Machine::State::extension(std::int64_t code) {
  imports_.add_nameless(fmt::format("import hidden behind extension code {}", code), opcode_at_);
  push(values_.add_global({}, {}));
}

bool Machine::State::inst(std::string_view module, std::string_view name) {
  if (!global(module, name)) return false;
  const Ref callee = stack_.back();
  stack_.pop_back();
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  const Ref arguments = values_.add_tuple(above(first));
  drop_to(first);
  return push_nested(values_.add_call(CallKind::inst, callee, arguments));
}

bool Machine::State::obj() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  if (first == stack_.size()) return bad("no class above the mark");
  const Ref callee = stack_[first];
  const Ref arguments = values_.add_tuple(above(first + 1));
  drop_to(first);
  return push_nested(values_.add_call(CallKind::obj, callee, arguments));
}

bool Machine::State::call(CallKind kind) {
  if (!need(2)) return false;
  const std::size_t first = stack_.size() - 2;
  const Ref made = values_.add_call(kind, stack_[first], stack_[first + 1]);
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::newobj_ex() {
  if (!need(3)) return false;
  const std::size_t first = stack_.size() - 3;
  const Ref made = values_.add_call(CallKind::newobj_ex, stack_[first], stack_[first + 1], stack_[first + 2]);
  drop_to(first);
  return push_nested(made);
}

bool Machine::State::build() {
  if (!need(2)) return false;
  const Ref state = stack_.back();
  stack_.pop_back();
  const Ref target = stack_.back();
  const Kind kind = values_.kind(target);
  if (!takes_state(kind)) {
    note_once(Oddity::build_on_scalar,
              fmt::format("on a value of type {}, which has no state", kind_word(kind)));
    return true;
  }
  values_.add_state(target, state);
  return check_nesting(target);
}

bool Machine::State::persid(std::string_view line) {
  if (!check_name("persistent id", line)) return false;
  return push_nested(values_.add_persistent(values_.add_text(Kind::text, line)));
}

bool Machine::State::binpersid() {
  if (!need(1)) return false;
  const Ref id = stack_.back();
  stack_.pop_back();
  return push_nested(values_.add_persistent(id));
}

}  // namespace ckpt::pickle
