#include <filesystem>
#include <sys/stat.h>

#include "ckpt/jobs/jobs.h"
#include "ckpt/safetensors/header.h"
#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

using Names = std::vector<std::string>;

std::string fixture(std::string_view name) { return CKPT_TEST_FIXTURES "/" + std::string(name); }

ConvertOptions quick() {
  ConvertOptions options;
  options.sync = false;
  return options;
}

ConvertResult converted(const std::string& input, const std::string& output,
                        const ConvertOptions& options = quick()) {
  auto result = convert(input, output, options);
  if (!result) FAIL(error_line(result.error()));
  return *std::move(result);
}

Error refused(const std::string& input, const std::string& output, const ConvertOptions& options = quick()) {
  const auto result = convert(input, output, options);
  if (result) FAIL(input << " was converted");
  return result.error();
}

/// Refused with that word and text; nothing is left behind, and an older output stays as it was.
void check_refused(const std::string& input, ErrorCode code, std::string_view part,
                   ConvertOptions options = quick()) {
  INFO(input);
  const TempDir folder;
  const std::string output = folder.file("out.safetensors");
  check_error(refused(input, output, options), code, part);
  CHECK(folder.names().empty());
  folder.write_file("out.safetensors", "older");
  options.replace = true;
  check_error(refused(input, output, options), code, part);
  CHECK(folder.names() == Names{"out.safetensors"});
  CHECK(read_file(output) == "older");
}

safetensors::Header header_of(const std::string& path) {
  auto header = safetensors::read_header(source_of(read_file(path)), {});
  if (!header) FAIL(error_line(header.error()));
  CHECK(header->findings.empty());
  return *std::move(header);
}

std::string metadata_of(const std::string& path) {
  std::string text;
  for (const auto& [key, value] : header_of(path).metadata) text += key + "=" + value + "\n";
  return text;
}

std::string names_of(const std::string& path) {
  std::string text;
  for (const auto& tensor : header_of(path).tensors) text += tensor.name + " ";
  return text;
}

std::vector<PickledTensor> tied() {
  return {pickled("embed", "0", {8}), pickled("head", "0", {8}), pickled("other", "1", {8})};
}

std::vector<PickledTensor> overlapping() {
  return {pickled_view("a", "0", 10, 0, {6}, {1}), pickled_view("b", "0", 10, 4, {6}, {1})};
}

constexpr std::uint64_t kHoleBytes = 5ULL << 30U;

}  // namespace

TEST_CASE("convert: writes names, dtypes, shapes and bytes", "[jobs]") {
  const TempDir folder;
  const std::string input =
      write(folder, "in.pt", torch_file({pickled("w", "0", {2, 3}), pickled("h", "1", {5}, "HalfStorage")}));
  const std::string output = folder.file("out.safetensors");
  const ConvertResult result = converted(input, output);
  CHECK(result.output == output);
  CHECK(result.output_bytes == read_file(output).size());
  CHECK(result.write.bytes == result.output_bytes);
  REQUIRE(result.written.size() == 2);
  CHECK(names_of(output) == "w h ");
  CHECK(metadata_of(output) == "format=pt\n");
  const std::string content = read_file(output);
  const auto w = pattern_bytes(24, 1);
  CHECK((content.substr(result.written[0].offset, 24) == as_text(w)));
  const auto h = pattern_bytes(10, 2);
  CHECK((content.substr(result.written[1].offset, 10) == as_text(h)));
  CHECK(folder.names() == Names{"in.pt", "out.safetensors"});
}

TEST_CASE("convert: the output lies where the caller says", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "my.model.v1.pt", torch_file({pickled("w", "0", {2})}));
  CHECK(converted(input, "").output == folder.file("my.model.v1.safetensors"));
  std::filesystem::create_directory(folder.file("into"));
  CHECK(converted(input, folder.file("into")).output == folder.file("into") + "/my.model.v1.safetensors");
  check_error(refused(input, folder.file("none") + "/x.safetensors"), ErrorCode::not_found, "none");
}

TEST_CASE("convert: every refusal leaves nothing behind and an older output alone", "[jobs]") {
  const TempDir folder;
  ZipBuilder wrong_crc = torch_file({pickled("w", "0", {4}), pickled("v", "1", {100'000})});
  wrong_crc.record("m/data/1").crc = 0x12345678;
  check_refused(write(folder, "crc.pt", wrong_crc), ErrorCode::corrupt,
                "m/data/1: wrong checksum: directory says 12345678");
  check_refused(fixture("bad-flipped.pt"), ErrorCode::corrupt, "good-demo/data/12: wrong checksum");
  check_refused(fixture("bad-cut.pt"), ErrorCode::truncated, "bad-cut.pt");
  check_refused(fixture("bad-dangerous-import.pt"), ErrorCode::dangerous_import, "posix.system");
  check_refused(fixture("good-ambiguous-roots.pt"), ErrorCode::ambiguous_root,
                "more than one place could be the model");
  check_refused(fixture("good-stray-tensors.pt"), ErrorCode::ambiguous_root,
                "\"model\" (1 tensors, 36 bytes)");
  check_refused(fixture("good-collision.pt"), ErrorCode::name_collision, "\"a.b\"");
  check_refused(
      fixture("unsupported-dtypes.pt"), ErrorCode::unsupported,
      "\"complex32\": dtype complex32 has no Safetensors form, and 6 more tensors cannot be written");
  check_refused(fixture("unsupported-sparse.pt"), ErrorCode::unsupported, "\"coo\": a sparse tensor");
  check_refused(fixture("unsupported-quantized.pt"), ErrorCode::unsupported, "a quantized tensor");
  check_refused(fixture("unsupported-lazy.pt"), ErrorCode::unsupported,
                "\"conjugate\": a lazily conjugated tensor");
  check_refused(fixture("unsupported-keys.pt"), ErrorCode::would_lose, "no name");
  check_refused(fixture("unsupported-surrogate.pt"), ErrorCode::would_lose, "not valid Unicode");
  check_refused(fixture("good-no-tensors.safetensors"), ErrorCode::no_match, "holds no tensors");
  check_refused(fixture("good-legacy.pt"), ErrorCode::unsupported, "legacy torch.save stream");
  check_refused(folder.file("nothing.pt"), ErrorCode::not_found, "nothing.pt");
  check_refused(folder.path(), ErrorCode::unsupported, "is a folder");
  ConvertOptions options = quick();
  options.input.selection.include = {"nothing"};
  check_refused(fixture("good-flat.pt"), ErrorCode::no_match, "no tensor matches \"nothing\"", options);
  options.input.selection.include.clear();
  options.input.selection.exclude = {"*"};
  check_refused(fixture("good-flat.pt"), ErrorCode::no_match, "no tensor is left to write", options);
}

TEST_CASE("convert: damage inside the pickle leaves nothing behind", "[jobs]") {
  const TempDir folder;
  check_refused(write(folder, "missing.pt", torch_file(p0_pickle(), {})), ErrorCode::corrupt, "m/data/0");
  check_refused(write(folder, "short.pt", torch_file(p0_pickle(), {{"0", pattern_bytes(8)}})),
                ErrorCode::short_file, "needs 16 bytes, record has 8");
  check_refused(write(folder, "reserved.pt", torch_file({pickled("__metadata__", "0", {4})})),
                ErrorCode::name_collision, "__metadata__");
}

TEST_CASE("convert: data that is not read yet is unsupported by name", "[jobs]") {
  const TempDir folder;
  ZipBuilder big;
  big.add("m/data.pkl", p0_pickle())
      .add("m/byteorder", "big")
      .add("m/data/0", pattern_bytes(16))
      .add("m/version", "3\n");
  check_refused(write(folder, "big.pt", big), ErrorCode::unsupported, "\"w\": big-endian data");
  ZipBuilder deflated_storage;
  deflated_storage.add("m/data.pkl", p0_pickle())
      .add_deflated("m/data/0", std::string(16, 'x'))
      .add("m/version", "3\n");
  check_refused(write(folder, "deflated.pt", deflated_storage), ErrorCode::unsupported,
                "\"w\": its record is deflated");
}

TEST_CASE("convert: a view that makes much of little is over the limit", "[jobs]") {
  const TempDir folder;
  const std::int64_t side = 1 << 21;
  const std::string bomb =
      write(folder, "bomb.pt", torch_file({pickled_view("w", "0", 32, 0, {side, side}, {0, 0})}));
  check_refused(bomb, ErrorCode::limit,
                "its largest tensor \"w\" takes 17592186044416 bytes out of 4 stored");
  const std::string small =
      write(folder, "small.pt", torch_file({pickled_view("w", "0", 32, 0, {100, 32}, {0, 1})}));
  CHECK(converted(small, folder.file("small.safetensors")).gathered == 1);
}

TEST_CASE("convert: many views of one storage count in full", "[jobs]") {
  const TempDir folder;
  std::vector<PickledTensor> tensors;
  for (int i = 0; i < 400; ++i) tensors.push_back(pickled("w" + std::to_string(i), "0", {1 << 20}));
  check_refused(write(folder, "bomb.pt", torch_file(tensors)), ErrorCode::limit, "output size");
}

TEST_CASE("convert: an output that exists is replaced only on request", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file({pickled("w", "0", {2})}));
  const std::string output = folder.write_file("out.safetensors", "older");
  const Error error = refused(input, output);
  check_error(error, ErrorCode::would_overwrite, "output exists");
  CHECK(error.advice.find("--force") != std::string::npos);
  CHECK(read_file(output) == "older");
  ConvertOptions options = quick();
  options.replace = true;
  const ConvertResult result = converted(input, output, options);
  CHECK(result.output_bytes == read_file(output).size());
  CHECK(folder.names() == Names{"in.pt", "out.safetensors"});
}

TEST_CASE("convert: output and input are never the same file", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file({pickled("w", "0", {2})}));
  const std::string content = read_file(input);
  std::filesystem::create_symlink(input, folder.file("link"));
  std::filesystem::create_hard_link(input, folder.file("hard"));
  ConvertOptions options = quick();
  options.replace = true;
  for (const std::string& output :
       {input, folder.path() + "/./in.pt", folder.file("link"), folder.file("hard")}) {
    INFO(output);
    check_error(refused(input, output, options), ErrorCode::would_overwrite, "same file");
  }
  CHECK(read_file(input) == content);
  CHECK(folder.names() == Names{"hard", "in.pt", "link"});
  // A Safetensors file whose default output is the file itself.
  const std::string own = folder.write_file("own.safetensors", s0_file());
  check_error(refused(own, "", options), ErrorCode::would_overwrite, "same file");
}

TEST_CASE("convert: what is no regular file is never replaced", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file({pickled("w", "0", {2})}));
  REQUIRE(mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  ConvertOptions options = quick();
  options.replace = true;
  check_error(refused(input, folder.file("fifo"), options), ErrorCode::would_overwrite, "not a regular file");
}

TEST_CASE("convert: a dry run checks everything and writes nothing", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file({pickled("w", "0", {2})}));
  ConvertOptions options = quick();
  options.dry_run = true;
  const ConvertResult planned = converted(input, folder.file("out.safetensors"), options);
  CHECK(folder.names() == Names{"in.pt"});
  CHECK(planned.written.size() == 1);
  const ConvertResult done = converted(input, folder.file("out.safetensors"));
  CHECK(done.output_bytes == planned.output_bytes);
  CHECK(done.written[0].offset == planned.written[0].offset);
  check_error(refused(input, folder.file("out.safetensors"), options), ErrorCode::would_overwrite,
              "output exists");
  check_error(refused(fixture("good-collision.pt"), folder.file("new"), options), ErrorCode::name_collision,
              "a.b");
}

TEST_CASE("convert: aliases are copied, dropped or refused", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file(tied()));
  ConvertOptions options = quick();
  CHECK(converted(input, folder.file("copy"), options).written.size() == 3);
  CHECK(names_of(folder.file("copy")) == "embed head other ");

  options.shared = SharedPolicy::drop;
  const ConvertResult dropped = converted(input, folder.file("drop"), options);
  CHECK(names_of(folder.file("drop")) == "embed other ");
  CHECK(metadata_of(folder.file("drop")).find("head=embed\n") != std::string::npos);
  REQUIRE(dropped.dropped.size() == 1);
  CHECK(dropped.dropped[0] == std::pair<std::string, std::string>("head", "embed"));

  options.shared = SharedPolicy::fail;
  check_refused(input, ErrorCode::would_lose, "\"head\": shares its bytes with \"embed\"", options);
}

TEST_CASE("convert: an alias is kept if its other name is not chosen", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file(tied()));
  ConvertOptions options = quick();
  options.shared = SharedPolicy::drop;
  options.input.selection.exclude = {"embed"};
  CHECK(converted(input, folder.file("out"), options).dropped.empty());
  CHECK(names_of(folder.file("out")) == "head other ");
}

TEST_CASE("convert: overlapping views are written whole with a note", "[jobs]") {
  const TempDir folder;
  const std::string input = write(folder, "in.pt", torch_file(overlapping()));
  ConvertOptions options = quick();
  options.shared = SharedPolicy::drop;
  const ConvertResult result = converted(input, folder.file("out"), options);
  CHECK(result.written.size() == 2);
  check_note(result.model, ErrorCode::would_lose, "\"b\": overlaps \"a\": written whole");
  options.shared = SharedPolicy::fail;
  check_refused(input, ErrorCode::would_lose, "shares its bytes", options);
}

TEST_CASE("convert: metadata is kept, added and replaced", "[jobs]") {
  const TempDir folder;
  const std::string json =
      padded(R"({"__metadata__":{"b":"1","format":"tf","a":"2"},)" + entry("w", "F32", "2", "0,8") + "}");
  const std::string input = folder.write_file("in.safetensors", header_file(json, std::string(8, 'x')));
  ConvertOptions options = quick();
  converted(input, folder.file("kept"), options);
  CHECK(metadata_of(folder.file("kept")) == "a=2\nb=1\nformat=tf\n");
  options.metadata = {{"b", "new"}, {"z", "added"}};
  converted(input, folder.file("changed"), options);
  CHECK(metadata_of(folder.file("changed")) == "a=2\nb=new\nformat=tf\nz=added\n");
}

TEST_CASE("convert: --skip leaves out what Safetensors cannot hold, and nothing else", "[jobs]") {
  const TempDir folder;
  ConvertOptions options = quick();
  options.skip_unsupported = true;
  const ConvertResult result = converted(fixture("unsupported-dtypes.pt"), folder.file("out"), options);
  CHECK(names_of(folder.file("out")) == "plain ");
  CHECK(result.skipped.size() == 7);
  check_refused(fixture("bad-flipped.pt"), ErrorCode::corrupt, "wrong checksum", options);
  check_refused(fixture("good-collision.pt"), ErrorCode::name_collision, "a.b", options);
  options.input.selection.exclude = {"plain"};
  check_refused(fixture("unsupported-dtypes.pt"), ErrorCode::no_match, "no tensor is left", options);
}

TEST_CASE("convert: an excluded tensor needs no Safetensors form", "[jobs]") {
  const TempDir folder;
  ConvertOptions options = quick();
  options.input.selection.include = {"plain"};
  CHECK(converted(fixture("unsupported-sparse.pt"), folder.file("out"), options).skipped.empty());
}

TEST_CASE("convert: --strict refuses whatever is left out or odd", "[jobs]") {
  const TempDir folder;
  ConvertOptions options = quick();
  options.is_strict = true;
  CHECK(converted(fixture("good-flat.pt"), folder.file("out"), options).written.size() == 6);
  check_refused(fixture("good-demo.pt"), ErrorCode::would_lose, "18 more values that are no tensors",
                options);
  check_refused(fixture("good-no-crc.pt"), ErrorCode::would_lose, "checksums are not recorded", options);
  check_refused(write(folder, "in.pt", torch_file(overlapping())), ErrorCode::would_lose, "independent copy",
                options);
  const std::string outside =
      pickled_dict({"state_dict", "optimizer"}, [](PickleBuilder& builder, const std::string& key) {
        add_dict(builder, {pickled(key == "optimizer" ? "m" : "w", "0", {4})});
      });
  const std::string path = write(folder, "outside.pt", torch_file(outside, {{"0", pattern_bytes(16)}}));
  check_refused(path, ErrorCode::would_lose, "1 tensors outside the root \"state_dict\"", options);
  options.skip_unsupported = true;
  check_refused(fixture("unsupported-dtypes.pt"), ErrorCode::would_lose, "\"complex32\": would be left out",
                options);
}

TEST_CASE("convert: only records that give a byte are checked", "[jobs]") {
  const TempDir folder;
  ZipBuilder archive = torch_file({pickled("w", "0", {4}), pickled("v", "1", {4})});
  archive.record("m/data/1").crc = 0x12345678;
  const std::string input = write(folder, "in.pt", archive);
  ConvertOptions options = quick();
  options.input.selection.include = {"w"};
  CHECK(converted(input, folder.file("out"), options).written.size() == 1);
}

TEST_CASE("convert: a dangerous import may be allowed", "[jobs]") {
  const TempDir folder;
  ConvertOptions options = quick();
  options.input.allow_dangerous = true;
  CHECK(converted(fixture("bad-dangerous-import.pt"), folder.file("out"), options).written.size() == 1);
}

TEST_CASE("convert: a root can be chosen, and / is everything", "[jobs]") {
  const TempDir folder;
  ConvertOptions options = quick();
  options.input.root = "ema";
  CHECK(converted(fixture("good-ambiguous-roots.pt"), folder.file("ema"), options).written.size() == 2);
  CHECK(names_of(folder.file("ema")).find("ema.") == std::string::npos);
  options.input.root = "/";
  converted(fixture("good-ambiguous-roots.pt"), folder.file("all"), options);
  CHECK(names_of(folder.file("all")).find("ema.weight") != std::string::npos);
  options.input.root = "none";
  check_refused(fixture("good-ambiguous-roots.pt"), ErrorCode::no_match, "no root \"none\"", options);
}

TEST_CASE("convert: threads do not change a byte of many kinds of tensors", "[jobs]") {
  const TempDir folder;
  std::vector<PickledTensor> tensors = {
      pickled_view("transposed", "t", 2'000'000, 0, {2000, 1000}, {1, 2000}),
      pickled_view("shifted", "t", 2'000'000, 77, {1'500'000}, {1}), pickled("large", "l", {3'000'000})};
  for (int i = 0; i < 300; ++i)
    tensors.push_back(pickled("small" + std::to_string(i), std::to_string(i), {i % 40}));
  const std::string input = write(folder, "in.pt", torch_file(tensors));
  ConvertOptions options = quick();
  options.input.threads = 1;
  converted(input, folder.file("one"), options);
  options.input.threads = 16;
  converted(input, folder.file("many"), options);
  CHECK((read_file(folder.file("one")) == read_file(folder.file("many"))));
  const auto equal = compare(input, folder.file("many"), {});
  REQUIRE(equal);
  CHECK(equal->differences.empty());
  CHECK(equal->equal == tensors.size());
}

TEST_CASE("convert: tiny tensors do not cost a write each", "[jobs]") {
  const TempDir folder;
  std::vector<PickledTensor> tensors;
  for (int i = 0; i < 2000; ++i)
    tensors.push_back(pickled("t" + std::to_string(10'000 + i), std::to_string(i), {4}));
  const ConvertResult result = converted(write(folder, "in.pt", torch_file(tensors)), folder.file("out"));
  CHECK(result.write.reads < 50);
  CHECK(result.model.phases.data.reads < 50);
}

TEST_CASE("convert: a small tensor behind a hole of 5 GiB needs a few reads", "[jobs]") {
  const TempDir folder;
  const std::vector<PickledTensor> tensors = {pickled("hole", "0", {kHoleBytes / 4}),
                                              pickled("small", "1", {4})};
  ZipBuilder archive = torch_file(p0_pickle(tensors), {{"0", {}}, {"1", pattern_bytes(16)}});
  archive.record("m/data/0").hole_bytes = kHoleBytes;
  archive.record("m/data/0").crc = 0;
  ConvertOptions options = quick();
  options.input.selection.include = {"small"};
  const ConvertResult result = converted(write_sparse(folder, "in.pt", archive), folder.file("out"), options);
  CHECK(result.model.phases.data.bytes == 16);
  const auto expected = pattern_bytes(16);
  CHECK(read_file(folder.file("out")).substr(result.written.at(0).offset) == as_text(expected));
}

TEST_CASE("convert: a small tensor behind 5 GiB of Safetensors needs a few reads", "[jobs]") {
  const TempDir folder;
  const std::string end = std::to_string(kHoleBytes);
  const std::string json =
      padded("{" + entry("hole", "F32", std::to_string(kHoleBytes / 4), "0," + end) + "," +
             entry("small", "F32", "2", end + "," + std::to_string(kHoleBytes + 8)) + "}");
  const std::string input = folder.write_file("in.safetensors", header_file(json, ""));
  std::filesystem::resize_file(input, 8 + json.size() + kHoleBytes);
  std::ofstream(input, std::ios::binary | std::ios::app) << "\1\2\3\4\5\6\7\x08";
  ConvertOptions options = quick();
  options.input.selection.include = {"small"};
  const ConvertResult result = converted(input, folder.file("out"), options);
  CHECK(result.model.phases.data.bytes == 8);
  CHECK(read_file(folder.file("out")).substr(result.written.at(0).offset) == "\1\2\3\4\5\6\7\x08");
}

}  // namespace ckpt::test
