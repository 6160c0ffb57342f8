#pragma once

#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/model.h"

namespace ckpt {

/// Where convert writes: `output` itself; inside it if it is a folder; `<stem>.safetensors` beside the input if it is empty.
[[nodiscard]] std::string output_path(const std::string& input, const std::string& output);

/// Errors: would_overwrite - the output is one of the inputs (by device and inode, whatever its name), exists and may
///         not be replaced, or is no regular file.
[[nodiscard]] Status check_output(const std::string& output, const Model& input, bool replace);

}  // namespace ckpt
