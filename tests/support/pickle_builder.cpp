#include "support/pickle_builder.h"

#include <bit>
#include <map>

namespace ckpt::test {

using pickle::Op;

PickleBuilder& PickleBuilder::raw(std::string_view bytes) {
  out_ += bytes;
  return *this;
}

PickleBuilder& PickleBuilder::binint(std::int32_t value) {
  return op(Op::binint).little_endian(static_cast<std::uint32_t>(value), 4);
}
PickleBuilder& PickleBuilder::binint1(std::uint8_t value) { return op(Op::binint1).little_endian(value, 1); }
PickleBuilder& PickleBuilder::binint2(std::uint16_t value) { return op(Op::binint2).little_endian(value, 2); }
PickleBuilder& PickleBuilder::long1(std::string_view bytes) { return sized(Op::long1, 1, bytes); }
PickleBuilder& PickleBuilder::long4(std::string_view bytes) { return sized(Op::long4, 4, bytes); }

PickleBuilder& PickleBuilder::binfloat(double value) {
  op(Op::binfloat);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(bits >> shift));
  return *this;
}

PickleBuilder& PickleBuilder::integer(std::int64_t value) {
  if (value >= 0 && value <= UINT8_MAX) return binint1(static_cast<std::uint8_t>(value));
  if (value >= 0 && value <= UINT16_MAX) return binint2(static_cast<std::uint16_t>(value));
  if (value >= INT32_MIN && value <= INT32_MAX) return binint(static_cast<std::int32_t>(value));
  return raw("\x8a\x08").little_endian(static_cast<std::uint64_t>(value), 8);
}

PickleBuilder& PickleBuilder::binstring(std::string_view text) { return sized(Op::binstring, 4, text); }
PickleBuilder& PickleBuilder::short_binstring(std::string_view text) {
  return sized(Op::short_binstring, 1, text);
}
PickleBuilder& PickleBuilder::binunicode(std::string_view text) { return sized(Op::binunicode, 4, text); }
PickleBuilder& PickleBuilder::short_binunicode(std::string_view text) {
  return sized(Op::short_binunicode, 1, text);
}
PickleBuilder& PickleBuilder::binunicode8(std::string_view text) { return sized(Op::binunicode8, 8, text); }
PickleBuilder& PickleBuilder::binbytes(std::string_view bytes) { return sized(Op::binbytes, 4, bytes); }
PickleBuilder& PickleBuilder::short_binbytes(std::string_view bytes) {
  return sized(Op::short_binbytes, 1, bytes);
}
PickleBuilder& PickleBuilder::binbytes8(std::string_view bytes) { return sized(Op::binbytes8, 8, bytes); }
PickleBuilder& PickleBuilder::bytearray8(std::string_view bytes) { return sized(Op::bytearray8, 8, bytes); }

PickleBuilder& PickleBuilder::global(std::string_view module, std::string_view name) {
  return line_op(Op::global, module).raw(name).raw("\n");
}
PickleBuilder& PickleBuilder::inst(std::string_view module, std::string_view name) {
  return line_op(Op::inst, module).raw(name).raw("\n");
}
PickleBuilder& PickleBuilder::ext1(std::uint8_t code) { return op(Op::ext1).little_endian(code, 1); }
PickleBuilder& PickleBuilder::ext2(std::uint16_t code) { return op(Op::ext2).little_endian(code, 2); }
PickleBuilder& PickleBuilder::ext4(std::int32_t code) {
  return op(Op::ext4).little_endian(static_cast<std::uint32_t>(code), 4);
}

PickleBuilder& PickleBuilder::binput(std::uint8_t index) { return op(Op::binput).little_endian(index, 1); }
PickleBuilder& PickleBuilder::long_binput(std::uint32_t index) {
  return op(Op::long_binput).little_endian(index, 4);
}
PickleBuilder& PickleBuilder::binget(std::uint8_t index) { return op(Op::binget).little_endian(index, 1); }
PickleBuilder& PickleBuilder::long_binget(std::uint32_t index) {
  return op(Op::long_binget).little_endian(index, 4);
}

PickleBuilder& PickleBuilder::proto(std::uint8_t version) { return op(Op::proto).little_endian(version, 1); }
PickleBuilder& PickleBuilder::frame(std::uint64_t length) { return op(Op::frame).little_endian(length, 8); }

PickleBuilder& PickleBuilder::line_op(Op opcode, std::string_view line) {
  return op(opcode).raw(line).raw("\n");
}

PickleBuilder& PickleBuilder::little_endian(std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i)));
  return *this;
}

PickleBuilder& PickleBuilder::sized(Op opcode, unsigned length_bytes, std::string_view text) {
  return op(opcode).little_endian(text.size(), length_bytes).raw(text);
}

namespace {

/// Writes texts and globals once, and takes them from the memo later, if asked to.
class Writer {
 public:
  Writer(PickleBuilder& builder, bool has_memo) : builder_(builder), has_memo_(has_memo) {}

  void text(const std::string& value) {
    if (recall("text " + value)) return;
    builder_.binunicode(value);
    store("text " + value);
  }
  void global(const std::string& module, const std::string& name) {
    if (recall("global " + module + " " + name)) return;
    builder_.global(module, name);
    store("global " + module + " " + name);
  }
  // Numbered, but never recalled: containers, calls and the texts that no writer repeats.
  void put() {
    if (!has_memo_) return;
    if (next_ <= UINT8_MAX) {
      builder_.binput(static_cast<std::uint8_t>(next_));
    } else {
      builder_.long_binput(next_);
    }
    ++next_;
  }

 private:
  bool recall(const std::string& what) {
    const auto found = memo_.find(what);
    if (found == memo_.end()) return false;
    if (found->second <= UINT8_MAX) {
      builder_.binget(static_cast<std::uint8_t>(found->second));
    } else {
      builder_.long_binget(found->second);
    }
    return true;
  }
  void store(const std::string& what) {
    if (has_memo_) memo_[what] = next_;
    put();
  }

  PickleBuilder& builder_;
  bool has_memo_;
  std::uint32_t next_ = 0;
  std::map<std::string, std::uint32_t> memo_;
};

void add_numbers(PickleBuilder& builder, Writer& writer, const std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) {
    builder.empty_tuple();
    return;
  }
  if (numbers.size() > 3) builder.mark();
  for (const std::int64_t number : numbers) builder.integer(number);
  switch (numbers.size()) {
    case 1: builder.tuple1(); break;
    case 2: builder.tuple2(); break;
    case 3: builder.tuple3(); break;
    default: builder.tuple(); break;
  }
  writer.put();
}

void write_tensor(PickleBuilder& builder, Writer& writer, const PickledTensor& tensor) {
  writer.global("torch._utils", tensor.rebuild);
  builder.mark().mark();
  writer.text("storage");
  writer.global(tensor.storage_module, tensor.storage);
  writer.text(tensor.key);
  writer.text(tensor.location);
  builder.integer(tensor.numel);
  if (tensor.is_legacy) builder.none();
  builder.tuple();
  writer.put();
  builder.binpersid().integer(tensor.offset);
  add_numbers(builder, writer, tensor.size);
  add_numbers(builder, writer, tensor.stride);
  tensor.requires_grad ? builder.newtrue() : builder.newfalse();
  writer.global("collections", "OrderedDict");
  builder.empty_tuple().reduce();
  writer.put();
  builder.tuple();
  writer.put();
  builder.reduce();
  writer.put();
}

}  // namespace

void add_tensor(PickleBuilder& builder, const PickledTensor& tensor) {
  Writer writer(builder, false);
  write_tensor(builder, writer, tensor);
}

std::string p0_pickle(const PickledTensor& tensor) { return p0_pickle(std::vector<PickledTensor>{tensor}); }

std::string p0_pickle(const std::vector<PickledTensor>& tensors) {
  PickleBuilder builder;
  builder.proto(2).empty_dict();
  for (const PickledTensor& tensor : tensors) {
    builder.binunicode(tensor.name);
    add_tensor(builder, tensor);
    builder.setitem();
  }
  return builder.stop().bytes();
}

std::string state_dict_pickle(const std::vector<PickledTensor>& tensors) {
  PickleBuilder builder;
  Writer writer(builder, true);
  builder.proto(2);
  writer.global("collections", "OrderedDict");
  builder.empty_tuple().reduce();
  writer.put();
  constexpr std::size_t kBatch = 1000;  // Python's pickler
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (i % kBatch == 0) builder.mark();
    writer.text(tensors[i].name);
    write_tensor(builder, writer, tensors[i]);
    if (i % kBatch == kBatch - 1 || i + 1 == tensors.size()) builder.setitems();
  }
  builder.empty_dict();
  writer.put();
  writer.text("_metadata");
  writer.global("collections", "OrderedDict");
  builder.empty_tuple().reduce();
  writer.put();
  builder.setitem().build();
  return builder.stop().bytes();
}

}  // namespace ckpt::test
