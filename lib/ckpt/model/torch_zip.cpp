#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "ckpt/base/checked.h"
#include "ckpt/base/text.h"
#include "ckpt/model/aliases.h"
#include "ckpt/model/formats.h"
#include "ckpt/model/other_values.h"
#include "ckpt/model/phase_clock.h"
#include "ckpt/model/roots.h"
#include "ckpt/model/storage_table.h"
#include "ckpt/torch/checkpoint.h"
#include "ckpt/torch/rebuild.h"
#include "ckpt/torch/walk.h"
#include "ckpt/zip/archive.h"

namespace ckpt {

namespace {

using torch::Rebuilt;
using torch::RebuiltKind;

TensorKind kind_of(RebuiltKind kind) {
  switch (kind) {
    case RebuiltKind::plain: return TensorKind::plain;
    case RebuiltKind::meta: return TensorKind::meta;
    case RebuiltKind::quantized: return TensorKind::quantized;
    case RebuiltKind::sparse: return TensorKind::sparse;
    case RebuiltKind::nested: return TensorKind::nested;
    default: return TensorKind::wrapped;
  }
}

ImportLevel level_of(pickle::ImportClass level) { return static_cast<ImportLevel>(level); }
static_assert(static_cast<int>(ImportLevel::dangerous) == static_cast<int>(pickle::ImportClass::dangerous));

class Builder {
 public:
  Builder(Model& model, const OpenOptions& options)
      : model_(model), options_(options), clock_(*model.files[0].source) {}

  Status run() {
    InputFile& file = model_.files[0];
    CKPT_LET(zip::Archive archive, zip::Archive::open(file.source, options_.limits));
    archive_ = std::make_shared<const zip::Archive>(std::move(archive));
    file.archive = archive_;
    model_.findings = archive_->directory().findings();
    clock_.lap(model_.phases.container);
    CKPT_LET(checkpoint_, torch::read_checkpoint(*archive_, options_.limits));
    take_checkpoint();
    if (checkpoint_.top != pickle::kNoRef) CKPT_TRY(build());
    model_.lookups = archive_->directory().lookups();
    clock_.lap(model_.phases.metadata);
    return {};
  }

 private:
  void take_checkpoint() {
    InputFile& file = model_.files[0];
    file.format =
        checkpoint_.kind == torch::ArchiveKind::torchscript ? Format::torchscript : Format::torch_zip;
    file.is_big_endian = checkpoint_.is_big_endian;
    file.facts.push_back({"root folder", escaped(checkpoint_.root_folder, kMaxShownBytes)});
    file.facts.push_back({"records", grouped(archive_->directory().entries().size())});
    for (auto& [name, value] : checkpoint_.facts) file.facts.push_back({name, value});
    file.facts.push_back({"pickle protocol", std::to_string(checkpoint_.protocol)});
    std::move(checkpoint_.findings.begin(), checkpoint_.findings.end(), std::back_inserter(model_.findings));
    for (const pickle::Import& import : checkpoint_.imports) {
      model_.imports.push_back({0, import.module, import.name, level_of(import.verdict.level),
                                std::string(import.verdict.reason), checkpoint_.pickle_record, import.offset,
                                import.count});
    }
  }

  Status build() {
    CKPT_LET(torch::Walk walk,
             torch::walk(checkpoint_.values, checkpoint_.top, options_.root, options_.limits));
    if (!walk.is_root_found) return fail(no_such_root(walk));
    const RootChoice choice = choose_root(walk, options_.root);
    model_.root = choice.key;
    model_.is_root_given = options_.root.has_value();
    model_.is_root_ambiguous = choice.is_ambiguous;
    StorageTable storages(model_, *archive_, checkpoint_, walk.tensors.size());
    add_tensors(walk, choice, storages);
    add_others(walk, choice);
    find_aliases(model_);
    model_.unused_bytes = count_unused_bytes(model_, outside_);
    add_container_facts();
    return {};
  }

  [[nodiscard]] Error no_such_root(const torch::Walk& walk) const {
    std::string names;
    for (const torch::TopMapping& top : walk.top) {
      if (top.tensors > 0) names += (names.empty() ? "" : ", ") + in_quotes(top.key, 48);
    }
    return make_error(ErrorCode::no_match,
                      fmt::format("no root {} in the file; what holds tensors: {}",
                                  in_quotes(*options_.root, 64), names.empty() ? "only \"/\"" : names));
  }

  void add_tensors(const torch::Walk& walk, const RootChoice& choice, StorageTable& storages) {
    std::vector<Root> tops;
    for (const torch::TopMapping& mapping : walk.top)
      tops.push_back({mapping.key, 0, 0, is_wrapper_key(mapping.key)});
    Root whole{"/", 0, 0, false};
    model_.tensors.reserve(walk.tensors.size());
    for (const torch::Leaf& leaf : walk.tensors) {
      auto name = name_in_root(leaf, choice, model_.is_root_given);
      const bool is_inside = name.has_value();
      Tensor tensor = make_tensor(leaf, is_inside ? *std::move(name) : leaf.path, storages);
      for (Root* root : {leaf.top == torch::kNoTop ? nullptr : &tops[leaf.top], &whole}) {
        if (root == nullptr) continue;
        root->tensors += 1;
        root->bytes += tensor.bytes;
      }
      if (is_inside) {
        model_.tensors.push_back(std::move(tensor));
      } else {
        add_outside(tensor);
      }
    }
    const auto holds_tensors = [](const Root& root) { return root.tensors > 0; };
    std::copy_if(tops.begin(), tops.end(), std::back_inserter(model_.roots), holds_tensors);
    model_.roots.push_back(std::move(whole));
  }

  void add_outside(const Tensor& tensor) {
    model_.outside_tensors += 1;
    model_.outside_bytes += tensor.bytes;
    if (tensor.storage != kNoIndex && tensor.kind != TensorKind::unreadable) {
      outside_.push_back({tensor.storage, tensor.view.offset, tensor.view.offset + view_extent(tensor.view)});
    }
  }

  void add_others(const torch::Walk& walk, const RootChoice& choice) {
    for (const torch::Leaf& leaf : walk.others) {
      const bool in_root = name_in_root(leaf, choice, model_.is_root_given).has_value();
      model_.others.push_back(describe_other(checkpoint_.values, leaf.ref, leaf.path, in_root));
    }
  }

  Tensor make_tensor(const torch::Leaf& leaf, std::string name, StorageTable& storages) {
    Tensor tensor;
    tensor.name =
        leaf.path.empty() && leaf.top_bytes == 0 && leaf.ref == checkpoint_.top ? "tensor" : std::move(name);
    tensor.is_nameless = leaf.is_nameless;
    const Status status = checkpoint_.values.kind(leaf.ref) == pickle::Kind::persistent
                              ? fill_from_storage(tensor, leaf.ref, storages)
                              : fill_from_call(tensor, leaf.ref, storages);
    if (!status) make_unreadable(tensor, status.error());
    return tensor;
  }

  void make_unreadable(Tensor& tensor, Error error) {
    tensor.kind = TensorKind::unreadable;
    tensor.note = error.message;
    model_.findings.push_back(defect(std::move(error.in_tensor(tensor.name))));
  }

  Status fill_from_storage(Tensor& tensor, pickle::Ref ref, StorageTable& storages) {
    CKPT_LET(const torch::StorageId id, torch::parse_storage_id(checkpoint_.values, ref));
    Rebuilt rebuilt;
    rebuilt.dims = {id.elements};
    return fill_view(tensor, std::move(rebuilt), id, storages);
  }

  Status fill_from_call(Tensor& tensor, pickle::Ref ref, StorageTable& storages) {
    CKPT_LET(Rebuilt rebuilt, torch::read_rebuild_call(checkpoint_.values, ref));
    tensor.kind = kind_of(rebuilt.kind);
    tensor.note = tensor.kind == TensorKind::plain ? std::string() : rebuilt.type;
    tensor.is_conjugate = rebuilt.is_conjugate;
    tensor.is_negative = rebuilt.is_negative;
    if (rebuilt.storage == pickle::kNoRef) return fill_shape(tensor, rebuilt);
    CKPT_LET(const torch::StorageId id, torch::parse_storage_id(checkpoint_.values, rebuilt.storage));
    if (id.is_meta) tensor.kind = TensorKind::meta;
    return fill_view(tensor, std::move(rebuilt), id, storages);
  }

  /// A tensor without bytes of its own: meta tensors, and composite ones whose parts hold them.
  Status fill_shape(Tensor& tensor, const Rebuilt& rebuilt) {
    if (rebuilt.dtype) tensor.dtype = *rebuilt.dtype;
    tensor.shape = rebuilt.dims;
    if (rebuilt.dims.size() > options_.limits.rank) {
      return fail(ErrorCode::limit, fmt::format("has {} dimensions, the limit is {} (rank)",
                                                rebuilt.dims.size(), options_.limits.rank));
    }
    const auto elements = element_count(rebuilt.dims);
    if (!elements) return fail(ErrorCode::corrupt, "the product of its dimensions does not fit 64 bits");
    tensor.elements = *elements;
    return {};
  }

  Status fill_view(Tensor& tensor, Rebuilt rebuilt, const torch::StorageId& id, StorageTable& storages) {
    tensor.dtype = rebuilt.dtype ? *rebuilt.dtype : id.dtype.value_or(Dtype::u8);
    tensor.view.unit_bytes = dtype_facts(tensor.dtype).torch_bytes;
    tensor.view.dims = std::move(rebuilt.dims);
    tensor.view.stride = std::move(rebuilt.stride);
    // torch takes an empty stride with a size as row-major.
    if (tensor.view.stride.empty() && element_count(tensor.view.dims))
      tensor.view.stride = row_major_strides(tensor.view.dims);
    const auto offset = checked_multiply(rebuilt.offset, tensor.view.unit_bytes);
    if (!offset)
      return fail(ErrorCode::corrupt, fmt::format("storage offset {} does not fit 64 bits", rebuilt.offset));
    tensor.view.offset = *offset;
    CKPT_TRY(fill_logical(tensor));
    if (tensor.kind == TensorKind::meta) return {};
    tensor.storage = storages.resolve(id, tensor.name);
    if (storages.is_missing(tensor.storage)) {
      tensor.kind = TensorKind::unreadable;  // the storage table has told so
      tensor.note = "its storage is not in the archive";
      return {};
    }
    return check_view(tensor.view, model_.storages[tensor.storage].bytes, options_.limits.rank);
  }

  /// Shape, elements and bytes as Safetensors counts them. A unit of F4 holds two elements.
  static Status fill_logical(Tensor& tensor) {
    tensor.shape = tensor.view.dims;
    if (tensor.dtype == Dtype::f4) {
      if (tensor.shape.empty()) return fail(ErrorCode::corrupt, "a packed tensor has no dimension");
      const auto doubled = checked_multiply(tensor.shape.back(), 2);
      if (!doubled) return fail(ErrorCode::corrupt, "a dimension does not fit 64 bits");
      tensor.shape.back() = *doubled;
    }
    const auto elements = element_count(tensor.shape);
    const auto units = element_count(tensor.view.dims);
    const auto bytes = units ? checked_multiply(*units, tensor.view.unit_bytes) : std::nullopt;
    if (!elements || !bytes)
      return fail(ErrorCode::corrupt, "the product of its dimensions does not fit 64 bits");
    tensor.elements = *elements;
    tensor.bytes = *bytes;
    tensor.is_contiguous = tensor.view.stride.size() != tensor.view.dims.size() || is_row_major(tensor.view);
    tensor.is_expanded = tensor.view.stride.size() == tensor.view.dims.size() && is_expanded(tensor.view);
    return {};
  }

  void add_container_facts() {
    std::uint64_t without = 0;
    std::uint64_t deflated = 0;
    std::uint64_t alignment = 4096;
    for (const Record& record : model_.records) {
      without += record.has_checksum ? 0U : 1U;
      deflated += record.is_stored ? 0U : 1U;
      if (record.bytes > 0 && record.is_stored) {
        while (record.offset % alignment != 0) alignment /= 2;
      }
    }
    auto& facts = model_.files[0].facts;
    if (!model_.records.empty()) facts.push_back({"data alignment", grouped(alignment) + " bytes"});
    facts.push_back({"checksums", without == 0 ? std::string("recorded")
                                               : fmt::format("not recorded for {} storages", without)});
    if (deflated > 0) facts.push_back({"deflated storages", grouped(deflated)});
  }

  Model& model_;
  const OpenOptions& options_;
  PhaseClock clock_;
  std::shared_ptr<const zip::Archive> archive_;
  torch::Checkpoint checkpoint_;
  std::vector<UsedRange> outside_;
};

}  // namespace

Status build_torch_zip(Model& model, const OpenOptions& options) { return Builder(model, options).run(); }

}  // namespace ckpt
