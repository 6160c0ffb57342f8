#include "ckpt/tensor/gather.h"

#include <random>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace ckpt::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes naive(const View& view, const Bytes& storage) {
  Bytes out;
  out.reserve(view_bytes(view));
  Dims index(view.dims.size(), 0);
  for (std::uint64_t left = *element_count(view.dims); left > 0; --left) {
    std::uint64_t place = view.offset;
    for (std::size_t k = 0; k < index.size(); ++k) place += index[k] * view.stride[k] * view.unit_bytes;
    out.insert(out.end(), storage.begin() + static_cast<std::ptrdiff_t>(place),
               storage.begin() + static_cast<std::ptrdiff_t>(place + view.unit_bytes));
    for (std::size_t k = index.size(); k > 0 && ++index[k - 1] == view.dims[k - 1]; --k) index[k - 1] = 0;
  }
  return out;
}

struct Gathered {
  Bytes output;
  std::uint64_t read_bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t blocks = 0;
};

/// Block by block; the blocks must follow each other, and their rows must lie inside the storage.
Gathered gather(const View& view, const Bytes& storage) {
  const GatherPlan plan(view);
  Gathered result;
  result.blocks = plan.block_count();
  for (std::uint64_t i = 0; i < plan.block_count(); ++i) {
    const GatherBlock block = plan.block(i);
    REQUIRE(block.output_offset == result.output.size());
    REQUIRE(block.buffer_bytes() <= 2 * kBlockBytes + view.unit_bytes);
    Bytes buffer;
    for (std::uint64_t row = 0; row < block.row_count; ++row) {
      const std::uint64_t offset = block.row_offset(row);
      REQUIRE(offset + block.row_bytes <= storage.size());
      const auto first = storage.begin() + static_cast<std::ptrdiff_t>(offset);
      buffer.insert(buffer.end(), first, first + static_cast<std::ptrdiff_t>(block.row_bytes));
    }
    Bytes out(block.output_bytes);
    gather_block(block, view.unit_bytes, buffer, out);
    result.output.insert(result.output.end(), out.begin(), out.end());
    result.read_bytes += buffer.size();
    result.rows += block.row_count;
  }
  return result;
}

Gathered check_gather(const View& view) {
  const Bytes storage = pattern_bytes(view.offset + view_extent(view));
  Gathered result = gather(view, storage);
  CHECK(result.output.size() == view_bytes(view));
  CHECK((result.output == naive(view, storage)));
  return result;
}

}  // namespace

TEST_CASE("gather: a transposed matrix is read once, a row for each column", "[tensor]") {
  const Gathered small = check_gather({{30, 20}, {1, 30}, 8, 4});
  CHECK(small.blocks == 1);
  CHECK(small.read_bytes == 2400);
  const Gathered large = check_gather({{2000, 1500}, {1, 2000}, 4, 4});
  CHECK(large.blocks > 1);
  CHECK(large.read_bytes == 12'000'000);
  CHECK(large.rows == large.blocks * 1500);
}

TEST_CASE("gather: channels-last weights are one row a block", "[tensor]") {
  const Gathered result = check_gather({{64, 32, 3, 3}, {288, 1, 96, 32}, 0, 2});
  CHECK(result.rows == 1);
  CHECK(result.read_bytes == 64 * 288 * 2);
}

TEST_CASE("gather: an expanded tensor reads its few bytes once a block", "[tensor]") {
  const Gathered result = check_gather({{1000, 500}, {0, 1}, 16, 4});
  CHECK(result.read_bytes == 2000);
  const Gathered one = check_gather({{3000, 1000}, {0, 0}, 0, 4});
  CHECK(one.read_bytes == 4 * one.blocks);
}

TEST_CASE("gather: sliding windows overlap", "[tensor]") {
  CHECK(check_gather({{100, 8}, {2, 1}, 4, 4}).read_bytes == 206 * 4);
  check_gather({{1000, 2000}, {1, 1}, 0, 4});
}

TEST_CASE("gather: wide gaps are not read", "[tensor]") {
  const Gathered column = check_gather({{1000}, {64}, 12, 4});
  CHECK(column.read_bytes == 4000);
  CHECK(column.rows == 1000);
  const Gathered narrow = check_gather({{1000}, {2}, 0, 4});
  CHECK(narrow.rows == 1);
  CHECK(narrow.read_bytes == 1999 * 4);
}

TEST_CASE("gather: dims of size 1 have any stride", "[tensor]") {
  check_gather({{1, 30, 1, 20}, {1, 1, 1, 30}, 0, 8});
  check_gather({{1}, {1}, 0, 16});
  check_gather({{}, {}, 4, 4});
}

TEST_CASE("gather: a reversed order of many dims", "[tensor]") {
  check_gather({{3, 4, 5, 6, 7}, {1, 3, 12, 60, 360}, 2, 1});
  check_gather({{2, 3, 2, 3, 2, 3}, {1, 2, 6, 12, 36, 72}, 0, 16});
}

TEST_CASE("gather: outer dims are split where one of them is larger than a block", "[tensor]") {
  const Gathered result = check_gather({{3, 1100, 1100}, {1, 3, 3300}, 0, 4});
  CHECK(result.blocks > 3);
}

TEST_CASE("gather: random views match a loop over the elements", "[tensor]") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    View view;
    view.unit_bytes = 1U << (random() % 5);
    view.offset = random() % 100;
    for (std::uint64_t k = random() % 6; k > 0; --k) {
      view.dims.push_back(1 + random() % 7);
      view.stride.push_back(random() % 3 == 0 ? random() % 200 : random() % 12);
    }
    INFO("round " << round);
    check_gather(view);
  }
}

}  // namespace ckpt::test
