#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ckpt/pickle/value.h"

/// Small questions about pickled values that several readers of this module ask.
namespace ckpt::torch {

/// "an int", "a list", "a call of builtins.set": for error messages.
[[nodiscard]] std::string kind_text(const pickle::Values& values, pickle::Ref ref);

/// True for text and for the 8-bit strings of Python 2.
[[nodiscard]] bool is_text(const pickle::Values& values, pickle::Ref ref);

/// Bytes as they stand in a pickle: the value itself, or `_codecs.encode(text, 'latin1')`, the form of protocol 2, each code
/// point of which is one byte. None if it is neither.
[[nodiscard]] std::optional<std::string> bytes_of(const pickle::Values& values, pickle::Ref ref);

/// The class or function that a call names, as "module.name"; empty if its callee is no global.
[[nodiscard]] std::string callee_text(const pickle::Values& values, pickle::Ref ref);

/// Items of a tuple, list, `torch.Size` or other call of one sequence; none if it is no sequence.
[[nodiscard]] std::optional<std::span<const pickle::Ref>> sequence(const pickle::Values& values,
                                                                   pickle::Ref ref);

/// The value of a text key among key-value pairs; kNoRef if it is not there. The last one counts, as in Python.
[[nodiscard]] pickle::Ref find_key(const pickle::Values& values, std::span<const pickle::Ref> pairs,
                                   std::string_view key);

/// True for a dict and for calls that were given items by key (OrderedDict, defaultdict, AttributeDict …) or are
/// known mappings.
[[nodiscard]] bool is_mapping(const pickle::Values& values, pickle::Ref ref);
/// Key, value, … of a mapping.
[[nodiscard]] std::span<const pickle::Ref> mapping_pairs(const pickle::Values& values, pickle::Ref ref);

/// Attributes that BUILD gave: the pairs of a dict state, or of the first dict in a (dict, slots) state.
[[nodiscard]] std::span<const pickle::Ref> attributes(const pickle::Values& values, pickle::Ref ref);

}  // namespace ckpt::torch
