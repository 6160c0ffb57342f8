#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/pickle_builder.h"
#include "support/temp_dir.h"
#include "support/zip_builder.h"

namespace ckpt::test {

/// Key and bytes of storages.
using Storages = std::vector<std::pair<std::string, std::vector<std::byte>>>;

/// An archive of torch.save, root folder `m`: the pickle, `byteorder`, the storages, `version`.
[[nodiscard]] ZipBuilder torch_file(std::string_view pickle, const Storages& storages);

/// The same with a flat dict of the tensors and a storage of pattern bytes for each key, as long as the first
/// tensor that names it says.
[[nodiscard]] ZipBuilder torch_file(const std::vector<PickledTensor>& tensors);

/// Row-major strides for `size`.
[[nodiscard]] PickledTensor pickled(std::string name, std::string key, std::vector<std::int64_t> size,
                                    std::string storage = "FloatStorage");

/// A view into a storage of `numel` elements.
[[nodiscard]] PickledTensor pickled_view(std::string name, std::string key, std::int64_t numel,
                                         std::int64_t offset, std::vector<std::int64_t> size,
                                         std::vector<std::int64_t> stride);

/// The pickle of a mapping from keys to what `fill` leaves on the stack for each.
template <class Fill>
[[nodiscard]] std::string pickled_dict(const std::vector<std::string>& keys, Fill fill) {
  PickleBuilder builder;
  builder.proto(2).empty_dict();
  for (const std::string& key : keys) {
    builder.binunicode(key);
    fill(builder, key);
    builder.setitem();
  }
  return builder.stop().bytes();
}

/// Leaves a dict of the tensors on the stack.
void add_dict(PickleBuilder& builder, const std::vector<PickledTensor>& tensors);

/// Writes an archive into the folder; returns its path.
std::string write(const TempDir& folder, std::string_view name, ZipBuilder archive);

/// The same for an archive with holes, as a sparse file.
std::string write_sparse(const TempDir& folder, std::string_view name, ZipBuilder archive);

}  // namespace ckpt::test
