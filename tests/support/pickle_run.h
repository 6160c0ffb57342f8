#pragma once

#include <string>
#include <string_view>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/pickle/machine.h"
#include "support/pickle_builder.h"

namespace ckpt::test {

/// A pickle with the machine that ran over it and what came out; owns the bytes.
class PickleRun {
 public:
  explicit PickleRun(std::string bytes, const Limits& limits = {},
                     const pickle::MachineOptions& options = {});
  explicit PickleRun(const PickleBuilder& builder, const Limits& limits = {},
                     const pickle::MachineOptions& options = {})
      : PickleRun(builder.bytes(), limits, options) {}
  PickleRun(const PickleRun&) = delete;
  PickleRun& operator=(const PickleRun&) = delete;

  [[nodiscard]] const pickle::Machine& machine() const { return machine_; }
  [[nodiscard]] const pickle::Values& values() const { return machine_.values(); }
  [[nodiscard]] pickle::Ref root() const { return machine_.root(); }
  [[nodiscard]] bool is_ok() const { return status_.has_value(); }
  [[nodiscard]] const Error& error() const { return status_.error(); }
  /// "ok", or the error as `error_line` prints it.
  [[nodiscard]] std::string outcome() const;
  /// The result in a form like Python's, or the error's line: `{"w": torch.Size((2, 2))}`.
  [[nodiscard]] std::string shown() const;
  /// Messages of all findings, a line each, notes with "note: " in front.
  [[nodiscard]] std::string findings() const;
  /// The import's class as a word, "none" if the pickle does not name it.
  [[nodiscard]] std::string import_class(std::string_view module, std::string_view name) const;
  [[nodiscard]] std::string import_reason(std::string_view module, std::string_view name) const;
  [[nodiscard]] bool names_dangerous() const;

 private:
  [[nodiscard]] const pickle::Import* find_import(std::string_view module, std::string_view name) const;

  std::string bytes_;
  pickle::Machine machine_;
  Status status_;
};

/// One value in a form like Python's. For small values: recursive, with "..." below 20 levels.
[[nodiscard]] std::string show(const pickle::Values& values, pickle::Ref ref, int levels = 20);

}  // namespace ckpt::test
