#include "ckpt/jobs/common.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/io/span_reader.h"
#include "ckpt/model/open.h"

namespace ckpt {

namespace {

/// What outranks what when one line has to stand for all: safety, then damage, then what is not supported, then limits,
/// then the system.
int rank(const Finding& finding) {
  if (finding.severity == Severity::note) return 0;
  switch (finding.what.code) {
    case ErrorCode::dangerous_import:
    case ErrorCode::path_escape: return 6;
    case ErrorCode::unknown_format:
    case ErrorCode::unsupported: return 3;
    case ErrorCode::limit: return 2;
    case ErrorCode::io:
    case ErrorCode::permission:
    case ErrorCode::changed:
    case ErrorCode::not_found: return 1;
    case ErrorCode::name_collision: return 4;
    default: return 5;
  }
}

void add_dangerous_imports(Model& model) {
  for (const ImportedName& import : model.imports) {
    if (import.level != ImportLevel::dangerous) continue;
    const std::string name =
        import.module.empty() && import.name.empty()
            ? import.reason
            : "names " + escaped(import.module + "." + import.name, 128) + ", which " + import.reason;
    Error error = make_error(ErrorCode::dangerous_import, name);
    error.in_file(model.files[import.file].path).in_record(import.record).at(import.offset);
    model.findings.push_back(defect(std::move(error)));
  }
}

/// Tensors by the hash of their names, equal ones in file order: one sort costs less than a table of nodes.
std::vector<std::pair<std::size_t, std::uint32_t>> by_name_hash(const Model& model) {
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  order.reserve(model.tensors.size());
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i)
    order.emplace_back(SeededHash()(model.tensors[i].name), i);
  std::sort(order.begin(), order.end());
  return order;
}

/// Indices of tensors whose name an earlier one has, in file order.
std::vector<std::uint32_t> repeated_names(const Model& model) {
  const auto order = by_name_hash(model);
  std::vector<std::uint32_t> repeated;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && order[end].first == order[first].first) ++end;
    if (end - first > 1) {
      std::set<std::string_view> seen;  // nearly always one name
      for (std::size_t i = first; i < end; ++i) {
        if (!seen.insert(model.tensors[order[i].second].name).second) repeated.push_back(order[i].second);
      }
    }
    first = end;
  }
  std::sort(repeated.begin(), repeated.end());
  return repeated;
}

void add_collisions(Model& model, bool is_error) {
  for (const std::uint32_t index : repeated_names(model)) {
    const std::string& name = model.tensors[index].name;
    Error error = make_error(ErrorCode::name_collision, "two tensors have the name " + in_quotes(name));
    error.in_file(model.files[0].path).in_tensor(name);
    model.findings.push_back(is_error ? defect(std::move(error)) : note(std::move(error)));
  }
}

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

}  // namespace

const Finding* gravest_finding(const std::vector<Finding>& findings) {
  const auto* gravest = static_cast<const Finding*>(nullptr);
  for (const Finding& finding : findings) {
    if (rank(finding) > 0 && (gravest == nullptr || rank(finding) > rank(*gravest))) gravest = &finding;
  }
  return gravest;
}

unsigned thread_count(unsigned asked) {
  const unsigned threads = asked == 0 ? platform::usable_processors() : asked;
  return std::clamp(threads, 1U, kMaxReaders);
}

void set_activity(Progress* progress, const char* activity) {
  if (progress != nullptr) progress->activity = activity;
}

Result<Model> open_input(const std::string& path, const InputOptions& options, bool names_count,
                         bool ignores_root_without_roots) {
  OpenOptions open;
  open.limits = options.limits;
  open.root = options.root;
  open.ignores_root_without_roots = ignores_root_without_roots;
  CKPT_LET(Model model, open_model(path, open));
  if (!options.allow_dangerous) add_dangerous_imports(model);
  if (!model.is_root_ambiguous) add_collisions(model, names_count);
  return model;
}

Result<std::vector<std::uint32_t>> select_tensors(const Model& model, const Selection& selection) {
  for (const std::string& glob : selection.include) {
    const auto hits = [&](const Tensor& tensor) { return glob_match(glob, tensor.name); };
    if (std::any_of(model.tensors.begin(), model.tensors.end(), hits)) continue;
    return fail(make_error(ErrorCode::no_match, fmt::format("no tensor matches {}; the file has {}",
                                                            in_quotes(glob, 128), model.tensors.size()))
                    .in_file(model.files[0].path));
  }
  std::vector<std::uint32_t> chosen;
  chosen.reserve(model.tensors.size());
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
    const std::string& name = model.tensors[i].name;
    if (!selection.include.empty() && !matches_any(selection.include, name)) continue;
    if (!matches_any(selection.exclude, name)) chosen.push_back(i);
  }
  return chosen;
}

Status require_root(const Model& model) {
  if (!model.is_root_ambiguous) return {};
  std::string candidates;
  for (const Root& root : model.roots) {
    candidates += fmt::format("{}{} ({} tensors, {} bytes)", candidates.empty() ? "" : ", ",
                              in_quotes(root.key, 48), root.tensors, root.bytes);
  }
  Error error =
      make_error(ErrorCode::ambiguous_root, "more than one place could be the model: " + candidates);
  error.in_file(model.files[0].path).with_advice("choose one with --root KEY, or --root / for everything");
  return fail(std::move(error));
}

Status require_sound(const std::vector<Finding>& findings) {
  const Finding* gravest = gravest_finding(findings);
  if (gravest == nullptr) return {};
  return fail(gravest->what);
}

Totals totals_of(const Model& model, const std::vector<std::uint32_t>& tensors) {
  Totals totals;
  totals.tensors = tensors.size();
  for (const std::uint32_t index : tensors) {
    const Tensor& tensor = model.tensors[index];
    totals.bytes += tensor.bytes;
    if (tensor.alias_of == kNoIndex) totals.parameters += tensor.elements;
    DtypeTotal& total = totals.by_dtype[std::string(dtype_word(tensor.dtype))];
    total.tensors += 1;
    total.bytes += tensor.bytes;
  }
  return totals;
}

}  // namespace ckpt
