#include "ckpt/io/sha256.h"

#include <utility>

#include "ckpt/io/byte_reader.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using ckpt::as_bytes;
using ckpt::digest_hex;
using ckpt::Sha256;

std::string digest_of(std::string_view text) {
  Sha256 sha;
  sha.update(as_bytes(text));
  return digest_hex(sha.finish());
}

TEST_CASE("sha256: vectors of FIPS 180, the published digests", "[io]") {
  CHECK(digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: finish, starts afresh", "[io]") {
  Sha256 sha;
  sha.update(as_bytes("something else"));
  (void)sha.finish();
  sha.update(as_bytes("a"));
  sha.update({});
  sha.update(as_bytes("bc"));
  CHECK(digest_hex(sha.finish()) == digest_of("abc"));
  CHECK(digest_hex(sha.finish()) == digest_of(""));
}

TEST_CASE("sha256: moved in the middle, goes on", "[io]") {
  Sha256 first;
  first.update(as_bytes("ab"));
  Sha256 second = std::move(first);
  second.update(as_bytes("c"));
  CHECK(digest_hex(second.finish()) == digest_of("abc"));
}

TEST_CASE("sha256: any chunk size, one digest", "[io]") {
  const auto bytes = ckpt::test::pattern_bytes(10'000);
  const std::span<const std::byte> whole = bytes;
  Sha256 sha;
  sha.update(whole);
  const std::string expected = digest_hex(sha.finish());
  for (const std::size_t chunk : {1U, 63U, 64U, 65U, 4096U}) {
    for (std::size_t at = 0; at < whole.size(); at += chunk) {
      sha.update(whole.subspan(at, std::min<std::size_t>(chunk, whole.size() - at)));
    }
    CHECK(digest_hex(sha.finish()) == expected);
  }
}

}  // namespace
