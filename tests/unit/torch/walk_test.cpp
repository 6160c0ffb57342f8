#include "ckpt/torch/walk.h"

#include "support/model_checks.h"
#include "support/pickle_run.h"
#include "support/torch_file.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;

Result<Walk> walk_of(const PickleRun& run, const std::optional<std::string>& root = std::nullopt,
                     const Limits& limits = {}) {
  if (!run.is_ok()) FAIL(run.outcome());
  return walk(run.values(), run.root(), root, limits);
}

Walk walked(const PickleRun& run, const std::optional<std::string>& root = std::nullopt) {
  auto found = walk_of(run, root);
  if (!found) FAIL(error_line(found.error()));
  return *std::move(found);
}

std::string paths(const std::vector<Leaf>& leaves) {
  std::string text;
  for (const Leaf& leaf : leaves)
    text += (text.empty() ? "" : " ") + leaf.path + (leaf.is_nameless ? "(nameless)" : "");
  return text;
}

/// Paths of the tensors in what `fill` leaves on the stack.
template <class Fill>
std::string tensor_paths(Fill fill) {
  PickleBuilder builder;
  builder.proto(2);
  fill(builder);
  const PickleRun run(builder.stop());
  return paths(walked(run).tensors);
}

void add_w(PickleBuilder& builder) { add_tensor(builder, PickledTensor()); }

}  // namespace

TEST_CASE("walk: keys and indices are joined by dots, in the order of the file", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().mark();
    b.binunicode("z").empty_list().mark();
    add_w(b);
    b.binint1(3);
    add_w(b);
    b.appends();
    b.binunicode("a").empty_dict().binunicode("b.c");
    add_w(b);
    b.setitem();
    b.binunicode("t");
    add_w(b);
    add_w(b);
    b.tuple2();
    b.setitems();
  });
  CHECK(found == "z.0 z.2 a.b.c t.0 t.1");
}

TEST_CASE("walk: integers, bytes and tuples are names", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().mark();
    b.integer(7);
    add_w(b);
    b.integer(-3);
    add_w(b);
    b.short_binbytes("raw");
    add_w(b);
    b.global("_codecs", "encode").binunicode("caf\xc3\xa9").binunicode("latin1").tuple2().reduce();
    add_w(b);
    b.binunicode("block").integer(2).binunicode("w").tuple3();
    add_w(b);
    b.short_binstring("py2");
    add_w(b);
    b.binunicode("");
    add_w(b);
    b.setitems();
  });
  CHECK(found == "7 -3 raw caf\xe9 block.2.w py2 ");
}

TEST_CASE("walk: None, bool, float and other keys give no name, but a path", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().mark();
    b.none();
    add_w(b);
    b.newtrue();
    add_w(b);
    b.binfloat(1.5);
    add_w(b);
    b.global("my.module", "Class");
    add_w(b);
    b.binunicode("a").newfalse().tuple2();
    add_w(b);
    b.none().tuple1().tuple1();
    add_w(b);
    b.binunicode("fine");
    add_w(b);
    b.setitems();
  });
  CHECK(found ==
        "None(nameless) True(nameless) 1.5(nameless) my.module.Class(nameless) a.False(nameless) <a "
        "tuple>(nameless) fine");
}

TEST_CASE("walk: below a nameless key everything is nameless, beside it nothing", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().mark().none().empty_dict().binunicode("w");
    add_w(b);
    b.setitem().binunicode("v");
    add_w(b);
    b.setitems();
  });
  CHECK(found == "None.w(nameless) v");
}

TEST_CASE("walk: a tensor or storage alone has an empty path", "[torch]") {
  const PickleRun tensor([] {
    PickleBuilder builder;
    builder.proto(2);
    add_w(builder);
    return builder.stop();
  }());
  CHECK(walked(tensor).tensors.size() == 1);
  CHECK(walked(tensor).tensors[0].path.empty());
  PickleBuilder storage;
  storage.proto(2)
      .mark()
      .binunicode("storage")
      .global("torch", "FloatStorage")
      .binunicode("0")
      .binunicode("cpu")
      .binint1(4);
  const PickleRun bare(storage.tuple().binpersid().stop());
  CHECK(walked(bare).tensors.size() == 1);
  const PickleRun number(PickleBuilder().binint1(5).stop());
  CHECK(walked(number).tensors.empty());
  CHECK(walked(number).others.size() == 1);
}

TEST_CASE("walk: mappings of other classes and objects are entered", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().mark();
    b.binunicode("ordered").global("collections", "OrderedDict").empty_tuple().reduce().binunicode("w");
    add_w(b);
    b.setitem();
    b.binunicode("attribute_dict")
        .global("lightning", "AttributeDict")
        .empty_tuple()
        .newobj()
        .binunicode("w");
    add_w(b);
    b.setitem();
    b.binunicode("object").global("my", "Thing").empty_tuple().newobj().empty_dict().binunicode("w");
    add_w(b);
    b.setitem().build();
    b.binunicode("slots").global("my", "Thing").empty_tuple().newobj().none().empty_dict().binunicode("w");
    add_w(b);
    b.setitem().tuple2().build();
    b.binunicode("deque").global("collections", "deque").empty_tuple().reduce();
    add_w(b);
    b.append();
    b.setitems();
  });
  CHECK(found == "ordered.w attribute_dict.w object.w slots.w deque.0");
}

TEST_CASE("walk: cycles end", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().binput(0).binunicode("self").binget(0).setitem();
    b.binunicode("list").empty_list().binput(1).binget(1).append().binget(0).append().setitem();
    b.binunicode("w");
    add_w(b);
    b.setitem();
  });
  CHECK(found == "w");
}

TEST_CASE("walk: a shared container is entered under each of its names", "[torch]") {
  const std::string found = tensor_paths([](PickleBuilder& b) {
    b.empty_dict().binunicode("a").empty_dict().binput(0).binunicode("w");
    add_w(b);
    b.setitem().setitem().binunicode("b").binget(0).setitem();
  });
  CHECK(found == "a.w b.w");
}

TEST_CASE("walk: a graph of 2^60 paths without tensors costs its nodes", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).empty_list().binput(0);
  for (std::uint8_t i = 0; i < 60; ++i)
    builder.binget(i).binget(i).tuple2().binput(static_cast<std::uint8_t>(i + 1));
  const PickleRun run(builder.stop());
  CHECK(walked(run).tensors.empty());
  CHECK(walked(run).others.empty());
}

TEST_CASE("walk: a graph of 2^60 paths to a tensor is over the limit", "[torch]") {
  PickleBuilder builder;
  builder.proto(2);
  add_w(builder);
  builder.binput(0);
  for (std::uint8_t i = 0; i < 60; ++i)
    builder.binget(i).binget(i).tuple2().binput(static_cast<std::uint8_t>(i + 1));
  const PickleRun run(builder.stop());
  const auto found = walk_of(run);
  REQUIRE_FALSE(found);
  check_error(found.error(), ErrorCode::limit, "paths");
}

TEST_CASE("walk: nesting above the limit is an error, and costs no stack below it", "[torch]") {
  const auto nested = [](std::size_t levels) {
    PickleBuilder builder;
    builder.proto(2).empty_list();
    for (std::size_t i = 1; i < levels; ++i) builder.tuple1();
    return builder.stop();
  };
  Limits limits;
  const PickleRun deep(nested(1000));
  CHECK(walk_of(deep, std::nullopt, limits));
  limits.nesting = 999;
  const auto found = walk_of(deep, std::nullopt, limits);
  REQUIRE_FALSE(found);
  check_error(found.error(), ErrorCode::limit, "more than 999 deep (nesting)");
  limits.nesting = 65'000;
  limits.name_bytes = 1 << 20;
  const PickleRun deeper(nested(64'000), limits);
  CHECK(walk_of(deeper, std::nullopt, limits));
}

TEST_CASE("walk: a name above the limit is an error, one at the limit is not", "[torch]") {
  const auto named = [](std::size_t bytes) {
    return p0_pickle({pickled(std::string(bytes, 'n'), "0", {4})});
  };
  const PickleRun fits(named(64 << 10));
  CHECK(walked(fits).tensors.at(0).path.size() == 64 << 10);
  const PickleRun long_name(named((64 << 10) + 1));
  const auto found = walk_of(long_name);
  REQUIRE_FALSE(found);
  check_error(found.error(), ErrorCode::limit, "more than 65536 bytes (name length)");
}

TEST_CASE("walk: top-level mappings are counted with their tensors", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).empty_dict().mark().binunicode("model");
  add_dict(builder, {pickled("a", "0", {1}), pickled("b", "1", {1})});
  builder.binunicode("epoch").binint1(3).binunicode("empty").empty_dict().binunicode("list").empty_list();
  add_w(builder);
  builder.append().binunicode("last");
  add_dict(builder, {pickled("c", "0", {1})});
  builder.setitems().stop();
  const PickleRun run(builder);
  const Walk found = walked(run);
  REQUIRE(found.top.size() == 3);
  CHECK(found.top[0].key == "model");
  CHECK(found.top[0].tensors == 2);
  CHECK(found.top[1].key == "empty");
  CHECK(found.top[1].tensors == 0);
  CHECK(found.top[2].key == "last");
  CHECK(found.top[2].tensors == 1);
  CHECK(paths(found.others) == "epoch");
  CHECK(found.tensors[0].top_bytes == 5);
}

TEST_CASE("walk: the asked root is found at any depth, by its joined path", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).empty_dict().binunicode("a").empty_dict().binunicode("b.c");
  add_dict(builder, {pickled("w", "0", {1})});
  builder.setitem().binunicode("x");
  add_w(builder);
  builder.setitem().setitem().stop();
  const PickleRun run(builder);
  const Walk deep = walked(run, "a.b.c");
  CHECK(deep.is_root_found);
  REQUIRE(deep.tensors.size() == 2);
  CHECK(deep.tensors[0].root_bytes == 5);
  CHECK(deep.tensors[1].root_bytes == 0);
  CHECK(walked(run, "a").tensors[1].root_bytes == 1);
  CHECK(walked(run, "/").is_root_found);
  CHECK_FALSE(walked(run, "a.b").is_root_found);
  CHECK_FALSE(walked(run, "none").is_root_found);
}

}  // namespace ckpt::torch
