#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The one table of pickle opcodes: everything that is known of an opcode but its action stands here.
///
/// Source: CPython's Lib/pickletools.py (names, operands, protocols), written down in docs/formats/pickle.md.
namespace ckpt::pickle {

enum class Op : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  float_line = 'F',
  int_line = 'I',
  binint = 'J',
  binint1 = 'K',
  long_line = 'L',
  binint2 = 'M',
  none = 'N',
  persid = 'P',
  binpersid = 'Q',
  reduce = 'R',
  string = 'S',
  binstring = 'T',
  short_binstring = 'U',
  unicode = 'V',
  binunicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  get = 'g',
  binget = 'h',
  inst = 'i',
  long_binget = 'j',
  list = 'l',
  empty_list = ']',
  obj = 'o',
  put = 'p',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  binfloat = 'G',
  proto = 0x80,
  newobj = 0x81,
  ext1 = 0x82,
  ext2 = 0x83,
  ext4 = 0x84,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8A,
  long4 = 0x8B,
  binbytes = 'B',
  short_binbytes = 'C',
  short_binunicode = 0x8C,
  binunicode8 = 0x8D,
  binbytes8 = 0x8E,
  empty_set = 0x8F,
  additems = 0x90,
  frozenset = 0x91,
  newobj_ex = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
  bytearray8 = 0x96,
  next_buffer = 0x97,
  readonly_buffer = 0x98,
};

/// What follows the opcode's byte. Numbers are little-endian unless told otherwise.
enum class OperandKind : std::uint8_t {
  none,
  u8,
  u16,
  i32,
  u32,
  u64,
  f64be,  ///< IEEE 754 double, big-endian
  line,   ///< bytes up to a line feed
  two_lines,
  bytes_u8,   ///< u8 length, then that many bytes
  bytes_i32,  ///< i32 length, not negative
  bytes_u32,
  bytes_u64,
};

struct Opcode {
  Op op;
  std::string_view name;
  OperandKind operand;
  std::uint8_t protocol;  ///< the first that has it
};

inline constexpr std::array kOpcodes = {
    Opcode{Op::mark, "MARK", OperandKind::none, 0},
    Opcode{Op::stop, "STOP", OperandKind::none, 0},
    Opcode{Op::pop, "POP", OperandKind::none, 0},
    Opcode{Op::pop_mark, "POP_MARK", OperandKind::none, 1},
    Opcode{Op::dup, "DUP", OperandKind::none, 0},
    Opcode{Op::float_line, "FLOAT", OperandKind::line, 0},
    Opcode{Op::int_line, "INT", OperandKind::line, 0},
    Opcode{Op::binint, "BININT", OperandKind::i32, 1},
    Opcode{Op::binint1, "BININT1", OperandKind::u8, 1},
    Opcode{Op::long_line, "LONG", OperandKind::line, 0},
    Opcode{Op::binint2, "BININT2", OperandKind::u16, 1},
    Opcode{Op::none, "NONE", OperandKind::none, 0},
    Opcode{Op::persid, "PERSID", OperandKind::line, 0},
    Opcode{Op::binpersid, "BINPERSID", OperandKind::none, 1},
    Opcode{Op::reduce, "REDUCE", OperandKind::none, 0},
    Opcode{Op::string, "STRING", OperandKind::line, 0},
    Opcode{Op::binstring, "BINSTRING", OperandKind::bytes_i32, 1},
    Opcode{Op::short_binstring, "SHORT_BINSTRING", OperandKind::bytes_u8, 1},
    Opcode{Op::unicode, "UNICODE", OperandKind::line, 0},
    Opcode{Op::binunicode, "BINUNICODE", OperandKind::bytes_u32, 1},
    Opcode{Op::append, "APPEND", OperandKind::none, 0},
    Opcode{Op::build, "BUILD", OperandKind::none, 0},
    Opcode{Op::global, "GLOBAL", OperandKind::two_lines, 0},
    Opcode{Op::dict, "DICT", OperandKind::none, 0},
    Opcode{Op::empty_dict, "EMPTY_DICT", OperandKind::none, 1},
    Opcode{Op::appends, "APPENDS", OperandKind::none, 1},
    Opcode{Op::get, "GET", OperandKind::line, 0},
    Opcode{Op::binget, "BINGET", OperandKind::u8, 1},
    Opcode{Op::inst, "INST", OperandKind::two_lines, 0},
    Opcode{Op::long_binget, "LONG_BINGET", OperandKind::u32, 1},
    Opcode{Op::list, "LIST", OperandKind::none, 0},
    Opcode{Op::empty_list, "EMPTY_LIST", OperandKind::none, 1},
    Opcode{Op::obj, "OBJ", OperandKind::none, 1},
    Opcode{Op::put, "PUT", OperandKind::line, 0},
    Opcode{Op::binput, "BINPUT", OperandKind::u8, 1},
    Opcode{Op::long_binput, "LONG_BINPUT", OperandKind::u32, 1},
    Opcode{Op::setitem, "SETITEM", OperandKind::none, 0},
    Opcode{Op::tuple, "TUPLE", OperandKind::none, 0},
    Opcode{Op::empty_tuple, "EMPTY_TUPLE", OperandKind::none, 1},
    Opcode{Op::setitems, "SETITEMS", OperandKind::none, 1},
    Opcode{Op::binfloat, "BINFLOAT", OperandKind::f64be, 1},
    Opcode{Op::proto, "PROTO", OperandKind::u8, 2},
    Opcode{Op::newobj, "NEWOBJ", OperandKind::none, 2},
    Opcode{Op::ext1, "EXT1", OperandKind::u8, 2},
    Opcode{Op::ext2, "EXT2", OperandKind::u16, 2},
    Opcode{Op::ext4, "EXT4", OperandKind::i32, 2},
    Opcode{Op::tuple1, "TUPLE1", OperandKind::none, 2},
    Opcode{Op::tuple2, "TUPLE2", OperandKind::none, 2},
    Opcode{Op::tuple3, "TUPLE3", OperandKind::none, 2},
    Opcode{Op::newtrue, "NEWTRUE", OperandKind::none, 2},
    Opcode{Op::newfalse, "NEWFALSE", OperandKind::none, 2},
    Opcode{Op::long1, "LONG1", OperandKind::bytes_u8, 2},
    Opcode{Op::long4, "LONG4", OperandKind::bytes_i32, 2},
    Opcode{Op::binbytes, "BINBYTES", OperandKind::bytes_u32, 3},
    Opcode{Op::short_binbytes, "SHORT_BINBYTES", OperandKind::bytes_u8, 3},
    Opcode{Op::short_binunicode, "SHORT_BINUNICODE", OperandKind::bytes_u8, 4},
    Opcode{Op::binunicode8, "BINUNICODE8", OperandKind::bytes_u64, 4},
    Opcode{Op::binbytes8, "BINBYTES8", OperandKind::bytes_u64, 4},
    Opcode{Op::empty_set, "EMPTY_SET", OperandKind::none, 4},
    Opcode{Op::additems, "ADDITEMS", OperandKind::none, 4},
    Opcode{Op::frozenset, "FROZENSET", OperandKind::none, 4},
    Opcode{Op::newobj_ex, "NEWOBJ_EX", OperandKind::none, 4},
    Opcode{Op::stack_global, "STACK_GLOBAL", OperandKind::none, 4},
    Opcode{Op::memoize, "MEMOIZE", OperandKind::none, 4},
    Opcode{Op::frame, "FRAME", OperandKind::u64, 4},
    Opcode{Op::bytearray8, "BYTEARRAY8", OperandKind::bytes_u64, 5},
    Opcode{Op::next_buffer, "NEXT_BUFFER", OperandKind::none, 5},
    Opcode{Op::readonly_buffer, "READONLY_BUFFER", OperandKind::none, 5},
};

inline constexpr std::size_t kOpcodeCount = 68;  // protocols 0 to 5, as pickletools counts them
static_assert(kOpcodes.size() == kOpcodeCount);

inline constexpr std::uint8_t kNoOpcode = 0xFF;

/// Position in `kOpcodes` by the opcode's byte; `kNoOpcode` for bytes that are none.
inline constexpr std::array<std::uint8_t, 256> kOpcodeIndex = [] {
  std::array<std::uint8_t, 256> index{};
  index.fill(kNoOpcode);
  for (std::size_t i = 0; i < kOpcodes.size(); ++i) {
    index[static_cast<std::uint8_t>(kOpcodes[i].op)] = static_cast<std::uint8_t>(i);
  }
  return index;
}();

namespace opcode_check {
constexpr bool every_opcode_is_indexed_once() {
  std::size_t indexed = 0;
  for (const std::uint8_t entry : kOpcodeIndex) indexed += entry != kNoOpcode ? 1 : 0;
  return indexed == kOpcodeCount;
}
constexpr bool protocols_are_known() {
  for (const Opcode& opcode : kOpcodes) {
    if (opcode.protocol > 5 || opcode.name.empty()) return false;
  }
  return true;
}
static_assert(every_opcode_is_indexed_once(), "two opcodes share a byte");
static_assert(protocols_are_known());
}  // namespace opcode_check

/// The opcode of `byte`, or null if there is none.
[[nodiscard]] constexpr const Opcode* find_opcode(std::uint8_t byte) {
  const std::uint8_t index = kOpcodeIndex[byte];
  return index == kNoOpcode ? nullptr : &kOpcodes[index];
}

}  // namespace ckpt::pickle
