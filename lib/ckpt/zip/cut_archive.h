#pragma once

#include "ckpt/base/result.h"
#include "ckpt/io/byte_source.h"

namespace ckpt::zip {

/// The failure of a file without an end record. If it starts like an archive: `truncated`, with its size
/// and, where the local headers have sizes (torch leaves them 0), where the last complete record ends. Else
/// `unknown_format`.
[[nodiscard]] Status missing_end_record(const ByteSource& source);

}  // namespace ckpt::zip
