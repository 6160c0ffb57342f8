#include "ckpt/model/storage_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"

namespace ckpt {

namespace {

std::string class_text(const std::optional<Dtype>& dtype) {
  return dtype ? std::string(dtype_word(*dtype)) : std::string("untyped");
}

std::uint64_t item_bytes(const torch::StorageId& id) {
  return id.dtype ? dtype_facts(*id.dtype).torch_bytes : 1;
}

}  // namespace

StorageTable::StorageTable(Model& model, const zip::Archive& archive, const torch::Checkpoint& checkpoint,
                           std::size_t tensors)
    : model_(model), archive_(archive), checkpoint_(checkpoint) {
  const std::size_t storages = std::min(tensors, archive.directory().entries().size());
  by_key_.reserve(storages);
  model_.storages.reserve(storages);
  model_.records.reserve(storages);
}

std::uint32_t StorageTable::resolve(const torch::StorageId& id, const std::string& tensor) {
  const auto index = static_cast<std::uint32_t>(model_.storages.size());
  const auto [known, is_new] = by_key_.try_emplace(id.key(), index);
  if (!is_new) {
    check_same_class(known->second, id, tensor);
    return known->second;
  }
  Storage storage;
  storage.key = known->first;
  storage.dtype = id.dtype;
  storage.bytes = id.bytes;
  attach_record(storage, id, tensor);
  if (storage.record == kNoIndex && id.bytes > 0) missing_.insert(index);
  model_.storages.push_back(std::move(storage));
  return index;
}

void StorageTable::check_same_class(std::uint32_t index, const torch::StorageId& id,
                                    const std::string& tensor) {
  const Storage& storage = model_.storages[index];
  const bool same_size = storage.bytes == id.bytes || is_missing(index);
  if ((storage.dtype == id.dtype && same_size) || !conflicting_.insert(index).second) return;
  const std::string key = in_quotes(storage.key, 64);
  if (storage.dtype != id.dtype) {
    add_finding(Severity::error, ErrorCode::corrupt,
                fmt::format("storage {} is used as {} and as {}", key, class_text(storage.dtype),
                            class_text(id.dtype)),
                {}, tensor, class_text(storage.dtype), class_text(id.dtype));
  } else {
    add_finding(Severity::error, ErrorCode::corrupt,
                fmt::format("storage {} is said to have {} bytes and {} bytes", key, storage.bytes, id.bytes),
                {}, tensor, std::to_string(storage.bytes), std::to_string(id.bytes));
  }
}

void StorageTable::attach_record(Storage& storage, const torch::StorageId& id, const std::string& tensor) {
  const std::string name = checkpoint_.storage_record(storage.key);
  const zip::Entry* entry = archive_.directory().find(name);
  if (entry == nullptr) {
    storage.bytes = 0;
    if (id.bytes == 0 || id.is_meta) return;
    add_finding(
        Severity::error, ErrorCode::corrupt,
        fmt::format("tensor {}: storage {} is not in the archive", in_quotes(tensor), in_quotes(name, 96)),
        {}, tensor, name, "");
    return;
  }
  Record record;
  record.name = std::string(entry->name);
  record.offset = entry->is_stored() ? entry->data_offset : 0;
  record.bytes = entry->bytes;
  record.crc = entry->crc;
  record.has_checksum = entry->has_checksum();
  record.is_stored = entry->is_stored();
  check_size(storage, id, record, tensor);
  storage.offset = record.offset;
  storage.record = static_cast<std::uint32_t>(model_.records.size());
  model_.records.push_back(std::move(record));
}

void StorageTable::check_size(Storage& storage, const torch::StorageId& id, const Record& record,
                              const std::string& tensor) {
  if (record.bytes == id.bytes) return;
  const bool is_short = record.bytes < id.bytes;
  std::string text = fmt::format("tensor {}: its storage needs {} bytes, record has {}", in_quotes(tensor),
                                 id.bytes, record.bytes);
  if (is_short && record.bytes * 2 == id.bytes) text += "; exactly half, may be 16-bit data";
  storage.bytes = std::min(record.bytes, id.bytes);
  // Less than one element more comes from writers that round down (torch accepts it); more is a hiding place.
  const bool is_harmless = !is_short && record.bytes - id.bytes < item_bytes(id);
  add_finding(is_harmless ? Severity::note : Severity::error,
              is_short ? ErrorCode::short_file : ErrorCode::corrupt, std::move(text), record.name, tensor,
              std::to_string(id.bytes), std::to_string(record.bytes));
}

void StorageTable::add_finding(Severity severity, ErrorCode code, std::string text, const std::string& record,
                               const std::string& tensor, std::string expected, std::string found) {
  Error error = make_error(code, std::move(text));
  error.in_record(record).in_tensor(tensor).numbers(std::move(expected), std::move(found));
  model_.findings.push_back({severity, std::move(error)});
}

}  // namespace ckpt
