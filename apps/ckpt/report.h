#pragma once

#include <string>
#include <vector>

#include "ckpt/jobs/jobs.h"
#include "options.h"

/// A job's result in, bytes out. The text report is for people; the JSON report is described in docs/report.md.
namespace ckpt::app {

/// One path of inspect or of verify's checks: a result, or the reason why there is none.
struct Inspected {
  std::string path;
  std::optional<InspectResult> result;
  std::optional<Error> error;
};

struct Checked {
  std::string path;
  std::optional<VerifiedInput> result;
  std::optional<Error> error;
};

/// Work of two inputs together.
[[nodiscard]] Phases sum(const Phases& a, const Phases& b);

class Renderer {
 public:
  virtual ~Renderer() = default;
  [[nodiscard]] virtual std::string inspect(const std::vector<Inspected>& inputs, const Invocation& call,
                                            int status) const = 0;
  [[nodiscard]] virtual std::string compare(const CompareResult& result, const Invocation& call,
                                            int status) const = 0;
  [[nodiscard]] virtual std::string check(const std::vector<Checked>& inputs, const Invocation& call,
                                          int status) const = 0;
  [[nodiscard]] virtual std::string convert(const ConvertResult& result, const Invocation& call,
                                            int status) const = 0;
  [[nodiscard]] virtual std::string prefetch(const PrefetchResult& result, const Invocation& call,
                                             int status) const = 0;
  /// There is no result at all.
  [[nodiscard]] virtual std::string failure(const Error& error, const std::string& command,
                                            int status) const = 0;
};

/// `color`: escape sequences may be used. `width`: columns of the terminal, or more than any line has.
[[nodiscard]] std::unique_ptr<Renderer> text_renderer(bool color, std::size_t width);
[[nodiscard]] std::unique_ptr<Renderer> json_renderer();

}  // namespace ckpt::app
