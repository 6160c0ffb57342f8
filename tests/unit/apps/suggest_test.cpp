#include "suggest.h"

#include "support/catch.h"

namespace ckpt::app {

TEST_CASE("suggest: the nearest candidate, at most two edits away", "[apps]") {
  const std::vector<std::string> commands = {"inspect", "verify", "convert", "prefetch"};
  CHECK(suggest("inspct", commands) == "inspect");
  CHECK(suggest("verfiy", commands) == "verify");
  CHECK(suggest("convertt", commands) == "convert");
  CHECK(suggest("convert", commands) == "convert");
  CHECK_FALSE(suggest("model.pt", commands));
  CHECK_FALSE(suggest("insp", commands));
  CHECK_FALSE(suggest("", commands));
  CHECK_FALSE(suggest(std::string(100'000, 'x'), commands));
}

TEST_CASE("suggest: a short word is not anything", "[apps]") {
  CHECK_FALSE(suggest("xy", {"ab"}));
  CHECK(suggest("ax", {"ab"}) == "ab");
  CHECK(suggest("ab", {"abc", "abd"}) == "abc");
}

}  // namespace ckpt::app
