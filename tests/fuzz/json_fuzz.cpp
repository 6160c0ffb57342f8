#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ckpt/json/json.h"
#include "ckpt/json/scan.h"

// Parser and scan are two views of one grammar: a text that only one of them takes is a defect of ours.

namespace {

using ckpt::json::Document;
using ckpt::json::Kind;
using ckpt::json::Value;

void require(bool condition) {
  if (!condition) std::abort();
}

// Every value is reached once, without recursion: scalars are left by `next`, containers entered by `first`.
std::uint64_t walk(Value at, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t left = count; left > 0; --left) {
    if (at.kind() == Kind::string) sum += at.string().size();
    if (at.kind() == Kind::unsigned_integer) sum += at.unsigned_integer();
    const bool is_open = (at.kind() == Kind::array || at.kind() == Kind::object) && at.size() > 0;
    if (left > 1) at = is_open ? at.first() : at.next();
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = Document::parse(text);
  const bool is_sound = !ckpt::json::find_bad_utf8(text) && !ckpt::json::find_defect(text) &&
                        !ckpt::json::find_too_deep(text, 128);
  if (document) {
    require(is_sound);
    (void)walk(document->root(), ckpt::json::count_values(text));
    require(document->duplicate_keys().size() <= 50);
  } else {
    // What the scan does not see are numbers like 1e400.
    require(!is_sound || document.error().message == "not JSON: a number out of range");
  }
  return 0;
}
