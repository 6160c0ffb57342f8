#include "ckpt/torch/checkpoint.h"

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/torch/layout.h"

namespace ckpt::torch {

namespace {

// What torch accepts (caffe2/serialize/versions.h: kMaxSupportedFileFormatVersion).
constexpr std::uint64_t kNewestVersion = 10;
// Records of a few digits or letters; a longer one is not what it says.
constexpr std::uint64_t kSmallRecordBytes = 64;

class Reader {
 public:
  Reader(const zip::Archive& archive, const Limits& limits) : archive_(archive), limits_(limits) {}

  Result<Checkpoint> run() {
    CKPT_LET(Layout layout, find_layout(archive_.directory()));
    out_.kind = layout.kind;
    out_.root_folder = layout.root_folder;
    out_.findings = std::move(layout.findings);
    CKPT_TRY(read_version());
    read_byte_order();
    read_fact(".format_version", "format version");
    read_fact(".storage_alignment", "storage alignment");
    read_pickle();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const zip::Entry* find(std::string_view name) const {
    return archive_.directory().find(out_.root_folder + std::string(name));
  }

  void add_finding(Error error, const zip::Entry& entry) {
    out_.findings.push_back(defect(std::move(error.in_record(entry.name))));
  }

  /// Text of a small record; none if it is missing or cannot be read, which is a finding then.
  std::optional<std::string> read_text(std::string_view name) {
    const zip::Entry* entry = find(name);
    if (entry == nullptr) return std::nullopt;
    auto bytes = archive_.read(*entry, kSmallRecordBytes, "small record");
    if (!bytes) {
      Error error = std::move(bytes).error();
      if (error.code == ErrorCode::limit) {
        error = make_error(ErrorCode::corrupt, fmt::format("record has {} bytes, at most {} make sense",
                                                           entry->bytes, kSmallRecordBytes));
      }
      add_finding(std::move(error), *entry);
      return std::nullopt;
    }
    return std::string(as_text(*bytes));
  }

  void add_fact(std::string name, std::string_view value) {
    out_.facts.emplace_back(std::move(name), escaped(value, kSmallRecordBytes));
  }

  void read_fact(std::string_view record, std::string name) {
    if (const auto text = read_text(record)) add_fact(std::move(name), trimmed(*text));
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  }

  Status read_version() {
    std::string_view name = ".data/version";
    if (find(name) == nullptr) name = "version";
    const zip::Entry* entry = find(name);
    if (entry == nullptr) {
      out_.findings.push_back(
          note(make_error(ErrorCode::corrupt, "record version is missing; torch refuses such an archive")));
      return {};
    }
    const auto text = read_text(name);
    if (!text) return {};
    const std::string_view digits = trimmed(*text);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      add_finding(
          make_error(ErrorCode::corrupt, "archive version is " + in_quotes(digits, 32) + ", not a number"),
          *entry);
      return {};
    }
    add_fact("archive version", digits);
    const std::uint64_t version = digits.size() > 9 ? UINT64_MAX : std::stoull(std::string(digits));
    if (version == 0) add_finding(make_error(ErrorCode::corrupt, "archive version is 0"), *entry);
    if (version <= kNewestVersion) return {};
    return fail(
        make_error(ErrorCode::unsupported, fmt::format("archive version is {}, the newest known is {}",
                                                       escaped(digits, 32), kNewestVersion))
            .in_record(entry->name));
  }

  void read_byte_order() {
    const auto text = read_text("byteorder");
    if (!text) {
      add_fact("byte order", find("byteorder") == nullptr ? "not recorded, taken as little" : "unreadable");
      return;
    }
    out_.is_big_endian = *text == "big";
    add_fact("byte order", *text);
    if (*text == "big" || *text == "little") return;
    add_finding(make_error(ErrorCode::corrupt,
                           "byte order is " + in_quotes(*text, 32) + ", not \"little\" or \"big\""),
                *find("byteorder"));
  }

  void read_pickle() {
    const zip::Entry* entry = find("data.pkl");
    out_.pickle_record = std::string(entry->name);
    auto bytes = archive_.read(*entry, limits_.pickle_bytes, "pickle bytes");
    if (!bytes) return add_finding(std::move(bytes).error(), *entry);
    if (bytes->empty()) return add_finding(make_error(ErrorCode::truncated, "pickle is empty"), *entry);
    out_.pickle_bytes = std::move(*bytes);
    run_machine(*entry);
  }

  void run_machine(const zip::Entry& entry) {
    pickle::MachineOptions options;
    options.in_torchscript = out_.kind == ArchiveKind::torchscript;
    pickle::Machine machine(out_.pickle_bytes, limits_, options);
    const Status status = machine.run();
    out_.imports = machine.imports();
    out_.protocol = machine.protocol();
    for (Finding finding : machine.findings()) {
      finding.what.in_record(entry.name);
      out_.findings.push_back(std::move(finding));
    }
    if (!status) return add_finding(status.error(), entry);
    out_.top = machine.root();
    out_.values = machine.take_values();
  }

  const zip::Archive& archive_;
  const Limits& limits_;
  Checkpoint out_;
};

}  // namespace

std::string Checkpoint::storage_record(std::string_view key) const {
  std::string name = root_folder + "data/";
  name += key;
  return name;
}

Result<Checkpoint> read_checkpoint(const zip::Archive& archive, const Limits& limits) {
  return Reader(archive, limits).run();
}

}  // namespace ckpt::torch
