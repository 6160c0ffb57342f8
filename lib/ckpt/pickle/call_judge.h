#pragma once

#include "ckpt/base/limits.h"
#include "ckpt/pickle/import_table.h"
#include "ckpt/pickle/value.h"

namespace ckpt::pickle {

/// `judge_calls` (imports.h) on a table. `follow_bytes`: pickles inside the bytes of `_load_from_bytes` are
/// parsed; without it every such call is dangerous, which ends the nesting at one level.
void judge_calls_in(const Values& values, const Limits& limits, bool follow_bytes, ImportTable& imports);

}  // namespace ckpt::pickle
