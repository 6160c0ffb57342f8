#include "ckpt/jobs/expectations.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"

namespace ckpt {

namespace {

bool is_digest_name(const std::string& name) { return name == "sha256" || name == "model"; }

bool is_number_name(const std::string& name) {
  return name == "tensors" || name == "parameters" || name == "bytes";
}

bool is_dtype_name(const std::string& name) { return dtype_of_safetensors(name) || dtype_of_torch(name); }

bool is_value_of(const std::string& name, const std::string& value) {
  const bool is_digest = is_digest_name(name);
  const std::string_view alphabet = is_digest ? "0123456789abcdef" : "0123456789";
  if (value.empty() || value.find_first_not_of(alphabet) != std::string::npos) return false;
  return is_digest ? value.size() == 64 : value.size() <= 19;
}

std::string digest_text(const std::optional<Digest>& digest) { return digest ? digest_hex(*digest) : "none"; }

std::string found_value(const std::string& name, const VerifiedInput& input, const Totals& totals) {
  if (name == "sha256") return digest_text(input.file_digest);
  if (name == "model") return digest_text(input.model_digest);
  if (name == "tensors") return std::to_string(totals.tensors);
  if (name == "parameters") return std::to_string(totals.parameters);
  if (name == "bytes") return std::to_string(totals.bytes);
  const auto dtype = dtype_of_safetensors(name) ? dtype_of_safetensors(name) : dtype_of_torch(name);
  const auto found = totals.by_dtype.find(std::string(dtype_word(*dtype)));
  return std::to_string(found == totals.by_dtype.end() ? 0 : found->second.tensors);
}

/// Numbers without leading zeros, so that texts can be compared.
std::string canonical(const Expectation& expectation) {
  if (is_digest_name(expectation.name)) return expectation.value;
  const std::size_t first = expectation.value.find_first_not_of('0');
  return first == std::string::npos ? "0" : expectation.value.substr(first);
}

}  // namespace

Result<Expectation> parse_expectation(const std::string& text) {
  const std::size_t equals = text.find('=');
  Expectation expectation;
  expectation.name = text.substr(0, equals);
  if (equals != std::string::npos) expectation.value = text.substr(equals + 1);
  if (!is_digest_name(expectation.name) && !is_number_name(expectation.name) &&
      !is_dtype_name(expectation.name)) {
    return fail(ErrorCode::usage,
                "--expect knows tensors, parameters, bytes, sha256, model and dtypes such as F16, not " +
                    in_quotes(expectation.name, 64));
  }
  if (is_digest_name(expectation.name)) {
    std::transform(expectation.value.begin(), expectation.value.end(), expectation.value.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  }
  if (!is_value_of(expectation.name, expectation.value)) {
    const char* const wanted = is_digest_name(expectation.name) ? "64 hexadecimal digits" : "a whole number";
    return fail(ErrorCode::usage, fmt::format("--expect {}= takes {}, not {}", expectation.name, wanted,
                                              in_quotes(expectation.value, 80)));
  }
  return expectation;
}

bool wants_file_digest(const std::vector<Expectation>& expectations) {
  return std::any_of(expectations.begin(), expectations.end(),
                     [](const Expectation& e) { return e.name == "sha256"; });
}

std::vector<Finding> judge_expectations(const std::vector<Expectation>& expectations,
                                        const VerifiedInput& input) {
  std::vector<Finding> findings;
  const Totals totals = totals_of(input.model, input.selected);
  for (const Expectation& expectation : expectations) {
    const std::string expected = canonical(expectation);
    const std::string found = found_value(expectation.name, input, totals);
    if (expected == found) continue;
    Error error = make_error(ErrorCode::expectation,
                             fmt::format("expected {}={}, found {}", expectation.name, expected, found));
    error.in_file(input.model.files[0].path).numbers(expected, found);
    findings.push_back(defect(std::move(error)));
  }
  return findings;
}

}  // namespace ckpt
