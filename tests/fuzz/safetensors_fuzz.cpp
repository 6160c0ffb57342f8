#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/io/byte_source.h"
#include "ckpt/safetensors/header.h"
#include "ckpt/safetensors/writer.h"

// A file without an error keeps the promises that loaders rely on, and can be planned again.

namespace {

using namespace ckpt;

void require(bool condition) {
  if (!condition) std::abort();
}

bool has_error(const safetensors::Header& header) {
  return std::any_of(header.findings.begin(), header.findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
}

void check_whole(const safetensors::Header& header, std::uint64_t file_bytes) {
  std::uint64_t bytes = 0;
  std::vector<safetensors::OutputTensor> tensors;
  for (const safetensors::HeaderTensor& tensor : header.tensors) {
    require(tensor.begin <= tensor.end && tensor.end <= file_bytes - header.data_offset);
    bytes += tensor.end - tensor.begin;
    tensors.push_back({tensor.name, tensor.dtype, &tensor.shape});
  }
  require(bytes == file_bytes - header.data_offset);
  const auto layout = plan_layout(tensors, header.has_metadata ? &header.metadata : nullptr, {});
  require(layout.has_value());
  require(layout->file_bytes - layout->header.size() == bytes);
  const auto again = safetensors::parse_header(std::string_view(layout->header).substr(8), bytes, {});
  require(again && !has_error(*again) && again->tensors.size() == header.tensors.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemorySource source(std::vector<std::byte>(bytes.begin(), bytes.end()));
  const auto header = safetensors::read_header(source, {});
  for (const std::size_t window : {std::size_t{9}, std::size_t{64}}) {
    (void)safetensors::looks_like_header(bytes.first(std::min(window, size)), size);
  }
  if (!header) {
    require(error_line(header.error()).size() <= kMaxErrorLineBytes);
    return 0;
  }
  for (const Finding& finding : header->findings) {
    require(error_line(finding.what).size() <= kMaxErrorLineBytes);
  }
  if (!has_error(*header)) check_whole(*header, size);
  return 0;
}
