#include "text_parts.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "table.h"

namespace ckpt::app {

namespace {

constexpr std::size_t kListed = 50;
constexpr std::size_t kShortList = 12;
constexpr std::size_t kNoWidth = 1'000'000;

std::string format_text(Format format) {
  switch (format) {
    case Format::torch_zip: return "torch.save archive (ZIP)";
    case Format::torchscript: return "TorchScript archive (ZIP)";
    default: return "Safetensors";
  }
}

std::string and_more(std::size_t count, std::size_t shown) {
  return count > shown ? fmt::format("  and {} more\n", grouped(count - shown)) : std::string();
}

std::uint64_t count_level(const Model& model, ImportLevel level) {
  return static_cast<std::uint64_t>(
      std::count_if(model.imports.begin(), model.imports.end(),
                    [level](const ImportedName& i) { return i.level == level; }));
}

}  // namespace

std::string Style::paint(std::string_view code, std::string_view text) const {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::uint64_t rate(std::uint64_t bytes, double seconds) {
  return seconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds);
}

std::string dtype_counts(const Totals& totals) {
  std::vector<std::string> parts;
  for (const auto& [dtype, total] : totals.by_dtype)
    parts.push_back(fmt::format("{} {}", dtype, grouped(total.tensors)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string parameter_text(std::uint64_t parameters) {
  const auto value = static_cast<double>(parameters);
  if (parameters < 1'000) return counted(parameters, "parameter");
  if (parameters < 999'500) return fmt::format("{:.1f} k parameters", value / 1e3);
  if (parameters < 999'500'000) return fmt::format("{:.1f} M parameters", value / 1e6);
  return fmt::format("{:.2f} B parameters", value / 1e9);
}

std::string file_lines(const Model& model, const Style& style) {
  const InputFile& file = model.files[0];
  std::string out = fmt::format("{}: {}, {} bytes\n", style.strong(escaped(file.path)),
                                format_text(file.format), grouped(file.source->size()));
  Table table({{"", false}, {"", false}});
  for (const Fact& fact : file.facts) table.add({"  " + fact.name, fact.value});
  return file.facts.empty() ? out : out + table.render(kNoWidth, false);
}

std::string metadata_lines(const Model& model, bool in_full) {
  if (model.metadata.empty()) return model.has_metadata ? "metadata: empty\n" : "metadata: none\n";
  std::string out = "metadata\n";
  const std::size_t shown = in_full ? model.metadata.size() : std::min(model.metadata.size(), kShortList);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [key, value] = model.metadata[i];
    out += fmt::format("  {}: {}\n", escaped(key), escaped(value, in_full ? SIZE_MAX : 100));
  }
  return out + and_more(model.metadata.size(), shown);
}

std::string entered_line(const Model& model) {
  if (model.root == "/") return {};
  std::string out = fmt::format("root {}{}", escaped(model.root, 128),
                                model.is_root_given ? "" : " (entered, nothing else could be the model)");
  if (model.outside_tensors > 0) {
    out += fmt::format("; {}, {}, outside", counted(model.outside_tensors, "tensor"),
                       byte_size(model.outside_bytes));
  }
  return out + "\n";
}

std::string root_lines(const Model& model, const Style& style) {
  if (!model.is_root_ambiguous) return entered_line(model);
  std::string out =
      style.bad("more than one place could be the model") + "; convert and verify need --root\n";
  Table table({{"", false}, {"", true}, {"", true}});
  for (const Root& root : model.roots) {
    table.add({"  --root " + escaped(root.key, 64), counted(root.tensors, "tensor"), byte_size(root.bytes)});
  }
  return out + table.render(kNoWidth, false);
}

std::string other_lines(const Model& model, bool all, const Style& style) {
  std::string out =
      fmt::format("{}: {}\n", style.strong("not tensors"), counted(model.others.size(), "value"));
  const std::size_t shown = all ? model.others.size() : std::min(model.others.size(), kShortList);
  Table table({{"", false}, {"", false}, {"", false}});
  for (std::size_t i = 0; i < shown; ++i) {
    const Other& other = model.others[i];
    const std::string path = other.path.empty() ? "(the whole pickle)" : escaped(other.path, 96);
    table.add({"  " + path, escaped(other.kind, 64), escaped(other.value, 96)});
  }
  return out + table.render(kNoWidth, false) + and_more(model.others.size(), shown);
}

std::string import_lines(const Model& model, bool all, const Style& style) {
  if (model.files[0].format == Format::safetensors) return "no pickle, so no imports\n";
  const std::uint64_t dangerous = count_level(model, ImportLevel::dangerous);
  const std::string counts =
      fmt::format("{} unknown, {} known-safe", grouped(count_level(model, ImportLevel::unknown)),
                  grouped(count_level(model, ImportLevel::known_safe)));
  std::string out = dangerous > 0 ? style.bad(fmt::format("{} found", counted(dangerous, "dangerous import")))
                                  : std::string("no dangerous imports found in 1 record");
  out += "; " + counts + "\n";
  std::size_t listed = 0;
  std::size_t wanted = 0;
  for (const ImportLevel level : {ImportLevel::dangerous, ImportLevel::unknown, ImportLevel::known_safe}) {
    for (const ImportedName& import : model.imports) {
      if (import.level != level || (!all && level == ImportLevel::known_safe) || (++wanted > kListed && !all))
        continue;
      ++listed;
      const std::string name = import.module.empty() && import.name.empty()
                                   ? "?"
                                   : escaped(import.module + "." + import.name, 160);
      out +=
          fmt::format("  {:<10}  {}  {} @{}{}\n", import_level_word(level), name, escaped(import.record, 96),
                      import.offset, import.reason.empty() ? "" : "  (" + import.reason + ")");
    }
  }
  return out + and_more(wanted, listed);
}

std::string finding_lines(const std::vector<Finding>& findings, const Style& style) {
  if (findings.empty()) return {};
  std::string out = "findings\n";
  for (std::size_t i = 0; i < std::min(findings.size(), kListed); ++i) {
    const bool is_error = findings[i].severity == Severity::error;
    out += fmt::format("  {}  {}\n", is_error ? style.bad("error") : style.dim("note "),
                       error_line(findings[i].what));
  }
  return out + and_more(findings.size(), kListed);
}

std::string summary_lines(const InspectResult& result, const Style& style) {
  const Totals totals = totals_of(result.model, result.selected);
  std::string out =
      fmt::format("{}: {}, {}, {} ({} bytes)\n", style.strong("summary"), counted(totals.tensors, "tensor"),
                  parameter_text(totals.parameters), byte_size(totals.bytes), grouped(totals.bytes));
  if (result.selected.size() != result.model.tensors.size()) {
    out += fmt::format("  chosen out of {} tensors\n", grouped(result.model.tensors.size()));
  }
  Table table({{"", false}, {"", true}, {"", true}});
  for (const auto& [dtype, total] : totals.by_dtype) {
    table.add({"  " + dtype, counted(total.tensors, "tensor"), grouped(total.bytes) + " bytes"});
  }
  out += table.render(kNoWidth, false);
  if (result.model.unused_bytes > 0)
    out += fmt::format("  {} stored bytes are used by no tensor\n", grouped(result.model.unused_bytes));
  if (result.model_digest) out += "  model digest  " + digest_hex(*result.model_digest) + "\n";
  return out;
}

std::string timing_lines(const Phases& phases, std::uint64_t lookups) {
  Table table({{"PHASE", false}, {"SECONDS", true}, {"BYTES", true}, {"READS", true}});
  const auto add = [&table](const char* name, const Phase& phase) {
    table.add({name, fmt::format("{:.4f}", phase.seconds), grouped(phase.bytes), grouped(phase.reads)});
  };
  add("container", phases.container);
  add("metadata", phases.metadata);
  add("data", phases.data);
  return table.render(kNoWidth) + fmt::format("look-ups of records: {}\n", grouped(lookups));
}

std::string written_line(const ConvertResult& result, const ConvertOptions& options) {
  const double seconds = result.write.seconds + result.sync_seconds;
  std::string out =
      fmt::format("{} {}: {}, {} bytes", options.dry_run ? "would write" : "wrote", escaped(result.output),
                  counted(result.written.size(), "tensor"), grouped(result.output_bytes));
  if (!options.dry_run)
    out += fmt::format(" in {:.2f} s ({}/s{})", seconds, byte_size(rate(result.output_bytes, seconds)),
                       options.sync ? ", synced" : "");
  return out + "\n";
}

std::string left_out_lines(const ConvertResult& result) {
  const Model& model = result.model;
  std::string out = entered_line(model);
  for (const std::string& name : result.skipped) out += "left out, unsupported: " + escaped(name, 256) + "\n";
  const auto in_root = static_cast<std::size_t>(
      std::count_if(model.others.begin(), model.others.end(), [](const Other& o) { return o.in_root; }));
  if (model.others.empty()) return out;
  out += fmt::format("left out: {} that {} ({} of them beside the model)\n",
                     counted(model.others.size(), "value"),
                     model.others.size() == 1 ? "is not a tensor" : "are not tensors",
                     grouped(model.others.size() - in_root));
  const std::size_t shown = std::min(model.others.size(), kShortList);
  for (std::size_t i = 0; i < shown; ++i) {
    out += fmt::format("  {}  {}\n", escaped(model.others[i].path, 96), escaped(model.others[i].kind, 64));
  }
  return out + and_more(model.others.size(), shown);
}

std::string shared_lines(const ConvertResult& result) {
  std::string out;
  std::uint64_t copies = 0;
  for (const OutputTensorInfo& info : result.written)
    copies += result.model.tensors[info.tensor].alias_of != kNoIndex ? 1U : 0U;
  if (copies > 0)
    out += fmt::format("shared: {} written in full (--shared=drop leaves them out)\n",
                       copies == 1 ? "1 alias" : grouped(copies) + " aliases");
  for (const auto& [name, kept] : result.dropped)
    out += fmt::format("dropped: {} is {}\n", escaped(name, 256), escaped(kept, 256));
  if (result.gathered > 0)
    out += fmt::format("gathered: {} not row-major in the input\n", counted(result.gathered, "tensor"));
  return out;
}

std::string write_lines(const ConvertResult& result) {
  return fmt::format("written: {} bytes in {} calls, finishing took {:.4f} s\n", grouped(result.write.bytes),
                     grouped(result.write.reads), result.sync_seconds);
}

namespace {

std::string shell_word(const std::string& word) {
  const bool is_plain =
      !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
               c == '.' || c == '_' || c == '-' || c == '+' || c == ',' || c == '@' || c == '=' || c == ':';
      });
  if (is_plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// A pattern that matches `name` and nothing else.
std::string literal_glob(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string proof_command(const ConvertResult& result, const Invocation& call) {
  std::string out = "ckpt verify";
  const InputOptions& input = call.convert.input;
  if (input.root) out += " --root " + shell_word(*input.root);
  for (const std::string& glob : input.selection.include) out += " --include " + shell_word(glob);
  for (const std::string& glob : input.selection.exclude) out += " --exclude " + shell_word(glob);
  for (const std::string& name : result.skipped) out += " --exclude " + shell_word(literal_glob(name));
  if (input.allow_dangerous) out += " --allow-dangerous";
  // A path with control characters cannot be shown as it is; then the line is for reading only.
  return out + " " + escaped(shell_word(result.model.files[0].path)) + " " +
         escaped(shell_word(result.output));
}

}  // namespace ckpt::app
