#include "ckpt/torch/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"

namespace ckpt::torch {

namespace {

constexpr std::string_view kPickle = "data.pkl";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Folders, with their slash, that hold a data.pkl at depth one; "" for one at the top; deeper ones as they are.
std::vector<std::string> pickle_folders(const zip::Directory& directory) {
  std::vector<std::string> folders;
  for (const zip::Entry& entry : directory.entries()) {
    if (entry.name != kPickle && !ends_with(entry.name, "/data.pkl")) continue;
    std::string folder(entry.name.substr(0, entry.name.size() - kPickle.size()));
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(std::move(folder));
    if (folders.size() > 50) break;
  }
  return folders;
}

bool is_resource_fork(std::string_view folder) { return folder.rfind("__MACOSX/", 0) == 0; }

/// TorchScript code inside a package and resource forks are no roots of a checkpoint.
void drop_side_folders(std::vector<std::string>& folders) {
  const auto is_side = [](const std::string& folder) {
    return is_resource_fork(folder) || folder.find("/.data/") != std::string::npos ||
           folder.rfind(".data/", 0) == 0;
  };
  folders.erase(std::remove_if(folders.begin(), folders.end(), is_side), folders.end());
}

bool has(const zip::Directory& directory, const std::string& folder, std::string_view name) {
  return directory.find(folder + std::string(name)) != nullptr;
}

Error not_read(std::string_view what) {
  return make_error(ErrorCode::unsupported, fmt::format("this is {}, which is not read", what));
}

/// A ZIP without data.pkl: says what it is.
Error name_the_kind(const zip::Directory& directory) {
  for (const zip::Entry& entry : directory.entries()) {
    const std::string_view name = entry.name;
    if (ends_with(name, "model.json"))
      return not_read("a TorchScript archive of the 2018-2019 layout (model.json)");
    if (ends_with(name, "archive_format") || name == "serialized_exported_program.json") {
      return not_read("an exported program (torch.export)");
    }
    if (ends_with(name, ".data/extern_modules")) return not_read("a torch.package archive");
    if (ends_with(name, ".npy"))
      return make_error(ErrorCode::unknown_format, "this is a NumPy .npz archive, not a checkpoint");
  }
  for (const zip::Entry& entry : directory.entries()) {
    for (const std::string_view end : {".pt", ".pth", ".ckpt", ".bin", ".safetensors"}) {
      if (!ends_with(entry.name, end)) continue;
      Error error =
          make_error(ErrorCode::unsupported, "this ZIP holds a checkpoint, " + in_quotes(entry.name));
      return error.with_advice("extract it first");
    }
  }
  if (directory.entries().empty()) return make_error(ErrorCode::corrupt, "archive holds no records");
  return make_error(ErrorCode::unknown_format,
                    fmt::format("this is a ZIP archive of {} records without data.pkl, not a "
                                "checkpoint",
                                directory.entries().size()));
}

/// torch's rule: the first directory entry's name up to its first slash.
std::string folder_of_first_entry(const zip::Directory& directory) {
  const std::string_view first = directory.entries().front().name;
  const std::size_t slash = first.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(first.substr(0, slash + 1));
}

Error two_roots(const std::vector<std::string>& folders) {
  Error error = make_error(ErrorCode::ambiguous,
                           fmt::format("{} folders hold data.pkl, among them {} and {}", folders.size(),
                                       in_quotes(folders[0], 64), in_quotes(folders[1], 64)));
  return error.numbers("1", std::to_string(folders.size()));
}

}  // namespace

Result<Layout> find_layout(const zip::Directory& directory) {
  std::vector<std::string> folders = pickle_folders(directory);
  drop_side_folders(folders);
  if (folders.empty()) return fail(name_the_kind(directory));
  if (folders.size() > 1) return fail(two_roots(folders));
  Layout layout;
  layout.root_folder = folders[0];
  if (layout.root_folder.empty()) {
    layout.findings.push_back(
        defect(make_error(ErrorCode::corrupt, "record data.pkl is not inside a root folder")));
  } else if (layout.root_folder.find('/') + 1 != layout.root_folder.size()) {
    layout.findings.push_back(
        defect(make_error(ErrorCode::corrupt, "root folder " + in_quotes(layout.root_folder, 64) +
                                                  " is more than one folder deep")));
  } else if (folder_of_first_entry(directory) != layout.root_folder) {
    layout.findings.push_back(note(
        make_error(ErrorCode::ambiguous, "the first record lies outside the root folder " +
                                             in_quotes(layout.root_folder, 64) + "; torch refuses that")));
  }
  if (has(directory, layout.root_folder, "constants.pkl")) layout.kind = ArchiveKind::torchscript;
  return layout;
}

}  // namespace ckpt::torch
