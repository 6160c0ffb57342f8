#include "ckpt/torch/rebuild.h"

#include <functional>

#include "support/model_checks.h"
#include "support/pickle_run.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;
using Fill = std::function<void(PickleBuilder&)>;

/// The call of torch._utils.`function` with what `fill` leaves on the stack.
PickleBuilder call_of(std::string_view function, const Fill& fill, std::string_view module = "torch._utils") {
  PickleBuilder builder;
  builder.proto(2).global(module, function).mark();
  fill(builder);
  builder.tuple().reduce().stop();
  return builder;
}

Result<Rebuilt> read(const PickleBuilder& builder) {
  const PickleRun run(builder);
  REQUIRE(run.is_ok());
  return read_rebuild_call(run.values(), run.root());
}

Rebuilt good(const PickleBuilder& builder) {
  auto rebuilt = read(builder);
  if (!rebuilt) FAIL(error_line(rebuilt.error()));
  return *std::move(rebuilt);
}

void check_refused(const PickleBuilder& builder, ErrorCode code, std::string_view part) {
  const auto rebuilt = read(builder);
  REQUIRE_FALSE(rebuilt);
  check_error(rebuilt.error(), code, part);
}

void add_storage(PickleBuilder& builder) {
  builder.mark()
      .binunicode("storage")
      .global("torch", "FloatStorage")
      .binunicode("0")
      .binunicode("cpu")
      .binint1(4)
      .tuple();
  builder.binpersid();
}

void add_hooks(PickleBuilder& builder) {
  builder.global("collections", "OrderedDict").empty_tuple().reduce();
}

/// storage, 1, (2, 3), (3, 1)
void add_view(PickleBuilder& builder) {
  add_storage(builder);
  builder.binint1(1).binint1(2).binint1(3).tuple2().binint1(3).binint1(1).tuple2();
}

/// The six arguments of version 2.
void add_six(PickleBuilder& builder) {
  add_view(builder);
  builder.newfalse();
  add_hooks(builder);
}

/// A tensor of version 2, left on the stack.
void add_inner(PickleBuilder& builder) {
  builder.global("torch._utils", "_rebuild_tensor_v2").mark();
  add_six(builder);
  builder.tuple().reduce();
}

/// Version 2 with its offset, size and stride filled in by the caller.
PickleBuilder strided(const Fill& offset, const Fill& size, const Fill& stride) {
  return call_of("_rebuild_tensor_v2", [&](PickleBuilder& builder) {
    add_storage(builder);
    offset(builder);
    size(builder);
    stride(builder);
    builder.newfalse().none();
  });
}

Fill number(std::int64_t value) {
  return [value](PickleBuilder& builder) { builder.integer(value); };
}
Fill tuple_of(std::vector<std::int64_t> numbers) {
  return [numbers](PickleBuilder& builder) {
    builder.mark();
    for (const std::int64_t value : numbers) builder.integer(value);
    builder.tuple();
  };
}

}  // namespace

TEST_CASE("rebuild: version 2 gives storage, offset, size and stride", "[torch]") {
  const Rebuilt rebuilt = good(call_of("_rebuild_tensor_v2", add_six));
  CHECK(rebuilt.kind == RebuiltKind::plain);
  CHECK(rebuilt.storage != pickle::kNoRef);
  CHECK_FALSE(rebuilt.dtype);
  CHECK(rebuilt.offset == 1);
  CHECK(rebuilt.dims == Dims{2, 3});
  CHECK(rebuilt.stride == Dims{3, 1});
  CHECK_FALSE(rebuilt.is_conjugate);
}

TEST_CASE("rebuild: the first version has four values", "[torch]") {
  CHECK(good(call_of("_rebuild_tensor", add_view)).dims == Dims{2, 3});
  check_refused(call_of("_rebuild_tensor", add_six), ErrorCode::corrupt,
                "_rebuild_tensor takes 4 values, got 6");
}

TEST_CASE("rebuild: version 3 names its dtype", "[torch]") {
  const auto v3 = [](const Fill& dtype) {
    return call_of("_rebuild_tensor_v3", [&](PickleBuilder& builder) {
      add_six(builder);
      dtype(builder);
    });
  };
  CHECK(good(v3([](PickleBuilder& b) { b.global("torch", "float8_e4m3fn"); })).dtype == Dtype::f8_e4m3);
  check_refused(v3([](PickleBuilder& b) { b.global("torch", "uint3"); }), ErrorCode::unsupported,
                "dtype torch.uint3 is not known");
  check_refused(v3([](PickleBuilder& b) { b.global("os", "float32"); }), ErrorCode::corrupt,
                "not a torch dtype");
  check_refused(v3([](PickleBuilder& b) { b.binunicode("float32"); }), ErrorCode::corrupt, "dtype is a str");
  check_refused(call_of("_rebuild_tensor_v3", add_six), ErrorCode::corrupt,
                "_rebuild_tensor_v3 takes 7 or 8 values, got 6");
}

TEST_CASE("rebuild: metadata tells lazily applied bits", "[torch]") {
  const auto with = [](const char* key, const Fill& value) {
    return good(call_of("_rebuild_tensor_v2", [&](PickleBuilder& builder) {
      add_six(builder);
      builder.empty_dict().binunicode(key);
      value(builder);
      builder.setitem();
    }));
  };
  const Fill yes = [](PickleBuilder& builder) { builder.newtrue(); };
  CHECK(with("conj", yes).is_conjugate);
  CHECK(with("neg", yes).is_negative);
  CHECK_FALSE(with("neg", yes).is_conjugate);
  CHECK_FALSE(with("other", yes).is_negative);
  CHECK_FALSE(with("conj", [](PickleBuilder& builder) { builder.newfalse(); }).is_conjugate);
  CHECK_FALSE(with("conj", number(1)).is_conjugate);
}

TEST_CASE("rebuild: a wrong number of values is told with both numbers", "[torch]") {
  check_refused(call_of("_rebuild_tensor_v2", [](PickleBuilder& b) { b.none().none(); }), ErrorCode::corrupt,
                "_rebuild_tensor_v2 takes 6 or 7 values, got 2");
  check_refused(call_of("_rebuild_tensor_v2", [](PickleBuilder& b) { b.none().none().none().none().none(); }),
                ErrorCode::corrupt, "takes 6 or 7 values, got 5");
  check_refused(call_of("_rebuild_tensor_v2",
                        [](PickleBuilder& b) {
                          add_six(b);
                          b.none().none().none();
                        }),
                ErrorCode::corrupt, "takes 6 or 7 values, got 9");
  check_refused(call_of("_rebuild_parameter", [](PickleBuilder& b) { b.none(); }), ErrorCode::corrupt,
                "_rebuild_parameter takes 3 values, got 1");
  check_refused(call_of(
                    "_rebuild_from_type_v2", [](PickleBuilder& b) { b.none(); }, "torch._tensor"),
                ErrorCode::corrupt, "_rebuild_from_type_v2 takes 4 values, got 1");
}

TEST_CASE("rebuild: values of the wrong kind are named", "[torch]") {
  check_refused(call_of("_rebuild_tensor_v2",
                        [](PickleBuilder& b) {
                          b.binunicode("x").binint1(0).empty_tuple().empty_tuple().newfalse().none();
                        }),
                ErrorCode::corrupt, "storage is a str");
  check_refused(strided([](PickleBuilder& b) { b.binfloat(0); }, tuple_of({2}), tuple_of({1})),
                ErrorCode::corrupt, "storage offset is a float, not an int");
  check_refused(strided(number(0), number(4), tuple_of({1})), ErrorCode::corrupt,
                "size is an int, not a tuple");
  check_refused(strided(number(0), tuple_of({4}), [](PickleBuilder& b) { b.none(); }), ErrorCode::corrupt,
                "stride is none");
  check_refused(strided(
                    number(0), [](PickleBuilder& b) { b.newtrue().tuple1(); }, tuple_of({1})),
                ErrorCode::corrupt, "size is a bool, not an int");
  PickleBuilder no_tuple;
  no_tuple.proto(2).global("torch._utils", "_rebuild_tensor_v2").none().reduce().stop();
  check_refused(no_tuple, ErrorCode::corrupt, "_rebuild_tensor_v2 is called with none");
}

TEST_CASE("rebuild: negative numbers are corrupt", "[torch]") {
  check_refused(strided(number(-1), tuple_of({2}), tuple_of({1})), ErrorCode::corrupt,
                "storage offset -1 is negative");
  check_refused(strided(number(0), tuple_of({-1, 2}), tuple_of({2, 1})), ErrorCode::corrupt,
                "size -1 is negative");
  check_refused(strided(number(0), tuple_of({2}), tuple_of({-1})), ErrorCode::corrupt,
                "stride -1 is negative");
}

TEST_CASE("rebuild: sizes may be lists and torch.Size", "[torch]") {
  const Fill list = [](PickleBuilder& b) { b.empty_list().mark().binint1(2).binint1(3).appends(); };
  const Fill size = [](PickleBuilder& b) {
    b.global("torch", "Size").binint1(2).binint1(3).tuple2().tuple1().reduce();
  };
  CHECK(good(strided(number(0), list, tuple_of({3, 1}))).dims == Dims{2, 3});
  CHECK(good(strided(number(0), size, tuple_of({3, 1}))).dims == Dims{2, 3});
  CHECK(good(strided(number(0), tuple_of({}), tuple_of({}))).dims.empty());
}

TEST_CASE("rebuild: parameters are read through", "[torch]") {
  CHECK(good(call_of("_rebuild_parameter", [](PickleBuilder& b) {
          add_inner(b);
          b.newtrue().none();
        })).dims == Dims{2, 3});
  CHECK(good(call_of("_rebuild_parameter_with_state", [](PickleBuilder& b) {
          add_inner(b);
          b.newtrue().none().empty_dict();
        })).dims == Dims{2, 3});
  check_refused(call_of("_rebuild_parameter", [](PickleBuilder& b) { b.empty_dict().newtrue().none(); }),
                ErrorCode::corrupt, "_rebuild_parameter is given a dict, not a tensor");
  check_refused(call_of("_rebuild_parameter",
                        [](PickleBuilder& b) {
                          add_hooks(b);
                          b.newtrue().none();
                        }),
                ErrorCode::unsupported, "not known");
}

TEST_CASE("rebuild: subclasses are read through their function", "[torch]") {
  const auto typed = [](std::string_view function, std::string_view module) {
    return call_of(
        function,
        [](PickleBuilder& b) {
          b.global("torch._utils", "_rebuild_tensor_v2").global("torch", "Tensor").mark();
          add_six(b);
          b.tuple().none();
        },
        module);
  };
  CHECK(good(typed("_rebuild_from_type_v2", "torch._tensor")).dims == Dims{2, 3});
  CHECK(good(typed("_rebuild_from_type", "torch.tensor")).dims == Dims{2, 3});
  check_refused(call_of(
                    "_rebuild_from_type_v2",
                    [](PickleBuilder& b) {
                      b.global("os", "system").global("torch", "Tensor").binunicode("x").tuple1().none();
                    },
                    "torch._tensor"),
                ErrorCode::unsupported, "a function that is not known");
}

TEST_CASE("rebuild: calls nested more than 8 deep are corrupt", "[torch]") {
  const auto nested = [](int levels) {
    PickleBuilder builder;
    builder.proto(2);
    for (int i = 0; i < levels; ++i) builder.global("torch._utils", "_rebuild_parameter").mark();
    add_inner(builder);
    for (int i = 0; i < levels; ++i) builder.newtrue().none().tuple().reduce();
    return builder.stop();
  };
  CHECK(good(nested(7)).dims == Dims{2, 3});
  check_refused(nested(8), ErrorCode::corrupt, "nested more than 8 deep");
}

TEST_CASE("rebuild: what is not plain keeps its kind and shape", "[torch]") {
  const Rebuilt meta = good(call_of("_rebuild_meta_tensor_no_storage", [](PickleBuilder& b) {
    b.global("torch", "bfloat16").binint1(5).tuple1().binint1(1).tuple1().newfalse();
  }));
  CHECK(meta.kind == RebuiltKind::meta);
  CHECK(meta.dtype == Dtype::bf16);
  CHECK(meta.dims == Dims{5});
  CHECK(meta.storage == pickle::kNoRef);

  const Rebuilt quantized = good(call_of("_rebuild_qtensor", [](PickleBuilder& b) {
    add_view(b);
    b.global("torch", "per_tensor_affine").binfloat(0.5).binint1(0).tuple3().newfalse();
    add_hooks(b);
  }));
  CHECK(quantized.kind == RebuiltKind::quantized);
  CHECK(quantized.storage != pickle::kNoRef);

  const Rebuilt wrapped = good(call_of("_rebuild_wrapper_subclass", [](PickleBuilder& b) {
    b.global("torch.distributed.tensor", "DTensor")
        .global("torch", "float32")
        .binint1(4)
        .tuple1()
        .binint1(1)
        .tuple1();
    b.binint1(0).none().none().newfalse();
  }));
  CHECK(wrapped.kind == RebuiltKind::wrapped);
  CHECK(wrapped.type == "torch.distributed.tensor.DTensor");
  CHECK(wrapped.dims == Dims{4});

  const Rebuilt nested = good(call_of("_rebuild_nested_tensor", [](PickleBuilder& b) {
    for (int i = 0; i < 4; ++i) add_inner(b);
  }));
  CHECK(nested.kind == RebuiltKind::nested);
}

TEST_CASE("rebuild: the shape and dtype of a sparse tensor come from its parts", "[torch]") {
  const Rebuilt coo = good(call_of("_rebuild_sparse_tensor", [](PickleBuilder& b) {
    b.global("torch.serialization", "_get_layout").binunicode("torch.sparse_coo").tuple1().reduce().mark();
    add_inner(b);
    add_inner(b);
    b.binint1(4).binint1(5).tuple2().newtrue().tuple();
  }));
  CHECK(coo.kind == RebuiltKind::sparse);
  CHECK(coo.dims == Dims{4, 5});
  CHECK(coo.dtype == Dtype::f32);
}

TEST_CASE("rebuild: only torch's functions count", "[torch]") {
  const auto is_call = [](const PickleBuilder& builder) {
    const PickleRun run(builder);
    return is_rebuild_call(run.values(), run.root());
  };
  CHECK(is_call(call_of("_rebuild_tensor_v2", add_six)));
  CHECK_FALSE(is_call(call_of("_rebuild_tensor_v2", add_six, "os")));
  CHECK_FALSE(is_call(call_of("_rebuild_tensor_v9", add_six)));
  PickleBuilder builder;
  builder.proto(2);
  add_hooks(builder);
  CHECK_FALSE(is_call(builder.stop()));
  CHECK_FALSE(is_call(PickleBuilder().none().stop()));
}

}  // namespace ckpt::torch
