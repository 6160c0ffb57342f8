#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/error.h"
#include "ckpt/base/text.h"
#include "ckpt/model/open.h"
#include "support/catch.h"

/// Opens what a test has written and shows it as lines.
namespace ckpt::test {

/// The model of a file that can be listed, whatever its findings.
inline Model opened(const std::string& path, const OpenOptions& options = {}) {
  auto model = open_model(path, options);
  if (!model) FAIL(error_line(model.error()));
  return *std::move(model);
}

/// Why a file cannot be listed.
inline Error open_error(const std::string& path, const OpenOptions& options = {}) {
  const auto model = open_model(path, options);
  if (model) FAIL(path << " was opened");
  return model.error();
}

inline OpenOptions with_root(std::string root) {
  OpenOptions options;
  options.root = std::move(root);
  return options;
}

inline const Tensor& tensor_of(const Model& model, std::string_view name) {
  for (const Tensor& tensor : model.tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return model.tensors[0];
}

/// Names in the order of the model, joined by blanks.
inline std::string tensor_names(const Model& model) {
  std::string names;
  for (const Tensor& tensor : model.tensors) names += (names.empty() ? "" : " ") + escaped(tensor.name);
  return names;
}

inline std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += (finding.severity == Severity::note ? "note: " : "error: ") + error_line(finding.what) + "\n";
  }
  return text;
}

inline std::size_t count_findings(const std::vector<Finding>& findings, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

/// Whether a finding of this word has `part` in its line.
inline bool finds(const std::vector<Finding>& findings, Severity severity, ErrorCode code,
                  std::string_view part) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity == severity && finding.what.code == code &&
           error_line(finding.what).find(part) != std::string::npos;
  });
}

/// Exactly one finding that is an error, of this word and with this text.
inline void check_defect(const Model& model, ErrorCode code, std::string_view part) {
  INFO(findings_text(model.findings));
  CHECK(count_findings(model.findings, Severity::error) == 1);
  CHECK(finds(model.findings, Severity::error, code, part));
}

/// No errors, and a note of this word and with this text.
inline void check_note(const Model& model, ErrorCode code, std::string_view part) {
  INFO(findings_text(model.findings));
  CHECK(count_findings(model.findings, Severity::error) == 0);
  CHECK(finds(model.findings, Severity::note, code, part));
}

inline void check_no_findings(const Model& model) {
  INFO(findings_text(model.findings));
  CHECK(model.findings.empty());
}

inline void check_error(const Error& error, ErrorCode code, std::string_view part) {
  INFO(error_line(error));
  CHECK(error_word(error.code) == error_word(code));
  CHECK(error_line(error).find(part) != std::string::npos);
}

}  // namespace ckpt::test
