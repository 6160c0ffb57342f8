#pragma once

#include <string>
#include <vector>

#include "ckpt/jobs/jobs.h"

namespace ckpt {

/// True if an expectation can only be judged with that digest.
[[nodiscard]] bool wants_file_digest(const std::vector<Expectation>& expectations);

/// A finding (`expectation`, both values) for each that does not hold.
[[nodiscard]] std::vector<Finding> judge_expectations(const std::vector<Expectation>& expectations,
                                                      const VerifiedInput& input);

}  // namespace ckpt
