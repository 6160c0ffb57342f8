#include "support/pickle_run.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"

namespace ckpt::test {

using pickle::Import;
using pickle::ImportClass;
using pickle::Kind;
using pickle::Ref;
using pickle::Values;

PickleRun::PickleRun(std::string bytes, const Limits& limits, const pickle::MachineOptions& options)
    : bytes_(std::move(bytes)), machine_(as_bytes(bytes_), limits, options), status_(machine_.run()) {}

std::string PickleRun::outcome() const { return status_ ? "ok" : error_line(status_.error()); }

std::string PickleRun::shown() const { return status_ ? show(values(), root()) : outcome(); }

std::string PickleRun::findings() const {
  std::string lines;
  for (const Finding& finding : machine_.findings()) {
    lines += (finding.severity == Severity::note ? "note: " : "") + finding.what.message + "\n";
  }
  return lines;
}

const Import* PickleRun::find_import(std::string_view module, std::string_view name) const {
  for (const Import& import : machine_.imports()) {
    if (import.module == module && import.name == name) return &import;
  }
  return nullptr;
}

std::string PickleRun::import_class(std::string_view module, std::string_view name) const {
  const Import* const import = find_import(module, name);
  return import == nullptr ? "none" : std::string(import_class_word(import->verdict.level));
}

std::string PickleRun::import_reason(std::string_view module, std::string_view name) const {
  const Import* const import = find_import(module, name);
  return import == nullptr ? "none" : import->verdict.reason;
}

bool PickleRun::names_dangerous() const {
  const auto& imports = machine_.imports();
  return std::any_of(imports.begin(), imports.end(),
                     [](const Import& import) { return import.verdict.level == ImportClass::dangerous; });
}

namespace {

std::string show_items(const Values& values, std::span<const Ref> items, int levels) {
  std::string out;
  for (const Ref item : items) out += (out.empty() ? "" : ", ") + show(values, item, levels);
  return out;
}

std::string show_pairs(const Values& values, std::span<const Ref> pairs, int levels) {
  std::string out;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    out += (out.empty() ? "" : ", ") + show(values, pairs[i], levels) + ": " +
           show(values, pairs[i + 1], levels);
  }
  return out;
}

std::string show_call(const Values& values, Ref ref, int levels) {
  constexpr std::string_view kForms[] = {"", "new ", "new_ex ", "obj ", "inst "};
  std::string out(kForms[static_cast<int>(values.call_kind(ref))]);
  out += show(values, values.callee(ref), levels) + show(values, values.arguments(ref), levels);
  if (values.keywords(ref) != pickle::kNoRef) out += "**" + show(values, values.keywords(ref), levels);
  if (!values.items(ref).empty()) out += "+[" + show_items(values, values.items(ref), levels) + "]";
  if (!values.pairs(ref).empty()) out += "+{" + show_pairs(values, values.pairs(ref), levels) + "}";
  return out;
}

std::string show_plain(const Values& values, Ref ref, int levels) {
  switch (values.kind(ref)) {
    case Kind::none: return "None";
    case Kind::boolean: return values.boolean(ref) ? "True" : "False";
    case Kind::integer: return fmt::format("{}", values.integer(ref));
    case Kind::big_integer: return "big:" + escaped(values.text(ref));
    case Kind::real: return fmt::format("{:.6g}r", values.real(ref));
    case Kind::text: return in_quotes(values.text(ref));
    case Kind::string8: return "s" + in_quotes(values.text(ref));
    case Kind::bytes: return "b" + in_quotes(values.text(ref));
    case Kind::byte_array: return "bytearray" + in_quotes(values.text(ref));
    case Kind::tuple: return "(" + show_items(values, values.items(ref), levels) + ")";
    case Kind::list: return "[" + show_items(values, values.items(ref), levels) + "]";
    case Kind::dict: return "{" + show_pairs(values, values.items(ref), levels) + "}";
    case Kind::set: return "set{" + show_items(values, values.items(ref), levels) + "}";
    case Kind::frozen_set: return "frozen{" + show_items(values, values.items(ref), levels) + "}";
    case Kind::global: return std::string(values.module(ref)) + "." + std::string(values.name(ref));
    case Kind::call: return show_call(values, ref, levels);
    case Kind::persistent: return "<" + show(values, values.persistent_id(ref), levels) + ">";
  }
  return "?";
}

}  // namespace

std::string show(const Values& values, Ref ref, int levels) {
  if (levels == 0) return "...";
  std::string out = show_plain(values, ref, levels - 1);
  for (const Ref state : values.states(ref)) out += "|" + show(values, state, levels - 1);
  return out;
}

}  // namespace ckpt::test
