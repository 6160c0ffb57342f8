#include "ckpt/model/other_values.h"

#include <fmt/format.h>

#include "ckpt/torch/kinds.h"

namespace ckpt {

namespace {

using pickle::Kind;
using pickle::Ref;
using pickle::Values;

constexpr std::size_t kShownTextBytes = 80;

std::string short_text(std::string_view text) {
  return text.size() <= kShownTextBytes ? std::string(text)
                                        : std::string(text.substr(0, kShownTextBytes)) + "...";
}

std::string global_text(const Values& values, Ref ref) {
  return std::string(values.module(ref)) + "." + std::string(values.name(ref));
}

void describe(const Values& values, Ref ref, Other& other) {
  if (const auto bytes = torch::bytes_of(values, ref)) {
    other.kind = values.kind(ref) == Kind::byte_array ? "bytearray" : "bytes";
    other.value = fmt::format("{} bytes", bytes->size());
    return;
  }
  switch (values.kind(ref)) {
    case Kind::none: other.kind = "none"; return;
    case Kind::boolean: other.kind = "bool", other.value = values.boolean(ref) ? "True" : "False"; return;
    case Kind::integer: other.kind = "int", other.value = std::to_string(values.integer(ref)); return;
    case Kind::big_integer: other.kind = "int"; return;
    case Kind::real: other.kind = "float", other.value = fmt::format("{}", values.real(ref)); return;
    case Kind::text:
    case Kind::string8: other.kind = "str", other.value = short_text(values.text(ref)); return;
    case Kind::set:
      other.kind = "set", other.value = fmt::format("{} items", values.items(ref).size());
      return;
    case Kind::frozen_set:
      other.kind = "frozenset", other.value = fmt::format("{} items", values.items(ref).size());
      return;
    case Kind::global: other.kind = "class or function", other.value = global_text(values, ref); return;
    case Kind::call: other.kind = torch::callee_text(values, ref); break;
    default: other.kind = "object"; break;
  }
  if (other.kind.empty()) other.kind = "object";
}

}  // namespace

Other describe_other(const Values& values, Ref ref, std::string path, bool in_root) {
  Other other;
  other.path = std::move(path);
  other.in_root = in_root;
  describe(values, ref, other);
  return other;
}

}  // namespace ckpt
