#include "ckpt/torch/module.h"

#include "ckpt/torch/walk.h"
#include "support/model_checks.h"
#include "support/pickle_run.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;

void add_text_item(PickleBuilder& builder, std::string_view key) {
  builder.binunicode(key);
  add_tensor(builder, PickledTensor());
}

void add_ordered(PickleBuilder& builder) {
  builder.global("collections", "OrderedDict").empty_tuple().reduce();
}

void add_names(PickleBuilder& builder, bool is_new_set) {
  if (is_new_set) {
    builder.empty_set().mark().binunicode("scratch").additems();
  } else {
    builder.global("__builtin__", "set").empty_list().binunicode("scratch").append().tuple1().reduce();
  }
}

/// A module with a weight, an unset bias, a buffer, a buffer that is not persistent and one sub-module.
void add_module(PickleBuilder& builder, bool is_new_set, int depth = 1) {
  builder.global("my.net", "Net").empty_tuple().newobj().empty_dict().mark();
  builder.binunicode("training").newtrue();
  builder.binunicode("_parameters");
  add_ordered(builder);
  builder.mark();
  add_text_item(builder, "weight");
  builder.binunicode("bias").none().setitems();
  builder.binunicode("_buffers").empty_dict().mark();
  add_text_item(builder, "mean");
  add_text_item(builder, "scratch");
  builder.setitems();
  builder.binunicode("_non_persistent_buffers_set");
  add_names(builder, is_new_set);
  builder.binunicode("_modules");
  add_ordered(builder);
  if (depth > 0) {
    builder.binunicode("0");
    add_module(builder, is_new_set, depth - 1);
    builder.setitem();
  }
  builder.binunicode("extra").binint1(3);
  builder.setitems().build();
}

std::string paths_of(const PickleRun& run) {
  if (!run.is_ok()) FAIL(run.outcome());
  const auto found = walk(run.values(), run.root(), std::nullopt, {});
  REQUIRE(found);
  std::string text;
  for (const Leaf& leaf : found->tensors) text += (text.empty() ? "" : " ") + leaf.path;
  return text + " and " + std::to_string(found->others.size());
}

}  // namespace

TEST_CASE("module: a whole module has the names of its state dict", "[torch]") {
  for (const bool is_new_set : {false, true}) {
    PickleBuilder builder;
    builder.proto(4);
    add_module(builder, is_new_set);
    const PickleRun run(builder.stop());
    CHECK(paths_of(run) == "weight mean 0.weight 0.mean and 0");
    CHECK(is_module(run.values(), run.root()));
  }
}

TEST_CASE("module: an object that lacks one of the three dicts is walked by attribute", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).global("my.net", "Net").empty_tuple().newobj().empty_dict().mark();
  builder.binunicode("_parameters").empty_dict().mark();
  add_text_item(builder, "weight");
  builder.setitems().binunicode("_buffers").empty_dict().setitems().build();
  const PickleRun run(builder.stop());
  CHECK_FALSE(is_module(run.values(), run.root()));
  CHECK(paths_of(run) == "_parameters.weight and 0");
}

TEST_CASE("module: members of the wrong kind give nothing and break nothing", "[torch]") {
  PickleBuilder builder;
  builder.proto(2).global("my.net", "Net").empty_tuple().newobj().empty_dict().mark();
  builder.binunicode("_parameters")
      .binint1(1)
      .binunicode("_buffers")
      .none()
      .binunicode("_modules")
      .binunicode("x");
  builder.binunicode("_non_persistent_buffers_set").binint1(4).setitems().build();
  const PickleRun run(builder.stop());
  CHECK(is_module(run.values(), run.root()));
  CHECK(paths_of(run) == " and 0");
}

}  // namespace ckpt::torch
