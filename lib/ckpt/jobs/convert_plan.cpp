#include "ckpt/jobs/convert_plan.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/jobs/common.h"
#include "ckpt/jobs/digests.h"

namespace ckpt {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class Planner {
 public:
  Planner(Model& model, const ConvertOptions& options) : model_(model), options_(options) {}

  Result<ConvertPlan> run() {
    CKPT_TRY(require_sound(model_.findings));
    CKPT_TRY(require_root(model_));
    if (model_.tensors.empty()) return fail(error(ErrorCode::no_match, "holds no tensors"));
    CKPT_LET(plan_.tensors, select_tensors(model_, options_.input.selection));
    CKPT_TRY(drop_unsupported());
    CKPT_TRY(check_names());
    CKPT_TRY(apply_shared_policy());
    if (plan_.tensors.empty()) return fail(error(ErrorCode::no_match, "no tensor is left to write"));
    CKPT_TRY(apply_strict());
    CKPT_TRY(lay_out());
    CKPT_TRY(check_output_size());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Error error(ErrorCode code, std::string text) const {
    return make_error(code, std::move(text)).in_file(model_.files[0].path);
  }

  std::optional<Error> why_not_written(const Tensor& tensor) const {
    if (auto reason = why_not_readable(model_, tensor)) return reason;
    if (has_safetensors_form(tensor.dtype)) return std::nullopt;
    return error(ErrorCode::unsupported,
                 fmt::format("dtype {} has no Safetensors form", dtype_word(tensor.dtype)))
        .in_tensor(tensor.name);
  }

  /// All that cannot be written is told at once, by the name of the first and the number of the others.
  Status drop_unsupported() {
    std::optional<Error> first;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t index : plan_.tensors) {
      auto reason = why_not_written(model_.tensors[index]);
      if (!reason) {
        kept.push_back(index);
        continue;
      }
      plan_.skipped.push_back(model_.tensors[index].name);
      if (!first) first = std::move(reason);
    }
    if (plan_.skipped.empty()) return {};
    if (options_.skip_unsupported && first->code == ErrorCode::unsupported) {
      plan_.tensors = std::move(kept);
      return {};
    }
    if (plan_.skipped.size() > 1)
      first->message += fmt::format(", and {} more tensors cannot be written", plan_.skipped.size() - 1);
    if (first->code == ErrorCode::unsupported)
      first->with_advice("leave such tensors out with --skip or --exclude GLOB");
    return fail(*std::move(first));
  }

  Status check_names() const {
    for (const std::uint32_t index : plan_.tensors) {
      const Tensor& tensor = model_.tensors[index];
      if (tensor.is_nameless) {
        return fail(
            error(ErrorCode::would_lose, "a key of its path is no text and no integer, so it has no name")
                .in_tensor(tensor.name));
      }
      if (!is_utf8(tensor.name)) {
        return fail(error(ErrorCode::would_lose, "tensor name is not valid Unicode").in_tensor(tensor.name));
      }
    }
    return {};
  }

  Status apply_shared_policy() {
    const std::unordered_set<std::uint32_t> chosen(plan_.tensors.begin(), plan_.tensors.end());
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t index : plan_.tensors) {
      const Tensor& tensor = model_.tensors[index];
      const bool is_alias = tensor.alias_of != kNoIndex && chosen.count(tensor.alias_of) > 0;
      if ((is_alias || !tensor.overlaps.empty()) && options_.shared == SharedPolicy::fail)
        return fail(shares(tensor, is_alias));
      if (!tensor.overlaps.empty()) note_overlap(tensor);
      if (is_alias && options_.shared == SharedPolicy::drop) {
        plan_.dropped.emplace_back(tensor.name, model_.tensors[tensor.alias_of].name);
      } else {
        kept.push_back(index);
      }
    }
    plan_.tensors = std::move(kept);
    return {};
  }

  [[nodiscard]] Error shares(const Tensor& tensor, bool is_alias) const {
    const Tensor& other = model_.tensors[is_alias ? tensor.alias_of : tensor.overlaps[0]];
    return error(ErrorCode::would_lose,
                 fmt::format("shares its bytes with {}, and --shared=fail was asked for",
                             in_quotes(other.name)))
        .in_tensor(tensor.name);
  }

  void note_overlap(const Tensor& tensor) {
    Error text =
        error(ErrorCode::would_lose, fmt::format("overlaps {}: written whole, as an independent copy",
                                                 in_quotes(model_.tensors[tensor.overlaps[0]].name)));
    model_.findings.push_back(note(std::move(text.in_tensor(tensor.name))));
  }

  /// --strict: whatever is left out or noted is a loss.
  Status apply_strict() const {
    if (!options_.is_strict) return {};
    if (!plan_.skipped.empty())
      return fail(error(ErrorCode::would_lose, "would be left out: unsupported").in_tensor(plan_.skipped[0]));
    if (!model_.others.empty()) {
      const std::string path = model_.others[0].path;
      return fail(
          error(ErrorCode::would_lose,
                fmt::format("{} ({}) and {} more values that are no tensors would be left out",
                            in_quotes(path), escaped(model_.others[0].kind, 64), model_.others.size() - 1)));
    }
    if (model_.outside_tensors > 0) {
      return fail(
          error(ErrorCode::would_lose, fmt::format("{} tensors outside the root {} would be left out",
                                                   model_.outside_tensors, in_quotes(model_.root, 64))));
    }
    if (model_.findings.empty()) return {};
    Error first = model_.findings[0].what;
    first.code = ErrorCode::would_lose;
    return fail(std::move(first));
  }

  /// What the file has, `format` where it is missing, the names of dropped aliases, what the caller adds.
  [[nodiscard]] Pairs metadata() const {
    Pairs pairs = model_.metadata;
    const auto set = [&pairs](const std::string& key, const std::string& value, bool replace) {
      for (auto& pair : pairs) {
        if (pair.first != key) continue;
        if (replace) pair.second = value;
        return;
      }
      pairs.emplace_back(key, value);
    };
    set("format", "pt", false);
    for (const auto& [name, kept] : plan_.dropped) set(name, kept, false);
    for (const auto& [key, value] : options_.metadata) set(key, value, true);
    return pairs;
  }

  Status lay_out() {
    std::vector<safetensors::OutputTensor> outputs;
    outputs.reserve(plan_.tensors.size());
    for (const std::uint32_t index : plan_.tensors) {
      const Tensor& tensor = model_.tensors[index];
      outputs.push_back({tensor.name, tensor.dtype, &tensor.shape});
    }
    const Pairs pairs = metadata();
    auto layout = safetensors::plan_layout(outputs, &pairs, options_.input.limits);
    if (!layout) return fail(Error(layout.error()).in_file(model_.files[0].path));
    plan_.layout = *std::move(layout);
    return {};
  }

  /// Views can make any number of bytes out of a few.
  Status check_output_size() const {
    std::uint64_t input = 0;
    for (const InputFile& file : model_.files) input += file.source->size();
    const Limits& limits = options_.input.limits;
    const auto scaled = checked_multiply(input, limits.output_factor);
    const std::uint64_t most =
        checked_add(scaled.value_or(UINT64_MAX), limits.output_extra).value_or(UINT64_MAX);
    if (plan_.layout.file_bytes <= most) return {};
    const auto largest = std::max_element(plan_.layout.bytes.begin(), plan_.layout.bytes.end());
    const Tensor& tensor =
        model_.tensors[plan_.tensors[static_cast<std::size_t>(largest - plan_.layout.bytes.begin())]];
    const std::uint64_t stored = view_extent(tensor.view);
    std::string text = fmt::format(
        "the output would take {} bytes, the limit is {} (output size); its largest tensor {} takes {} bytes "
        "out of "
        "{} stored",
        plan_.layout.file_bytes, most, in_quotes(tensor.name, 96), tensor.bytes, stored);
    return fail(error(ErrorCode::limit, std::move(text))
                    .numbers(std::to_string(most), std::to_string(plan_.layout.file_bytes)));
  }

  Model& model_;
  const ConvertOptions& options_;
  ConvertPlan plan_;
};

}  // namespace

Result<ConvertPlan> plan_conversion(Model& model, const ConvertOptions& options) {
  return Planner(model, options).run();
}

}  // namespace ckpt
