#include "ckpt/torch/kinds.h"

#include <array>

#include "ckpt/base/text.h"

namespace ckpt::torch {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;
using pickle::Values;

namespace {

constexpr std::array<std::string_view, 17> kKindTexts = {
    "none",   "a bool",    "an int", "an int above 64 bits", "a float",
    "a str",  "a str",     "bytes",  "a bytearray",          "a tuple",
    "a list", "a dict",    "a set",  "a frozenset",          "a global",
    "a call", "a storage",
};

bool is_known_mapping(std::string_view name) {
  return name == "OrderedDict" || name == "defaultdict" || name == "Counter" || name == "dict";
}

/// UTF-8 of code points up to 255 to one byte each; none if there is a higher one.
std::optional<std::string> latin1_bytes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      out += text[i];
    } else if ((lead == 0xC2 || lead == 0xC3) && i + 1 < text.size()) {
      out += static_cast<char>(((lead & 3U) << 6U) | (static_cast<unsigned char>(text[++i]) & 0x3FU));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::string kind_text(const Values& values, Ref ref) {
  if (values.kind(ref) == Kind::call) return "a call of " + escaped(callee_text(values, ref), kMaxShownBytes);
  return std::string(kKindTexts[static_cast<std::size_t>(values.kind(ref))]);
}

bool is_text(const Values& values, Ref ref) {
  return values.kind(ref) == Kind::text || values.kind(ref) == Kind::string8;
}

std::optional<std::string> bytes_of(const Values& values, Ref ref) {
  const Kind kind = values.kind(ref);
  if (kind == Kind::bytes || kind == Kind::byte_array) return std::string(values.text(ref));
  if (kind != Kind::call || !values.is_global(values.callee(ref), "_codecs", "encode")) return std::nullopt;
  const Ref arguments = values.arguments(ref);
  if (values.kind(arguments) != Kind::tuple || values.items(arguments).size() != 2) return std::nullopt;
  const Ref text = values.items(arguments)[0];
  return values.kind(text) == Kind::text ? latin1_bytes(values.text(text)) : std::nullopt;
}

std::string callee_text(const Values& values, Ref ref) {
  const Ref callee = values.callee(ref);
  if (values.kind(callee) != Kind::global) return {};
  return std::string(values.module(callee)) + "." + std::string(values.name(callee));
}

std::optional<std::span<const Ref>> sequence(const Values& values, Ref ref) {
  // torch.Size is a call of one tuple; two levels are more than any writer makes.
  for (int level = 0; level < 3; ++level) {
    const Kind kind = values.kind(ref);
    if (kind == Kind::tuple || kind == Kind::list) return values.items(ref);
    if (kind != Kind::call) return std::nullopt;
    const Ref arguments = values.arguments(ref);
    if (values.kind(arguments) != Kind::tuple || values.items(arguments).size() != 1) return std::nullopt;
    ref = values.items(arguments)[0];
  }
  return std::nullopt;
}

Ref find_key(const Values& values, std::span<const Ref> pairs, std::string_view key) {
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    const Ref candidate = pairs[i - 2];
    if (is_text(values, candidate) && values.text(candidate) == key) return pairs[i - 1];
  }
  return kNoRef;
}

bool is_mapping(const Values& values, Ref ref) {
  if (values.kind(ref) == Kind::dict) return true;
  if (values.kind(ref) != Kind::call) return false;
  if (!values.pairs(ref).empty()) return true;
  const Ref callee = values.callee(ref);
  return values.kind(callee) == Kind::global && is_known_mapping(last_part(values.name(callee)));
}

std::span<const Ref> mapping_pairs(const Values& values, Ref ref) {
  if (values.kind(ref) == Kind::dict) return values.items(ref);
  if (!values.pairs(ref).empty()) return values.pairs(ref);
  // Counter(dict) and dict(dict) carry their items as the only argument.
  const Ref arguments = values.arguments(ref);
  if (values.kind(arguments) == Kind::tuple) {
    for (const Ref argument : values.items(arguments)) {
      if (values.kind(argument) == Kind::dict) return values.items(argument);
    }
  }
  return {};
}

std::span<const Ref> attributes(const Values& values, Ref ref) {
  const Kind kind = values.kind(ref);
  if (kind != Kind::call && kind != Kind::global && kind != Kind::persistent) return {};
  for (const Ref state : values.states(ref)) {
    if (values.kind(state) == Kind::dict) return values.items(state);
    if (values.kind(state) != Kind::tuple) continue;
    for (const Ref part : values.items(state)) {
      if (values.kind(part) == Kind::dict) return values.items(part);
    }
  }
  return {};
}

}  // namespace ckpt::torch
