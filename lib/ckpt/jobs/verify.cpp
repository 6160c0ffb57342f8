#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/jobs/archive_check.h"
#include "ckpt/jobs/common.h"
#include "ckpt/jobs/digests.h"
#include "ckpt/jobs/expectations.h"

namespace ckpt {

namespace {

constexpr std::size_t kListedUnreadable = 50;

void append(std::vector<Finding>& to, std::vector<Finding> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

Result<VerifiedInput> open_verified(const std::string& path, const VerifyOptions& options, bool is_pair) {
  VerifiedInput input;
  CKPT_LET(input.model, open_input(path, options.input, true, is_pair));
  CKPT_LET(input.selected, select_tensors(input.model, options.input.selection));
  return input;
}

/// A tensor without a digest was not read: that must not pass for a yes.
void add_unreadable(VerifiedInput& input) {
  std::size_t unreadable = 0;
  for (const std::uint32_t index : input.selected) {
    const Tensor& tensor = input.model.tensors[index];
    if (tensor.kind == TensorKind::unreadable) continue;  // a finding of its own says why
    auto reason = why_not_readable(input.model, tensor);
    if (!reason || ++unreadable > kListedUnreadable) continue;
    input.model.findings.push_back(defect(*std::move(reason)));
  }
  if (unreadable <= kListedUnreadable) return;
  Error error = make_error(ErrorCode::unsupported, fmt::format("and {} more tensors that are not read",
                                                               unreadable - kListedUnreadable));
  input.model.findings.push_back(defect(std::move(error.in_file(input.model.files[0].path))));
}

/// Reads everything: digests of the chosen tensors and every checksum; libzip looks at the directories meanwhile.
Status read_inputs(const std::vector<VerifiedInput*>& inputs, const VerifyOptions& options) {
  std::vector<std::vector<Record>> records;
  std::vector<DigestRequest> requests;
  for (VerifiedInput* input : inputs) {
    records.push_back(all_records(input->model));
    add_unreadable(*input);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    DigestRequest request;
    request.model = &inputs[i]->model;
    request.selected = &inputs[i]->selected;
    request.with_file_digest = wants_file_digest(options.expectations);
    for (const Record& record : records[i]) request.records.push_back(&record);
    requests.push_back(std::move(request));
  }
  auto opinions = in_background([&inputs] {
    std::vector<Finding> findings;
    for (const VerifiedInput* input : inputs) append(findings, second_opinions(input->model));
    return findings;
  });
  auto outcome = digest_inputs(requests, thread_count(options.input.threads), options.input.progress);
  append(inputs[0]->model.findings, opinions.get());
  if (!outcome) return fail(std::move(outcome).error());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i]->digests = std::move(outcome->answers[i].digests);
    inputs[i]->file_digest = outcome->answers[i].file_digest;
    if (!inputs[i]->model.is_root_ambiguous) {
      inputs[i]->model_digest = model_digest(inputs[i]->model, inputs[i]->selected, inputs[i]->digests);
    }
    append(inputs[i]->model.findings, check_deflated_records(inputs[i]->model, options.input.limits));
    note_missing_checksums(inputs[i]->model);
    append(inputs[i]->model.findings, judge_expectations(options.expectations, *inputs[i]));
  }
  inputs[0]->model.phases.data = outcome->data;
  append(inputs[0]->model.findings, std::move(outcome->wrong_checksums));
  return {};
}

std::string shape_text(const Tensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.shape, ", ")); }

/// Compares two opened and digested inputs, name by name.
class Comparison {
 public:
  explicit Comparison(CompareResult& result) : result_(result), a_(result.a), b_(result.b) {}

  void run() {
    const auto names_a = sorted(a_);
    const auto names_b = sorted(b_);
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < names_a.size() || j < names_b.size()) {
      const int order = i == names_a.size()   ? 1
                        : j == names_b.size() ? -1
                                              : name(a_, names_a[i]).compare(name(b_, names_b[j]));
      if (order == 0) {
        compare_pair(names_a[i], names_b[j]);
      } else if (order < 0) {
        missing(a_, b_, names_a[i], true);
      } else {
        missing(b_, a_, names_b[j], false);
      }
      i += order <= 0 ? 1 : 0;
      j += order >= 0 ? 1 : 0;
    }
  }

 private:
  static const std::string& name(const VerifiedInput& input, std::uint32_t index) {
    return input.model.tensors[index].name;
  }

  static std::vector<std::uint32_t> sorted(const VerifiedInput& input) {
    std::vector<std::uint32_t> order = input.selected;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t x, std::uint32_t y) { return name(input, x) < name(input, y); });
    return order;
  }

  static std::string digest_text(const VerifiedInput& input, std::uint32_t index) {
    return input.digests[index] ? digest_hex(*input.digests[index]) : "not read";
  }

  void compare_pair(std::uint32_t i, std::uint32_t j) {
    const Tensor& x = a_.model.tensors[i];
    const Tensor& y = b_.model.tensors[j];
    if (x.dtype != y.dtype) {
      add(DifferenceKind::dtype, x.name, std::string(dtype_word(x.dtype)), std::string(dtype_word(y.dtype)));
    } else if (x.shape != y.shape) {
      add(DifferenceKind::shape, x.name, shape_text(x), shape_text(y));
    } else if (!a_.digests[i] || !b_.digests[j] || *a_.digests[i] != *b_.digests[j]) {
      add(DifferenceKind::data, x.name, digest_text(a_, i), digest_text(b_, j));
    } else {
      ++result_.equal;
    }
  }

  /// A name that only `has` has. It is no loss if the other side holds an alias of it with the same content.
  void missing(const VerifiedInput& has, const VerifiedInput& lacks, std::uint32_t index, bool is_in_a) {
    const Tensor& tensor = has.model.tensors[index];
    for (const std::uint32_t twin : aliases(has, index)) {
      const auto found = by_name(lacks).find(has.model.tensors[twin].name);
      if (found == by_name(lacks).end()) continue;
      const Tensor& kept = lacks.model.tensors[found->second];
      const auto& digest = lacks.digests[found->second];
      if (kept.dtype != tensor.dtype || kept.shape != tensor.shape || !digest || digest != has.digests[index])
        continue;
      result_.dropped.push_back({tensor.name, kept.name, is_in_a});
      return;
    }
    const std::string what = fmt::format("{} {}", dtype_word(tensor.dtype), shape_text(tensor));
    add(is_in_a ? DifferenceKind::only_in_a : DifferenceKind::only_in_b, tensor.name, is_in_a ? what : "",
        is_in_a ? "" : what);
  }

  using Groups = std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>;
  using Names = std::unordered_map<std::string_view, std::uint32_t, SeededHash>;

  static std::uint32_t representative(const VerifiedInput& input, std::uint32_t index) {
    const std::uint32_t alias = input.model.tensors[index].alias_of;
    return alias == kNoIndex ? index : alias;
  }

  /// The other names of a tensor on its own side.
  const std::vector<std::uint32_t>& aliases(const VerifiedInput& input, std::uint32_t index) {
    Groups& groups = &input == &a_ ? groups_a_ : groups_b_;
    if (groups.empty()) {
      for (const std::uint32_t i : input.selected) groups[representative(input, i)].push_back(i);
    }
    return groups[representative(input, index)];
  }

  const Names& by_name(const VerifiedInput& input) {
    Names& names = &input == &a_ ? names_a_ : names_b_;
    if (names.empty()) {
      for (const std::uint32_t i : input.selected) names.emplace(name(input, i), i);
    }
    return names;
  }

  void add(DifferenceKind kind, const std::string& tensor, std::string a, std::string b) {
    result_.differences.push_back({kind, tensor, std::move(a), std::move(b)});
  }

  CompareResult& result_;
  const VerifiedInput& a_;
  const VerifiedInput& b_;
  Groups groups_a_, groups_b_;
  Names names_a_, names_b_;
};

void add_difference_finding(CompareResult& result) {
  if (result.differences.empty()) return;
  const Difference& first = result.differences.front();
  std::string text = fmt::format(
      "{} of {} names differ from {}; the first is {} ({})", result.differences.size(),
      result.differences.size() + result.equal + result.dropped.size(),
      in_quotes(result.b.model.files[0].path, 128), in_quotes(first.name, 96), difference_word(first.kind));
  Error error = make_error(ErrorCode::differ, std::move(text));
  error.in_file(result.a.model.files[0].path).in_tensor(first.name).numbers(first.a, first.b);
  result.findings.push_back(defect(std::move(error)));
}

}  // namespace

std::string_view difference_word(DifferenceKind kind) {
  constexpr std::array<std::string_view, kDifferenceKinds.size()> kWords = {"only in A", "only in B", "dtype",
                                                                            "shape", "data"};
  return kWords[static_cast<std::size_t>(kind)];
}

Result<CompareResult> compare(const std::string& a, const std::string& b, const VerifyOptions& options) {
  CompareResult result;
  CKPT_LET(result.a, open_verified(a, options, true));
  CKPT_LET(result.b, open_verified(b, options, true));
  CKPT_TRY(require_root(result.a.model));
  CKPT_TRY(require_root(result.b.model));
  CKPT_TRY(read_inputs({&result.a, &result.b}, options));
  Comparison(result).run();
  append(result.findings, result.a.model.findings);
  append(result.findings, result.b.model.findings);
  add_difference_finding(result);
  return result;
}

Result<VerifiedInput> check_input(const std::string& path, const VerifyOptions& options) {
  CKPT_LET(VerifiedInput input, open_verified(path, options, false));
  CKPT_TRY(read_inputs({&input}, options));
  return input;
}

}  // namespace ckpt
