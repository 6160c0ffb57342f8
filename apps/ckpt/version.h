#pragma once

#include <string>

namespace ckpt::app {

/// "ckpt 0.1.0"
[[nodiscard]] std::string version_text();
[[nodiscard]] std::string version_number();

}  // namespace ckpt::app
