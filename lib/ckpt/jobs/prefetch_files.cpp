#include "ckpt/jobs/prefetch_files.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/model/shard_index.h"
#include "ckpt/model/sniff.h"
#include "ckpt/safetensors/header.h"
#include "ckpt/zip/directory.h"

namespace ckpt {

namespace {

std::string sibling(const std::string& path, const std::string& name) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

std::string inside(const std::string& folder, const std::string& name) {
  return !folder.empty() && folder.back() == '/' ? folder + name : folder + "/" + name;
}

class Collector {
 public:
  explicit Collector(const PrefetchOptions& options) : options_(options) {}

  Result<PrefetchInputs> run(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const auto identity = platform::identify(path);
      if (!identity) return fail(Error(identity.error()).in_file(path));
      CKPT_TRY(identity->is_directory ? add_folder(path)
               : is_index_name(path)  ? add_index(path)
                                      : add_file(path));
    }
    if (missing_.empty()) return std::move(out_);
    add_missing();
    return std::move(out_);
  }

 private:
  /// With readers off nothing is opened and nothing read, only looked at.
  [[nodiscard]] bool looks_inside() const {
    return options_.readers > 0 && !options_.query && !options_.evict;
  }

  Status add_folder(const std::string& folder) {
    auto names = platform::list_directory(folder);
    if (!names) return fail(Error(names.error()).in_file(folder));
    std::sort(names->begin(), names->end());
    bool has_index = false;
    for (const std::string& name : *names) {
      if (!is_index_name(name)) continue;
      has_index = true;
      CKPT_TRY(add_index(inside(folder, name)));
    }
    const std::size_t before = out_.files.size();
    for (const std::string& name : *names) {
      if (!has_index && name.front() != '.') CKPT_TRY(add_weights(inside(folder, name)));
    }
    if (has_index || out_.files.size() > before) return {};
    return fail(make_error(ErrorCode::no_match, "the folder holds no weights").in_file(folder));
  }

  /// A file of a folder: taken only if it is a checkpoint.
  Status add_weights(const std::string& path) {
    const auto identity = platform::identify(path);
    if (!identity || !identity->is_regular) return {};
    const auto source = FileSource::open(path);
    if (!source) return fail(Error(source.error()).in_file(path));
    const auto container = sniff(**source);
    if (!container && container.error().code != ErrorCode::unsupported) return {};
    return add_source(path, *source);
  }

  Status add_index(const std::string& path) {
    const auto shards = read_shard_names(path, options_.limits);
    if (!shards) return fail(Error(shards.error()).in_file(path));
    for (const std::string& shard : *shards) {
      const std::string shard_path = sibling(path, shard);
      if (platform::identify(shard_path)) {
        CKPT_TRY(add_file(shard_path));
      } else {
        missing_.push_back({path, shard});
      }
    }
    return {};
  }

  Status add_file(const std::string& path) {
    const auto source = FileSource::open(path);
    if (!source) return fail(Error(source.error()).in_file(path));
    return add_source(path, *source);
  }

  Status add_source(const std::string& path, std::shared_ptr<FileSource> source) {
    const platform::FileIdentity& identity = source->identity();
    if (!seen_.insert({identity.device, identity.inode}).second) return {};
    PrefetchInput input;
    input.report.path = path;
    input.report.format = "other";
    input.report.bytes = source->size();
    input.source = source;
    if (looks_inside()) check_size(input, source);
    out_.files.push_back(std::move(input));
    return {};
  }

  /// Holds the file against what it says of itself.
  void check_size(PrefetchInput& input, const std::shared_ptr<FileSource>& source) {
    const auto container = sniff(*source);
    if (!container) {
      if (container.error().code == ErrorCode::unknown_format) add_finding(container.error(), input);
      return;
    }
    if (*container == Container::safetensors) {
      check_safetensors(input, *source);
    } else {
      input.report.format = "torch-zip";
      const auto directory = zip::Directory::read(source, options_.limits);
      if (!directory) return add_finding(directory.error(), input);
      input.report.expected_bytes = source->size();
      add_findings(directory->findings(), input);
    }
  }

  void check_safetensors(PrefetchInput& input, const FileSource& source) {
    input.report.format = "safetensors";
    const auto header = safetensors::read_header(source, options_.limits);
    if (!header) return add_finding(header.error(), input);
    std::uint64_t end = 0;
    for (const auto& tensor : header->tensors) end = std::max(end, tensor.end);
    input.report.expected_bytes = header->data_offset + end;
    add_findings(header->findings, input);
  }

  void add_findings(const std::vector<Finding>& findings, const PrefetchInput& input) {
    for (const Finding& finding : findings) {
      if (finding.severity == Severity::error) add_finding(finding.what, input);
    }
  }

  void add_finding(Error error, const PrefetchInput& input) {
    out_.findings.push_back(defect(std::move(error.in_file(input.report.path))));
  }

  struct Missing {
    std::string index;
    std::string shard;
  };

  /// One finding a shard; the first says how many there are.
  void add_missing() {
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      std::string text =
          fmt::format("shard {} is named by the index but is not there", in_quotes(missing_[i].shard));
      if (i == 0 && missing_.size() > 1) text += fmt::format("; {} shards are missing", missing_.size());
      Error error = make_error(ErrorCode::missing_member, std::move(text));
      error.in_file(missing_[i].index).numbers(missing_[i].shard, "");
      out_.findings.insert(out_.findings.begin() + static_cast<std::ptrdiff_t>(i), defect(std::move(error)));
    }
  }

  const PrefetchOptions& options_;
  PrefetchInputs out_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
  std::vector<Missing> missing_;
};

}  // namespace

Result<PrefetchInputs> open_prefetch_files(const std::vector<std::string>& paths,
                                           const PrefetchOptions& options) {
  return Collector(options).run(paths);
}

}  // namespace ckpt
