#include "ckpt/model/storage_table.h"

#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

Model model_of(const ZipBuilder& archive) {
  const TempDir folder;
  return opened(write(folder, "m.pt", archive));
}

/// The baseline; its storage has `bytes` bytes instead of 16.
Model with_record_of(std::size_t bytes) {
  return model_of(torch_file(p0_pickle(), {{"0", pattern_bytes(bytes)}}));
}

}  // namespace

TEST_CASE("storage_table: a storage that is not in the archive is corrupt, and named", "[model]") {
  PickledTensor tensor;
  tensor.key = "7";
  const Model model = model_of(torch_file(p0_pickle(tensor), {{"0", pattern_bytes(16)}}));
  check_defect(model, ErrorCode::corrupt, "tensor \"w\": storage \"m/data/7\" is not in the archive");
  CHECK(tensor_of(model, "w").kind == TensorKind::unreadable);
}

TEST_CASE("storage_table: a missing storage without bytes is no loss", "[model]") {
  PickledTensor tensor = pickled("w", "7", {0});
  CHECK(tensor_of(model_of(torch_file(p0_pickle(tensor), {})), "w").bytes == 0);
}

TEST_CASE("storage_table: a short record is short-file with both numbers, and half of it a hint", "[model]") {
  const Model model = with_record_of(8);
  INFO(findings_text(model.findings));
  CHECK(finds(model.findings, Severity::error, ErrorCode::short_file,
              "tensor \"w\": its storage needs 16 bytes, record has 8; exactly half, may be 16-bit data"));
  CHECK(tensor_of(model, "w").kind == TensorKind::unreadable);
  CHECK(finds(with_record_of(15).findings, Severity::error, ErrorCode::short_file,
              "needs 16 bytes, record has 15"));
}

TEST_CASE("storage_table: what lies inside a short record is still readable", "[model]") {
  const std::vector<PickledTensor> tensors = {pickled_view("a", "0", 8, 0, {2}, {1}),
                                              pickled_view("b", "0", 8, 6, {2}, {1})};
  const Model model = model_of(torch_file(p0_pickle(tensors), {{"0", pattern_bytes(16)}}));
  CHECK(tensor_of(model, "a").kind == TensorKind::plain);
  CHECK(tensor_of(model, "b").kind == TensorKind::unreadable);
}

TEST_CASE("storage_table: a record less than one element too long is a note, more is corrupt", "[model]") {
  for (const std::size_t bytes : {17U, 18U, 19U}) {
    const Model model = with_record_of(bytes);
    check_note(model, ErrorCode::corrupt, "needs 16 bytes, record has " + std::to_string(bytes));
    CHECK(model.storages[0].bytes == 16);
  }
  check_defect(with_record_of(20), ErrorCode::corrupt, "needs 16 bytes, record has 20");
  check_defect(with_record_of(1 << 20), ErrorCode::corrupt, "needs 16 bytes, record has 1048576");
}

TEST_CASE("storage_table: one key with two classes or two sizes is corrupt, once", "[model]") {
  PickledTensor second = pickled("v", "0", {2}, "LongStorage");
  check_defect(model_of(torch_file(p0_pickle({PickledTensor(), second}), {{"0", pattern_bytes(16)}})),
               ErrorCode::corrupt, "storage \"0\" is used as F32 and as I64");
  PickledTensor longer = pickled("v", "0", {8});
  PickledTensor again = pickled("u", "0", {8});
  const Model model =
      model_of(torch_file(p0_pickle({PickledTensor(), longer, again}), {{"0", pattern_bytes(16)}}));
  const std::string text = findings_text(model.findings);
  const std::size_t place = text.find("storage \"0\" is said to have 16 bytes and 32 bytes");
  INFO(text);
  REQUIRE(place != std::string::npos);
  CHECK(text.find("is said to have", place + 20) == std::string::npos);
}

TEST_CASE("storage_table: an unknown class makes one tensor unreadable, not the file", "[model]") {
  PickledTensor strange = pickled("w", "0", {4}, "StringStorage");
  const Model model = model_of(torch_file(p0_pickle({strange, pickled("v", "1", {4})}),
                                          {{"0", pattern_bytes(16)}, {"1", pattern_bytes(16)}}));
  check_defect(model, ErrorCode::unsupported, "storage class \"StringStorage\" is not known");
  CHECK(tensor_of(model, "w").kind == TensorKind::unreadable);
  CHECK(tensor_of(model, "v").kind == TensorKind::plain);
}

}  // namespace ckpt::test
