#pragma once

#include <string>
#include <vector>

namespace ckpt::app {

/// The whole program behind main: parses, runs the job, prints the report. Returns the exit status.
[[nodiscard]] int run(const std::vector<std::string>& arguments);

}  // namespace ckpt::app
