#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ckpt::test {

/// Name and content of each seed of one fuzz target.
using Seeds = std::vector<std::pair<std::string, std::vector<std::byte>>>;

[[nodiscard]] Seeds zip_seeds();

}  // namespace ckpt::test
