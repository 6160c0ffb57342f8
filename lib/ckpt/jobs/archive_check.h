#pragma once

#include <vector>

#include "ckpt/jobs/jobs.h"

namespace ckpt {

/// Every record of the model's archives, as far as its checksum can be checked in place; empty for other formats.
[[nodiscard]] std::vector<Record> all_records(const Model& model);

/// Findings about records that have no place of their own in the file: deflated ones are inflated and their checksums
/// compared, each at most `limits.pickle_bytes` long.
[[nodiscard]] std::vector<Finding> check_deflated_records(const Model& model, const Limits& limits);

/// What libzip makes of the model's archives: `ambiguous` where it sees something else (zip/libzip.h).
[[nodiscard]] std::vector<Finding> second_opinions(const Model& model);

/// A note for archives whose writer switched checksums off.
void note_missing_checksums(Model& model);

}  // namespace ckpt
