#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "columns.h"
#include "exit_code.h"
#include "report.h"
#include "table.h"
#include "text_parts.h"
#include "tree.h"

/// Reports for people. Names from a file are escaped here and in text_parts.cpp, columns.cpp and tree.cpp.
namespace ckpt::app {

namespace {

constexpr std::size_t kListed = 50;

class TextRenderer final : public Renderer {
 public:
  TextRenderer(bool color, std::size_t width) : style_{color}, width_(width) {}

  std::string inspect(const std::vector<Inspected>& inputs, const Invocation& call,
                      int status) const override {
    (void)status;
    std::string out;
    for (const Inspected& input : inputs) {
      if (!input.result) continue;  // its error goes to standard error
      if (!out.empty() && !call.list.plain) out += "\n";
      out += call.list.plain ? plain(*input.result, call) : listing(*input.result, call);
    }
    return out;
  }

  std::string compare(const CompareResult& result, const Invocation& call, int status) const override {
    if (call.global.is_quiet) return {};
    std::string out = input_lines(result);
    for (const DifferenceKind kind : kDifferenceKinds) out += differences(result, kind);
    out += dropped_aliases(result);
    out += finding_lines(result.findings, style_);
    out += verdict(result, status);
    if (call.global.timings) {
      const Phases phases = sum(result.a.model.phases, result.b.model.phases);
      out += timing_lines(phases, result.a.model.lookups + result.b.model.lookups);
    }
    return out;
  }

  std::string check(const std::vector<Checked>& inputs, const Invocation& call, int status) const override {
    (void)status;
    std::string out;
    for (const Checked& input : inputs) {
      if (!input.result || call.global.is_quiet) continue;
      out += checked_lines(*input.result);
      out += finding_lines(input.result->model.findings, style_);
      if (call.global.timings) out += timing_lines(input.result->model.phases, input.result->model.lookups);
    }
    return out;
  }

  std::string convert(const ConvertResult& result, const Invocation& call, int status) const override {
    (void)status;
    if (call.global.is_quiet) return {};
    std::string out = written_line(result, call.convert);
    out += left_out_lines(result);
    out += shared_lines(result);
    out += finding_lines(result.model.findings, style_);
    if (call.global.timings)
      out += timing_lines(result.model.phases, result.model.lookups) + write_lines(result);
    if (!call.convert.dry_run) out += "Prove it: " + proof_command(result, call) + "\n";
    return out;
  }

  std::string prefetch(const PrefetchResult& result, const Invocation& call, int status) const override {
    (void)status;
    if (call.global.is_quiet) return {};
    Table table({{"FILE", false}, {"BYTES", true}, {"READ", true}, {"SKIPPED", true}, {"RESIDENT", true}});
    for (const PrefetchedFile& file : result.files) {
      const auto& resident = file.resident_after ? file.resident_after : file.resident_before;
      table.add({escaped(file.path), grouped(file.bytes), grouped(file.planned_bytes),
                 grouped(file.skipped_bytes), share(resident, file.bytes)});
    }
    return table.render(width_) + prefetch_line(result, call.prefetch);
  }

  std::string failure(const Error&, const std::string&, int) const override { return {}; }

 private:
  // inspect

  std::string plain(const InspectResult& result, const Invocation& call) const {
    std::string out;
    const auto columns = chosen_columns(call.list, result);
    for (const std::uint32_t index : sorted_tensors(result, call.list.sort)) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        out += (i == 0 ? "" : "\t") + column_text(columns[i], result, index, false);
      }
      out += "\n";
    }
    return out;
  }

  static std::vector<Column> chosen_columns(const ListOptions& list, const InspectResult& result) {
    if (!list.columns.empty()) return list.columns;
    std::vector<Column> columns = {Column::name,  Column::dtype,  Column::shape,
                                   Column::bytes, Column::offset, Column::flags};
    if (!result.digests.empty()) columns.push_back(Column::sha256);
    return columns;
  }

  std::string listing(const InspectResult& result, const Invocation& call) const {
    const Model& model = result.model;
    if (call.global.is_quiet) return {};
    std::string out = file_lines(model, style_);
    if (call.list.metadata || !model.metadata.empty()) out += metadata_lines(model, call.list.metadata);
    out += root_lines(model, style_);
    if (!result.selected.empty())
      out += "\n" + (call.list.tree ? render_tree(result, width_) : tensor_table(result, call));
    if (!model.others.empty()) out += "\n" + other_lines(model, call.list.metadata, style_);
    out += "\n" + import_lines(model, call.list.imports, style_);
    out += finding_lines(model.findings, style_);
    out += "\n" + summary_lines(result, style_);
    if (call.global.timings) out += timing_lines(model.phases, model.lookups);
    return out;
  }

  std::string tensor_table(const InspectResult& result, const Invocation& call) const {
    std::vector<Table::Column> headings;
    auto columns = chosen_columns(call.list, result);
    if (call.list.columns.empty() && !has_flags(result)) {
      columns.erase(std::remove(columns.begin(), columns.end(), Column::flags), columns.end());
    }
    for (const Column column : columns)
      headings.push_back({column_heading(column), is_right_aligned(column)});
    Table table(std::move(headings));
    for (const std::uint32_t index : sorted_tensors(result, call.list.sort)) {
      std::vector<std::string> cells;
      for (const Column column : columns) cells.push_back(column_text(column, result, index, true));
      table.add(std::move(cells));
    }
    return table.render(width_);
  }

  static bool has_flags(const InspectResult& result) {
    return std::any_of(result.selected.begin(), result.selected.end(), [&](std::uint32_t i) {
      return !flag_words(result.model, result.model.tensors[i]).empty();
    });
  }

  // verify

  std::string input_lines(const CompareResult& result) const {
    Table table({{"", false}, {"", false}, {"", true}, {"", true}, {"", false}});
    const auto add = [&table](const char* side, const VerifiedInput& input) {
      const Totals totals = totals_of(input.model, input.selected);
      table.add({side + escaped(input.model.files[0].path),
                 std::string(format_word(input.model.files[0].format)), counted(totals.tensors, "tensor"),
                 byte_size(totals.bytes), dtype_counts(totals)});
    };
    add("A  ", result.a);
    add("B  ", result.b);
    std::string out = table.render(width_, false);
    for (const VerifiedInput* input : {&result.a, &result.b}) out += entered_line(input->model);
    return out;
  }

  static std::string differences(const CompareResult& result, DifferenceKind kind) {
    std::string lines;
    std::size_t count = 0;
    for (const Difference& difference : result.differences) {
      if (difference.kind != kind || ++count > kListed) continue;
      lines += "  " + escaped(difference.name) + ": ";
      if (kind == DifferenceKind::only_in_a || kind == DifferenceKind::only_in_b) {
        lines += difference.a + difference.b + "\n";
      } else {
        lines += "A has " + difference.a + ", B has " + difference.b + "\n";
      }
    }
    if (count == 0) return {};
    std::string out = fmt::format("{}: {}\n", difference_word(kind), grouped(count)) + lines;
    if (count > kListed) out += fmt::format("  and {} more\n", grouped(count - kListed));
    return out;
  }

  static std::string dropped_aliases(const CompareResult& result) {
    if (result.dropped.empty()) return {};
    std::string out = fmt::format("aliases dropped: {} (no loss, the content is there under another name)\n",
                                  grouped(result.dropped.size()));
    for (std::size_t i = 0; i < std::min(result.dropped.size(), kListed); ++i) {
      const DroppedAlias& alias = result.dropped[i];
      out += fmt::format("  {} is {}, only in {}\n", escaped(alias.name), escaped(alias.kept),
                         alias.is_in_a ? "A" : "B");
    }
    return out;
  }

  std::string verdict(const CompareResult& result, int status) const {
    std::string out;
    if (result.a.model_digest && result.b.model_digest) {
      const std::string a = digest_hex(*result.a.model_digest);
      const std::string b = digest_hex(*result.b.model_digest);
      out += a == b ? "model digest  " + a + " (both)\n"
                    : "model digest  A " + a + "\n              B " + b + "\n";
      if (a != b && result.differences.empty())
        out += "              (they differ because aliases were dropped)\n";
    }
    if (status != kYes) return out + style_.bad("not verified") + "\n";
    return out + style_.good("verified") +
           fmt::format(": {} equal in name, dtype, shape and SHA-256\n", counted(result.equal, "tensor"));
  }

  std::string checked_lines(const VerifiedInput& input) const {
    const Totals totals = totals_of(input.model, input.selected);
    const bool is_whole = exit_code(input.model.findings) == kYes;
    std::string out =
        fmt::format("{}  {}  {}  {}  {}  {}\n", is_whole ? style_.good("whole") : style_.bad("not whole"),
                    escaped(input.model.files[0].path), format_word(input.model.files[0].format),
                    counted(totals.tensors, "tensor"), byte_size(totals.bytes), dtype_counts(totals));
    out += entered_line(input.model);
    if (input.model_digest) out += "  model digest  " + digest_hex(*input.model_digest) + "\n";
    if (input.file_digest) out += "  file SHA-256  " + digest_hex(*input.file_digest) + "\n";
    return out;
  }

  // prefetch

  static std::string share(const std::optional<std::uint64_t>& resident, std::uint64_t bytes) {
    if (!resident) return "unknown";
    if (bytes == 0) return "100 %";
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(*resident) / static_cast<double>(bytes));
  }

  static std::string prefetch_line(const PrefetchResult& result, const PrefetchOptions& options) {
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0;
    for (const PrefetchedFile& file : result.files) {
      bytes += file.bytes;
      skipped += file.skipped_bytes;
    }
    if (options.query)
      return fmt::format("{}, {}; nothing was read\n", counted(result.files.size(), "file"),
                         byte_size(bytes));
    if (options.evict)
      return fmt::format("{}, {} evicted\n", counted(result.files.size(), "file"), byte_size(bytes));
    if (result.readers == 0)
      return fmt::format("{}, {}; 0 readers: nothing was read\n", counted(result.files.size(), "file"),
                         byte_size(bytes));
    std::string out = fmt::format("read {} in {:.2f} s with at most {} readers", byte_size(result.read_bytes),
                                  result.seconds, result.readers);
    if (result.read_bytes > 0)
      out += fmt::format(" ({}/s)", byte_size(rate(result.read_bytes, result.seconds)));
    return out + fmt::format("; {} were resident already\n", byte_size(skipped));
  }

  Style style_;
  std::size_t width_;
};

}  // namespace

std::unique_ptr<Renderer> text_renderer(bool color, std::size_t width) {
  return std::make_unique<TextRenderer>(color, width);
}

}  // namespace ckpt::app
