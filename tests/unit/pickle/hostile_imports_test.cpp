#include <array>

#include "support/catch.h"
#include "support/pickle_run.h"

/// Imports and calls that try to hide, and how they are classed.
namespace ckpt::test {

namespace {

PickleBuilder start() { return PickleBuilder().proto(2); }

struct DangerousName {
  const char* module;
  const char* name;
};

constexpr DangerousName kDangerousNames[] = {
#include "dangerous_names.inc"
};

// The six ways to name an import, each used so that nothing but the import counts.
std::array<std::string, 6> forms(const std::string& module, const std::string& name) {
  return {
      PickleBuilder().global(module, name).pop().none().stop().bytes(),
      PickleBuilder().mark().binunicode("x").inst(module, name).stop().bytes(),
      PickleBuilder().short_binunicode(module).short_binunicode(name).stack_global().stop().bytes(),
      PickleBuilder().mark().global(module, name).binunicode("x").obj().pop().none().stop().bytes(),
      PickleBuilder().global(module, name).empty_tuple().newobj().stop().bytes(),
      PickleBuilder().global(module, name).empty_tuple().empty_dict().newobj_ex().stop().bytes(),
  };
}

}  // namespace

TEST_CASE("dangerous names: every one of the frozen list, in six opcode forms", "[pickle]") {
  CHECK(std::size(kDangerousNames) >= 138);
  for (const DangerousName& entry : kDangerousNames) {
    for (const std::string& bytes : forms(entry.module, entry.name)) {
      INFO(entry.module << " " << entry.name);
      CHECK(PickleRun(bytes).import_class(entry.module, entry.name) == "dangerous");
    }
  }
}

TEST_CASE("imports: dropped ones count", "[pickle]") {
  const PickleRun run(start().global("os", "system").pop().raw(p0_pickle().substr(2)));
  CHECK(run.is_ok());
  CHECK(run.import_class("os", "system") == "dangerous");
  CHECK(run.import_reason("os", "system") == "runs programs");
}

TEST_CASE("imports: those of OBJ and INST count", "[pickle]") {
  const PickleRun obj(start().mark().global("smtplib", "SMTP").binunicode("x").obj().pop().none().stop());
  CHECK(obj.import_class("smtplib", "SMTP") == "dangerous");
  CHECK(PickleRun(start().mark().inst("smtplib", "SMTP").stop()).import_class("smtplib", "SMTP") ==
        "dangerous");
}

TEST_CASE("imports: those before damage are named", "[pickle]") {
  const PickleBuilder call = start().global("builtins", "exec").binunicode("x").tuple1().reduce();
  const PickleRun cut(PickleBuilder(call).raw("X\x09"));
  CHECK(cut.error().code == ErrorCode::truncated);
  CHECK(cut.import_class("builtins", "exec") == "dangerous");
  const PickleRun unknown(PickleBuilder(call).raw("\xff"));
  CHECK(unknown.error().code == ErrorCode::corrupt);
  CHECK(unknown.import_class("builtins", "exec") == "dangerous");
}

TEST_CASE("imports: those of a pickle after STOP are named, with their place", "[pickle]") {
  const std::string second = PickleBuilder().global("os", "system").stop().bytes();
  const PickleRun run(p0_pickle() + second + PickleBuilder().global("nt", "system").raw("\xff").bytes());
  CHECK(run.is_ok());
  CHECK(run.import_class("os", "system") == "dangerous");
  CHECK(run.import_class("nt", "system") == "dangerous");
  CHECK(run.machine().imports().back().offset == p0_pickle().size() + second.size());
  const PickleRun stream(p0_pickle() + second, {}, {.whole_input = false});
  CHECK(stream.import_class("os", "system") == "none");
}

TEST_CASE("imports: each pair is listed once, with its first offset and its count", "[pickle]") {
  const PickleRun run(start().global("m", "C").global("m", "C").global("m", "D").tuple3().stop());
  REQUIRE(run.machine().imports().size() == 2);
  CHECK(run.machine().imports()[0].count == 2);
  CHECK(run.machine().imports()[0].offset == 2);
  CHECK(run.machine().imports()[1].count == 1);
  CHECK(PickleRun(start().global("a", "bc").global("ab", "c").tuple2().stop()).machine().imports().size() ==
        2);
}

TEST_CASE("imports: operands come from the simulated stack and memo", "[pickle]") {
  PickleBuilder builder;
  builder.unicode("os").put("2").pop().unicode("system").put("3").pop();
  builder.unicode("torch").put("0").pop().unicode("LongStorage").put("1").pop();
  const PickleRun run(builder.get("2").get("3").stack_global().stop());
  CHECK(run.import_class("os", "system") == "dangerous");
  CHECK(run.import_class("torch", "LongStorage") == "none");
}

TEST_CASE("imports: every text opcode can be an operand, bytes cannot", "[pickle]") {
  const auto import = [](const PickleBuilder& operands) {
    return PickleRun(PickleBuilder(operands).stack_global().stop()).import_class("os", "system");
  };
  CHECK(import(PickleBuilder().string("'os'").string("'system'")) == "dangerous");
  CHECK(import(PickleBuilder().binstring("os").binstring("system")) == "dangerous");
  CHECK(import(PickleBuilder().short_binstring("os").short_binstring("system")) == "dangerous");
  CHECK(import(PickleBuilder().unicode("o\\u0073").unicode("system")) == "dangerous");
  CHECK(import(PickleBuilder().binunicode8("os").binunicode("system")) == "dangerous");
  const PickleRun bytes(PickleBuilder().binbytes("os").binunicode("system").stack_global());
  CHECK(bytes.outcome() == "STACK_GLOBAL: module name is bytes [corrupt]");
}

TEST_CASE("imports: a name computed at load time is dangerous", "[pickle]") {
  const PickleBuilder computed = PickleBuilder().global("m", "f").empty_tuple().reduce();
  for (const PickleBuilder& builder : {
           PickleBuilder(computed).binunicode("system").stack_global().stop(),
           PickleBuilder(computed).binput(0).pop().binunicode("os").binget(0).stack_global().stop(),
           PickleBuilder(computed).dup().stack_global().stop(),
           PickleBuilder().global("os", "name").binunicode("system").stack_global().stop(),
           PickleBuilder().binunicode("os").persid("x").stack_global().stop(),
       }) {
    const PickleRun run(builder);
    CHECK(run.is_ok());
    CHECK(run.import_class("", "") == "dangerous");
    CHECK(run.import_reason("", "") == "import name computed at load time");
  }
}

TEST_CASE("imports: operands of other types are corrupt", "[pickle]") {
  const auto outcome = [](const PickleBuilder& operands) {
    return PickleRun(PickleBuilder(operands).stack_global()).outcome();
  };
  CHECK(outcome(PickleBuilder().binint1(1).binunicode("x")) ==
        "STACK_GLOBAL: module name is an int [corrupt]");
  CHECK(outcome(PickleBuilder().none().binunicode("x")) == "STACK_GLOBAL: module name is None [corrupt]");
  CHECK(outcome(PickleBuilder().binunicode("x").empty_tuple()) ==
        "STACK_GLOBAL: global name is a tuple [corrupt]");
}

TEST_CASE("imports: extension codes are dangerous, whatever they hide", "[pickle]") {
  const auto reason = [](const PickleBuilder& code) {
    return PickleRun(PickleBuilder(code).binunicode("x").tuple1().reduce().stop()).import_reason("", "");
  };
  CHECK(reason(PickleBuilder().ext1(1)) == "import hidden behind extension code 1");
  CHECK(reason(PickleBuilder().ext2(500)) == "import hidden behind extension code 500");
  CHECK(reason(PickleBuilder().ext4(INT32_MAX)) == "import hidden behind extension code 2147483647");
  CHECK(reason(PickleBuilder().ext4(0)) == "import hidden behind extension code 0");
  CHECK(reason(PickleBuilder().ext4(-1)) == "import hidden behind extension code -1");
  CHECK(PickleRun(PickleBuilder().ext1(1).ext1(2).ext2(1).tuple3().stop()).machine().imports().size() == 2);
}

TEST_CASE("imports: the arguments of a rebuild function are imports too", "[pickle]") {
  const PickleRun run(start()
                          .global("torch._tensor", "_rebuild_from_type_v2")
                          .global("os", "system")
                          .tuple1()
                          .reduce()
                          .stop());
  CHECK(run.import_class("torch._tensor", "_rebuild_from_type_v2") == "known-safe");
  CHECK(run.import_class("os", "system") == "dangerous");
}

TEST_CASE("imports: those of a TorchScript archive", "[pickle]") {
  const PickleBuilder module = start().global("__torch__.net", "Net").empty_tuple().newobj().stop();
  CHECK(PickleRun(module).import_class("__torch__.net", "Net") == "unknown");
  CHECK(PickleRun(module, {}, {.in_torchscript = true}).import_class("__torch__.net", "Net") == "known-safe");
}

}  // namespace ckpt::test
