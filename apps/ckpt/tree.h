#pragma once

#include <string>

#include "ckpt/jobs/jobs.h"

namespace ckpt::app {

/// Sizes by module: names split at their dots, equal neighbouring layers folded (`layers.{0..29}`), with bars.
[[nodiscard]] std::string render_tree(const InspectResult& result, std::size_t width);

}  // namespace ckpt::app
