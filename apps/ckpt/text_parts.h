#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/jobs/jobs.h"
#include "options.h"

/// Blocks of lines that text reports are made of.
namespace ckpt::app {

/// Colour where it is wanted.
struct Style {
  bool color = false;
  [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return paint("31", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }
  [[nodiscard]] std::string strong(std::string_view text) const { return paint("1", text); }

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;
};

/// "1 tensor", "1,323 tensors"
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);
[[nodiscard]] std::uint64_t rate(std::uint64_t bytes, double seconds);
/// "F16 709, F32 614"
[[nodiscard]] std::string dtype_counts(const Totals& totals);
/// "1.07 B parameters"
[[nodiscard]] std::string parameter_text(std::uint64_t parameters);

[[nodiscard]] std::string file_lines(const Model& model, const Style& style);
[[nodiscard]] std::string metadata_lines(const Model& model, bool in_full);
[[nodiscard]] std::string root_lines(const Model& model, const Style& style);
/// One line where a root was entered, naming what lies outside.
[[nodiscard]] std::string entered_line(const Model& model);
[[nodiscard]] std::string other_lines(const Model& model, bool all, const Style& style);
[[nodiscard]] std::string import_lines(const Model& model, bool all, const Style& style);
[[nodiscard]] std::string finding_lines(const std::vector<Finding>& findings, const Style& style);
[[nodiscard]] std::string summary_lines(const InspectResult& result, const Style& style);
[[nodiscard]] std::string timing_lines(const Phases& phases, std::uint64_t lookups);

[[nodiscard]] std::string written_line(const ConvertResult& result, const ConvertOptions& options);
[[nodiscard]] std::string left_out_lines(const ConvertResult& result);
[[nodiscard]] std::string shared_lines(const ConvertResult& result);
[[nodiscard]] std::string write_lines(const ConvertResult& result);
/// The `ckpt verify` line that proves a conversion, fit for a shell.
[[nodiscard]] std::string proof_command(const ConvertResult& result, const Invocation& call);

}  // namespace ckpt::app
