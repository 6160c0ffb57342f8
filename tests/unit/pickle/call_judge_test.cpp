#include "ckpt/pickle/call_judge.h"

#include "support/catch.h"
#include "support/pickle_run.h"

namespace ckpt::test {

namespace {

PickleBuilder start() { return PickleBuilder().proto(2); }

PickleBuilder getattr_of(const std::string& module, const std::string& name, const std::string& attribute) {
  return start()
      .global("__builtin__", "getattr")
      .global(module, name)
      .binunicode(attribute)
      .tuple2()
      .reduce();
}

PickleBuilder encode_with(const std::string& codec) {
  return start().global("_codecs", "encode").binunicode("ab").binunicode(codec).tuple2().reduce().stop();
}

std::string load_class(const PickleBuilder& argument) {
  const PickleRun run(
      start().global("torch.storage", "_load_from_bytes").raw(argument.bytes()).tuple1().reduce().stop());
  return run.import_class("torch.storage", "_load_from_bytes");
}

std::string legacy_stream(const std::string& object) {
  PickleBuilder builder = start().long1("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").stop();
  builder.proto(2).binint2(1001).stop().proto(2).empty_dict().stop().raw(object);
  return builder.proto(2).empty_list().stop().raw(std::string(24, '\0')).bytes();
}

}  // namespace

TEST_CASE("encode: latin-1, ascii and utf-8 are known-safe", "[pickle]") {
  for (const char* codec : {"latin1", "latin-1", "ascii", "utf-8"}) {
    CHECK(PickleRun(encode_with(codec)).import_class("_codecs", "encode") == "known-safe");
  }
}

TEST_CASE("encode: other codecs are dangerous", "[pickle]") {
  for (const char* codec : {"zlib", "bz2", "rot13", "unicode_escape", "hex", ""}) {
    CHECK(PickleRun(encode_with(codec)).import_class("_codecs", "encode") == "dangerous");
  }
}

TEST_CASE("encode: a codec that is no literal, or a function handed on, is dangerous", "[pickle]") {
  const PickleRun computed(
      start().global("_codecs", "encode").binunicode("a").global("m", "codec").tuple2().reduce().stop());
  CHECK(computed.import_class("_codecs", "encode") == "dangerous");
  const PickleRun partial(
      start().global("functools", "partial").global("_codecs", "encode").tuple1().reduce().stop());
  CHECK(partial.import_class("_codecs", "encode") == "dangerous");
  const PickleRun listed(start().empty_list().global("_codecs", "encode").append().stop());
  CHECK(listed.import_class("_codecs", "encode") == "dangerous");
}

TEST_CASE("getattr: of a class and a literal is the dotted name, judged as such", "[pickle]") {
  const PickleRun run(getattr_of("torch._utils", "torch", "channels_last").stop());
  CHECK(run.import_class("__builtin__", "getattr") == "unknown");
  CHECK(run.import_class("torch._utils", "torch.channels_last") == "unknown");
  CHECK_FALSE(run.names_dangerous());
  const PickleRun load(getattr_of("torch._utils", "torch", "load").stop());
  CHECK(load.import_class("torch._utils", "torch.load") == "dangerous");
  const PickleRun init(getattr_of("collections", "OrderedDict", "__init__").stop());
  CHECK(init.import_class("collections", "OrderedDict.__init__") == "dangerous");
}

TEST_CASE("getattr: a chain is one dotted name", "[pickle]") {
  PickleBuilder builder =
      start().global("builtins", "getattr").binput(0).binget(0).global("collections", "OrderedDict");
  builder.binunicode("__init__").tuple2().reduce().binunicode("__globals__").tuple2().reduce();
  const PickleRun run(builder.stop());
  CHECK(run.import_class("collections", "OrderedDict.__init__.__globals__") == "dangerous");
}

TEST_CASE("getattr: used otherwise it is dangerous", "[pickle]") {
  const auto is_dangerous = [](const PickleBuilder& builder) {
    return PickleRun(PickleBuilder(builder).stop()).import_class("__builtin__", "getattr") == "dangerous";
  };
  CHECK(is_dangerous(start().global("__builtin__", "getattr")));
  CHECK(is_dangerous(start().global("__builtin__", "getattr").pop().none()));
  CHECK(is_dangerous(start().global("__builtin__", "getattr").empty_tuple().reduce()));
  CHECK(is_dangerous(
      start().global("__builtin__", "getattr").global("m", "C").global("m", "name").tuple2().reduce()));
  CHECK(
      is_dangerous(start().global("__builtin__", "getattr").empty_list().binunicode("x").tuple2().reduce()));
  CHECK(is_dangerous(
      start().global("functools", "partial").global("__builtin__", "getattr").tuple1().reduce()));
  CHECK(is_dangerous(start().mark().global("m", "C").binunicode("x").inst("__builtin__", "getattr")));
  CHECK(is_dangerous(getattr_of("m", "C", "x").global("__builtin__", "getattr").tuple2()));
}

TEST_CASE("getattr: an endless chain is given up", "[pickle]") {
  PickleBuilder builder = start().global("builtins", "getattr").binput(0).global("m", "C");
  for (int i = 0; i < 40; ++i) builder.binput(1).binget(0).binget(1).binunicode("x").tuple2().reduce();
  CHECK(PickleRun(builder.stop()).import_class("builtins", "getattr") == "dangerous");
}

TEST_CASE("load from bytes: bytes that are a harmless pickle are unknown", "[pickle]") {
  CHECK(load_class(PickleBuilder().binbytes(legacy_stream(p0_pickle()))) == "unknown");
  CHECK(load_class(PickleBuilder().short_binbytes(start().none().stop().bytes())) == "unknown");
}

TEST_CASE("load from bytes: the text form of protocol 2 is decoded", "[pickle]") {
  const std::string stream = legacy_stream(p0_pickle());
  std::string text;
  for (const char c : stream) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xC0 | (byte >> 6)));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    }
  }
  const auto encoded = [&text](const std::string& codec) {
    return PickleBuilder().global("_codecs", "encode").binunicode(text).binunicode(codec).tuple2().reduce();
  };
  CHECK(load_class(encoded("latin1")) == "unknown");
  CHECK(load_class(encoded("zlib")) == "dangerous");
}

TEST_CASE("load from bytes: dangerous imports inside are named", "[pickle]") {
  const std::string inner = start().global("os", "system").stop().bytes();
  const PickleRun run(start()
                          .global("torch.storage", "_load_from_bytes")
                          .binbytes(legacy_stream(inner))
                          .tuple1()
                          .reduce()
                          .stop());
  CHECK(run.import_class("torch.storage", "_load_from_bytes") == "dangerous");
  CHECK(run.import_class("os", "system") == "dangerous");
}

TEST_CASE("load from bytes: anything that cannot be looked through is dangerous", "[pickle]") {
  CHECK(load_class(PickleBuilder().binbytes("PK\x03\x04")) == "dangerous");
  CHECK(load_class(PickleBuilder().binbytes("")) == "dangerous");
  CHECK(load_class(PickleBuilder().binbytes(legacy_stream(p0_pickle()).substr(0, 60))) == "dangerous");
  CHECK(load_class(PickleBuilder().none()) == "dangerous");
  CHECK(load_class(PickleBuilder().global("m", "f").empty_tuple().reduce()) == "dangerous");
}

TEST_CASE("load from bytes: a second level is not followed", "[pickle]") {
  const std::string inner = start()
                                .global("torch.storage", "_load_from_bytes")
                                .binbytes(start().none().stop().bytes())
                                .tuple1()
                                .reduce()
                                .stop()
                                .bytes();
  CHECK(load_class(PickleBuilder().binbytes(inner)) == "dangerous");
}

TEST_CASE("load from bytes: calls that share their bytes look through them once", "[pickle]") {
  PickleBuilder builder = start().global("torch.storage", "_load_from_bytes").binput(0).pop();
  builder.binbytes(legacy_stream(p0_pickle()) + std::string(100'000, '\0'))
      .binput(1)
      .pop()
      .empty_list()
      .mark();
  for (int i = 0; i < 100'000; ++i) builder.binget(0).binget(1).tuple1().reduce();
  const PickleRun run(builder.appends().stop());
  CHECK(run.import_class("torch.storage", "_load_from_bytes") == "unknown");
}

TEST_CASE("judge calls: a second time changes nothing", "[pickle]") {
  const std::string inner = start().global("os", "system").stop().bytes();
  PickleBuilder builder = getattr_of("torch._utils", "torch", "channels_last");
  builder.global("torch.storage", "_load_from_bytes").binbytes(inner).tuple1().reduce().tuple2();
  const PickleRun run(builder.stop());
  std::vector<pickle::Import> again = run.machine().imports();
  judge_calls(run.values(), false, again);
  REQUIRE(again.size() == run.machine().imports().size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    CHECK(again[i].verdict.level == run.machine().imports()[i].verdict.level);
    CHECK(again[i].count == run.machine().imports()[i].count);
  }
}

}  // namespace ckpt::test
