#include "options.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/span_reader.h"
#include "suggest.h"
#include "version.h"

namespace ckpt::app {

namespace {

using Strings = std::vector<std::string>;

const std::map<std::string, ColorMode> kColors = {
    {"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}};
const std::map<std::string, SortKey> kSorts = {{"file", SortKey::file},
                                               {"name", SortKey::name},
                                               {"bytes", SortKey::bytes},
                                               {"dtype", SortKey::dtype},
                                               {"offset", SortKey::offset}};
const std::map<std::string, Column> kColumns = {{"name", Column::name},         {"dtype", Column::dtype},
                                                {"shape", Column::shape},       {"bytes", Column::bytes},
                                                {"elements", Column::elements}, {"offset", Column::offset},
                                                {"stride", Column::stride},     {"storage", Column::storage},
                                                {"flags", Column::flags},       {"sha256", Column::sha256}};
const std::map<std::string, SharedPolicy> kPolicies = {
    {"copy", SharedPolicy::copy}, {"drop", SharedPolicy::drop}, {"fail", SharedPolicy::fail}};

/// What CLI11 fills and what has no type of its own yet.
struct Raw {
  Invocation invocation;
  Strings expectations;
  Strings columns;
  Strings metadata;
  std::string readers;
  std::string input;
  std::string root;
  std::string max_bytes;
  bool no_progress = false;
  bool no_skip = false;
  bool no_sync = false;
};

class CommandLine {
 public:
  CommandLine() {
    app_.set_help_flag("-h,--help", "Print this help and exit");
    app_.set_version_flag("--version", version_text());
    app_.require_subcommand(0, 1);
    add_globals();
    add_inspect();
    add_verify();
    add_convert();
    add_prefetch();
    app_.footer(
        "ckpt FILE is short for ckpt inspect FILE. Safetensors is the only output; pickles are never written "
        "and never run.\n"
        "Exit status: 0 yes, 1 no, 2 wrong usage, 3 no answer.");
  }

  CLI::App& app() { return app_; }
  Raw& raw() { return raw_; }

 private:
  void add_globals() {
    GlobalOptions& global = raw_.invocation.global;
    app_.add_flag("-q,--quiet", global.is_quiet, "Print only errors (and JSON where it is asked for)");
    app_.add_flag("-v,--verbose", global.is_verbose, "Trace the phases of the work to standard error");
    app_.add_flag("--json", global.json, "Print one JSON document instead of text (docs/report.md)");
    app_.add_option("--color", global.color, "auto, always or never")
        ->transform(CLI::CheckedTransformer(kColors))
        ->option_text("WHEN");
    app_.add_flag("--no-progress", raw_.no_progress, "Never draw a progress bar");
    app_.add_flag("--timings", global.timings,
                  "Print seconds, bytes and reads of container, metadata and data");
  }

  CLI::App* add_command(Command command, const std::string& description) {
    CLI::App* sub = app_.add_subcommand(kCommandNames[static_cast<int>(command)], description);
    sub->set_help_flag("-h,--help", "Print this help and exit");
    sub->fallthrough();
    sub->parse_complete_callback([this, command] { raw_.invocation.command = command; });
    return sub;
  }

  void add_input_options(CLI::App* sub, InputOptions& input, bool has_threads) {
    sub->add_option("--root", raw_.root, "Where the model lies: a key, a dotted path, or / for everything")
        ->option_text("KEY");
    sub->add_option("--include", input.selection.include, "Only tensors whose name matches (repeatable)")
        ->option_text("GLOB")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--exclude", input.selection.exclude, "Not tensors whose name matches (repeatable)")
        ->option_text("GLOB")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_flag("--allow-dangerous", input.allow_dangerous,
                  "Go on although the file names dangerous imports (nothing is run either way)");
    if (has_threads)
      sub->add_option("--threads", input.threads, "Reader threads, 1 to 16")
          ->check(CLI::Range(1, 16))
          ->option_text("N");
    add_limits(sub, input.limits);
  }

  static void add_limits(CLI::App* sub, Limits& limits) {
    const auto add = [&](const char* name, auto& field, const char* text) {
      sub->add_option(name, field, text)->option_text("N")->group("Limits");
    };
    add("--limit-header-bytes", limits.header_bytes, "Bytes of a Safetensors header or index");
    add("--limit-pickle-bytes", limits.pickle_bytes, "Bytes of one pickle");
    add("--limit-pickle-opcodes", limits.pickle_opcodes, "Opcodes of one pickle");
    add("--limit-value-bytes", limits.value_bytes, "Memory that the values of one pickle may take");
    add("--limit-nesting", limits.nesting, "Containers inside containers");
    add("--limit-records", limits.zip_records, "Records of a ZIP archive");
    add("--limit-directory-bytes", limits.directory_bytes, "Bytes of a ZIP directory");
    add("--limit-rank", limits.rank, "Dimensions of a tensor");
    add("--limit-name-bytes", limits.name_bytes, "Bytes of a tensor's name");
  }

  void add_inspect() {
    CLI::App* sub =
        add_command(Command::inspect, "Say what a checkpoint is and what it holds; reads metadata only");
    ListOptions& list = raw_.invocation.list;
    sub->add_option("PATH", raw_.invocation.paths, "Files to inspect")->required();
    sub->add_flag("--tree", list.tree, "Sizes by module, equal layers folded");
    sub->add_option("--sort", list.sort, "file, name, bytes, dtype or offset")
        ->transform(CLI::CheckedTransformer(kSorts))
        ->option_text("KEY");
    sub->add_option("--columns", raw_.columns,
                    "name, dtype, shape, bytes, elements, offset, stride, storage, flags, sha256")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->option_text("LIST");
    sub->add_flag("--plain", list.plain, "One tab-separated tensor a line, without heading or summary");
    sub->add_flag("--sha256", raw_.invocation.inspect.with_digests, "Digest every tensor, and the model");
    sub->add_flag("--metadata", list.metadata, "Print metadata in full");
    sub->add_flag("--imports", list.imports, "Print every import with its class");
    add_input_options(sub, raw_.invocation.inspect.input, true);
  }

  void add_verify() {
    CLI::App* sub = add_command(Command::verify, "Compare two checkpoints, or check that each is whole");
    sub->add_option("PATH", raw_.invocation.paths,
                    "Two paths are compared; one, or three and more, are each checked")
        ->required();
    sub->add_option("--expect", raw_.expectations,
                    "tensors=N, DTYPE=N, parameters=N, bytes=N, sha256=HEX or model=HEX (repeatable)")
        ->option_text("NAME=VALUE")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_flag("--each", raw_.invocation.each, "Check two paths each on its own");
    add_input_options(sub, raw_.invocation.verify.input, true);
  }

  void add_convert() {
    CLI::App* sub = add_command(Command::convert, "Rewrite a checkpoint as Safetensors");
    ConvertOptions& options = raw_.invocation.convert;
    sub->add_option("IN", raw_.input, "The checkpoint")->required();
    sub->add_option("OUT", raw_.invocation.output,
                    "The output: a file, or a folder to put it in (default: beside IN)");
    sub->add_option("--shared", options.shared,
                    "Tensors that share bytes: copy, drop (the name goes to the metadata) or fail")
        ->transform(CLI::CheckedTransformer(kPolicies))
        ->option_text("POLICY");
    sub->add_option("--metadata", raw_.metadata, "Metadata to add (repeatable)")
        ->option_text("KEY=VALUE")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_flag("--skip", options.skip_unsupported, "Leave out tensors that Safetensors cannot hold");
    sub->add_flag("--strict", options.is_strict, "Refuse if anything would be left out or is odd");
    sub->add_flag("-n,--dry-run", options.dry_run, "Plan and check everything, write nothing");
    sub->add_flag("-f,--force", options.replace, "Replace an existing output");
    sub->add_flag("--no-sync", raw_.no_sync, "Do not wait for the disk");
    add_input_options(sub, options.input, true);
  }

  void add_prefetch() {
    CLI::App* sub =
        add_command(Command::prefetch, "Read files into the page cache, ahead of a loader that maps them");
    PrefetchOptions& options = raw_.invocation.prefetch;
    sub->add_option("PATH", raw_.invocation.paths, "Files, index files or folders")->required();
    sub->add_option(
           "--readers", raw_.readers,
           "Reader threads, 0 to 16; 0 reads nothing (else CKPT_PREFETCH, else TF_LOAD_PREFETCH, else 16)")
        ->option_text("N");
    sub->add_flag("--no-skip", raw_.no_skip, "Read what is resident too");
    sub->add_option("--max-bytes", raw_.max_bytes, "Read at most so many bytes, in file order")
        ->option_text("N");
    CLI::Option* evict =
        sub->add_flag("--evict", options.evict, "Drop the files from the page cache instead");
    sub->add_flag("--query", options.query, "Only say what is resident; reads nothing")->excludes(evict);
    sub->add_flag("-f,--force", options.force, "Read even what does not fit the free memory");
    add_limits(sub, options.limits);
  }

  CLI::App app_{"Inspect, verify, convert and prefetch model checkpoints. Never runs a pickle.", "ckpt"};
  Raw raw_;
};

Result<std::pair<std::string, std::string>> parse_pair(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(ErrorCode::usage, "--metadata takes KEY=VALUE, not " + in_quotes(text, 80));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Status finish_lists(Raw& raw) {
  for (const std::string& name : raw.columns) {
    const auto column = kColumns.find(name);
    if (column == kColumns.end())
      return fail(ErrorCode::usage, "--columns does not know " + in_quotes(name, 64));
    raw.invocation.list.columns.push_back(column->second);
  }
  for (const std::string& text : raw.expectations) {
    CKPT_LET(auto expectation, parse_expectation(text));
    raw.invocation.verify.expectations.push_back(std::move(expectation));
  }
  for (const std::string& text : raw.metadata) {
    CKPT_LET(auto pair, parse_pair(text));
    raw.invocation.convert.metadata.push_back(std::move(pair));
  }
  return {};
}

Status finish_prefetch(Raw& raw) {
  PrefetchOptions& options = raw.invocation.prefetch;
  options.skip_resident = !raw.no_skip;
  if (!raw.max_bytes.empty()) {
    if (raw.max_bytes.size() > 18 || raw.max_bytes.find_first_not_of("0123456789") != std::string::npos) {
      return fail(ErrorCode::usage, "--max-bytes takes a whole number, not " + in_quotes(raw.max_bytes, 64));
    }
    options.max_bytes = std::stoull(raw.max_bytes);
  }
  CKPT_LET(options.readers, raw.readers.empty() ? ckpt_readers() : parse_readers(raw.readers, "--readers"));
  return {};
}

Status finish(Raw& raw) {
  Invocation& invocation = raw.invocation;
  invocation.global.progress = !raw.no_progress;
  if (invocation.command == Command::convert) invocation.paths = {raw.input};
  invocation.convert.sync = !raw.no_sync;
  if (!raw.root.empty()) {
    for (InputOptions* input :
         {&invocation.inspect.input, &invocation.verify.input, &invocation.convert.input})
      input->root = raw.root;
  }
  CKPT_TRY(finish_lists(raw));
  if (invocation.command == Command::prefetch) CKPT_TRY(finish_prefetch(raw));
  const auto& columns = invocation.list.columns;
  if (std::find(columns.begin(), columns.end(), Column::sha256) != columns.end())
    invocation.inspect.with_digests = true;
  if (invocation.command == Command::convert && (invocation.paths.at(0) == "-" || invocation.output == "-")) {
    return fail(ErrorCode::usage,
                "convert reads and writes files, not \"-\": checkpoints are read at offsets");
  }
  return {};
}

bool is_command(const std::string& word) {
  return std::find(std::begin(kCommandNames), std::end(kCommandNames), word) != std::end(kCommandNames);
}

/// Words behind `--` are paths. CLI11 hands them to the wrong parser once a path was given, so each that could be taken
/// for something else is spelled as a path instead.
Strings without_terminator(const Strings& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  Strings out(arguments.begin(), mark);
  if (mark == arguments.end()) return out;
  std::transform(mark + 1, arguments.end(), std::back_inserter(out), [](const std::string& word) {
    return (!word.empty() && word.front() == '-') || is_command(word) ? "./" + word : word;
  });
  return out;
}

/// `ckpt FILE` means `ckpt inspect FILE`; a word that is nearly a command does not.
Result<Strings> with_command(const Strings& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--color") {
      ++i;  // takes a value
      continue;
    }
    if (word.size() > 1 && word.front() == '-') continue;
    if (is_command(word)) return arguments;
    const auto meant = suggest(word, Strings(std::begin(kCommandNames), std::end(kCommandNames)));
    if (meant && word.find('/') == std::string::npos && !platform::identify(word)) {
      return fail(make_error(
          ErrorCode::usage, in_quotes(word, 64) + " is no command; did you mean " + in_quotes(*meant) + "?"));
    }
    Strings out = arguments;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), "inspect");
    return out;
  }
  return arguments;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

ParseFailure failure(Error error, const Strings& arguments) {
  ParseFailure out;
  out.error = std::move(error);
  out.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  const auto command = std::find_if(arguments.begin(), arguments.end(), is_command);
  if (command != arguments.end()) out.command = *command;
  return out;
}

}  // namespace

tl::expected<Parsed, ParseFailure> parse_command_line(const std::vector<std::string>& given) {
  CommandLine line;
  const auto arguments = with_command(without_terminator(given));
  if (!arguments) return tl::make_unexpected(failure(arguments.error(), given));
  if (arguments->empty()) return Parsed{std::nullopt, line.app().help()};
  try {
    Strings reversed(arguments->rbegin(), arguments->rend());
    line.app().parse(reversed);
  } catch (const CLI::CallForVersion&) {
    return Parsed{std::nullopt, version_text() + "\n"};
  } catch (const CLI::CallForHelp&) {
    const auto chosen = line.app().get_subcommands();
    return Parsed{std::nullopt, chosen.empty() ? line.app().help() : chosen.front()->help()};
  } catch (const CLI::ParseError& error) {
    Error usage = make_error(ErrorCode::usage, escaped(one_line(error.what()), 512));
    const auto chosen = line.app().get_subcommands();
    usage.with_advice(chosen.empty() ? "ckpt --help" : "ckpt " + chosen.front()->get_name() + " --help");
    return tl::make_unexpected(failure(std::move(usage), *arguments));
  }
  if (line.app().get_subcommands().empty()) {
    return tl::make_unexpected(
        failure(make_error(ErrorCode::usage, "no command given").with_advice("ckpt --help"), *arguments));
  }
  const Status status = finish(line.raw());
  if (!status) return tl::make_unexpected(failure(status.error(), *arguments));
  return Parsed{std::move(line.raw().invocation), {}};
}

}  // namespace ckpt::app
