#pragma once

#include <string>

#include "ckpt/model/model.h"
#include "ckpt/pickle/value.h"

namespace ckpt {

/// What a pickled value that is no tensor looks like in a report: its kind, and its value where it is short.
[[nodiscard]] Other describe_other(const pickle::Values& values, pickle::Ref ref, std::string path,
                                   bool in_root);

}  // namespace ckpt
