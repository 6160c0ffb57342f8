#include "exit_code.h"

#include "ckpt/base/result.h"
#include "support/catch.h"

namespace ckpt::app {

using Findings = std::vector<Finding>;

TEST_CASE("exit_code: each word has the status of its group", "[apps]") {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const int expected = code == ErrorCode::usage ? 2 : code > ErrorCode::usage ? 3 : 1;
    INFO(error_word(code));
    CHECK(exit_code(code) == expected);
  }
  CHECK(exit_code(ErrorCode::over_memory) == 1);
  CHECK(exit_code(ErrorCode::not_found) == 3);
  CHECK(exit_code(ErrorCode::unknown_format) == 3);
}

TEST_CASE("exit_code: no outranks no answer, and that outranks yes", "[apps]") {
  CHECK(worse(kYes, kYes) == kYes);
  CHECK(worse(kYes, kNoAnswer) == kNoAnswer);
  CHECK(worse(kNoAnswer, kNo) == kNo);
  CHECK(worse(kNo, kNoAnswer) == kNo);
  CHECK(worse(kUsage, kNo) == kUsage);
}

TEST_CASE("exit_code: notes do not count", "[apps]") {
  const Finding harmless = note(make_error(ErrorCode::corrupt, "x"));
  const Finding unsupported = defect(make_error(ErrorCode::unsupported, "x"));
  const Finding corrupt = defect(make_error(ErrorCode::corrupt, "x"));
  CHECK(exit_code(Findings{}) == kYes);
  CHECK(exit_code(Findings{harmless}) == kYes);
  CHECK(exit_code(Findings{harmless, unsupported}) == kNoAnswer);
  CHECK(exit_code(Findings{unsupported, corrupt}) == kNo);
}

}  // namespace ckpt::app
