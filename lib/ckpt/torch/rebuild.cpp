#include "ckpt/torch/rebuild.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/torch/kinds.h"
#include "ckpt/torch/storage_id.h"

namespace ckpt::torch {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;
using pickle::Values;
using Arguments = std::span<const Ref>;

namespace {

/// What to do with the arguments of a rebuild function.
enum class Form : std::uint8_t {
  strided,     // storage, offset, size, stride, …
  strided_v3,  // the same, then requires_grad, hooks, dtype [, metadata]
  inner,       // tensor, …
  from_type,   // func, type, args, state
  meta,        // dtype, size, stride, requires_grad
  quantized,
  sparse,
  nested,
  wrapped,
};

struct Function {
  std::string_view name;
  Form form;
  std::size_t least;  // number of arguments
  std::size_t most;
};

constexpr std::array kFunctions = {
    Function{"_rebuild_tensor", Form::strided, 4, 4},
    Function{"_rebuild_tensor_v2", Form::strided, 6, 7},
    Function{"_rebuild_tensor_v3", Form::strided_v3, 7, 8},
    Function{"_rebuild_parameter", Form::inner, 3, 3},
    Function{"_rebuild_parameter_with_state", Form::inner, 4, 4},
    Function{"_rebuild_from_type", Form::from_type, 4, 4},
    Function{"_rebuild_from_type_v2", Form::from_type, 4, 4},
    Function{"_rebuild_meta_tensor_no_storage", Form::meta, 4, 4},
    Function{"_rebuild_qtensor", Form::quantized, 7, 7},
    Function{"_rebuild_sparse_tensor", Form::sparse, 2, 6},
    Function{"_rebuild_sparse_csr_tensor", Form::sparse, 2, 2},
    Function{"_rebuild_nested_tensor", Form::nested, 4, 4},
    Function{"_rebuild_wrapper_subclass", Form::wrapped, 8, 9},
};

const Function* find_function(const Values& values, Ref callee) {
  if (values.kind(callee) != Kind::global) return nullptr;
  const std::string_view module = values.module(callee);
  if (module != "torch._utils" && module != "torch._tensor" && module != "torch.tensor") return nullptr;
  const std::string_view name = values.name(callee);
  for (const Function& function : kFunctions) {
    if (function.name.size() == name.size() && function.name == name) return &function;
  }
  return nullptr;
}

Error wrong_count(const Function& function, std::size_t found) {
  const std::string takes = function.least == function.most
                                ? std::to_string(function.least)
                                : fmt::format("{} or {}", function.least, function.most);
  Error error =
      make_error(ErrorCode::corrupt, fmt::format("{} takes {} values, got {}", function.name, takes, found));
  return error.numbers(takes, std::to_string(found));
}

Result<std::uint64_t> read_count(const Values& values, Ref ref, std::string_view what) {
  if (values.kind(ref) != Kind::integer) {
    return fail(ErrorCode::corrupt, fmt::format("{} is {}, not an int", what, kind_text(values, ref)));
  }
  if (values.integer(ref) < 0) {
    return fail(ErrorCode::corrupt, fmt::format("{} {} is negative", what, values.integer(ref)));
  }
  return static_cast<std::uint64_t>(values.integer(ref));
}

Result<Dims> read_dims(const Values& values, Ref ref, std::string_view what) {
  const auto items = sequence(values, ref);
  if (!items)
    return fail(ErrorCode::corrupt, fmt::format("{} is {}, not a tuple", what, kind_text(values, ref)));
  Dims dims;
  dims.reserve(items->size());
  for (const Ref item : *items) {
    CKPT_LET(const std::uint64_t dim, read_count(values, item, what));
    dims.push_back(dim);
  }
  return dims;
}

Result<Dtype> read_dtype(const Values& values, Ref ref) {
  if (values.kind(ref) != Kind::global || values.module(ref) != "torch") {
    return fail(ErrorCode::corrupt, "dtype is " + kind_text(values, ref) + ", not a torch dtype");
  }
  const auto dtype = dtype_of_torch(values.name(ref));
  if (!dtype)
    return fail(ErrorCode::unsupported, "dtype torch." + escaped(values.name(ref), 64) + " is not known");
  return *dtype;
}

/// `{'conj': True}` and `{'neg': True}`: lazily applied bits of newer writers.
void read_metadata(const Values& values, Ref ref, Rebuilt& out) {
  if (values.kind(ref) != Kind::dict) return;
  const auto is_true = [&](std::string_view key) {
    const Ref value = find_key(values, values.items(ref), key);
    return value != kNoRef && values.kind(value) == Kind::boolean && values.boolean(value);
  };
  out.is_conjugate = is_true("conj");
  out.is_negative = is_true("neg");
}

Status read_strided(const Values& values, Arguments arguments, Form form, Rebuilt& out) {
  if (values.kind(arguments[0]) != Kind::persistent) {
    return fail(ErrorCode::corrupt, "storage is " + kind_text(values, arguments[0]));
  }
  out.storage = arguments[0];
  CKPT_LET(out.offset, read_count(values, arguments[1], "storage offset"));
  CKPT_LET(out.dims, read_dims(values, arguments[2], "size"));
  CKPT_LET(out.stride, read_dims(values, arguments[3], "stride"));
  if (form == Form::strided_v3) {
    CKPT_LET(out.dtype, read_dtype(values, arguments[6]));
    if (arguments.size() > 7) read_metadata(values, arguments[7], out);
  } else if (arguments.size() > 6) {
    read_metadata(values, arguments[6], out);
  }
  return {};
}

Status read_meta(const Values& values, Arguments arguments, Rebuilt& out) {
  out.kind = RebuiltKind::meta;
  CKPT_LET(out.dtype, read_dtype(values, arguments[0]));
  CKPT_LET(out.dims, read_dims(values, arguments[1], "size"));
  return {};
}

Status read_quantized(const Values& values, Arguments arguments, Rebuilt& out) {
  CKPT_TRY(read_strided(values, arguments, Form::quantized, out));
  out.kind = RebuiltKind::quantized;
  return {};
}

Status read_wrapped(const Values& values, Arguments arguments, Rebuilt& out) {
  out.kind = RebuiltKind::wrapped;
  if (values.kind(arguments[0]) == Kind::global) {
    out.type = std::string(values.module(arguments[0])) + "." + std::string(values.name(arguments[0]));
  }
  CKPT_LET(out.dtype, read_dtype(values, arguments[1]));
  CKPT_LET(out.dims, read_dims(values, arguments[2], "size"));
  return {};
}

/// The arguments of a call as a sequence: a tuple, or a list in hand-made files.
std::optional<Arguments> arguments_of(const Values& values, Ref ref) {
  if (values.kind(ref) != Kind::tuple && values.kind(ref) != Kind::list) return std::nullopt;
  return values.items(ref);
}

/// Element type of a tensor that is a part of another one; none if it is no plain rebuild call.
std::optional<Dtype> dtype_of_part(const Values& values, Ref ref) {
  if (values.kind(ref) != Kind::call) return std::nullopt;
  const auto arguments = arguments_of(values, values.arguments(ref));
  if (!arguments || arguments->empty() || values.kind((*arguments)[0]) != Kind::persistent)
    return std::nullopt;
  const auto id = parse_storage_id(values, (*arguments)[0]);
  return id ? id->dtype : std::nullopt;
}

/// Data of a sparse tensor: (indices, values, size [, …]) for coo, (compressed, plain, values, size) for the others. The size
/// is the item that is a tuple, the values stand right before it.
Status read_sparse(const Values& values, Arguments arguments, Rebuilt& out) {
  out.kind = RebuiltKind::sparse;
  const auto data = sequence(values, arguments[1]);
  if (!data) return {};  // TorchScript has another order of arguments
  for (std::size_t i = 1; i < data->size(); ++i) {
    if (!sequence(values, (*data)[i]) || is_rebuild_call(values, (*data)[i])) continue;
    CKPT_LET(out.dims, read_dims(values, (*data)[i], "size"));
    out.dtype = dtype_of_part(values, (*data)[i - 1]);
    break;
  }
  return {};
}

Status read_leaf(const Values& values, const Function& function, Arguments arguments, Rebuilt& out) {
  if (out.type.empty()) out.type = std::string(function.name);
  switch (function.form) {
    case Form::strided:
    case Form::strided_v3: return read_strided(values, arguments, function.form, out);
    case Form::meta: return read_meta(values, arguments, out);
    case Form::quantized: return read_quantized(values, arguments, out);
    case Form::wrapped: return read_wrapped(values, arguments, out);
    case Form::sparse: return read_sparse(values, arguments, out);
    default: out.kind = RebuiltKind::nested; return {};
  }
}

}  // namespace

bool is_rebuild_call(const Values& values, Ref ref) {
  return values.kind(ref) == Kind::call && find_function(values, values.callee(ref)) != nullptr;
}

Result<Rebuilt> read_rebuild_call(const Values& values, Ref ref) {
  Ref callee = values.callee(ref);
  Ref arguments_ref = values.arguments(ref);
  Rebuilt out;
  for (int level = 0; level < 8; ++level) {
    const Function* function = find_function(values, callee);
    if (function == nullptr) {
      return fail(ErrorCode::unsupported, "the tensor is made by a function that is not known");
    }
    const auto arguments = arguments_of(values, arguments_ref);
    if (!arguments) {
      return fail(ErrorCode::corrupt,
                  fmt::format("{} is called with {}", function->name, kind_text(values, arguments_ref)));
    }
    if (arguments->size() < function->least || arguments->size() > function->most) {
      return fail(wrong_count(*function, arguments->size()));
    }
    if (function->form == Form::inner) {
      const Ref inner = (*arguments)[0];
      if (values.kind(inner) != Kind::call) {
        return fail(ErrorCode::corrupt,
                    fmt::format("{} is given {}, not a tensor", function->name, kind_text(values, inner)));
      }
      callee = values.callee(inner);
      arguments_ref = values.arguments(inner);
    } else if (function->form == Form::from_type) {
      callee = (*arguments)[0];
      arguments_ref = (*arguments)[2];
    } else {
      CKPT_TRY(read_leaf(values, *function, *arguments, out));
      return out;
    }
  }
  return fail(ErrorCode::corrupt, "rebuild calls are nested more than 8 deep");
}

}  // namespace ckpt::torch
