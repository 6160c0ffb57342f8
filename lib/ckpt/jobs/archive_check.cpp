#include "ckpt/jobs/archive_check.h"

#include <fmt/format.h>

#include "ckpt/zip/archive.h"
#include "ckpt/zip/libzip.h"

namespace ckpt {

std::vector<Record> all_records(const Model& model) {
  std::vector<Record> records;
  for (std::uint32_t file = 0; file < model.files.size(); ++file) {
    if (!model.files[file].archive) continue;
    const auto& entries = model.files[file].archive->directory().entries();
    records.reserve(records.size() + entries.size());
    for (const zip::Entry& entry : entries) {
      Record record;
      record.file = file;
      record.name = std::string(entry.name);
      record.offset = entry.is_stored() ? entry.data_offset : 0;
      record.bytes = entry.bytes;
      record.crc = entry.crc;
      record.has_checksum = entry.has_checksum();
      record.is_stored = entry.is_stored();
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::vector<Finding> check_deflated_records(const Model& model, const Limits& limits) {
  std::vector<Finding> findings;
  for (const InputFile& file : model.files) {
    if (!file.archive) continue;
    for (const zip::Entry& entry : file.archive->directory().entries()) {
      if (entry.is_stored() || entry.data_offset == 0) continue;
      const auto bytes = file.archive->read(entry, limits.pickle_bytes, "pickle bytes");
      if (bytes) continue;
      Error error = bytes.error();
      error.in_file(file.path).in_record(entry.name);
      findings.push_back(defect(std::move(error)));
    }
  }
  return findings;
}

std::vector<Finding> second_opinions(const Model& model) {
  std::vector<Finding> findings;
  for (const InputFile& file : model.files) {
    if (!file.archive) continue;
    for (Finding& finding : zip::second_opinion(file.archive->source(), file.archive->directory())) {
      finding.what.in_file(file.path);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

void note_missing_checksums(Model& model) {
  for (const InputFile& file : model.files) {
    if (!file.archive) continue;
    std::uint64_t missing = 0;
    for (const zip::Entry& entry : file.archive->directory().entries())
      missing += entry.has_checksum() ? 0U : 1U;
    if (missing == 0) continue;
    Error error = make_error(
        ErrorCode::corrupt,
        fmt::format("checksums are not recorded for {} of {} records: their data cannot be checked", missing,
                    file.archive->directory().entries().size()));
    model.findings.push_back(note(std::move(error.in_file(file.path))));
  }
}

}  // namespace ckpt
