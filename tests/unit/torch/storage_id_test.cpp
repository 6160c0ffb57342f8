#include "ckpt/torch/storage_id.h"

#include <functional>

#include "support/model_checks.h"
#include "support/pickle_run.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;
using Fill = std::function<void(PickleBuilder&)>;

/// What a persistent id says, with texts of its own.
struct Parsed {
  Status status;
  StorageId id;
  std::string key;
};

Parsed parse(const PickleRun& run) {
  REQUIRE(run.is_ok());
  Parsed parsed;
  const auto id = parse_storage_id(run.values(), run.root());
  if (!id) {
    parsed.status = fail(id.error());
    return parsed;
  }
  parsed.id = *id;
  parsed.key = id->key();
  return parsed;
}

/// The id that `fill` leaves on the stack.
Parsed parse_id(const Fill& fill) {
  PickleBuilder builder;
  builder.proto(2);
  fill(builder);
  return parse(PickleRun(builder.binpersid().stop()));
}

/// ('storage', torch.CLASS, KEY, 'cpu', NUMEL)
Parsed parse_parts(const std::string& storage, const Fill& key, const Fill& numel) {
  return parse_id([&](PickleBuilder& builder) {
    builder.mark().binunicode("storage").global("torch", storage);
    key(builder);
    builder.binunicode("cpu");
    numel(builder);
    builder.tuple();
  });
}

Fill text(const std::string& value) {
  return [value](PickleBuilder& builder) { builder.binunicode(value); };
}
Fill number(std::int64_t value) {
  return [value](PickleBuilder& builder) { builder.integer(value); };
}

Parsed parse_numel(const Fill& numel) { return parse_parts("FloatStorage", text("0"), numel); }

/// A persistent id of protocol 0.
Parsed parse_line(const std::string& line) { return parse(PickleRun(PickleBuilder().persid(line).stop())); }

void check_refused(const Parsed& parsed, ErrorCode code, std::string_view part) {
  REQUIRE_FALSE(parsed.status);
  check_error(parsed.status.error(), code, part);
}

}  // namespace

TEST_CASE("storage_id: class, key and size of a typed storage", "[torch]") {
  const Parsed parsed = parse_parts("HalfStorage", text("17"), number(5));
  REQUIRE(parsed.status);
  CHECK(parsed.id.dtype == Dtype::f16);
  CHECK(parsed.key == "17");
  CHECK(parsed.id.elements == 5);
  CHECK(parsed.id.bytes == 10);
  CHECK_FALSE(parsed.id.is_meta);
}

TEST_CASE("storage_id: an untyped storage counts bytes, whatever its module", "[torch]") {
  for (const char* name : {"UntypedStorage", "_UntypedStorage"}) {
    const Parsed parsed = parse_parts(name, text("0"), number(5));
    REQUIRE(parsed.status);
    CHECK_FALSE(parsed.id.dtype);
    CHECK(parsed.id.bytes == 5);
  }
}

TEST_CASE("storage_id: keys may be integers and bytes", "[torch]") {
  CHECK(parse_parts("FloatStorage", number(7), number(1)).key == "7");
  CHECK(parse_parts("FloatStorage", number(-7), number(1)).key == "-7");
  CHECK(parse_parts(
            "FloatStorage", [](PickleBuilder& b) { b.short_binbytes("key"); }, number(1))
            .key == "key");
  CHECK(parse_parts(
            "FloatStorage", [](PickleBuilder& b) { b.short_binstring("py2"); }, number(1))
            .key == "py2");
  CHECK(parse_parts("FloatStorage", text("../x"), number(1)).key == "../x");
}

TEST_CASE("storage_id: an empty key is corrupt, not key 0", "[torch]") {
  check_refused(parse_parts("FloatStorage", text(""), number(1)), ErrorCode::corrupt, "storage key is empty");
  check_refused(parse_line("('storage', <class 'torch.FloatStorage'>, '', 'cpu', 4)"), ErrorCode::corrupt,
                "storage key is empty");
}

TEST_CASE("storage_id: a key of another kind is corrupt", "[torch]") {
  check_refused(parse_parts(
                    "FloatStorage", [](PickleBuilder& b) { b.none(); }, number(1)),
                ErrorCode::corrupt, "storage key is none");
  check_refused(parse_parts(
                    "FloatStorage", [](PickleBuilder& b) { b.empty_tuple(); }, number(1)),
                ErrorCode::corrupt, "storage key is a tuple");
}

TEST_CASE("storage_id: a class that is not known is unsupported, one that is no class corrupt", "[torch]") {
  check_refused(parse_parts("StringStorage", text("0"), number(1)), ErrorCode::unsupported,
                "storage class \"StringStorage\"");
  const Parsed parsed = parse_id([](PickleBuilder& builder) {
    builder.mark()
        .binunicode("storage")
        .binunicode("FloatStorage")
        .binunicode("0")
        .binunicode("cpu")
        .binint1(4)
        .tuple();
  });
  check_refused(parsed, ErrorCode::corrupt, "storage class is a str, not a class");
}

TEST_CASE("storage_id: sizes that are no count are corrupt and named", "[torch]") {
  check_refused(parse_numel(number(-1)), ErrorCode::corrupt, "storage has -1 elements");
  check_refused(parse_numel(number(-(std::int64_t{1} << 62))), ErrorCode::corrupt,
                "storage has -4611686018427387904 elements");
  check_refused(parse_numel(number(std::int64_t{1} << 62)), ErrorCode::corrupt, "does not fit 64 bits");
  check_refused(parse_numel([](PickleBuilder& b) { b.newtrue(); }), ErrorCode::corrupt,
                "storage size is a bool, not an int");
  check_refused(parse_numel([](PickleBuilder& b) { b.binfloat(4.0); }), ErrorCode::corrupt,
                "storage size is a float");
  check_refused(parse_numel([](PickleBuilder& b) { b.none(); }), ErrorCode::corrupt, "storage size is none");
  check_refused(parse_numel(text("4")), ErrorCode::corrupt, "storage size is a str");
  check_refused(parse_numel([](PickleBuilder& b) { b.long1(std::string_view("\0\0\0\0\0\0\0\0\x40", 9)); }),
                ErrorCode::corrupt, "storage size is an int above 64 bits");
}

TEST_CASE("storage_id: what is no storage tuple is corrupt", "[torch]") {
  check_refused(parse_id([](PickleBuilder& b) { b.binint1(3); }), ErrorCode::corrupt,
                "persistent id is an int");
  check_refused(parse_id([](PickleBuilder& b) { b.none(); }), ErrorCode::corrupt, "persistent id is none");
  check_refused(parse_id([](PickleBuilder& b) { b.empty_tuple(); }), ErrorCode::corrupt,
                "not a storage tuple");
  check_refused(parse_id([](PickleBuilder& b) { b.binunicode("module").tuple1(); }), ErrorCode::corrupt,
                "not a storage tuple");
  check_refused(parse_id([](PickleBuilder& b) { b.binunicode("storage").binint1(1).tuple2(); }),
                ErrorCode::corrupt, "storage tuple has 2 items, not 5");
}

TEST_CASE("storage_id: a sixth item is the view of legacy streams", "[torch]") {
  PickleBuilder builder;
  builder.proto(2)
      .mark()
      .binunicode("storage")
      .global("torch", "FloatStorage")
      .binunicode("0")
      .binunicode("cpu");
  builder.binint1(4).none().tuple().binpersid().stop();
  CHECK(parse(PickleRun(builder)).id.bytes == 16);
}

TEST_CASE("storage_id: a location other than meta does not matter", "[torch]") {
  const auto located = [](std::string_view location) {
    return parse_id([&](PickleBuilder& b) {
      b.mark()
          .binunicode("storage")
          .global("torch", "FloatStorage")
          .binunicode("0")
          .binunicode(location)
          .binint1(1)
          .tuple();
    });
  };
  CHECK_FALSE(located("cuda:9999").id.is_meta);
  CHECK_FALSE(located(std::string(100'000, 'x')).id.is_meta);
  CHECK_FALSE(located("\x1b[31m").id.is_meta);
  CHECK(located("meta").id.is_meta);
}

TEST_CASE("storage_id: protocol 0 writes the tuple's text", "[torch]") {
  const Parsed typed = parse_line("('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 4)");
  REQUIRE(typed.status);
  CHECK(typed.id.dtype == Dtype::f32);
  CHECK(typed.key == "12");
  CHECK(typed.id.bytes == 16);
  const Parsed untyped = parse_line("('storage', <class 'torch.storage.UntypedStorage'>, '0', 'meta', 9)");
  REQUIRE(untyped.status);
  CHECK_FALSE(untyped.id.dtype);
  CHECK(untyped.id.bytes == 9);
  CHECK(untyped.id.is_meta);
}

TEST_CASE("storage_id: a text of another form is unsupported", "[torch]") {
  for (const char* line : {"", "7", "('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 4) ",
                           "('storage', <class 'torch.FloatStorage'>, '12', 'cpu', )",
                           "('storage', <class 'torch.FloatStorage'>, '12', 'cpu', -4)",
                           "('storage', <class 'torch.FloatStorage'>, 12, 'cpu', 4)",
                           "('storage', <class 'torch.FloatStorage'>, '12', 'cpu', 9999999999999999999)",
                           "('storage', <class 'torch.StringStorage'>, '12', 'cpu', 4)"}) {
    INFO(line);
    check_refused(parse_line(line), ErrorCode::unsupported, "");
  }
}

}  // namespace ckpt::torch
