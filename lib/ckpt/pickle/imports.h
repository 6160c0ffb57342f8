#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/export.h"
#include "ckpt/pickle/value.h"

/// What an import in a pickle would mean to a program that runs it. We never do: the class decides only
/// what is said, and whether convert and verify go on.
///
/// The lists are closed: an exact pair is known-safe, a module of the standard library that is not listed is
/// dangerous, torch and numpy are dangerous outside their lists, the rest is unknown
/// (docs/formats/imports.md tells why and where the names come from).
namespace ckpt::pickle {

enum class ImportClass : std::uint8_t { known_safe, unknown, dangerous };

[[nodiscard]] CKPT_API std::string_view import_class_word(
    ImportClass c);  // "known-safe", "unknown", "dangerous"

struct ImportVerdict {
  ImportClass level = ImportClass::unknown;
  std::string reason;  ///< what it gives, for dangerous ones: "runs programs", "calls by name", …
};

/// A pair as Python 3 spells it.
struct PythonName {
  std::string_view module;
  std::string_view name;
};

/// Python 2 names as Python 3 has them: `__builtin__ xrange` is `builtins range`; others stay as they are.
[[nodiscard]] PythonName python3_name(std::string_view module, std::string_view name);

/// Judges a pair as written in the file; Python 2 names are mapped to Python 3 first.
/// `in_torchscript`: `__torch__.*` classes are known-safe inside a TorchScript archive only.
/// `builtins getattr` and `torch.storage _load_from_bytes` are dangerous here, without their arguments;
/// see `judge_calls`.
[[nodiscard]] ImportVerdict classify_import(std::string_view module, std::string_view name,
                                            bool in_torchscript);

/// One imported pair of one pickle, used or not. What has no name, because an extension code hides it or
/// because it is computed at load time, has neither module nor name, and the reason says so.
struct Import {
  std::string module;  ///< raw bytes as written
  std::string name;
  ImportVerdict verdict;
  std::uint64_t offset = 0;  ///< of the first opcode that names it, bytes from the start of the pickle
  std::uint64_t count = 0;   ///< opcodes that name it
};

/// Judges calls whose harmlessness depends on their arguments: `_codecs.encode` with another codec than
/// latin-1, ascii or utf-8; `getattr` (a class and a literal make the dotted name, judged as such; anything
/// else is dangerous); `torch.storage._load_from_bytes` (unknown when its bytes are a pickle without
/// dangerous imports, else dangerous). Adds to `imports`, raises verdicts, and lowers getattr and
/// _load_from_bytes to unknown when every opcode that names them is accounted for by a harmless call.
///
/// `Machine::run` has done so when it returns; a second time changes nothing.
void judge_calls(const Values& values, bool in_torchscript, std::vector<Import>& imports);

}  // namespace ckpt::pickle
