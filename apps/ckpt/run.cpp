#include "run.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "ckpt/base/text.h"
#include "exit_code.h"
#include "options.h"
#include "progress_bar.h"
#include "report.h"
#include "terminal.h"

namespace ckpt::app {

namespace {

/// One line on standard error, and at most one of advice.
void print_error(const std::string& command, const Error& error) {
  std::string line = "ckpt: " + (command.empty() ? "" : command + ": ") + error_line(error) + "\n";
  if (!error.advice.empty()) line += "ckpt: try: " + error.advice + "\n";
  write_err(line);
}

/// A report that nobody could be given is no success.
int print_report(const std::string& report, int status, const std::string& command) {
  if (report.empty() || write_out(report)) return status;
  print_error(command, make_error(ErrorCode::io, "standard output cannot be written"));
  return worse(status, kNoAnswer);
}

class Program {
 public:
  explicit Program(Invocation call)
      : call_(std::move(call)), command_(kCommandNames[static_cast<int>(call_.command)]) {
    const bool color =
        call_.global.color == ColorMode::always ||
        (call_.global.color == ColorMode::automatic && is_terminal(Stream::out) && !is_color_refused());
    renderer_ = call_.global.json ? json_renderer() : text_renderer(color, terminal_width());
    start_trace();
  }

  int run() {
    switch (call_.command) {
      case Command::inspect: return run_inspect();
      case Command::verify: return call_.paths.size() == 2 && !call_.each ? run_compare() : run_check();
      case Command::convert: return run_convert();
      default: return run_prefetch();
    }
  }

 private:
  void start_trace() {
    auto logger = spdlog::stderr_logger_mt("ckpt");
    logger->set_pattern("ckpt: [%o ms] %v");
    logger->set_level(call_.global.is_verbose ? spdlog::level::debug : spdlog::level::off);
    spdlog::set_default_logger(std::move(logger));
  }

  static void trace(const std::string& path, const Phases& phases, std::uint64_t lookups) {
    const auto line = [&](const char* name, const Phase& phase) {
      spdlog::debug("{}: {}: {:.4f} s, {} bytes, {} reads", escaped(path, kMaxShownBytes), name,
                    phase.seconds, phase.bytes, phase.reads);
    };
    line("container", phases.container);
    line("metadata", phases.metadata);
    line("data", phases.data);
    spdlog::debug("{}: {} look-ups", escaped(path, kMaxShownBytes), lookups);
  }

  [[nodiscard]] bool wants_bar() const {
    return call_.global.progress && !call_.global.is_quiet && !call_.global.is_verbose &&
           is_terminal(Stream::err);
  }

  /// Runs a job with a progress bar beside it.
  template <class Job>
  auto with_bar(Job job) {
    const ProgressBar bar(progress_, wants_bar());
    return job();
  }

  int failed(const Error& error) {
    const int status = exit_code(error.code);
    print_error(command_, error);
    return print_report(renderer_->failure(error, command_, status), status, command_);
  }

  /// For reports whose findings decide: the gravest one also goes to standard error.
  void print_gravest(const std::vector<Finding>& findings) const {
    if (const Finding* gravest = gravest_finding(findings)) print_error(command_, gravest->what);
  }

  /// Runs a job on each path; its findings decide, and all that was found is printed whatever the answer.
  template <class Item, class Job, class Render>
  int run_each(Job job, Render render) {
    std::vector<Item> inputs;
    std::vector<Finding> all;
    int status = kYes;
    for (const std::string& path : call_.paths) {
      spdlog::debug("{}: opening", escaped(path, kMaxShownBytes));
      auto result = with_bar([&] { return job(path); });
      Item input{path, std::nullopt, std::nullopt};
      if (result) {
        const Model& model = result->model;
        trace(path, model.phases, model.lookups);
        status = worse(status, exit_code(model.findings));
        all.insert(all.end(), model.findings.begin(), model.findings.end());
        input.result = *std::move(result);
      } else {
        status = worse(status, exit_code(result.error().code));
        input.error = result.error();
      }
      inputs.push_back(std::move(input));
    }
    status = print_report(render(inputs, status), status, command_);
    print_errors(inputs);
    print_gravest(all);
    return status;
  }

  int run_inspect() {
    call_.inspect.input.progress = &progress_;
    return run_each<Inspected>(
        [this](const std::string& path) { return ckpt::inspect(path, call_.inspect); },
        [this](const auto& inputs, int status) { return renderer_->inspect(inputs, call_, status); });
  }

  template <class Inputs>
  void print_errors(const Inputs& inputs) const {
    for (const auto& input : inputs) {
      if (input.error) print_error(command_, *input.error);
    }
  }

  int run_compare() {
    call_.verify.input.progress = &progress_;
    const auto result = with_bar([&] { return ckpt::compare(call_.paths[0], call_.paths[1], call_.verify); });
    if (!result) return failed(result.error());
    trace(call_.paths[0], result->a.model.phases, result->a.model.lookups);
    trace(call_.paths[1], result->b.model.phases, result->b.model.lookups);
    int status = exit_code(result->findings);
    status = print_report(renderer_->compare(*result, call_, status), status, command_);
    print_gravest(result->findings);
    return status;
  }

  int run_check() {
    call_.verify.input.progress = &progress_;
    return run_each<Checked>(
        [this](const std::string& path) { return ckpt::check_input(path, call_.verify); },
        [this](const auto& inputs, int status) { return renderer_->check(inputs, call_, status); });
  }

  int run_convert() {
    call_.convert.input.progress = &progress_;
    const auto result = with_bar([&] { return ckpt::convert(call_.paths[0], call_.output, call_.convert); });
    if (!result) return failed(result.error());
    trace(call_.paths[0], result->model.phases, result->model.lookups);
    return print_report(renderer_->convert(*result, call_, kYes), kYes, command_);
  }

  int run_prefetch() {
    call_.prefetch.progress = &progress_;
    const auto result = with_bar([&] { return ckpt::prefetch(call_.paths, call_.prefetch); });
    if (!result) return failed(result.error());
    const int status = exit_code(result->findings);
    const bool leaves_stdout_empty = status != kYes && !call_.global.json;
    const std::string report =
        leaves_stdout_empty ? std::string() : renderer_->prefetch(*result, call_, status);
    print_gravest(result->findings);
    return print_report(report, status, command_);
  }

  Invocation call_;
  std::string command_;
  std::unique_ptr<Renderer> renderer_;
  Progress progress_;
};

}  // namespace

int run(const std::vector<std::string>& arguments) {
  auto parsed = parse_command_line(arguments);
  if (!parsed) {
    const ParseFailure& failure = parsed.error();
    print_error(failure.command, failure.error);
    const std::string report =
        failure.json ? json_renderer()->failure(failure.error, failure.command, kUsage) : std::string();
    return print_report(report, kUsage, failure.command);
  }
  if (!parsed->invocation) return print_report(parsed->text, arguments.empty() ? kUsage : kYes, {});
  return Program(*std::move(parsed->invocation)).run();
}

}  // namespace ckpt::app
