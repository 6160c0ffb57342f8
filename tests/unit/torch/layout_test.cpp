#include "ckpt/torch/layout.h"

#include "support/model_checks.h"
#include "support/zip_checks.h"

namespace ckpt::torch {
namespace {

using namespace ckpt::test;

/// The layout of an archive of empty records with these names.
Result<Layout> layout_of(const std::vector<std::string>& names) {
  ZipBuilder builder;
  for (const std::string& name : names) builder.add(name, "");
  return find_layout(read_directory(builder.build_source()));
}

Layout good(const std::vector<std::string>& names) {
  auto layout = layout_of(names);
  if (!layout) FAIL(error_line(layout.error()));
  return *std::move(layout);
}

void check_refused(const std::vector<std::string>& names, ErrorCode code, std::string_view part) {
  const auto layout = layout_of(names);
  REQUIRE_FALSE(layout);
  check_error(layout.error(), code, part);
}

}  // namespace

TEST_CASE("layout: the root folder is that of data.pkl", "[torch]") {
  const Layout layout = good({"my model.v1/data.pkl", "my model.v1/version", "my model.v1/data/0"});
  CHECK(layout.root_folder == "my model.v1/");
  CHECK(layout.kind == ArchiveKind::torch_save);
  CHECK(layout.findings.empty());
}

TEST_CASE("layout: folder entries and the order of records do not matter", "[torch]") {
  CHECK(good({"m/", "m/data/", "m/data/0", "m/version", "m/data.pkl"}).findings.empty());
}

TEST_CASE("layout: constants.pkl makes it TorchScript", "[torch]") {
  CHECK(good({"m/data.pkl", "m/constants.pkl"}).kind == ArchiveKind::torchscript);
  CHECK(good({"m/data.pkl", "n/constants.pkl"}).kind == ArchiveKind::torch_save);
}

TEST_CASE("layout: no root folder, or one of two folders, is corrupt but listed", "[torch]") {
  const Layout none = good({"data.pkl", "version", "data/0"});
  CHECK(none.root_folder.empty());
  check_only_finding(none.findings, ErrorCode::corrupt, "data.pkl is not inside a root folder");
  const Layout deep = good({"a/b/data.pkl", "a/b/version"});
  CHECK(deep.root_folder == "a/b/");
  check_only_finding(deep.findings, ErrorCode::corrupt, "\"a/b/\" is more than one folder deep");
}

TEST_CASE("layout: two folders with a data.pkl are ambiguous, in either order", "[torch]") {
  check_refused({"a/data.pkl", "a/data/0", "b/data.pkl", "b/data/0"}, ErrorCode::ambiguous,
                "2 folders hold data.pkl, among them \"a/\" and \"b/\"");
  check_refused({"b/data.pkl", "a/data.pkl"}, ErrorCode::ambiguous, "\"b/\" and \"a/\"");
  check_refused({"data.pkl", "m/data.pkl"}, ErrorCode::ambiguous, "\"\" and \"m/\"");
}

TEST_CASE("layout: resource forks of macOS are no roots", "[torch]") {
  const Layout layout = good({"m/data.pkl", "__MACOSX/m/data.pkl", "__MACOSX/m/._data.pkl", "m/version"});
  CHECK(layout.root_folder == "m/");
  CHECK(layout.findings.empty());
}

TEST_CASE("layout: a first record outside the root is a note, because torch refuses it", "[torch]") {
  const Layout layout = good({"__MACOSX/m/._data.pkl", "m/data.pkl"});
  REQUIRE(layout.findings.size() == 1);
  CHECK(has_finding(layout.findings, ErrorCode::ambiguous, "torch refuses that", Severity::note));
}

TEST_CASE("layout: an archive without data.pkl is named", "[torch]") {
  check_refused({"m/model.json", "m/tensors/0"}, ErrorCode::unsupported, "2018-2019 layout");
  check_refused({"m/archive_format", "m/models/model.json2"}, ErrorCode::unsupported, "an exported program");
  check_refused({"serialized_exported_program.json", "version"}, ErrorCode::unsupported,
                "an exported program");
  check_refused({"p/.data/extern_modules", "p/.data/version", "p/.data/ts_code/0/data.pkl"},
                ErrorCode::unsupported, "a torch.package archive");
  check_refused({"arr_0.npy"}, ErrorCode::unknown_format, "NumPy .npz");
  check_refused({"notes.txt", "folder/model.pt"}, ErrorCode::unsupported,
                "this ZIP holds a checkpoint, \"folder/model.pt\"");
  check_refused({"model.safetensors"}, ErrorCode::unsupported, "\"model.safetensors\"");
  check_refused({"a.txt", "b.txt"}, ErrorCode::unknown_format, "a ZIP archive of 2 records without data.pkl");
  check_refused({"m/xdata.pkl"}, ErrorCode::unknown_format, "without data.pkl");
}

}  // namespace ckpt::torch
