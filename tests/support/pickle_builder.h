#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/pickle/opcode.h"

namespace ckpt::test {

/// Writes pickles opcode by opcode, right or wrong: `PickleBuilder().proto(2).empty_dict().stop().bytes()`.
/// Methods are the opcodes' names in lower case; those that are words of C++ have an underscore behind.
class PickleBuilder {
 public:
  [[nodiscard]] const std::string& bytes() const { return out_; }

  PickleBuilder& op(pickle::Op opcode) { return raw(std::string(1, static_cast<char>(opcode))); }
  PickleBuilder& raw(std::string_view bytes);  ///< as they are

  PickleBuilder& mark() { return op(pickle::Op::mark); }
  PickleBuilder& stop() { return op(pickle::Op::stop); }
  PickleBuilder& pop() { return op(pickle::Op::pop); }
  PickleBuilder& pop_mark() { return op(pickle::Op::pop_mark); }
  PickleBuilder& dup() { return op(pickle::Op::dup); }

  PickleBuilder& none() { return op(pickle::Op::none); }
  PickleBuilder& newtrue() { return op(pickle::Op::newtrue); }
  PickleBuilder& newfalse() { return op(pickle::Op::newfalse); }
  PickleBuilder& int_(std::string_view line) { return line_op(pickle::Op::int_line, line); }
  PickleBuilder& long_(std::string_view line) { return line_op(pickle::Op::long_line, line); }
  PickleBuilder& float_(std::string_view line) { return line_op(pickle::Op::float_line, line); }
  PickleBuilder& binint(std::int32_t value);
  PickleBuilder& binint1(std::uint8_t value);
  PickleBuilder& binint2(std::uint16_t value);
  PickleBuilder& long1(std::string_view little_endian);
  PickleBuilder& long4(std::string_view little_endian);
  PickleBuilder& binfloat(double value);
  PickleBuilder& integer(std::int64_t value);  ///< the shortest form of protocol 2

  PickleBuilder& string(std::string_view line_with_quotes) {
    return line_op(pickle::Op::string, line_with_quotes);
  }
  PickleBuilder& binstring(std::string_view text);
  PickleBuilder& short_binstring(std::string_view text);
  PickleBuilder& unicode(std::string_view line) { return line_op(pickle::Op::unicode, line); }
  PickleBuilder& binunicode(std::string_view text);
  PickleBuilder& short_binunicode(std::string_view text);
  PickleBuilder& binunicode8(std::string_view text);
  PickleBuilder& binbytes(std::string_view bytes);
  PickleBuilder& short_binbytes(std::string_view bytes);
  PickleBuilder& binbytes8(std::string_view bytes);
  PickleBuilder& bytearray8(std::string_view bytes);
  PickleBuilder& next_buffer() { return op(pickle::Op::next_buffer); }
  PickleBuilder& readonly_buffer() { return op(pickle::Op::readonly_buffer); }

  PickleBuilder& empty_tuple() { return op(pickle::Op::empty_tuple); }
  PickleBuilder& tuple() { return op(pickle::Op::tuple); }
  PickleBuilder& tuple1() { return op(pickle::Op::tuple1); }
  PickleBuilder& tuple2() { return op(pickle::Op::tuple2); }
  PickleBuilder& tuple3() { return op(pickle::Op::tuple3); }
  PickleBuilder& empty_list() { return op(pickle::Op::empty_list); }
  PickleBuilder& list() { return op(pickle::Op::list); }
  PickleBuilder& append() { return op(pickle::Op::append); }
  PickleBuilder& appends() { return op(pickle::Op::appends); }
  PickleBuilder& empty_dict() { return op(pickle::Op::empty_dict); }
  PickleBuilder& dict() { return op(pickle::Op::dict); }
  PickleBuilder& setitem() { return op(pickle::Op::setitem); }
  PickleBuilder& setitems() { return op(pickle::Op::setitems); }
  PickleBuilder& empty_set() { return op(pickle::Op::empty_set); }
  PickleBuilder& additems() { return op(pickle::Op::additems); }
  PickleBuilder& frozenset() { return op(pickle::Op::frozenset); }

  PickleBuilder& global(std::string_view module, std::string_view name);
  PickleBuilder& stack_global() { return op(pickle::Op::stack_global); }
  PickleBuilder& inst(std::string_view module, std::string_view name);
  PickleBuilder& ext1(std::uint8_t code);
  PickleBuilder& ext2(std::uint16_t code);
  PickleBuilder& ext4(std::int32_t code);
  PickleBuilder& obj() { return op(pickle::Op::obj); }
  PickleBuilder& reduce() { return op(pickle::Op::reduce); }
  PickleBuilder& newobj() { return op(pickle::Op::newobj); }
  PickleBuilder& newobj_ex() { return op(pickle::Op::newobj_ex); }
  PickleBuilder& build() { return op(pickle::Op::build); }
  PickleBuilder& persid(std::string_view line) { return line_op(pickle::Op::persid, line); }
  PickleBuilder& binpersid() { return op(pickle::Op::binpersid); }

  PickleBuilder& put(std::string_view line) { return line_op(pickle::Op::put, line); }
  PickleBuilder& binput(std::uint8_t index);
  PickleBuilder& long_binput(std::uint32_t index);
  PickleBuilder& memoize() { return op(pickle::Op::memoize); }
  PickleBuilder& get(std::string_view line) { return line_op(pickle::Op::get, line); }
  PickleBuilder& binget(std::uint8_t index);
  PickleBuilder& long_binget(std::uint32_t index);

  PickleBuilder& proto(std::uint8_t version);
  PickleBuilder& frame(std::uint64_t length);

 private:
  PickleBuilder& line_op(pickle::Op opcode, std::string_view line);
  PickleBuilder& little_endian(std::uint64_t value, unsigned bytes);
  PickleBuilder& sized(pickle::Op opcode, unsigned length_bytes, std::string_view text);

  std::string out_;
};

/// One tensor as torch.save writes it, and everything of it that a test may want to get wrong.
struct PickledTensor {
  std::string name = "w";
  std::string rebuild = "_rebuild_tensor_v2";
  std::string storage_module = "torch";
  std::string storage = "FloatStorage";
  std::string key = "0";
  std::string location = "cpu";
  std::int64_t numel = 4;
  std::int64_t offset = 0;
  std::vector<std::int64_t> size = {2, 2};
  std::vector<std::int64_t> stride = {2, 1};
  bool requires_grad = false;
  bool is_legacy = false;  ///< six parts in the persistent id, as in the stream before ZIP files
};

/// The rebuild call of `tensor`, left on the stack.
void add_tensor(PickleBuilder& builder, const PickledTensor& tensor);

/// P0: protocol 2, a dict of the tensors by their names, without memo entries.
[[nodiscard]] std::string p0_pickle(const PickledTensor& tensor = {});
[[nodiscard]] std::string p0_pickle(const std::vector<PickledTensor>& tensors);

/// The same with the BINPUTs and BINGETs of the real writer, an OrderedDict around and `_metadata` behind.
[[nodiscard]] std::string state_dict_pickle(const std::vector<PickledTensor>& tensors);

}  // namespace ckpt::test
