#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/jobs/jobs.h"

namespace ckpt {

/// One input whose tensors are to be digested.
struct DigestRequest {
  const Model* model = nullptr;
  const std::vector<std::uint32_t>* selected = nullptr;  ///< null = only checksums
  std::vector<const Record*> records;                    ///< whose checksums are to be checked
  bool with_file_digest = false;
};

struct DigestAnswer {
  TensorDigests digests;
  std::optional<Digest> file_digest;
};

struct DigestOutcome {
  std::vector<DigestAnswer> answers;  ///< by index of the request
  std::vector<Finding> wrong_checksums;
  Phase data;
};

/// Digests tensors of several inputs in one pass over their bytes; equal views are digested once.
/// Errors: those of the reading.
[[nodiscard]] Result<DigestOutcome> digest_inputs(const std::vector<DigestRequest>& requests,
                                                  unsigned threads, Progress* progress);

/// Digest of a whole model: over "ckpt-model 1\n", then for each tensor in byte order of its name: the name as a JSON
/// string, TAB, dtype, TAB, dims joined by ",", TAB, hex digest, LF. None if a chosen tensor has no digest, or two
/// have one name.
[[nodiscard]] std::optional<Digest> model_digest(const Model& model,
                                                 const std::vector<std::uint32_t>& selected,
                                                 const TensorDigests& digests);

/// Why a tensor's bytes cannot be digested or copied, or nothing.
[[nodiscard]] std::optional<Error> why_not_readable(const Model& model, const Tensor& tensor);

}  // namespace ckpt
