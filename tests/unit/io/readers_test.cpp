#include <stdlib.h>

#include "ckpt/io/span_reader.h"
#include "support/catch.h"

namespace {

using ckpt::ckpt_readers;
using ckpt::ErrorCode;
using ckpt::parse_readers;

/// Sets or removes a variable for the life of the object. Tests run one after another.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_CASE("parse_readers: integers from 0 to 16, taken", "[io]") {
  for (unsigned readers = 0; readers <= 16; ++readers) {
    CHECK(parse_readers(std::to_string(readers), "--readers").value() == readers);
  }
  CHECK(parse_readers("007", "--readers").value() == 7);
}

TEST_CASE("parse_readers: anything else, usage that names where it came from", "[io]") {
  for (const char* const text : {"", " ", "17", "-1", "+1", "1 ", " 1", "1.0", "0x1", "1e1", "four", "4\n",
                                 "99999999999999999999", "4294967296", "\x1b[31m"}) {
    const auto readers = parse_readers(text, "--readers");
    REQUIRE_FALSE(readers);
    CHECK(readers.error().code == ErrorCode::usage);
    CHECK(readers.error().message.starts_with("--readers is \""));
    CHECK(readers.error().message.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("ckpt_readers: no variable, 16", "[io]") {
  const Variable first("CKPT_PREFETCH", nullptr);
  const Variable second("TF_LOAD_PREFETCH", nullptr);
  CHECK(ckpt_readers().value() == 16);
}

TEST_CASE("ckpt_readers: both variables, CKPT_PREFETCH counts", "[io]") {
  const Variable first("CKPT_PREFETCH", "3");
  const Variable second("TF_LOAD_PREFETCH", "nonsense");
  CHECK(ckpt_readers().value() == 3);
}

TEST_CASE("ckpt_readers: only TF_LOAD_PREFETCH, it counts", "[io]") {
  const Variable first("CKPT_PREFETCH", nullptr);
  const Variable second("TF_LOAD_PREFETCH", "0");
  CHECK(ckpt_readers().value() == 0);
}

TEST_CASE("ckpt_readers: an empty or wrong variable, usage that names it", "[io]") {
  const Variable second("TF_LOAD_PREFETCH", "17");
  CHECK(ckpt_readers().error().message.starts_with("TF_LOAD_PREFETCH is \"17\""));
  const Variable first("CKPT_PREFETCH", "");
  const auto readers = ckpt_readers();
  REQUIRE_FALSE(readers);
  CHECK(readers.error().code == ErrorCode::usage);
  CHECK(readers.error().message.starts_with("CKPT_PREFETCH is \"\""));
}

}  // namespace
