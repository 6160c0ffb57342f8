#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/jobs/jobs.h"

namespace ckpt::app {

enum class Command { inspect, verify, convert, prefetch };
inline constexpr const char* kCommandNames[] = {"inspect", "verify", "convert", "prefetch"};

enum class ColorMode { automatic, always, never };
enum class SortKey { file, name, bytes, dtype, offset };
enum class Column { name, dtype, shape, bytes, elements, offset, stride, storage, flags, sha256 };

/// What all commands share.
struct GlobalOptions {
  bool is_quiet = false;
  bool is_verbose = false;
  bool json = false;
  bool progress = true;
  bool timings = false;
  ColorMode color = ColorMode::automatic;
};

/// How a listing looks.
struct ListOptions {
  bool tree = false;
  bool plain = false;
  bool imports = false;   ///< every import, not only what is not known-safe
  bool metadata = false;  ///< metadata in full
  SortKey sort = SortKey::file;
  std::vector<Column> columns;  ///< empty = the default ones
};

/// A parsed command line.
struct Invocation {
  Command command = Command::inspect;
  GlobalOptions global;
  std::vector<std::string> paths;
  ListOptions list;
  InspectOptions inspect;
  VerifyOptions verify;
  bool each = false;  ///< verify: check every path on its own
  ConvertOptions convert;
  std::string output;
  PrefetchOptions prefetch;
};

/// What the command line came to.
struct Parsed {
  std::optional<Invocation> invocation;  ///< none: `text` is to be printed and the program ends
  std::string text;                      ///< help or version
};

/// Reads the command line; opens no file.
/// Errors: usage, with the command in `command_seen` as far as it was understood and `json_seen` if --json stands anywhere.
struct ParseFailure {
  Error error;
  std::string command;
  bool json = false;
};

[[nodiscard]] tl::expected<Parsed, ParseFailure> parse_command_line(
    const std::vector<std::string>& arguments);

}  // namespace ckpt::app
