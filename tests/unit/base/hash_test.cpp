#include "ckpt/base/hash.h"

#include <set>
#include <string>

#include "support/catch.h"

namespace ckpt::test {

TEST_CASE("hash: the same text has the same hash, whatever holds it", "[base]") {
  const SeededHash hash;
  const std::string text = "layers.0.weight";
  CHECK(hash(text) == SeededHash()(std::string_view("layers.0.weight")));
}

TEST_CASE("hash: texts of every length, and with NUL, are told apart", "[base]") {
  const SeededHash hash;
  std::set<std::size_t> seen;
  for (std::size_t length = 0; length < 300; ++length) {
    seen.insert(hash(std::string(length, '\0')));
    seen.insert(hash(std::string(length, 'a')));
  }
  CHECK(seen.size() == 599);  // the empty text is in both rows
}

TEST_CASE("hash: numbered keys fall into many buckets", "[base]") {
  const SeededHash hash;
  std::set<std::size_t> buckets;
  for (int i = 0; i < 1024; ++i) buckets.insert(hash(std::to_string(i)) % 1024);
  CHECK(buckets.size() > 500);  // 647 for a random function
}

}  // namespace ckpt::test
