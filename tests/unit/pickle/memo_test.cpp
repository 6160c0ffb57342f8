#include "ckpt/pickle/memo.h"

#include "support/catch.h"

namespace ckpt::pickle {

TEST_CASE("memo: entries are found, others are not", "[pickle]") {
  Memo memo;
  CHECK(memo.find(0) == kNoRef);
  memo.store(0, 10);
  memo.store(3, 13);
  CHECK(memo.find(0) == 10);
  CHECK(memo.find(1) == kNoRef);
  CHECK(memo.find(3) == 13);
  CHECK(memo.find(UINT32_MAX) == kNoRef);
  CHECK(memo.count() == 2);
}

TEST_CASE("memo: an index is stored again, the count stays", "[pickle]") {
  Memo memo;
  memo.store(5, 1);
  memo.store(5, 2);
  memo.store(UINT32_MAX, 3);
  memo.store(UINT32_MAX, 4);
  CHECK(memo.find(5) == 2);
  CHECK(memo.find(UINT32_MAX) == 4);
  CHECK(memo.count() == 2);
}

TEST_CASE("memo: a huge index costs no more than a small one", "[pickle]") {
  Memo memo;
  for (std::uint32_t i = 0; i < 100; ++i) memo.store(UINT32_MAX - i * 1'000'003, i);
  CHECK(memo.memory() < 200'000);
  CHECK(memo.find(UINT32_MAX - 99 * 1'000'003) == 99);
}

TEST_CASE("memo: an entry far out is found when the small ones reach it", "[pickle]") {
  Memo memo;
  memo.store(5000, 77);
  for (std::uint32_t i = 0; i < 4000; ++i) memo.store(i, i);
  memo.store(6000, 78);
  CHECK(memo.find(5000) == 77);
  CHECK(memo.count() == 4002);
  memo.store(5000, 79);
  CHECK(memo.find(5000) == 79);
  CHECK(memo.count() == 4002);
}

}  // namespace ckpt::pickle
