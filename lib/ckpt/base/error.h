#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/export.h"

namespace ckpt {

/// The closed list of words that say what kind of answer an error is. Every error and every finding
/// carries exactly one. The program's exit status follows from the word (apps/ckpt/exit_code.h).
enum class ErrorCode : std::uint8_t {
  // The answer is no.
  differ,
  corrupt,
  truncated,
  short_file,
  ambiguous,
  dangerous_import,
  path_escape,
  would_overwrite,
  would_lose,
  ambiguous_root,
  name_collision,
  missing_member,
  expectation,
  no_match,
  over_memory,
  // Wrong usage.
  usage,
  // No answer.
  not_found,
  unknown_format,
  unsupported,
  limit,
  io,
  no_space,
  permission,
  changed,
  busy,
  internal,
};

inline constexpr int kErrorCodeCount = static_cast<int>(ErrorCode::internal) + 1;

/// The word as it is printed and as JSON has it, for example "short-file".
[[nodiscard]] CKPT_API std::string_view error_word(ErrorCode code);

/// Why a job could not go on, as a value. Each layer adds the one piece of place that it knows:
/// file, then record, then tensor.
///
/// `message` is fit for a terminal: whatever came from a file went through `in_quotes` or `escaped`
/// (text.h) before. The places are raw bytes; only `error_line` and the reports escape them.
struct CKPT_API Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  ///< what is wrong, with both numbers that disagree
  std::string file;     ///< path as the caller wrote it; empty if no file is concerned
  std::string record;   ///< record of an archive, as its directory names it
  std::string tensor;   ///< name of a tensor
  std::optional<std::uint64_t>
      offset;            ///< of an opcode: from the start of its pickle; of anything else: from
                         ///< the start of the file
  std::string expected;  ///< what was promised, for JSON; may be empty
  std::string found;     ///< what was there, for JSON; may be empty
  std::string advice;    ///< the next command to type, or empty

  // Fill a place that no inner layer has filled yet.
  Error& in_file(std::string_view path);
  Error& in_record(std::string_view name);
  Error& in_tensor(std::string_view name);
  Error& at(std::uint64_t place);
  Error& numbers(std::string expected_text, std::string found_text);
  Error& with_advice(std::string text);
};

/// `<file>: <record or tensor>: <what> [word]`, places escaped, at most `kMaxErrorLineBytes` bytes
/// with the word always kept. Without the program's name and a newline.
[[nodiscard]] CKPT_API std::string error_line(const Error& error);

/// A line of standard error has at most 1,024 bytes; this leaves room for "ckpt: <command>: " in front.
inline constexpr std::size_t kMaxErrorLineBytes = 992;

enum class Severity : std::uint8_t { note, error };

/// Something worth telling about a file. Data of a report: collecting one never stops a job.
struct Finding {
  Severity severity = Severity::error;
  Error what;
};

[[nodiscard]] CKPT_API Finding note(Error what);
[[nodiscard]] CKPT_API Finding defect(Error what);

}  // namespace ckpt
