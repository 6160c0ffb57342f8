#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/tensor/view.h"

/// Strided views to row-major bytes, in blocks of bounded size.
///
/// A block is a box of indices that is consecutive in row-major order: some outer indices fixed, a range of one
/// dim, all of the inner dims. Its units are read as *rows*: the dims whose strides are so small that reading
/// across their gaps costs no more than twice the bytes are merged into one consecutive row, the others count the rows. A
/// channels-last kernel is one row a block; a transposed matrix is a row for each column, as long as the block is high.
namespace ckpt {

/// Output bytes that one block aims at, and the most its rows may take in memory.
inline constexpr std::uint64_t kBlockBytes = 4ULL << 20U;

/// How one block is read and written.
struct GatherBlock {
  std::uint64_t output_offset = 0;  ///< bytes from the start of the row-major output
  std::uint64_t output_bytes = 0;
  std::uint64_t first_byte = 0;  ///< of row 0, bytes from the start of the storage
  std::uint64_t row_bytes = 0;
  std::uint64_t row_count = 1;
  Dims dims;           ///< of the box, outermost first
  Dims buffer_stride;  ///< bytes between neighbours of each dim, once all rows lie one behind the other
  Dims row_dims;       ///< the dims that count the rows, outermost first
  Dims row_step;       ///< bytes in the storage between neighbours of each of `row_dims`

  /// Where row `index` starts, bytes from the start of the storage.
  [[nodiscard]] std::uint64_t row_offset(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t buffer_bytes() const { return row_bytes * row_count; }
};

/// The blocks of one view, made one at a time: memory does not grow with the tensor.
class GatherPlan {
 public:
  /// `view` was checked by `check_view` and is not empty.
  explicit GatherPlan(const View& view);
  [[nodiscard]] std::uint64_t block_count() const { return block_count_; }
  [[nodiscard]] GatherBlock block(std::uint64_t index) const;

 private:
  void merge_rows(GatherBlock& block) const;
  View view_;
  std::size_t split_ = 0;             // dims before it have one index a block
  std::uint64_t split_count_ = 1;     // indices of dim `split_` in one block
  std::uint64_t blocks_per_dim_ = 1;  // blocks that dim `split_` is cut into
  std::uint64_t block_count_ = 1;
};

/// Writes the block's units in row-major order: `buffer` holds its rows one behind the other, `out` has
/// `output_bytes` bytes.
void gather_block(const GatherBlock& block, std::uint32_t unit_bytes, std::span<const std::byte> buffer,
                  std::span<std::byte> out);

}  // namespace ckpt
