#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ckpt/jobs/jobs.h"
#include "ckpt/safetensors/writer.h"

namespace ckpt {

/// What convert will write, decided before a byte of it exists.
struct ConvertPlan {
  std::vector<std::uint32_t> tensors;  ///< indices of the input's tensors that are written
  safetensors::Layout layout;          ///< by index of `tensors`
  std::vector<std::pair<std::string, std::string>> dropped;
  std::vector<std::string> skipped;
};

/// Chooses, applies the policy for shared tensors, refuses what Safetensors cannot hold, lays out the file.
/// Errors: as convert, up to the first byte. Notes (independent copies of overlapping views) are added to the model's findings.
[[nodiscard]] Result<ConvertPlan> plan_conversion(Model& model, const ConvertOptions& options);

}  // namespace ckpt
