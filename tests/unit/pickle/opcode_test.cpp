#include "ckpt/pickle/opcode.h"

#include <set>

#include "support/catch.h"
#include "support/pickle_run.h"

namespace ckpt::test {

namespace {

using pickle::Op;

struct Effect {
  Op op;
  std::string pickle;
  std::string shown;
};

// One small pickle for each opcode, in the order of the table, and what it makes.
std::vector<Effect> effects() {
  const auto p = [] { return PickleBuilder(); };
  return {
      {Op::mark, p().mark().tuple().stop().bytes(), "()"},
      {Op::stop, p().none().stop().bytes(), "None"},
      {Op::pop, p().none().binint1(7).pop().stop().bytes(), "None"},
      {Op::pop_mark, p().none().mark().none().none().pop_mark().stop().bytes(), "None"},
      {Op::dup, p().binint1(1).dup().tuple2().stop().bytes(), "(1, 1)"},
      {Op::float_line, p().float_("-1.5e3").stop().bytes(), "-1500r"},
      {Op::int_line, p().int_("-12").stop().bytes(), "-12"},
      {Op::binint, p().binint(-2).stop().bytes(), "-2"},
      {Op::binint1, p().binint1(255).stop().bytes(), "255"},
      {Op::long_line, p().long_("5L").stop().bytes(), "5"},
      {Op::binint2, p().binint2(65535).stop().bytes(), "65535"},
      {Op::none, p().none().stop().bytes(), "None"},
      {Op::persid, p().persid("key 1").stop().bytes(), "<\"key 1\">"},
      {Op::binpersid, p().binint1(3).binpersid().stop().bytes(), "<3>"},
      {Op::reduce, p().global("torch", "Size").binint1(1).tuple1().reduce().stop().bytes(), "torch.Size(1)"},
      {Op::string, p().string(R"('a\'b\n')").stop().bytes(), R"(s"a'b\n")"},
      {Op::binstring, p().binstring("a\xff").stop().bytes(), R"(s"a\xFF")"},
      {Op::short_binstring, p().short_binstring("ab").stop().bytes(), "s\"ab\""},
      {Op::unicode, p().unicode("\\u00e9\xe9").stop().bytes(), "\"éé\""},
      {Op::binunicode, p().binunicode("é").stop().bytes(), "\"é\""},
      {Op::append, p().empty_list().none().append().stop().bytes(), "[None]"},
      {Op::build, p().global("m", "C").empty_dict().build().stop().bytes(), "m.C|{}"},
      {Op::global, p().global("os", "x y").stop().bytes(), "os.x y"},
      {Op::dict, p().mark().binint1(1).none().dict().stop().bytes(), "{1: None}"},
      {Op::empty_dict, p().empty_dict().stop().bytes(), "{}"},
      {Op::appends, p().empty_list().mark().none().binint1(1).appends().stop().bytes(), "[None, 1]"},
      {Op::get, p().none().put("7").get("7").tuple2().stop().bytes(), "(None, None)"},
      {Op::binget, p().none().binput(7).binget(7).tuple2().stop().bytes(), "(None, None)"},
      {Op::inst, p().mark().binint1(1).inst("m", "C").stop().bytes(), "inst m.C(1)"},
      {Op::long_binget, p().none().long_binput(70000).long_binget(70000).tuple2().stop().bytes(),
       "(None, None)"},
      {Op::list, p().mark().none().list().stop().bytes(), "[None]"},
      {Op::empty_list, p().empty_list().stop().bytes(), "[]"},
      {Op::obj, p().mark().global("m", "C").binint1(1).obj().stop().bytes(), "obj m.C(1)"},
      {Op::put, p().none().put("0").stop().bytes(), "None"},
      {Op::binput, p().none().binput(0).stop().bytes(), "None"},
      {Op::long_binput, p().none().long_binput(0).stop().bytes(), "None"},
      {Op::setitem, p().empty_dict().binint1(1).none().setitem().stop().bytes(), "{1: None}"},
      {Op::tuple, p().mark().none().none().tuple().stop().bytes(), "(None, None)"},
      {Op::empty_tuple, p().empty_tuple().stop().bytes(), "()"},
      {Op::setitems, p().empty_dict().mark().binint1(1).none().binint1(2).none().setitems().stop().bytes(),
       "{1: None, 2: None}"},
      {Op::binfloat, p().binfloat(-0.25).stop().bytes(), "-0.25r"},
      {Op::proto, p().proto(5).none().stop().bytes(), "None"},
      {Op::newobj, p().global("m", "C").empty_tuple().newobj().stop().bytes(), "new m.C()"},
      {Op::ext1, p().ext1(1).stop().bytes(), "."},
      {Op::ext2, p().ext2(500).stop().bytes(), "."},
      {Op::ext4, p().ext4(INT32_MAX).stop().bytes(), "."},
      {Op::tuple1, p().none().tuple1().stop().bytes(), "(None)"},
      {Op::tuple2, p().none().binint1(2).tuple2().stop().bytes(), "(None, 2)"},
      {Op::tuple3, p().none().binint1(2).binint1(3).tuple3().stop().bytes(), "(None, 2, 3)"},
      {Op::newtrue, p().newtrue().stop().bytes(), "True"},
      {Op::newfalse, p().newfalse().stop().bytes(), "False"},
      {Op::long1, p().long1("\xff\x01").stop().bytes(), "511"},
      {Op::long4, p().long4("\x02").stop().bytes(), "2"},
      {Op::binbytes, p().binbytes("a\xff").stop().bytes(), R"(b"a\xFF")"},
      {Op::short_binbytes, p().short_binbytes("ab").stop().bytes(), "b\"ab\""},
      {Op::short_binunicode, p().short_binunicode("ab").stop().bytes(), "\"ab\""},
      {Op::binunicode8, p().binunicode8("ab").stop().bytes(), "\"ab\""},
      {Op::binbytes8, p().binbytes8("ab").stop().bytes(), "b\"ab\""},
      {Op::empty_set, p().empty_set().stop().bytes(), "set{}"},
      {Op::additems, p().empty_set().mark().binint1(1).additems().stop().bytes(), "set{1}"},
      {Op::frozenset, p().mark().binint1(1).frozenset().stop().bytes(), "frozen{1}"},
      {Op::newobj_ex, p().global("m", "C").empty_tuple().empty_dict().newobj_ex().stop().bytes(),
       "new_ex m.C()**{}"},
      {Op::stack_global, p().binunicode("m").binunicode("a.b").stack_global().stop().bytes(), "m.a.b"},
      {Op::memoize, p().none().memoize().binget(0).tuple2().stop().bytes(), "(None, None)"},
      {Op::frame, p().frame(2).none().stop().bytes(), "None"},
      {Op::bytearray8, p().bytearray8("ab").stop().bytes(), "bytearray\"ab\""},
      {Op::next_buffer, p().next_buffer().stop().bytes(),
       "NEXT_BUFFER: out-of-band data is not in the file [unsupported]"},
      {Op::readonly_buffer, p().binbytes("ab").readonly_buffer().stop().bytes(), "b\"ab\""},
  };
}

}  // namespace

TEST_CASE("opcodes: each has its effect", "[pickle]") {
  for (const Effect& effect : effects()) {
    INFO(pickle::find_opcode(static_cast<std::uint8_t>(effect.op))->name);
    CHECK(PickleRun(effect.pickle).shown() == effect.shown);
  }
}

TEST_CASE("opcodes: the table of effects covers all 68", "[pickle]") {
  std::set<Op> covered;
  for (const Effect& effect : effects()) {
    covered.insert(effect.op);
    CHECK(effect.pickle.find(static_cast<char>(effect.op)) != std::string::npos);
  }
  for (const pickle::Opcode& opcode : pickle::kOpcodes) {
    INFO(opcode.name);
    CHECK(covered.count(opcode.op) == 1);
  }
  CHECK(covered.size() == pickle::kOpcodeCount);
}

TEST_CASE("opcodes: every opcode cut inside its operand is truncated", "[pickle]") {
  for (const pickle::Opcode& opcode : pickle::kOpcodes) {
    if (opcode.operand == pickle::OperandKind::none) continue;
    INFO(opcode.name);
    const PickleRun run(std::string(1, static_cast<char>(opcode.op)));
    REQUIRE_FALSE(run.is_ok());
    CHECK(run.error().code == ErrorCode::truncated);
    CHECK(run.error().message == std::string(opcode.name) + ": pickle ends at byte 1 inside the operand");
    CHECK(run.error().offset == 0);
  }
}

TEST_CASE("opcodes: every byte that is none is corrupt, in the middle of a pickle", "[pickle]") {
  const std::string good = p0_pickle();
  const std::size_t middle = PickleBuilder().proto(2).empty_dict().binunicode("w").bytes().size();
  int unknown = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (pickle::find_opcode(static_cast<std::uint8_t>(byte)) != nullptr) continue;
    ++unknown;
    std::string bad = good;
    bad.insert(middle, 1, static_cast<char>(byte));
    const PickleRun run(bad);
    REQUIRE_FALSE(run.is_ok());
    CHECK(run.error().code == ErrorCode::corrupt);
    CHECK(run.error().offset == middle);
    CHECK(run.error().message.substr(0, 17) == "unknown opcode 0x");
  }
  CHECK(unknown == 256 - 68);
}

}  // namespace ckpt::test
