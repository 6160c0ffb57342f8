#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/pickle/imports.h"
#include "ckpt/pickle/value.h"

/// A pickle machine that accepts every opcode of protocols 0 to 5 and any object graph, and does nothing:
/// imports become names, calls become values of kind `call`, what is not known stays an inert value.
/// One table (opcode.h) gives each opcode its name and operand, one switch its action; there is no recursion;
/// text is borrowed from the pickle's bytes.
///
/// Source: CPython's Lib/pickle.py and Modules/_pickle.c for the effects; docs/formats/pickle.md where we are
/// stricter: FRAME may not run past the end and no operand may cross a frame's end.
namespace ckpt::pickle {

struct MachineOptions {
  bool in_torchscript = false;
  std::uint64_t base_offset = 0;  ///< added to offsets in errors
  /// Bytes behind STOP are a finding, and pickles among them are searched for imports. False for streams
  /// in which several pickles follow each other.
  bool whole_input = true;
  /// Look for imports in the bytes that `torch.storage._load_from_bytes` is called with.
  bool follow_bytes = true;
};

class Machine {
 public:
  /// Borrows `bytes`; they must outlive the machine and the values.
  Machine(std::span<const std::byte> bytes, const Limits& limits, const MachineOptions& options = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  /// Runs to STOP; once. Imports and findings are valid afterwards whatever the outcome: an import counts,
  /// used or not, even where damage follows.
  ///
  /// Errors carry the opcode's offset, and its name in the message: "BINGET: memo slot 57 is not set":
  ///   corrupt - unknown opcode, underflow, missing mark, memo never stored, odd SETITEMS, a key that is a
  ///             list, dict, set or bytearray, SETITEM(S) on what is no mapping, APPEND(S) on what is no list,
  ///             ADDITEMS on what is no set, bad UTF-8, number text that is none, a frame that runs past the
  ///             end or begins inside another, an operand that crosses a frame's end;
  ///   truncated - the bytes end before STOP; unsupported - NEXT_BUFFER, a protocol above 5;
  ///   limit - bytes, opcodes, bytes of values, names, nesting (open marks too: each is an unfinished
  ///           container).
  [[nodiscard]] Status run();

  [[nodiscard]] const Values& values() const;
  /// The result; valid after a successful run.
  [[nodiscard]] Ref root() const;
  /// Bytes up to and including STOP.
  [[nodiscard]] std::size_t end() const;
  [[nodiscard]] const std::vector<Import>& imports() const;
  /// Oddities that loaders accept: values left on the stack and bytes behind STOP are errors,
  /// several PROTO opcodes, one that is not the first, and BUILD on a number, a text or None are notes.
  [[nodiscard]] const std::vector<Finding>& findings() const;
  [[nodiscard]] std::uint64_t opcodes() const;
  /// Highest protocol named by a PROTO opcode, 0 if there was none.
  [[nodiscard]] unsigned protocol() const;

  /// Hands the values over; the machine is done then.
  [[nodiscard]] Values take_values();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt::pickle
