#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/error.h"
#include "ckpt/zip/archive.h"
#include "support/catch.h"
#include "support/zip_builder.h"

namespace ckpt::test {

/// All findings, one a line, for a failed assertion.
inline std::string finding_lines(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += (finding.severity == Severity::note ? "note: " : "error: ") + error_line(finding.what) + "\n";
  }
  return text;
}

/// Whether a finding of this word has `part` in its line.
inline bool has_finding(const std::vector<Finding>& findings, ErrorCode code, std::string_view part,
                        Severity severity = Severity::error) {
  for (const Finding& finding : findings) {
    if (finding.what.code == code && finding.severity == severity &&
        error_line(finding.what).find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// The directory of what is being built, which must be readable.
inline zip::Directory read_directory(std::shared_ptr<const ByteSource> source, const Limits& limits = {}) {
  auto directory = zip::Directory::read(source, limits);
  if (!directory) FAIL(error_line(directory.error()));
  return *std::move(directory);
}

inline zip::Directory read_directory(ZipBuilder& builder) { return read_directory(builder.build_source()); }

/// Why the directory cannot be read.
inline Error directory_error(std::shared_ptr<const ByteSource> source, const Limits& limits = {}) {
  const auto directory = zip::Directory::read(source, limits);
  if (directory) FAIL("the directory was read; findings:\n" << finding_lines(directory->findings()));
  return directory.error();
}

inline Error directory_error(ZipBuilder& builder) { return directory_error(builder.build_source()); }

/// Exactly one finding, of this word and with this text.
inline void check_only_finding(const std::vector<Finding>& findings, ErrorCode code, std::string_view part) {
  INFO(finding_lines(findings));
  CHECK(findings.size() == 1);
  CHECK(has_finding(findings, code, part));
}

inline void check_only_finding(ZipBuilder& builder, ErrorCode code, std::string_view part) {
  check_only_finding(read_directory(builder).findings(), code, part);
}

inline void check_finding(ZipBuilder& builder, ErrorCode code, std::string_view part) {
  const zip::Directory directory = read_directory(builder);
  INFO(finding_lines(directory.findings()));
  CHECK(has_finding(directory.findings(), code, part));
}

inline void check_clean(const zip::Directory& directory) {
  INFO(finding_lines(directory.findings()));
  CHECK(directory.findings().empty());
}

}  // namespace ckpt::test
