#pragma once

#include <memory>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/open.h"

/// One builder for each container: from an opened file to a model.
namespace ckpt {

/// model.files[0] has path and source; the builder fills the rest. Errors: as open_model.
[[nodiscard]] Status build_torch_zip(Model& model, const OpenOptions& options);
[[nodiscard]] Status build_safetensors(Model& model, const OpenOptions& options);

}  // namespace ckpt
