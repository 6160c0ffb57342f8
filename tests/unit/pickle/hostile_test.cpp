#include "support/catch.h"
#include "support/pickle_run.h"

/// Damaged and hostile opcode streams; what they import is the matter of hostile_imports_test.cpp.
namespace ckpt::test {

namespace {

std::string outcome(const PickleBuilder& builder) { return PickleRun(builder).outcome(); }
PickleBuilder start() { return PickleBuilder().proto(2); }

PickleBuilder with_tensor() {
  PickleBuilder builder = start();
  add_tensor(builder, {});
  return builder;
}

std::string repeated(std::size_t times, std::string_view piece) {
  std::string out;
  out.reserve(times * piece.size());
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

}  // namespace

TEST_CASE("hostile pickle: no bytes at all", "[pickle]") {
  CHECK(PickleRun(std::string()).outcome() == "pickle is empty [truncated]");
}

TEST_CASE("hostile pickle: no STOP", "[pickle]") {
  CHECK(outcome(start().none()) == "pickle ends at byte 3 without STOP [truncated]");
}

TEST_CASE("hostile pickle: opcodes that find too few values", "[pickle]") {
  CHECK(outcome(start().tuple2()) == "TUPLE2: needs 2 values, has 0 [corrupt]");
  CHECK(outcome(PickleBuilder().stop()) == "STOP: needs 1 value, has 0 [corrupt]");
  CHECK(outcome(start().none().setitem()) == "SETITEM: needs 3 values, has 1 [corrupt]");
  using pickle::Op;
  const std::pair<Op, std::string> cases[] = {
      {Op::dup, "1"},     {Op::reduce, "2"}, {Op::newobj, "2"},    {Op::newobj_ex, "3"},
      {Op::build, "2"},   {Op::append, "2"}, {Op::binpersid, "1"}, {Op::stack_global, "2"},
      {Op::memoize, "1"}, {Op::tuple1, "1"}, {Op::tuple3, "3"},    {Op::readonly_buffer, "1"},
  };
  for (const auto& [op, count] : cases) {
    const PickleRun run(start().op(op));
    INFO(run.outcome());
    REQUIRE_FALSE(run.is_ok());
    CHECK(run.error().code == ErrorCode::corrupt);
    CHECK(run.error().expected == count);
    CHECK(run.error().found == "0");
    CHECK(run.error().offset == 2);
  }
}

TEST_CASE("hostile pickle: opcodes that find no mark", "[pickle]") {
  using pickle::Op;
  for (const Op op : {Op::tuple, Op::list, Op::dict, Op::appends, Op::setitems, Op::additems, Op::frozenset,
                      Op::obj, Op::pop_mark}) {
    const PickleRun run(start().empty_list().op(op));
    INFO(run.outcome());
    REQUIRE_FALSE(run.is_ok());
    CHECK(run.error().message.ends_with(": no mark on the stack"));
    CHECK(run.error().code == ErrorCode::corrupt);
  }
  CHECK(outcome(start().inst("m", "C")) == "INST: no mark on the stack [corrupt]");
  CHECK(outcome(start().mark().obj()) == "OBJ: no class above the mark [corrupt]");
}

TEST_CASE("hostile pickle: SETITEMS or DICT of an odd number of values", "[pickle]") {
  CHECK(outcome(start().empty_dict().mark().binint1(1).setitems()) ==
        "SETITEMS: odd number of values (1) [corrupt]");
  CHECK(outcome(start().mark().none().none().none().dict()) == "DICT: odd number of values (3) [corrupt]");
}

TEST_CASE("hostile pickle: SETITEM on a tensor, list, text or storage", "[pickle]") {
  const auto setitem = [](PickleBuilder target) {
    return outcome(target.binint1(1).none().setitem().stop());
  };
  CHECK(setitem(with_tensor()) == "SETITEM on a tensor [corrupt]");
  CHECK(setitem(start().empty_list()) == "SETITEM on a list [corrupt]");
  CHECK(setitem(start().binunicode("x")) == "SETITEM on a str [corrupt]");
  CHECK(setitem(start().binint1(1).binpersid()) == "SETITEM on a persistent id [corrupt]");
  CHECK(setitem(start().global("m", "C")) == "SETITEM on a global [corrupt]");
  CHECK(setitem(start().empty_tuple()) == "SETITEM on a tuple [corrupt]");
  CHECK(setitem(start().global("torch._tensor", "_rebuild_from_type_v2").empty_tuple().reduce()) ==
        "SETITEM on a tensor [corrupt]");
  CHECK(outcome(with_tensor().mark().binint1(1).none().setitems().stop()) ==
        "SETITEMS on a tensor [corrupt]");
}

TEST_CASE("hostile pickle: APPEND on a dict, tuple or tensor", "[pickle]") {
  CHECK(outcome(start().empty_dict().none().append()) == "APPEND on a dict [corrupt]");
  CHECK(outcome(start().empty_tuple().mark().none().appends()) == "APPENDS on a tuple [corrupt]");
  CHECK(outcome(with_tensor().none().append()) == "APPEND on a tensor [corrupt]");
  CHECK(outcome(start().empty_list().mark().none().additems()) == "ADDITEMS on a list [corrupt]");
}

TEST_CASE("hostile pickle: memo slots that were never set", "[pickle]") {
  CHECK(outcome(start().none().binput(0).binget(3)) == "BINGET: memo slot 3 is not set [corrupt]");
  CHECK(outcome(start().long_binget(UINT32_MAX)) == "LONG_BINGET: memo slot 4294967295 is not set [corrupt]");
  CHECK(outcome(start().get("12345678901234567890")) ==
        "GET: memo slot \"12345678901234567890\" is not a number of 32 bits [corrupt]");
  CHECK(outcome(start().none().put("-1")) == "PUT: memo slot \"-1\" is not a number of 32 bits [corrupt]");
  CHECK(outcome(start().binget(0).binget(1).stack_global()) == "BINGET: memo slot 0 is not set [corrupt]");
}

TEST_CASE("hostile pickle: a huge memo index is read", "[pickle]") {
  const PickleRun run(start().none().long_binput(UINT32_MAX).pop().long_binget(UINT32_MAX).stop());
  CHECK(run.shown() == "None");
}

TEST_CASE("hostile pickle: a memo bomb stays small", "[pickle]") {
  PickleBuilder builder = start().none().binput(0);
  for (int i = 0; i < 30; ++i) builder.binget(0).binget(0).tuple2().binput(0);
  const PickleRun run(builder.stop());
  CHECK(run.is_ok());
  CHECK(run.values().size() == 31);
  CHECK(run.values().memory() < 4096);
}

TEST_CASE("hostile pickle: a million nested containers stop at the limit", "[pickle]") {
  constexpr std::size_t kMany = 1'000'000;
  const std::string lists = repeated(kMany, "]") + repeated(kMany - 1, "a") + ".";
  CHECK(PickleRun(lists).outcome() == "APPEND: values nested 1025 deep, more than the limit of 1024 [limit]");
  const std::string tuples = "N" + repeated(kMany, "\x85") + ".";
  CHECK(PickleRun(tuples).outcome() ==
        "TUPLE1: values nested 1025 deep, more than the limit of 1024 [limit]");
  const std::string dicts = repeated(kMany, "}N") + "N" + repeated(kMany, "s") + ".";
  CHECK(PickleRun(dicts).outcome() ==
        "SETITEM: values nested 1025 deep, more than the limit of 1024 [limit]");
  const std::string calls = "N" + repeated(kMany, "NR") + ".";
  CHECK(PickleRun(calls).outcome() == "REDUCE: values nested 1025 deep, more than the limit of 1024 [limit]");
  const std::string states = repeated(kMany, "]") + repeated(kMany - 1, "b") + ".";
  CHECK(PickleRun(states).outcome() == "BUILD: values nested 1025 deep, more than the limit of 1024 [limit]");
  const std::string ids = "N" + repeated(kMany, "Q") + ".";
  CHECK(PickleRun(ids).outcome() ==
        "BINPERSID: values nested 1025 deep, more than the limit of 1024 [limit]");
}

TEST_CASE("hostile pickle: nesting up to the limit is read, and the limit can be raised", "[pickle]") {
  CHECK(PickleRun("N" + repeated(1024, "\x85") + ".").is_ok());
  Limits limits;
  limits.nesting = 5000;
  CHECK(PickleRun("N" + repeated(5000, "\x85") + ".", limits).is_ok());
  limits.nesting = UINT32_MAX;
  CHECK(PickleRun("N" + repeated(70'000, "\x85") + ".", limits).error().code == ErrorCode::limit);
}

TEST_CASE("hostile pickle: a flood of marks stops at the limit", "[pickle]") {
  CHECK(PickleRun(repeated(10'000'000, "(")).outcome() ==
        "MARK: more than 1024 marks are open, the limit for nesting [limit]");
}

TEST_CASE("hostile pickle: a flood of values stops at the limit", "[pickle]") {
  Limits limits;
  limits.value_bytes = 1 << 20;
  const PickleRun values(repeated(100'000, "N") + ".", limits);
  CHECK(values.error().code == ErrorCode::limit);
  CHECK(values.error().expected == "1048576");
  CHECK(PickleRun("N" + repeated(400'000, "2") + ".", limits).error().code == ErrorCode::limit);
  std::string memo = "N";
  for (std::uint32_t i = 0; i < 40'000; ++i) memo += PickleBuilder().long_binput(i * 100'003).bytes();
  CHECK(PickleRun(memo + ".", limits).error().code == ErrorCode::limit);
  std::string names;
  for (int i = 0; i < 20'000; ++i) names += "cm\nC" + std::to_string(i) + "\n0";
  CHECK(PickleRun(names + "N.", limits).error().code == ErrorCode::limit);
  CHECK(PickleRun("V" + std::string(600'000, '\xe9') + "\n.", limits).error().code == ErrorCode::limit);
}

TEST_CASE("hostile pickle: too many opcodes or bytes stop at the limit", "[pickle]") {
  Limits limits;
  limits.pickle_opcodes = 10;
  CHECK(PickleRun(repeated(5, "N0") + "N.", limits).outcome() ==
        "NONE: more than 10 opcodes, the limit for one pickle [limit]");
  CHECK(PickleRun(repeated(4, "N0") + "N.", limits).is_ok());
  limits = {};
  limits.pickle_bytes = 10;
  CHECK(PickleRun(repeated(5, "N0") + "N.", limits).outcome() ==
        "pickle is larger than the limit of 10 bytes [limit]");
  const pickle::MachineOptions stream = {.whole_input = false};
  CHECK(PickleRun("N." + std::string(20, 'x'), limits, stream).is_ok());
  CHECK(PickleRun(repeated(6, "N0") + "N.", limits, stream).outcome() ==
        "pickle goes on behind the limit of 10 bytes [limit]");
  CHECK(PickleRun("U\x14" + std::string(20, 'x') + ".", limits, stream).outcome() ==
        "SHORT_BINSTRING: operand goes on behind the limit of 10 bytes [limit]");
}

TEST_CASE("hostile pickle: a name of megabytes stops at the limit", "[pickle]") {
  CHECK(outcome(start().global("m", std::string(100'000, 'x'))) ==
        "GLOBAL: name of 100000 bytes, more than the limit of 65536 [limit]");
}

TEST_CASE("hostile pickle: a million pairs with one key are kept", "[pickle]") {
  const PickleRun run("}(" + repeated(200'000, "K\1N") + "u.");
  REQUIRE(run.is_ok());
  CHECK(run.values().items(run.root()).size() == 400'000);
}

TEST_CASE("hostile pickle: keys that hash alike elsewhere cost nothing here", "[pickle]") {
  PickleBuilder builder = start().empty_dict().mark();
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    std::string key;
    const auto high = i << 61U;
    for (int byte = 0; byte < 8; ++byte) key.push_back(static_cast<char>((high - 1) >> (8 * byte)));
    for (int byte = 0; byte < 3; ++byte) key.push_back(static_cast<char>((i >> 3U) >> (8 * byte)));
    builder.long1(key).none();
  }
  CHECK(outcome(builder.setitems().stop()) == "ok");
}

TEST_CASE("hostile pickle: lengths that lie", "[pickle]") {
  CHECK(outcome(start().raw("\x8b\xff\xff\xff\xff")) == "LONG4: negative length -1 [corrupt]");
  CHECK(outcome(start().raw("T\xff\xff\xff\xff")) == "BINSTRING: negative length -1 [corrupt]");
  CHECK(
      outcome(start().raw("X\xff\xff\xff\xff").raw("abc")) ==
      "BINUNICODE: pickle ends at byte 10 inside the operand, which needs 4294967295 bytes where 3 are left "
      "[truncated]");
  CHECK(outcome(start().raw("\x8e\xff\xff\xff\xff\xff\xff\xff\xff")) ==
        "BINBYTES8: pickle ends at byte 11 inside the operand, which needs 18446744073709551615 bytes where "
        "0 are "
        "left [truncated]");
}

TEST_CASE("hostile pickle: integers of any length are kept without work", "[pickle]") {
  const std::string digits(100'000, '1');
  const PickleRun text(start().long_(digits + "L").stop());
  REQUIRE(text.is_ok());
  CHECK(text.values().kind(text.root()) == pickle::Kind::big_integer);
  CHECK(text.values().text(text.root()).size() == 100'000);
  const std::string bytes(1'000'000, '\x55');
  const PickleRun binary(start().long4(bytes).stop());
  REQUIRE(binary.is_ok());
  CHECK(binary.values().text(binary.root()).size() == 1'000'000);
  CHECK(PickleRun(start().int_(std::string(5000, '9')).stop()).is_ok());
}

TEST_CASE("hostile pickle: number text that is none", "[pickle]") {
  CHECK(outcome(PickleBuilder().int_("12x")) == "INT: \"12x\" is no integer [corrupt]");
  CHECK(outcome(PickleBuilder().int_("")) == "INT: \"\" is no integer [corrupt]");
  CHECK(outcome(PickleBuilder().float_("1e")) == "FLOAT: \"1e\" is no number [corrupt]");
  CHECK(outcome(PickleBuilder().long_("1_0L")) == "LONG: \"1_0L\" is no integer [corrupt]");
  CHECK(PickleRun(PickleBuilder().int_("01").int_("00").tuple2().stop()).shown() == "(True, False)");
  CHECK(PickleRun(PickleBuilder().long_("5").stop()).shown() == "5");
}

TEST_CASE("hostile pickle: STRING without quotes and UNICODE with a cut escape", "[pickle]") {
  CHECK(outcome(PickleBuilder().string("abc")) == "STRING: text is not in quotes [corrupt]");
  CHECK(outcome(PickleBuilder().unicode("\\u12")) == R"(UNICODE: broken escape in "\\u12" [corrupt])");
}

TEST_CASE("hostile pickle: text and names that are no UTF-8", "[pickle]") {
  CHECK(outcome(start().binunicode("\xff\xfe")) == R"(BINUNICODE: text "\xFF\xFE" is not UTF-8 [corrupt])");
  CHECK(outcome(start().global("\xf8", "x")) == R"(GLOBAL: module "\xF8" is not UTF-8 [corrupt])");
  CHECK(outcome(start().mark().inst("m", "\xf8")) == R"(INST: name "\xF8" is not UTF-8 [corrupt])");
  CHECK(outcome(start().persid("\xf8")) == R"(PERSID: persistent id "\xF8" is not UTF-8 [corrupt])");
}

TEST_CASE("hostile pickle: 8-bit strings hold any bytes, as value and as key", "[pickle]") {
  CHECK(
      PickleRun(start().empty_dict().short_binstring("k\xe9").binstring("v\xff").setitem().stop()).shown() ==
      R"({s"k\xE9": s"v\xFF"})");
}

TEST_CASE("hostile pickle: several PROTO, a late one or none are read, with a note", "[pickle]") {
  CHECK(PickleRun(PickleBuilder().proto(2).proto(4).none().stop()).findings() ==
        "note: PROTO: stands more than once\n");
  CHECK(PickleRun(PickleBuilder().none().proto(2).stop()).findings() ==
        "note: PROTO: is not the first opcode\n");
  CHECK(PickleRun(PickleBuilder().none().tuple1().stop()).findings().empty());
  const PickleRun mixed(PickleBuilder().proto(2).short_binunicode("x").memoize().stop());
  CHECK(mixed.shown() == "\"x\"");
  CHECK(mixed.findings().empty());
  CHECK(PickleRun(PickleBuilder().proto(2).proto(4).proto(3).none().stop()).machine().protocol() == 4);
}

TEST_CASE("hostile pickle: a protocol from the future is unsupported", "[pickle]") {
  CHECK(outcome(PickleBuilder().proto(6)) ==
        "PROTO: protocol 6 is newer than the newest known, 5 [unsupported]");
}

TEST_CASE("hostile pickle: opcodes hidden behind the end of a frame are not run", "[pickle]") {
  const std::string hidden = PickleBuilder().global("os", "system").bytes();
  PickleBuilder builder =
      PickleBuilder().proto(4).none().unicode(std::string(131'055, 'a')).pop().mark().frame(2);
  builder.raw("B\x07\x01").raw(std::string(2, '\0')).raw(hidden + std::string(0x107 - hidden.size(), ' '));
  const PickleRun run(builder.pop_mark().stop());
  REQUIRE_FALSE(run.is_ok());
  CHECK(run.error().code == ErrorCode::corrupt);
  CHECK(run.error().message.find("argument of BINBYTES crosses the end of its frame") != std::string::npos);
}

TEST_CASE("hostile pickle: out-of-band buffers are unsupported", "[pickle]") {
  CHECK(outcome(PickleBuilder().proto(5).next_buffer().readonly_buffer().stop()) ==
        "NEXT_BUFFER: out-of-band data is not in the file [unsupported]");
}

TEST_CASE("hostile pickle: persistent ids of any kind are kept", "[pickle]") {
  CHECK(PickleRun(start().none().binpersid().stop()).shown() == "<None>");
  CHECK(PickleRun(start().empty_dict().binpersid().stop()).shown() == "<{}>");
  CHECK(PickleRun(PickleBuilder().persid("some text").stop()).shown() == "<\"some text\">");
}

TEST_CASE("hostile pickle: cycles are kept", "[pickle]") {
  const PickleRun list(start().empty_list().binput(0).binget(0).append().stop());
  REQUIRE(list.is_ok());
  CHECK(list.values().items(list.root())[0] == list.root());
  const PickleRun dict(start().empty_dict().binput(0).none().binget(0).setitem().stop());
  CHECK(dict.is_ok());
  const PickleRun pair(
      start().empty_list().binput(0).tuple1().binput(1).binget(0).binget(1).append().pop().stop());
  CHECK(pair.is_ok());
}

TEST_CASE("hostile pickle: a list that holds itself many times is no nesting", "[pickle]") {
  PickleBuilder builder = start().empty_list().binput(0);
  for (int i = 0; i < 3000; ++i) builder.binget(0).append();
  CHECK(outcome(builder.stop()) == "ok");
}

TEST_CASE("hostile pickle: keys that cannot be hashed", "[pickle]") {
  CHECK(outcome(start().empty_dict().empty_list().none().setitem()) == "SETITEM: key of type list [corrupt]");
  CHECK(outcome(start().mark().empty_dict().none().dict()) == "DICT: key of type dict [corrupt]");
  CHECK(outcome(start().empty_set().mark().empty_set().additems()) == "ADDITEMS: key of type set [corrupt]");
  CHECK(outcome(start().mark().bytearray8("x").frozenset()) == "FROZENSET: key of type bytearray [corrupt]");
  CHECK(outcome(start().empty_dict().mark().empty_tuple().frozenset().none().setitem().stop()) == "ok");
}

TEST_CASE("hostile pickle: a pickle inside a bytes value is data", "[pickle]") {
  const std::string inner = PickleBuilder().global("os", "system").stop().bytes();
  const PickleRun run(PickleBuilder().proto(3).binbytes(inner).stop());
  CHECK(run.is_ok());
  CHECK(run.machine().imports().empty());
}

}  // namespace ckpt::test
