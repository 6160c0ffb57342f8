#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/pickle/machine.h"
#include "ckpt/zip/archive.h"

namespace ckpt::torch {

/// What a ZIP archive is, by its records and in torch's own order of asking.
enum class ArchiveKind : std::uint8_t { torch_save, torchscript };

/// The metadata of a torch.save or TorchScript archive: small records and the object pickle, run symbolically.
struct Checkpoint {
  ArchiveKind kind = ArchiveKind::torch_save;
  std::string root_folder;  ///< "archive/"; empty where records lie at the top
  bool is_big_endian = false;
  std::vector<std::pair<std::string, std::string>> facts;  ///< "version" → "3", "byte order" → "little", …
  std::string pickle_record;
  unsigned protocol = 0;

  std::vector<std::byte> pickle_bytes;  ///< `values` borrows them
  pickle::Values values;
  pickle::Ref top = pickle::kNoRef;  ///< kNoRef if the pickle could not be read to its end
  std::vector<pickle::Import> imports;
  std::vector<Finding> findings;  ///< damage is here, with its record, not in an error

  /// Name of the record that holds the storage `key`.
  [[nodiscard]] std::string storage_record(std::string_view key) const;
};

/// Reads it. Costs one look-up and at most one read for each of data.pkl, version, byteorder, .format_version and
/// .storage_alignment.
///
/// Errors: unknown_format - a ZIP that is no checkpoint (and what it is instead); unsupported - known relatives: exported
///         programs, packages, archives of torch 1.0, an archive inside a ZIP; ambiguous - two folders hold a data.pkl.
[[nodiscard]] Result<Checkpoint> read_checkpoint(const zip::Archive& archive, const Limits& limits);

}  // namespace ckpt::torch
