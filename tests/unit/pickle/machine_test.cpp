#include "ckpt/pickle/machine.h"

#include "support/catch.h"
#include "support/pickle_run.h"

namespace ckpt::test {

namespace {

std::string outcome(const PickleBuilder& builder) { return PickleRun(builder).outcome(); }
std::string shown(const PickleBuilder& builder) { return PickleRun(builder).shown(); }
PickleBuilder start() { return PickleBuilder().proto(2); }

}  // namespace

TEST_CASE("machine: P0 becomes a dict with one rebuild call", "[pickle]") {
  const PickleRun run(p0_pickle());
  CHECK(
      run.shown() ==
      R"({"w": torch._utils._rebuild_tensor_v2(<("storage", torch.FloatStorage, "0", "cpu", 4)>, 0, (2, 2), )"
      R"((2, 1), False, collections.OrderedDict())})");
  CHECK(run.machine().protocol() == 2);
  CHECK(run.machine().opcodes() == 28);
  CHECK(run.machine().end() == p0_pickle().size());
  CHECK(run.findings().empty());
}

TEST_CASE("machine: the writer's memo entries change nothing but sharing", "[pickle]") {
  const PickleRun run(state_dict_pickle({{}, {.name = "b", .key = "1"}}));
  REQUIRE(run.is_ok());
  const auto& values = run.values();
  const auto pairs = values.pairs(run.root());
  REQUIRE(pairs.size() == 4);
  CHECK(values.text(pairs[2]) == "b");
  CHECK(values.callee(pairs[1]) == values.callee(pairs[3]));
  CHECK(show(values, values.states(run.root())[0]) == "{\"_metadata\": collections.OrderedDict()}");
}

// Rules of the machine.

TEST_CASE("machine: no opcode takes what lies below a mark", "[pickle]") {
  CHECK(outcome(start().binint1(1).binint1(2).mark().tuple2()) == "TUPLE2: needs 2 values, has 0 [corrupt]");
  CHECK(outcome(start().empty_list().mark().none().append()) == "APPEND: needs 2 values, has 1 [corrupt]");
  CHECK(outcome(start().none().mark().binput(0)) == "BINPUT: needs 1 value, has 0 [corrupt]");
  CHECK(outcome(start().none().mark().stop()) == "STOP: needs 1 value, has 0 [corrupt]");
  CHECK(outcome(start().mark().empty_list().mark().pop_mark().mark().appends().stop()) == "ok");
  CHECK(outcome(start().empty_list().mark().mark().appends()) == "APPENDS: no list below the mark [corrupt]");
  CHECK(outcome(start().empty_dict().mark().mark().setitems()) ==
        "SETITEMS: no dict below the mark [corrupt]");
  CHECK(outcome(start().empty_set().mark().mark().additems()) == "ADDITEMS: no set below the mark [corrupt]");
}

TEST_CASE("machine: POP directly on a mark removes the mark", "[pickle]") {
  CHECK(shown(start().none().mark().pop().stop()) == "None");
  CHECK(outcome(start().pop()) == "POP: needs 1 value, has 0 [corrupt]");
}

TEST_CASE("machine: values left on the stack are a finding, the top is the result", "[pickle]") {
  const PickleRun run(start().none().mark().binint1(1).binint1(2).stop());
  CHECK(run.shown() == "2");
  CHECK(run.findings() == "STOP: 3 values left on the stack\n");
  CHECK(run.machine().findings()[0].severity == Severity::error);
  CHECK(run.machine().findings()[0].what.code == ErrorCode::corrupt);
}

TEST_CASE("machine: bytes after STOP are a finding where the pickle should be all", "[pickle]") {
  const std::string bytes = start().none().stop().raw("abc").bytes();
  const PickleRun whole(bytes);
  CHECK(whole.findings() == "3 bytes after STOP\n");
  CHECK(whole.machine().findings()[0].what.offset == 4);
  const PickleRun part(bytes, {}, {.whole_input = false});
  CHECK(part.findings().empty());
  CHECK(part.machine().end() == 4);
}

TEST_CASE("machine: duplicate dict keys are kept in order", "[pickle]") {
  CHECK(shown(start().empty_dict().mark().binint1(1).none().binint1(1).newtrue().setitems().stop()) ==
        "{1: None, 1: True}");
}

TEST_CASE("machine: SETITEMS and APPENDS in batches keep the order", "[pickle]") {
  PickleBuilder builder = start().empty_list();
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    if (i % 10 == 0) builder.mark();
    builder.integer(i);
    if (i % 10 == 9) builder.appends();
    expected += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  CHECK(shown(builder.stop()) == "[" + expected + "]");
}

TEST_CASE("machine: a lone surrogate and a NUL are text, an overlong form is corrupt", "[pickle]") {
  const PickleRun run(start().binunicode("\xed\xa0\x80").stop());
  CHECK(run.values().text(run.root()) == "\xed\xa0\x80");
  CHECK(shown(start().binunicode(std::string("a\0b", 3)).stop()) == R"("a\x00b")");
  CHECK(outcome(start().binunicode("\xc0\x80").stop()) ==
        R"(BINUNICODE: text "\xC0\x80" is not UTF-8 [corrupt])");
}

TEST_CASE("machine: LONG1 and LONG4 take their sign from the last byte", "[pickle]") {
  CHECK(shown(start().long1("").stop()) == "0");
  CHECK(shown(start().long1("\xff").stop()) == "-1");
  CHECK(shown(start().long1(std::string("\xff\0", 2)).stop()) == "255");
  CHECK(shown(start().long4(std::string("\0\x80", 2)).stop()) == "-32768");
  CHECK(shown(start().long1(std::string(255, '\xff')).stop()) == "-1");
  CHECK(shown(start().long1(std::string(8, '\xff') + std::string(1, '\0')).stop()) ==
        R"(big:\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00)");
}

TEST_CASE("machine: MEMOIZE counts entries, whatever their numbers", "[pickle]") {
  CHECK(shown(start()
                  .binint1(5)
                  .binput(9)
                  .memoize()
                  .pop()
                  .none()
                  .memoize()
                  .pop()
                  .binget(1)
                  .binget(9)
                  .tuple2()
                  .stop()) == "(5, 5)");
  CHECK(shown(start().binint1(1).binput(1).pop().binint1(2).memoize().pop().binget(1).stop()) == "2");
}

TEST_CASE("machine: GET after a later change sees the change", "[pickle]") {
  CHECK(shown(start().empty_list().binput(0).binget(0).none().append().tuple2().stop()) ==
        "([None], [None])");
}

TEST_CASE("machine: calls take pairs, items and several states", "[pickle]") {
  CHECK(shown(start()
                  .global("collections", "OrderedDict")
                  .empty_tuple()
                  .reduce()
                  .binint1(1)
                  .none()
                  .setitem()
                  .stop()) == "collections.OrderedDict()+{1: None}");
  CHECK(shown(start().global("collections", "deque").empty_tuple().reduce().none().append().stop()) ==
        "collections.deque()+[None]");
  CHECK(shown(start()
                  .global("m", "C")
                  .empty_tuple()
                  .newobj()
                  .mark()
                  .none()
                  .additems()
                  .none()
                  .build()
                  .newtrue()
                  .build()
                  .stop()) == "new m.C()+[None]|None|True");
}

TEST_CASE("machine: BUILD on what has no state is a note, once", "[pickle]") {
  const PickleRun run(start().none().empty_dict().build().none().build().stop());
  CHECK(run.shown() == "None");
  CHECK(run.findings() == "note: BUILD: on a value of type None, which has no state\n");
}

TEST_CASE("machine: BUILD records the state of dicts, lists and persistent ids", "[pickle]") {
  CHECK(shown(start().empty_dict().binint1(1).build().stop()) == "{}|1");
  CHECK(shown(start().empty_list().binint1(1).build().stop()) == "[]|1");
  CHECK(shown(start().binint1(2).binpersid().binint1(1).build().stop()) == "<2>|1");
}

TEST_CASE("machine: errors carry the opcode's offset and the base", "[pickle]") {
  const PickleRun run(start().none().binget(57).bytes(), {}, {.base_offset = 1000});
  CHECK(run.outcome() == "BINGET: memo slot 57 is not set [corrupt]");
  CHECK(run.error().offset == 1003);
}

TEST_CASE("machine: values outlive the machine", "[pickle]") {
  const std::string bytes = p0_pickle();
  pickle::Machine machine(std::as_bytes(std::span(bytes.data(), bytes.size())), Limits{});
  REQUIRE(machine.run());
  const pickle::Ref root = machine.root();
  pickle::Machine moved = std::move(machine);
  const pickle::Values values = moved.take_values();
  CHECK(values.kind(root) == pickle::Kind::dict);
}

// FRAME.

TEST_CASE("frame: framed opcodes load, and so do empty and short frames", "[pickle]") {
  CHECK(shown(PickleBuilder().proto(4).frame(3).none().tuple1().stop()) == "(None)");
  CHECK(shown(PickleBuilder().proto(4).frame(0).none().stop()) == "None");
  CHECK(shown(PickleBuilder().proto(4).frame(1).none().frame(1).stop()) == "None");
  CHECK(shown(PickleBuilder().proto(4).frame(1).none().tuple1().stop()) == "(None)");
}

TEST_CASE("frame: one that runs past the end is corrupt", "[pickle]") {
  CHECK(outcome(PickleBuilder().proto(4).frame(3).none().stop()) ==
        "FRAME: frame of 3 bytes where 2 are left [corrupt]");
  CHECK(outcome(PickleBuilder().proto(4).frame(UINT64_MAX).none().stop()) ==
        "FRAME: frame of 18446744073709551615 bytes where 2 are left [corrupt]");
}

TEST_CASE("frame: an operand that crosses the end of its frame is corrupt", "[pickle]") {
  CHECK(outcome(PickleBuilder().proto(4).frame(2).binint(1).stop()) ==
        "BININT: argument of BININT crosses the end of its frame at byte 13 [corrupt]");
  CHECK(outcome(PickleBuilder().proto(4).frame(6).binunicode("ab").stop()) ==
        "BINUNICODE: argument of BINUNICODE crosses the end of its frame at byte 17 [corrupt]");
  CHECK(outcome(PickleBuilder().proto(4).frame(4).global("os", "system").stop()) ==
        "GLOBAL: argument of GLOBAL crosses the end of its frame at byte 15 [corrupt]");
  CHECK(outcome(PickleBuilder().proto(4).frame(2).raw("X\xff\xff").stop()) ==
        "BINUNICODE: argument of BINUNICODE crosses the end of its frame at byte 13 [corrupt]");
}

TEST_CASE("frame: one inside another is corrupt, one at its end is not", "[pickle]") {
  CHECK(outcome(PickleBuilder().proto(4).frame(11).frame(1).none().stop()) ==
        "FRAME: a frame inside a frame, which goes on to byte 22 [corrupt]");
  CHECK(outcome(PickleBuilder().proto(4).frame(9).frame(2).none().stop()) == "ok");
}

// Sweeps.

TEST_CASE("machine: every prefix of P0 is truncated", "[pickle]") {
  for (const std::string& good : {p0_pickle(), state_dict_pickle({{}})}) {
    for (std::size_t size = 0; size < good.size(); ++size) {
      const PickleRun run(good.substr(0, size));
      INFO(size << ": " << run.outcome());
      REQUIRE_FALSE(run.is_ok());
      CHECK(run.error().code == ErrorCode::truncated);
      CHECK(run.error().offset <= size);
    }
  }
}

TEST_CASE("machine: every prefix of a framed pickle is corrupt or truncated", "[pickle]") {
  PickleBuilder body;
  body.empty_dict()
      .memoize()
      .mark()
      .short_binunicode("a")
      .memoize()
      .binint1(1)
      .short_binunicode("b")
      .binfloat(1.5);
  body.setitems().stop();
  const std::string good = PickleBuilder().proto(4).frame(body.bytes().size()).raw(body.bytes()).bytes();
  REQUIRE(PickleRun(good).is_ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const PickleRun run(good.substr(0, size));
    REQUIRE_FALSE(run.is_ok());
    const bool is_inside_frame = size >= 11;
    CHECK(run.error().code == (is_inside_frame ? ErrorCode::corrupt : ErrorCode::truncated));
  }
}

TEST_CASE("machine: any byte of P0 may be any other", "[pickle]") {
  const std::string good = state_dict_pickle({{}});
  Limits limits;
  limits.value_bytes = 1 << 20;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (unsigned change = 1; change < 256; ++change) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ change);
      const PickleRun run(bad, limits);
      if (!run.is_ok()) CHECK_FALSE(run.error().message.empty());
    }
  }
}

}  // namespace ckpt::test
