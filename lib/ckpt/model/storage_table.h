#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"
#include "ckpt/model/model.h"
#include "ckpt/torch/checkpoint.h"
#include "ckpt/torch/storage_id.h"
#include "ckpt/zip/archive.h"

namespace ckpt {

/// The storages of one torch archive by key. Each key costs one look-up in the archive's directory, however many
/// tensors use it. Borrows the model, the archive and the checkpoint.
class StorageTable {
 public:
  /// `tensors`: how many will ask, so that nothing has to grow meanwhile.
  StorageTable(Model& model, const zip::Archive& archive, const torch::Checkpoint& checkpoint,
               std::size_t tensors);

  /// Index into Model::storages of the storage that a persistent id names; findings about it (missing, short, long, used
  /// with two classes) name `tensor`. A storage that cannot be read has 0 bytes.
  [[nodiscard]] std::uint32_t resolve(const torch::StorageId& id, const std::string& tensor);

  [[nodiscard]] bool is_missing(std::uint32_t storage) const { return missing_.count(storage) > 0; }

 private:
  void check_same_class(std::uint32_t index, const torch::StorageId& id, const std::string& tensor);
  void attach_record(Storage& storage, const torch::StorageId& id, const std::string& tensor);
  void check_size(Storage& storage, const torch::StorageId& id, const Record& record,
                  const std::string& tensor);
  void add_finding(Severity severity, ErrorCode code, std::string text, const std::string& record,
                   const std::string& tensor, std::string expected, std::string found);

  Model& model_;
  const zip::Archive& archive_;
  const torch::Checkpoint& checkpoint_;
  std::unordered_map<std::string, std::uint32_t, SeededHash> by_key_;
  std::unordered_set<std::uint32_t> missing_;
  std::unordered_set<std::uint32_t> conflicting_;
};

}  // namespace ckpt
