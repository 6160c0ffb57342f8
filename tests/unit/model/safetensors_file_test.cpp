#include "ckpt/model/open.h"
#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {

TEST_CASE("safetensors_file: Safetensors wins over an archive at its end", "[model]") {
  const TempDir folder;
  const std::vector<std::byte> zip = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}}).build();
  const std::string size = std::to_string(zip.size());
  const std::string json = padded("{" + entry("z", "U8", size, "0," + size) + "}");
  const Model inside = opened(folder.write_file("a", header_file(json, as_text(zip))));
  CHECK(inside.files[0].format == Format::safetensors);
  CHECK(tensor_names(inside) == "z");
  const Model behind = opened(folder.write_file("b", s0_file() + std::string(as_text(zip))));
  CHECK(behind.files[0].format == Format::safetensors);
  check_defect(behind, ErrorCode::corrupt, size);
}

TEST_CASE("safetensors_file: Safetensors tensors behind the end of the file are unreadable", "[model]") {
  const TempDir folder;
  const Model model = opened(folder.write_file("cut", s0_file().substr(0, s0_file().size() - 4)));
  CHECK(tensor_of(model, "a").kind == TensorKind::plain);
  CHECK(tensor_of(model, "b").kind == TensorKind::unreadable);
  CHECK(model.findings.at(0).what.code == ErrorCode::truncated);
}

TEST_CASE("safetensors_file: packed Safetensors types are counted in bytes", "[model]") {
  const TempDir folder;
  const Model model = opened(
      folder.write_file("f4", header_file(padded("{" + entry("q", "F4", "2,4", "0,4") + "}"), "abcd")));
  check_no_findings(model);
  CHECK(model.tensors[0].shape == Dims{2, 4});
  CHECK(model.tensors[0].elements == 8);
  CHECK(model.tensors[0].view.dims == Dims{4});
}

TEST_CASE(
    "safetensors_file: an asked root in a format without roots is no-match, unless that is to be overlooked",
    "[model]") {
  const TempDir folder;
  const std::string path = folder.write_file("a", s0_file());
  check_error(open_error(path, with_root("model")), ErrorCode::no_match, "no root \"model\", only \"/\"");
  OpenOptions options = with_root("model");
  options.ignores_root_without_roots = true;
  CHECK(tensor_names(opened(path, options)) == "a b");
  CHECK(tensor_names(opened(path, with_root("/"))) == "a b");
}

}  // namespace ckpt::test
