#include "ckpt/pickle/machine.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "ckpt/pickle/call_judge.h"
#include "ckpt/pickle/machine_state.h"

namespace ckpt::pickle {

namespace {

// Keeps every count of references within 32 bits, whatever limit was asked for.
constexpr std::uint64_t kMostValueBytes = (std::uint64_t{16} << 30U) - 1;
// Pickles behind STOP that are searched for imports.
constexpr int kMaxTrailingPickles = 8;
constexpr std::size_t kNoFrame = SIZE_MAX;

bool take_length(ByteReader& reader, OperandKind kind, std::uint64_t& length) {
  std::uint8_t byte = 0;
  std::uint32_t word = 0;
  switch (kind) {
    case OperandKind::bytes_u8:
      if (!reader.take_u8(byte)) return false;
      length = byte;
      return true;
    case OperandKind::bytes_u64: return reader.take_u64le(length);
    default:
      if (!reader.take_u32le(word)) return false;
      length = word;
      return kind != OperandKind::bytes_i32 || word <= INT32_MAX;
  }
}

std::uint64_t sign_extended(std::uint32_t value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
}

}  // namespace

Machine::State::State(std::span<const std::byte> input, const Limits& given_limits,
                      const MachineOptions& given_options)
    : input_(input),
      limits_(given_limits),
      options_(given_options),
      reader_(input),
      value_limit_(std::min(given_limits.value_bytes, kMostValueBytes)),
      imports_(given_options.in_torchscript) {
  is_input_cut_ = input.size() > limits_.pickle_bytes;
  if (is_input_cut_) input_ = input.first(static_cast<std::size_t>(limits_.pickle_bytes));
  reader_ = ByteReader(input_);
}

Status Machine::State::run() {
  const bool is_whole = run_to_stop();
  judge_calls_in(values_, limits_, options_.follow_bytes, imports_);
  if (!is_whole) return fail(failure_);
  if (options_.whole_input) look_behind_stop();
  return {};
}

bool Machine::State::run_to_stop() {
  if (!check_input_size()) return false;
  while (!is_stopped_) {
    if (!step()) return false;
  }
  return true;
}

bool Machine::State::check_input_size() {
  if (input_.empty() && !is_input_cut_) return failed(place(ErrorCode::truncated, "pickle is empty"));
  if (!is_input_cut_ || !options_.whole_input) return true;
  return failed(place(ErrorCode::limit,
                      fmt::format("pickle is larger than the limit of {} bytes", limits_.pickle_bytes)));
}

bool Machine::State::step() {
  opcode_at_ = reader_.position();
  if (opcode_at_ >= frame_end_) frame_end_ = kNoFrame;
  std::uint8_t byte = 0;
  if (!reader_.take_u8(byte)) return ends_without_stop();
  opcode_ = find_opcode(byte);
  if (opcode_ == nullptr) {
    return failed(place(ErrorCode::corrupt, fmt::format("unknown opcode 0x{:02X}", byte)));
  }
  if (++opcodes_ > limits_.pickle_opcodes) {
    return over_limit(fmt::format("more than {} opcodes, the limit for one pickle", limits_.pickle_opcodes));
  }
  Operand operand;
  const bool has_operand = opcode_->operand != OperandKind::none;
  if (has_operand && !take_operand(operand)) return has_no_operand(operand);
  if (reader_.position() > frame_end_) return crosses_frame();
  return perform(operand) && check_memory();
}

bool Machine::State::ends_without_stop() {
  if (is_input_cut_) {
    return failed(
        place(ErrorCode::limit, fmt::format("pickle goes on behind the limit of {} bytes", opcode_at_)));
  }
  return failed(place(ErrorCode::truncated, fmt::format("pickle ends at byte {} without STOP", opcode_at_)));
}

bool Machine::State::take_operand(Operand& operand) {
  std::uint8_t byte = 0;
  std::uint16_t half = 0;
  std::uint32_t word = 0;
  switch (opcode_->operand) {
    case OperandKind::none: return true;
    case OperandKind::u8:
      if (!reader_.take_u8(byte)) return false;
      operand.number = byte;
      return true;
    case OperandKind::u16:
      if (!reader_.take_u16le(half)) return false;
      operand.number = half;
      return true;
    case OperandKind::i32:
      if (!reader_.take_u32le(word)) return false;
      operand.number = sign_extended(word);
      return true;
    case OperandKind::u32:
      if (!reader_.take_u32le(word)) return false;
      operand.number = word;
      return true;
    case OperandKind::u64: return reader_.take_u64le(operand.number);
    case OperandKind::f64be: return reader_.take_u64be(operand.number);
    case OperandKind::line: return reader_.take_line(operand.text);
    case OperandKind::two_lines: return reader_.take_line(operand.text) && reader_.take_line(operand.second);
    case OperandKind::bytes_i32:
    case OperandKind::bytes_u8:
    case OperandKind::bytes_u32:
    case OperandKind::bytes_u64:
      return take_length(reader_, opcode_->operand, operand.number) &&
             reader_.take_bytes(operand.number, operand.text);
  }
  return false;
}

// Negative lengths arrive here too: they are no lengths.
bool Machine::State::has_no_operand(const Operand& operand) {
  const auto length = static_cast<std::int32_t>(static_cast<std::uint32_t>(operand.number));
  if (opcode_->operand == OperandKind::bytes_i32 && length < 0) {
    return bad(fmt::format("negative length {}", length));
  }
  if (frame_end_ != kNoFrame) return crosses_frame();
  if (is_input_cut_) {
    return over_limit(fmt::format("operand goes on behind the limit of {} bytes", input_.size()));
  }
  if (operand.number == 0) {
    return failed(
        error(ErrorCode::truncated, fmt::format("pickle ends at byte {} inside the operand", input_.size())));
  }
  return failed(
      error(ErrorCode::truncated,
            fmt::format("pickle ends at byte {} inside the operand, which needs {} bytes where {} are left",
                        input_.size(), operand.number, reader_.remaining()))
          .numbers(std::to_string(operand.number), std::to_string(reader_.remaining())));
}

// CPython once read such an operand past the frame and ran what lay in it; see docs/formats/pickle.md.
bool Machine::State::crosses_frame() {
  return bad(
      fmt::format("argument of {} crosses the end of its frame at byte {}", opcode_->name, frame_end_));
}

bool Machine::State::over_memory(std::uint64_t used) {
  return failed(error(ErrorCode::limit,
                      fmt::format("values take {} bytes, more than the limit of {}", used, value_limit_))
                    .numbers(std::to_string(value_limit_), std::to_string(used)));
}

// One arm for each opcode, each a call.
bool Machine::State::perform(const Operand& operand) {
  const auto byte_index = [&operand] { return static_cast<std::uint32_t>(operand.number); };
  switch (opcode_->op) {
    case Op::mark: return mark();
    case Op::stop: return stop();
    case Op::pop: return pop();
    case Op::pop_mark: return pop_mark();
    case Op::dup: return dup();
    case Op::float_line: return push_float_line(operand.text);
    case Op::int_line: return push_int_line(operand.text);
    case Op::long_line: return push_long_line(operand.text);
    case Op::binint:
    case Op::binint1:
    case Op::binint2: push(values_.add_integer(static_cast<std::int64_t>(operand.number))); return true;
    case Op::long1:
    case Op::long4: push_long(operand.text); return true;
    case Op::binfloat: push(values_.add_real(std::bit_cast<double>(operand.number))); return true;
    case Op::none: push(values_.add_none()); return true;
    case Op::newtrue: push(values_.add_boolean(true)); return true;
    case Op::newfalse: push(values_.add_boolean(false)); return true;
    case Op::string: return push_string_line(operand.text);
    case Op::unicode: return push_unicode_line(operand.text);
    case Op::binstring:
    case Op::short_binstring: push(values_.add_text(Kind::string8, operand.text)); return true;
    case Op::binunicode:
    case Op::short_binunicode:
    case Op::binunicode8: return push_utf8(operand.text);
    case Op::binbytes:
    case Op::short_binbytes:
    case Op::binbytes8: push(values_.add_text(Kind::bytes, operand.text)); return true;
    case Op::bytearray8: push(values_.add_text(Kind::byte_array, operand.text)); return true;
    case Op::empty_tuple: return tuple(0);
    case Op::tuple1: return tuple(1);
    case Op::tuple2: return tuple(2);
    case Op::tuple3: return tuple(3);
    case Op::tuple: return tuple_above_mark();
    case Op::empty_list: push(values_.add_container(Kind::list)); return true;
    case Op::list: return list_above_mark();
    case Op::append: return append();
    case Op::appends: return appends();
    case Op::empty_dict: push(values_.add_container(Kind::dict)); return true;
    case Op::dict: return dict_above_mark();
    case Op::setitem: return setitem();
    case Op::setitems: return setitems();
    case Op::empty_set: push(values_.add_container(Kind::set)); return true;
    case Op::additems: return additems();
    case Op::frozenset: return frozen_set_above_mark();
    case Op::global: return global(operand.text, operand.second);
    case Op::stack_global: return stack_global();
    case Op::ext1:
    case Op::ext2:
    case Op::ext4: extension(static_cast<std::int64_t>(operand.number)); return true;
    case Op::inst: return inst(operand.text, operand.second);
    case Op::obj: return obj();
    case Op::reduce: return call(CallKind::reduce);
    case Op::newobj: return call(CallKind::newobj);
    case Op::newobj_ex: return newobj_ex();
    case Op::build: return build();
    case Op::persid: return persid(operand.text);
    case Op::binpersid: return binpersid();
    case Op::put: return put_line(operand.text);
    case Op::binput:
    case Op::long_binput: return put(byte_index());
    case Op::memoize: return put(memo_.count());
    case Op::get: return get_line(operand.text);
    case Op::binget:
    case Op::long_binget: return get(byte_index());
    case Op::proto: return proto(operand.number);
    case Op::frame: return frame(operand.number);
    case Op::readonly_buffer: return need(1);
    case Op::next_buffer: return failed(error(ErrorCode::unsupported, "out-of-band data is not in the file"));
  }
  return true;
}

bool Machine::State::stop() {
  if (!need(1)) return false;
  root_ = stack_.back();
  end_ = reader_.position();
  is_stopped_ = true;
  const std::size_t left = stack_.size() - 1 + marks_.size();
  if (left != 0) {
    findings_.push_back(defect(error(ErrorCode::corrupt, fmt::format("{} values left on the stack", left))));
  }
  return true;
}

void Machine::State::look_behind_stop() {
  std::span<const std::byte> rest = input_.subspan(end_);
  if (rest.empty()) return;
  Error trailing = make_error(ErrorCode::corrupt, fmt::format("{} bytes after STOP", rest.size()));
  findings_.push_back(defect(trailing.at(options_.base_offset + end_)));
  MachineOptions options = options_;
  options.whole_input = false;
  Limits limits = limits_;
  limits.pickle_opcodes -= opcodes_;
  for (int i = 0; i < kMaxTrailingPickles && !rest.empty(); ++i) {
    Machine next(rest, limits, options);
    const Status status = next.run();
    const auto start = static_cast<std::uint64_t>(input_.size() - rest.size());
    for (Import import : next.imports()) {
      import.offset += start;
      imports_.merge(std::move(import));
    }
    if (!status) return;
    limits.pickle_opcodes -= next.opcodes();
    rest = rest.subspan(next.end());
  }
}

bool Machine::State::failed(Error error) {
  failure_ = std::move(error);
  return false;
}

Error Machine::State::place(ErrorCode code, std::string message) const {
  Error made = make_error(code, std::move(message));
  made.offset = options_.base_offset + opcode_at_;
  return made;
}

Error Machine::State::error(ErrorCode code, const std::string& message) const {
  return place(code, fmt::format("{}: {}", opcode_->name, message));
}

void Machine::State::note_once(Oddity oddity, const std::string& message) {
  bool& is_noted = noted_[static_cast<std::size_t>(oddity)];
  if (!is_noted) findings_.push_back(note(error(ErrorCode::corrupt, message)));
  is_noted = true;
}

Machine::Machine(std::span<const std::byte> bytes, const Limits& limits, const MachineOptions& options)
    : state_(std::make_unique<State>(bytes, limits, options)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Status Machine::run() { return state_->run(); }
const Values& Machine::values() const { return state_->values_; }
Ref Machine::root() const { return state_->root_; }
std::size_t Machine::end() const { return state_->end_; }
const std::vector<Import>& Machine::imports() const { return state_->imports_.list(); }
const std::vector<Finding>& Machine::findings() const { return state_->findings_; }
std::uint64_t Machine::opcodes() const { return state_->opcodes_; }
unsigned Machine::protocol() const { return state_->protocol_; }
Values Machine::take_values() { return std::move(state_->values_); }

}  // namespace ckpt::pickle
