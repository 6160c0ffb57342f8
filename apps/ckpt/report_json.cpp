#include <algorithm>

#include <nlohmann/json.hpp>

#include "ckpt/base/text.h"
#include "columns.h"
#include "exit_code.h"
#include "report.h"
#include "version.h"

/// Stable machine output; the fields are documented in docs/report.md and docs/schemas/.
namespace ckpt::app {

namespace {

using Json = nlohmann::ordered_json;

/// JSON text has to be Unicode: other bytes are shown escaped.
std::string unicode(const std::string& raw) { return is_utf8(raw) ? raw : escaped(raw); }

Json error_json(const Error& error) {
  Json out = {
      {"word", error_word(error.code)}, {"message", unicode(error.message)}, {"file", unicode(error.file)}};
  out["record"] = unicode(error.record);
  out["tensor"] = unicode(error.tensor);
  out["expected"] = unicode(error.expected);
  out["found"] = unicode(error.found);
  if (error.offset) out["offset"] = *error.offset;
  return out;
}

Json finding_json(const Finding& finding) {
  const Error& what = finding.what;
  Json out = {{"word", error_word(what.code)},
              {"severity", finding.severity == Severity::error ? "error" : "note"}};
  out["file"] = unicode(what.file);
  out["record"] = unicode(what.record);
  out["tensor"] = unicode(what.tensor);
  if (what.offset) out["offset"] = *what.offset;
  out["expected"] = unicode(what.expected);
  out["found"] = unicode(what.found);
  out["text"] = unicode(what.message);
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) out.push_back(finding_json(finding));
  return out;
}

Json phase_json(const Phase& phase) {
  return {{"seconds", phase.seconds}, {"bytes", phase.bytes}, {"reads", phase.reads}};
}

Json phases_json(const Phases& phases) {
  return {{"container", phase_json(phases.container)},
          {"metadata", phase_json(phases.metadata)},
          {"data", phase_json(phases.data)}};
}

Json totals_json(const Totals& totals) {
  Json by_dtype = Json::object();
  for (const auto& [dtype, total] : totals.by_dtype)
    by_dtype[dtype] = {{"tensors", total.tensors}, {"bytes", total.bytes}};
  return {{"tensors", totals.tensors},
          {"parameters", totals.parameters},
          {"bytes", totals.bytes},
          {"by_dtype", std::move(by_dtype)}};
}

Json tensor_json(const Model& model, std::uint32_t index, const TensorDigests& digests) {
  const Tensor& tensor = model.tensors[index];
  Json out = {{"name", unicode(tensor.name)}};
  if (!is_utf8(tensor.name)) out["name_hex"] = hex(tensor.name);
  out["dtype"] = dtype_word(tensor.dtype);
  out["shape"] = tensor.shape;
  out["elements"] = tensor.elements;
  out["bytes"] = tensor.bytes;
  out["file"] =
      unicode(model.files[tensor.storage == kNoIndex ? 0 : model.storages[tensor.storage].file].path);
  if (const auto offset = file_offset(model, tensor)) out["offset"] = *offset;
  out["stride"] = tensor.view.stride;
  if (tensor.storage != kNoIndex) {
    const Storage& storage = model.storages[tensor.storage];
    out["storage"] = {{"key", unicode(storage.key)}, {"offset", storage.offset}, {"bytes", storage.bytes}};
  }
  out["flags"] = flag_words(model, tensor);
  Json shared = Json::array();
  if (tensor.alias_of != kNoIndex) shared.push_back(unicode(model.tensors[tensor.alias_of].name));
  for (const std::uint32_t other : tensor.overlaps) shared.push_back(unicode(model.tensors[other].name));
  out["shared_with"] = std::move(shared);
  if (!tensor.note.empty()) out["note"] = unicode(tensor.note);
  if (index < digests.size() && digests[index]) out["sha256"] = digest_hex(*digests[index]);
  return out;
}

Json roots_json(const Model& model) {
  Json out = Json::array();
  for (const Root& root : model.roots) {
    out.push_back({{"key", unicode(root.key)},
                   {"tensors", root.tensors},
                   {"bytes", root.bytes},
                   {"wrapper", root.is_wrapper}});
  }
  return out;
}

Json others_json(const Model& model) {
  Json out = Json::array();
  for (const Other& other : model.others) {
    out.push_back({{"path", unicode(other.path)},
                   {"kind", unicode(other.kind)},
                   {"value", unicode(other.value)},
                   {"in_root", other.in_root}});
  }
  return out;
}

Json imports_json(const Model& model) {
  Json out = Json::array();
  for (const ImportedName& import : model.imports) {
    out.push_back({{"module", unicode(import.module)},
                   {"name", unicode(import.name)},
                   {"class", import_level_word(import.level)},
                   {"reason", import.reason},
                   {"record", unicode(import.record)},
                   {"offset", import.offset},
                   {"count", import.count}});
  }
  return out;
}

Json file_json(const Model& model, const std::vector<std::uint32_t>& selected, const TensorDigests& digests) {
  const InputFile& file = model.files[0];
  Json out = {
      {"path", unicode(file.path)}, {"bytes", file.source->size()}, {"format", format_word(file.format)}};
  out["root"] = model.is_root_ambiguous ? Json(nullptr) : Json(unicode(model.root));
  out["roots"] = roots_json(model);
  out["outside"] = {{"tensors", model.outside_tensors}, {"bytes", model.outside_bytes}};
  Json facts = Json::object();
  for (const Fact& fact : file.facts) facts[fact.name] = unicode(fact.value);
  out["facts"] = std::move(facts);
  Json metadata = Json::object();
  for (const auto& [key, value] : model.metadata) metadata[unicode(key)] = unicode(value);
  out["metadata"] = model.has_metadata ? std::move(metadata) : Json(nullptr);
  Json tensors = Json::array();
  for (const std::uint32_t index : selected) tensors.push_back(tensor_json(model, index, digests));
  out["tensors"] = std::move(tensors);
  out["others"] = others_json(model);
  out["imports"] = imports_json(model);
  out["findings"] = findings_json(model.findings);
  out["totals"] = totals_json(totals_of(model, selected));
  out["unused_bytes"] = model.unused_bytes;
  return out;
}

/// A file that could not be opened.
Json failed_file_json(const std::string& path, const Error& error) {
  return {{"path", unicode(path)}, {"error", error_json(error)}};
}

Json document(const std::string& command, int status, const Error* error) {
  Json out = {{"schema", "ckpt." + command + "/1"},
              {"tool", {{"name", "ckpt"}, {"version", version_number()}}}};
  out["ok"] = status == kYes;
  out["exit"] = status;
  out["error"] = error == nullptr ? Json(nullptr) : error_json(*error);
  out["files"] = Json::array();
  return out;
}

std::string text_of(const Json& json) { return json.dump() + "\n"; }

/// The one error that stands for the document: of a file that could not be opened, else the gravest finding.
struct Gravest {
  const Error* error = nullptr;
  void add(const Error& candidate) {
    if (error == nullptr || (exit_code(candidate.code) == kNo && exit_code(error->code) != kNo))
      error = &candidate;
  }
  void add(const std::vector<Finding>& findings) {
    if (const Finding* finding = gravest_finding(findings)) add(finding->what);
  }
};

class JsonRenderer final : public Renderer {
 public:
  std::string inspect(const std::vector<Inspected>& inputs, const Invocation& call,
                      int status) const override {
    (void)call;
    Gravest gravest;
    for (const Inspected& input : inputs) {
      if (input.error) gravest.add(*input.error);
      if (input.result) gravest.add(input.result->model.findings);
    }
    Json out = document("inspect", status, gravest.error);
    Phases phases;
    std::uint64_t lookups = 0;
    for (const Inspected& input : inputs) {
      if (!input.result) {
        out["files"].push_back(failed_file_json(input.path, *input.error));
        continue;
      }
      Json file = file_json(input.result->model, input.result->selected, input.result->digests);
      if (input.result->model_digest) file["model_digest"] = digest_hex(*input.result->model_digest);
      out["files"].push_back(std::move(file));
      phases = sum(phases, input.result->model.phases);
      lookups += input.result->model.lookups;
    }
    out["phases"] = phases_json(phases);
    out["lookups"] = lookups;
    return text_of(out);
  }

  std::string compare(const CompareResult& result, const Invocation& call, int status) const override {
    (void)call;
    Gravest gravest;
    gravest.add(result.findings);
    Json out = document("verify", status, gravest.error);
    Phases phases;
    for (const VerifiedInput* input : {&result.a, &result.b}) {
      out["files"].push_back(verified_json(*input));
      phases = sum(phases, input->model.phases);
    }
    Json differences = Json::array();
    for (const Difference& d : result.differences) {
      differences.push_back(
          {{"kind", difference_word(d.kind)}, {"name", unicode(d.name)}, {"a", d.a}, {"b", d.b}});
    }
    Json dropped = Json::array();
    for (const DroppedAlias& d : result.dropped) {
      dropped.push_back(
          {{"name", unicode(d.name)}, {"kept", unicode(d.kept)}, {"only_in", d.is_in_a ? "A" : "B"}});
    }
    out["comparison"] = {{"equal", result.equal},
                         {"differences", std::move(differences)},
                         {"dropped_aliases", std::move(dropped)}};
    out["findings"] = findings_json(result.findings);
    out["phases"] = phases_json(phases);
    out["lookups"] = result.a.model.lookups + result.b.model.lookups;
    return text_of(out);
  }

  std::string check(const std::vector<Checked>& inputs, const Invocation& call, int status) const override {
    (void)call;
    Gravest gravest;
    for (const Checked& input : inputs) {
      if (input.error) gravest.add(*input.error);
      if (input.result) gravest.add(input.result->model.findings);
    }
    Json out = document("verify", status, gravest.error);
    Phases phases;
    std::uint64_t lookups = 0;
    for (const Checked& input : inputs) {
      out["files"].push_back(input.result ? verified_json(*input.result)
                                          : failed_file_json(input.path, *input.error));
      if (!input.result) continue;
      phases = sum(phases, input.result->model.phases);
      lookups += input.result->model.lookups;
    }
    out["phases"] = phases_json(phases);
    out["lookups"] = lookups;
    return text_of(out);
  }

  std::string convert(const ConvertResult& result, const Invocation& call, int status) const override {
    Json out = document("convert", status, nullptr);
    std::vector<std::uint32_t> written;
    for (const OutputTensorInfo& info : result.written) written.push_back(info.tensor);
    out["files"].push_back(file_json(result.model, written, {}));
    Json places = Json::array();
    for (const OutputTensorInfo& info : result.written) {
      places.push_back({{"name", unicode(result.model.tensors[info.tensor].name)}, {"offset", info.offset}});
    }
    Json dropped = Json::array();
    for (const auto& [name, kept] : result.dropped)
      dropped.push_back({{"name", unicode(name)}, {"kept", unicode(kept)}});
    Json skipped = Json::array();
    for (const std::string& name : result.skipped) skipped.push_back(unicode(name));
    out["output"] = {
        {"path", unicode(result.output)},
        {"bytes", result.output_bytes},
        {"written", !call.convert.dry_run},
        {"synced", call.convert.sync && !call.convert.dry_run},
        {"tensors", std::move(places)},
        {"gathered", result.gathered},
        {"dropped_aliases", std::move(dropped)},
        {"skipped", std::move(skipped)},
        {"write",
         {{"seconds", result.write.seconds}, {"bytes", result.write.bytes}, {"calls", result.write.reads}}},
        {"finish_seconds", result.sync_seconds}};
    out["phases"] = phases_json(result.model.phases);
    out["lookups"] = result.model.lookups;
    return text_of(out);
  }

  std::string prefetch(const PrefetchResult& result, const Invocation& call, int status) const override {
    (void)call;
    Gravest gravest;
    gravest.add(result.findings);
    Json out = document("prefetch", status, gravest.error);
    const auto or_null = [](const std::optional<std::uint64_t>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    for (const PrefetchedFile& file : result.files) {
      out["files"].push_back({{"path", unicode(file.path)},
                              {"bytes", file.bytes},
                              {"format", file.format},
                              {"expected_bytes", or_null(file.expected_bytes)},
                              {"resident_before", or_null(file.resident_before)},
                              {"resident_after", or_null(file.resident_after)},
                              {"skipped_bytes", file.skipped_bytes},
                              {"planned_bytes", file.planned_bytes}});
    }
    out["findings"] = findings_json(result.findings);
    out["readers"] = result.readers;
    out["read_bytes"] = result.read_bytes;
    out["reads"] = result.reads;
    out["page_bytes"] = result.page_bytes;
    Phases phases;
    phases.data = {result.seconds, result.read_bytes, result.reads};
    out["phases"] = phases_json(phases);
    out["lookups"] = 0;
    return text_of(out);
  }

  std::string failure(const Error& error, const std::string& command, int status) const override {
    Json out = document(command.empty() ? "inspect" : command, status, &error);
    out["phases"] = phases_json({});
    out["lookups"] = 0;
    return text_of(out);
  }

 private:
  static Json verified_json(const VerifiedInput& input) {
    Json file = file_json(input.model, input.selected, input.digests);
    file["model_digest"] = input.model_digest ? Json(digest_hex(*input.model_digest)) : Json(nullptr);
    if (input.file_digest) file["sha256"] = digest_hex(*input.file_digest);
    return file;
  }
};

}  // namespace

std::unique_ptr<Renderer> json_renderer() { return std::make_unique<JsonRenderer>(); }

}  // namespace ckpt::app
