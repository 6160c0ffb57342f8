#include "ckpt/base/error.h"

#include <set>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/base/text.h"
#include "support/catch.h"

namespace ckpt::test {
namespace {

Result<int> halved(int value) {
  if (value % 2 != 0) return fail(ErrorCode::corrupt, "odd", 7);
  return value / 2;
}

Result<int> quartered(int value) {
  CKPT_LET(const int half, halved(value));
  CKPT_TRY(halved(half));
  return half / 2;
}

}  // namespace

TEST_CASE("error: every word is there once, in lower case", "[base]") {
  std::set<std::string_view> words;
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const std::string_view word = error_word(static_cast<ErrorCode>(i));
    CHECK_FALSE(word.empty());
    CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
    words.insert(word);
  }
  CHECK(words.size() == kErrorCodeCount);
  CHECK(error_word(ErrorCode::short_file) == "short-file");
  CHECK(error_word(ErrorCode::internal) == "internal");
}

TEST_CASE("error: a line has file, record or tensor, message and word", "[base]") {
  Error error = make_error(ErrorCode::corrupt, "is wrong");
  CHECK(error_line(error) == "is wrong [corrupt]");
  error.in_tensor("a\"b");
  CHECK(error_line(error) == "\"a\\\"b\": is wrong [corrupt]");
  error.in_record("m/data/0");
  CHECK(error_line(error) == "m/data/0: is wrong [corrupt]");
  error.in_file("x\n.pt");
  CHECK(error_line(error) == "x\\n.pt: m/data/0: is wrong [corrupt]");
}

TEST_CASE("error: the innermost place stays", "[base]") {
  Error error = make_error(ErrorCode::io, "x");
  error.in_file("inner").in_file("outer").at(3).at(5).with_advice("first").with_advice("second");
  CHECK(error.file == "inner");
  CHECK(error.offset == 3);
  CHECK(error.advice == "first");
}

TEST_CASE("error: a line is bounded, keeps its word and cuts no character", "[base]") {
  for (std::size_t extra = 0; extra < 6; ++extra) {
    Error error = make_error(ErrorCode::ambiguous_root,
                             std::string(kMaxErrorLineBytes - extra, 'm') + "\xc3\xa9\xf0\x9f\x98\x80 end");
    const std::string line = error_line(error);
    CHECK(line.size() <= kMaxErrorLineBytes);
    CHECK(line.substr(line.size() - 20) == "... [ambiguous-root]");
    CHECK(is_utf8(line));
  }
  Error wide = make_error(ErrorCode::corrupt, std::string());
  for (int i = 0; i < 2000; ++i) wide.message += "\xc3\xa9";
  CHECK(is_utf8(error_line(wide)));
}

TEST_CASE("error: findings carry their severity", "[base]") {
  CHECK(note(make_error(ErrorCode::corrupt, "x")).severity == Severity::note);
  CHECK(defect(make_error(ErrorCode::corrupt, "x")).severity == Severity::error);
}

TEST_CASE("result: failures pass through the macros with all they carry", "[base]") {
  CHECK(quartered(8) == 2);
  for (const int value : {5, 6}) {
    const auto failed = quartered(value);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message == "odd");
    CHECK(failed.error().offset == 7);
  }
}

}  // namespace ckpt::test
