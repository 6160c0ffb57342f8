#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/pickle/machine_state.h"

/// Marks, the stack and the memo.
namespace ckpt::pickle {

bool Machine::State::push_nested(Ref ref) {
  if (!check_nesting(ref)) return false;
  push(ref);
  return true;
}

bool Machine::State::underflow(std::size_t values) {
  const std::size_t there = stack_.size() - floor_;
  return failed(error(ErrorCode::corrupt,
                      fmt::format("needs {} value{}, has {}", values, values == 1 ? "" : "s", there))
                    .numbers(std::to_string(values), std::to_string(there)));
}

// An open mark is a container that is not finished, so that marks count as nesting.
bool Machine::State::mark() {
  if (marks_.size() >= limits_.nesting) {
    return over_limit(fmt::format("more than {} marks are open, the limit for nesting", limits_.nesting));
  }
  marks_.push_back(static_cast<std::uint32_t>(stack_.size()));
  floor_ = stack_.size();
  return true;
}

bool Machine::State::pop() {
  if (stack_.size() > floor_) {
    stack_.pop_back();
    return true;
  }
  if (marks_.empty()) return underflow(1);
  return pop_mark();
}

bool Machine::State::pop_mark() {
  std::size_t first = 0;
  if (!take_mark(first)) return false;
  drop_to(first);
  return true;
}

bool Machine::State::dup() {
  if (!need(1)) return false;
  push(stack_.back());
  return true;
}

bool Machine::State::take_mark(std::size_t& first) {
  if (marks_.empty()) return bad("no mark on the stack");
  first = marks_.back();
  marks_.pop_back();
  floor_ = marks_.empty() ? 0 : marks_.back();
  return true;
}

bool Machine::State::put(std::uint32_t index) {
  if (!need(1)) return false;
  memo_.store(index, stack_.back());
  return true;
}

bool Machine::State::put_line(std::string_view line) {
  const std::optional<std::uint32_t> index = parse_memo_index(line);
  if (!index) return bad(fmt::format("memo slot {} is not a number of 32 bits", in_quotes(line)));
  return put(*index);
}

bool Machine::State::get(std::uint32_t index) {
  const Ref ref = memo_.find(index);
  if (ref == kNoRef) return bad(fmt::format("memo slot {} is not set", index));
  push(ref);
  return true;
}

bool Machine::State::get_line(std::string_view line) {
  const std::optional<std::uint32_t> index = parse_memo_index(line);
  if (!index) return bad(fmt::format("memo slot {} is not a number of 32 bits", in_quotes(line)));
  return get(*index);
}

}  // namespace ckpt::pickle
