#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/error.h"

namespace ckpt::safetensors {

/// Collects findings. Of each word and severity it keeps the first `kMaxAlike` and counts the rest: two
/// million entries with one defect each must not cost a gigabyte, and no word may be pushed out by another.
class HeaderFindings {
 public:
  static constexpr std::uint64_t kMaxAlike = 1000;

  void add_error(Error what) { add(Severity::error, std::move(what)); }
  void add_note(Error what) { add(Severity::note, std::move(what)); }
  /// Puts an error in front of all others: the one line that is printed.
  void add_first(Error what) { findings_.insert(findings_.begin(), defect(std::move(what))); }

  /// Everything kept, then one finding for each kind that was cut short.
  [[nodiscard]] std::vector<Finding> take();

 private:
  void add(Severity severity, Error what);

  std::vector<Finding> findings_;
  std::array<std::array<std::uint64_t, kErrorCodeCount>, 2> counts_{};
};

/// "1 byte", "2 bytes".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace ckpt::safetensors
