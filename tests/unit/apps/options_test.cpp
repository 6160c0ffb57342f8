#include "options.h"

#include "support/catch.h"

namespace ckpt::app {
namespace {

using Words = std::vector<std::string>;

Invocation parsed(const Words& words) {
  auto result = parse_command_line(words);
  if (!result) FAIL(result.error().error.message);
  REQUIRE(result->invocation);
  return *std::move(result->invocation);
}

ParseFailure refused(const Words& words) {
  auto result = parse_command_line(words);
  if (result) FAIL("accepted");
  CHECK(result.error().error.code == ErrorCode::usage);
  return result.error();
}

}  // namespace

TEST_CASE("options: each command with its paths", "[apps]") {
  const Invocation inspect = parsed({"inspect", "a", "b"});
  CHECK(inspect.command == Command::inspect);
  CHECK(inspect.paths == Words{"a", "b"});
  CHECK(parsed({"verify", "a"}).command == Command::verify);
  const Invocation convert = parsed({"convert", "in", "out"});
  CHECK(convert.command == Command::convert);
  CHECK(convert.paths == Words{"in"});
  CHECK(convert.output == "out");
  CHECK(parsed({"prefetch", "a"}).command == Command::prefetch);
}

TEST_CASE("options: a file alone is inspected", "[apps]") {
  CHECK(parsed({"model.pt"}).command == Command::inspect);
  CHECK(parsed({"model.pt"}).paths == Words{"model.pt"});
  CHECK(parsed({"--json", "model.pt"}).global.json);
  CHECK(parsed({"--color", "never", "model.pt"}).paths == Words{"model.pt"});
}

TEST_CASE("options: a mistyped command is no file", "[apps]") {
  const ParseFailure failure = refused({"verfy", "a"});
  CHECK(failure.error.message == "\"verfy\" is no command; did you mean \"verify\"?");
}

TEST_CASE("options: global options stand before and after the command", "[apps]") {
  for (const Words& words : {Words{"-q", "--json", "--no-progress", "verify", "a"},
                             Words{"verify", "-q", "a", "--json", "--no-progress"}}) {
    const Invocation call = parsed(words);
    CHECK(call.global.is_quiet);
    CHECK(call.global.json);
    CHECK_FALSE(call.global.progress);
  }
  CHECK(parsed({"inspect", "a"}).global.progress);
}

TEST_CASE("options: nothing is abbreviated", "[apps]") {
  refused({"inspect", "--plai", "a"});
  refused({"inspec", "--json"});
  refused({"convert", "--shar=drop", "a"});
}

TEST_CASE("options: inspect", "[apps]") {
  const Invocation call = parsed({"inspect", "--tree", "--sort", "bytes", "--columns", "name,sha256",
                                  "--root", "ema", "--include", "a*", "--include", "b*", "--exclude", "c*",
                                  "--threads", "3", "--limit-rank", "7", "x"});
  CHECK(call.list.tree);
  CHECK(call.list.sort == SortKey::bytes);
  CHECK(call.list.columns == std::vector<Column>{Column::name, Column::sha256});
  CHECK(call.inspect.with_digests);
  CHECK(call.inspect.input.root == "ema");
  CHECK(call.inspect.input.selection.include == Words{"a*", "b*"});
  CHECK(call.inspect.input.selection.exclude == Words{"c*"});
  CHECK(call.inspect.input.threads == 3);
  CHECK(call.inspect.input.limits.rank == 7);
  CHECK(call.paths == Words{"x"});
}

TEST_CASE("options: repeatable options take one value each", "[apps]") {
  const Invocation call = parsed({"inspect", "--include", "a*", "file"});
  CHECK(call.inspect.input.selection.include == Words{"a*"});
  CHECK(call.paths == Words{"file"});
  const Invocation verify = parsed({"verify", "--expect", "tensors=3", "a", "--expect", "F16=1"});
  CHECK(verify.paths == Words{"a"});
  REQUIRE(verify.verify.expectations.size() == 2);
  CHECK(verify.verify.expectations[1].name == "F16");
  const Invocation convert = parsed({"convert", "--metadata", "k=v=w", "a", "b"});
  REQUIRE(convert.convert.metadata.size() == 1);
  CHECK(convert.convert.metadata[0] == std::pair<std::string, std::string>("k", "v=w"));
  CHECK(convert.output == "b");
}

TEST_CASE("options: convert", "[apps]") {
  const Invocation call =
      parsed({"convert", "--shared=drop", "--strict", "--skip", "-n", "-f", "--no-sync", "a"});
  CHECK(call.convert.shared == SharedPolicy::drop);
  CHECK(call.convert.is_strict);
  CHECK(call.convert.skip_unsupported);
  CHECK(call.convert.dry_run);
  CHECK(call.convert.replace);
  CHECK_FALSE(call.convert.sync);
  CHECK(call.output.empty());
  CHECK(parsed({"convert", "a"}).convert.shared == SharedPolicy::copy);
  CHECK(parsed({"convert", "a"}).convert.sync);
}

TEST_CASE("options: prefetch", "[apps]") {
  const Invocation call =
      parsed({"prefetch", "--readers", "0", "--no-skip", "--max-bytes", "5000000000", "-f", "a"});
  CHECK(call.prefetch.readers == 0);
  CHECK_FALSE(call.prefetch.skip_resident);
  CHECK(call.prefetch.max_bytes == 5'000'000'000U);
  CHECK(call.prefetch.force);
  refused({"prefetch", "--query", "--evict", "a"});
  refused({"prefetch", "--readers", "17", "a"});
  refused({"prefetch", "--readers", "-1", "a"});
  refused({"prefetch", "--readers", "1.5", "a"});
  refused({"prefetch", "--max-bytes", "5GB", "a"});
}

TEST_CASE("options: wrong values and missing paths are usage", "[apps]") {
  refused({"inspect"});
  refused({"convert"});
  refused({"convert", "a", "b", "c"});
  refused({"inspect", "--sort", "colour", "a"});
  refused({"inspect", "--columns", "name,colour", "a"});
  refused({"inspect", "--threads", "0", "a"});
  refused({"inspect", "--threads", "17", "a"});
  refused({"convert", "--shared", "maybe", "a"});
  refused({"convert", "--metadata", "novalue", "a"});
  refused({"convert", "--metadata", "=v", "a"});
  refused({"convert", "a", "-"});
  refused({"verify", "--expect", "names=3", "a"});
}

TEST_CASE("options: a failure knows its command and whether JSON was asked for", "[apps]") {
  const ParseFailure failure = refused({"verify", "--bogus", "--json", "a"});
  CHECK(failure.command == "verify");
  CHECK(failure.json);
  CHECK(failure.error.advice == "ckpt verify --help");
  CHECK_FALSE(refused({"verify"}).json);
}

TEST_CASE("options: help and version are texts", "[apps]") {
  for (const Words& words :
       {Words{}, Words{"--help"}, Words{"-h"}, Words{"verify", "--help"}, Words{"--version"}}) {
    const auto result = parse_command_line(words);
    REQUIRE(result);
    CHECK_FALSE(result->invocation);
    CHECK_FALSE(result->text.empty());
  }
}

TEST_CASE("options: an option that takes a list leaves the paths alone", "[apps]") {
  CHECK(parsed({"inspect", "--columns", "name,bytes", "a", "b"}).paths == Words{"a", "b"});
  CHECK(parsed({"verify", "--include", "w*", "a", "b"}).paths == Words{"a", "b"});
  CHECK(parsed({"verify", "--exclude", "w*", "a", "b"}).paths == Words{"a", "b"});
  CHECK(parsed({"convert", "--metadata", "a=b", "--metadata", "c=d", "in", "out"}).output == "out");
}

TEST_CASE("options: paths behind -- may start with a dash or be called as a command", "[apps]") {
  CHECK(parsed({"inspect", "--", "-x"}).paths == Words{"./-x"});
  CHECK(parsed({"verify", "a", "--", "-x", "b"}).paths == Words{"a", "./-x", "b"});
  CHECK(parsed({"--", "verify"}).paths == Words{"./verify"});
  CHECK(parsed({"--", "--json"}).paths == Words{"./--json"});
  CHECK_FALSE(parsed({"--", "--json"}).global.json);
  CHECK(parsed({"convert", "--", "a", "-"}).output == "./-");
}

}  // namespace ckpt::app
