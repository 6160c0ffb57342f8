#pragma once

#include <vector>

#include "ckpt/base/error.h"

namespace ckpt::app {

inline constexpr int kYes = 0;
inline constexpr int kNo = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNoAnswer = 3;

/// The exit status that a word stands for. The list of words is ordered: no, wrong usage, no answer.
[[nodiscard]] constexpr int exit_code(ErrorCode code) {
  if (code < ErrorCode::usage) return kNo;
  return code == ErrorCode::usage ? kUsage : kNoAnswer;
}

/// Over several files and findings no outranks no answer, and that outranks yes; wrong usage outranks all.
[[nodiscard]] constexpr int worse(int a, int b) {
  constexpr int kRank[] = {0, 2, 3, 1};
  return kRank[a] >= kRank[b] ? a : b;
}

/// Status of a report with these findings: its errors count.
[[nodiscard]] inline int exit_code(const std::vector<Finding>& findings) {
  int status = kYes;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::error) status = worse(status, exit_code(finding.what.code));
  }
  return status;
}

}  // namespace ckpt::app
