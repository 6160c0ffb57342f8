#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/model/formats.h"
#include "ckpt/model/phase_clock.h"
#include "ckpt/safetensors/header.h"

namespace ckpt {

namespace {

/// Sub-byte types are packed over the whole tensor: their bytes are the units.
View packed_view(const safetensors::HeaderTensor& tensor) {
  View view;
  const unsigned bits = dtype_facts(tensor.dtype).bits;
  if (bits % 8 == 0) {
    view.unit_bytes = bits / 8;
    view.dims = tensor.shape;
  } else {
    view.dims = {tensor.end - tensor.begin};
  }
  view.stride = row_major_strides(view.dims);
  return view;
}

Tensor make_tensor(safetensors::HeaderTensor& entry, std::uint64_t data_offset, Model& model) {
  Tensor tensor;
  tensor.view = packed_view(entry);
  tensor.name = std::move(entry.name);
  tensor.dtype = entry.dtype;
  tensor.shape = std::move(entry.shape);
  tensor.elements = element_count(tensor.shape).value_or(0);
  tensor.bytes = entry.end - entry.begin;
  tensor.storage = static_cast<std::uint32_t>(model.storages.size());
  Storage storage;
  storage.offset = data_offset + entry.begin;
  storage.bytes = tensor.bytes;
  storage.dtype = entry.dtype;
  const std::uint64_t file_bytes = model.files[0].source->size();
  if (storage.offset > file_bytes || storage.bytes > file_bytes - storage.offset) {
    tensor.kind = TensorKind::unreadable;
    tensor.note = storage.offset >= file_bytes ? "its bytes are gone" : "its bytes are cut";
  }
  model.storages.push_back(std::move(storage));
  return tensor;
}

}  // namespace

Status build_safetensors(Model& model, const OpenOptions& options) {
  InputFile& file = model.files[0];
  file.format = Format::safetensors;
  if (options.root && *options.root != "/" && !options.ignores_root_without_roots) {
    return fail(ErrorCode::no_match,
                "a Safetensors file has no root " + in_quotes(*options.root) + ", only \"/\"");
  }
  PhaseClock clock(*file.source);
  CKPT_LET(auto header, safetensors::read_header(*file.source, options.limits));
  clock.lap(model.phases.container);
  file.facts.push_back({"header", grouped(header.header_bytes) + " bytes"});
  file.facts.push_back(
      {"data", grouped(file.source->size() - std::min(file.source->size(), header.data_offset)) + " bytes"});
  model.is_root_given = options.root.has_value();
  model.has_metadata = header.has_metadata;
  model.metadata = std::move(header.metadata);
  model.findings = std::move(header.findings);
  model.tensors.reserve(header.tensors.size());
  model.storages.reserve(header.tensors.size());
  for (auto& entry : header.tensors) model.tensors.push_back(make_tensor(entry, header.data_offset, model));
  clock.lap(model.phases.metadata);
  return {};
}

}  // namespace ckpt
