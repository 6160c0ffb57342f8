#include "ckpt/safetensors/header_findings.h"

#include <fmt/format.h>

#include "ckpt/base/result.h"

namespace ckpt::safetensors {

void HeaderFindings::add(Severity severity, Error what) {
  std::uint64_t& count = counts_[static_cast<std::size_t>(severity)][static_cast<std::size_t>(what.code)];
  if (++count <= kMaxAlike) findings_.push_back({severity, std::move(what)});
}

std::vector<Finding> HeaderFindings::take() {
  for (const Severity severity : {Severity::error, Severity::note}) {
    for (std::size_t code = 0; code < kErrorCodeCount; ++code) {
      const std::uint64_t count = counts_[static_cast<std::size_t>(severity)][code];
      if (count <= kMaxAlike) continue;
      findings_.push_back(
          {severity, make_error(static_cast<ErrorCode>(code),
                                counted(count - kMaxAlike, "more finding") + " of this kind")});
    }
  }
  return std::move(findings_);
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace ckpt::safetensors
