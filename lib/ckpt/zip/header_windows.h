#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/zip/directory.h"

namespace ckpt::zip {

/// One read that brings in the local headers of consecutive records.
struct Window {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t first = 0;  ///< place in file order of the first record
  std::uint32_t count = 0;
};

/// Joins records into windows.
class WindowPlanner {
 public:
  static constexpr std::uint64_t kMaxGap = 4096;
  static constexpr std::uint64_t kMaxBytes = 256ULL << 10U;

  /// Nothing at or behind `limit` is read.
  explicit WindowPlanner(std::uint64_t limit) : limit_(limit) {}
  /// Takes the records in file order; each has at least its fixed header in front of the limit.
  void add(const Entry& entry, std::uint32_t place);
  [[nodiscard]] std::vector<Window> finish() && { return std::move(windows_); }

 private:
  const std::uint64_t limit_;
  std::vector<Window> windows_;
};

/// Takes the bytes of windows. Threads: called from several at once, for different windows; `scratch`
/// belongs to the calling thread.
class WindowParser {
 public:
  virtual ~WindowParser() = default;
  virtual Status parse_window(const Window& window, std::span<const std::byte> bytes,
                              std::vector<std::byte>& scratch) = 0;
};

/// Reads the windows, each once; more than 256 of a file through the span reader, many in flight.
/// Errors: those of the source, of the span reader and of the parser.
[[nodiscard]] Status read_windows(const std::shared_ptr<const ByteSource>& source,
                                  const std::vector<Window>& windows, WindowParser& parser);

}  // namespace ckpt::zip
