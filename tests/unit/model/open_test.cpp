#include "ckpt/model/open.h"

#include <filesystem>

#include "support/header_builder.h"
#include "support/model_checks.h"
#include "support/torch_file.h"

/// Whole files, right and wrong, opened as the program does.
namespace ckpt::test {
namespace {

using namespace std::string_view_literals;

Model model_of(const ZipBuilder& archive, const OpenOptions& options = {}) {
  const TempDir folder;
  return opened(write(folder, "m.pt", archive), options);
}

Error error_of(const ZipBuilder& archive, const OpenOptions& options = {}) {
  const TempDir folder;
  return open_error(write(folder, "m.pt", archive), options);
}

/// The baseline with its tensor changed; the storage `0` has `bytes` bytes.
Model with_tensor(const PickledTensor& tensor, std::size_t bytes = 16) {
  return model_of(torch_file(p0_pickle(tensor), {{"0", pattern_bytes(bytes)}}));
}

PickledTensor with_numel(std::int64_t numel) {
  PickledTensor tensor;
  tensor.numel = numel;
  return tensor;
}

PickledTensor with_view(std::int64_t offset, std::vector<std::int64_t> size,
                        std::vector<std::int64_t> stride) {
  return pickled_view("w", "0", 4, offset, std::move(size), std::move(stride));
}

void check_unreadable(const Model& model, ErrorCode code, std::string_view part) {
  check_defect(model, code, part);
  CHECK(tensor_of(model, "w").kind == TensorKind::unreadable);
}

/// One tensor of torch.storage.UntypedStorage with a dtype of its own.
ZipBuilder untyped(std::string_view dtype, std::int64_t numel, std::int64_t size) {
  PickleBuilder builder;
  builder.proto(2).empty_dict().binunicode("w").global("torch._utils", "_rebuild_tensor_v3").mark();
  builder.mark()
      .binunicode("storage")
      .global("torch.storage", "UntypedStorage")
      .binunicode("0")
      .binunicode("cpu");
  builder.integer(numel)
      .tuple()
      .binpersid()
      .binint1(0)
      .integer(size)
      .tuple1()
      .binint1(1)
      .tuple1()
      .newfalse()
      .none();
  builder.global("torch", dtype).tuple().reduce().setitem().stop();
  return torch_file(builder.bytes(), {{"0", pattern_bytes(static_cast<std::size_t>(numel))}});
}

}  // namespace

TEST_CASE("open: the baseline gives its tensor, storage and record", "[model]") {
  const Model model = model_of(torch_file(p0_pickle(), {{"0", pattern_bytes(16)}}));
  check_no_findings(model);
  const Tensor& w = tensor_of(model, "w");
  CHECK(w.dtype == Dtype::f32);
  CHECK(w.shape == Dims{2, 2});
  CHECK(w.elements == 4);
  CHECK(w.bytes == 16);
  CHECK(w.is_contiguous);
  CHECK(w.has_plain_data());
  const Storage& storage = model.storages.at(w.storage);
  CHECK(storage.key == "0");
  CHECK(storage.offset % 64 == 0);
  CHECK(model.records.at(storage.record).name == "m/data/0");
  CHECK(model.files[0].format == Format::torch_zip);
  CHECK(model.unused_bytes == 0);
}

TEST_CASE("open: the dialect of the real writer is read", "[model]") {
  const std::vector<PickledTensor> tensors = {pickled("a.weight", "0", {2, 3}), pickled("a.bias", "1", {2})};
  const Model model =
      model_of(torch_file(state_dict_pickle(tensors), {{"0", pattern_bytes(24)}, {"1", pattern_bytes(8)}}));
  check_no_findings(model);
  CHECK(tensor_names(model) == "a.weight a.bias");
}

TEST_CASE("open: an archive that was put together by another program is read", "[model]") {
  ZipBuilder plain(ZipBuilder::Style::plain);
  plain.add("m/", "").add("m/data/", "").add("m/data/0", pattern_bytes(16)).add("m/version", "3\n");
  plain.add_deflated("m/data.pkl", p0_pickle());
  const Model model = model_of(plain);
  check_no_findings(model);
  CHECK(tensor_of(model, "w").bytes == 16);
}

TEST_CASE("open: a negative or huge number of elements is corrupt", "[model]") {
  check_unreadable(with_tensor(with_numel(-1)), ErrorCode::corrupt, "storage has -1 elements");
  check_unreadable(with_tensor(with_numel(-(std::int64_t{1} << 62))), ErrorCode::corrupt,
                   "storage has -4611686018427387904 elements");
  check_unreadable(with_tensor(with_numel(std::int64_t{1} << 62)), ErrorCode::corrupt,
                   "does not fit 64 bits");
}

TEST_CASE("open: a view that leaves its storage is corrupt with both numbers", "[model]") {
  check_unreadable(with_tensor(with_view(1, {2, 2}, {2, 1})), ErrorCode::corrupt,
                   "needs its storage up to byte 20, storage has 16 bytes");
  check_unreadable(with_tensor(with_view(4, {1}, {1})), ErrorCode::corrupt, "up to byte 20");
  check_unreadable(with_tensor(with_view(0, {2}, {4})), ErrorCode::corrupt, "up to byte 20");
  check_unreadable(with_tensor(with_view(std::int64_t{1} << 60, {2}, {1})), ErrorCode::corrupt,
                   "storage has 16 bytes");
  check_unreadable(with_tensor(with_view(std::int64_t{1} << 62, {2}, {1})), ErrorCode::corrupt,
                   "storage offset 4611686018427387904 does not fit 64 bits");
  check_unreadable(with_tensor(with_view(0, {2}, {INT64_MAX})), ErrorCode::corrupt, "a number above 64 bits");
  check_unreadable(with_tensor(with_view(-1, {2}, {1})), ErrorCode::corrupt, "storage offset -1 is negative");
}

TEST_CASE("open: a view that ends with its storage is fine", "[model]") {
  CHECK(tensor_of(with_tensor(with_view(3, {1}, {1})), "w").bytes == 4);
  CHECK(tensor_of(with_tensor(with_view(0, {2, 2}, {1, 2})), "w").bytes == 16);
  CHECK(tensor_of(with_tensor(with_view(3, {1, 1}, {1000, 1000})), "w").is_contiguous);
  const Model model = with_tensor(with_view(99, {0, 7}, {1, 1}));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").elements == 0);
}

TEST_CASE("open: sizes that are negative or overflow are corrupt", "[model]") {
  check_unreadable(with_tensor(with_view(0, {-1, 2}, {2, 1})), ErrorCode::corrupt, "size -1 is negative");
  check_unreadable(with_tensor(with_view(0, {std::int64_t{1} << 32, std::int64_t{1} << 32}, {0, 0})),
                   ErrorCode::corrupt, "product of its dimensions does not fit 64 bits");
  check_no_findings(with_tensor(with_view(0, {0, INT64_MAX}, {1, 1})));
}

TEST_CASE("open: the rank has a limit", "[model]") {
  check_no_findings(
      with_tensor(with_view(0, std::vector<std::int64_t>(64, 1), std::vector<std::int64_t>(64, 1))));
  check_unreadable(
      with_tensor(with_view(0, std::vector<std::int64_t>(65, 1), std::vector<std::int64_t>(65, 1))),
      ErrorCode::limit, "has 65 dimensions, the limit is 64 (rank)");
  check_unreadable(
      with_tensor(with_view(0, std::vector<std::int64_t>(100'000, 1), std::vector<std::int64_t>(100'000, 1))),
      ErrorCode::limit, "has 100000 dimensions");
}

TEST_CASE("open: as many strides as dimensions, or none", "[model]") {
  check_unreadable(with_tensor(with_view(0, {2, 2}, {1})), ErrorCode::corrupt,
                   "has 2 dimensions but 1 strides");
  const Model model = with_tensor(with_view(0, {2, 2}, {}));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").view.stride == Dims{2, 1});
}

TEST_CASE("open: an expanded tensor is listed, however large it claims to be", "[model]") {
  const std::int64_t side = 1 << 21;
  const Model model = with_tensor(with_view(0, {side, side}, {0, 0}));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").is_expanded);
  CHECK(tensor_of(model, "w").bytes == 4ULL << 42U);
}

TEST_CASE("open: untyped storages take the tensor's dtype", "[model]") {
  const Model model = model_of(untyped("uint16", 8, 4));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").dtype == Dtype::u16);
  CHECK(tensor_of(model, "w").bytes == 8);
  check_unreadable(model_of(untyped("uint16", 7, 4)), ErrorCode::corrupt,
                   "up to byte 8, storage has 7 bytes");
}

TEST_CASE("open: a dtype that is not known makes the tensor unreadable", "[model]") {
  check_unreadable(model_of(untyped("uint3", 8, 8)), ErrorCode::unsupported,
                   "dtype torch.uint3 is not known");
}

TEST_CASE("open: two values a byte double the last dimension", "[model]") {
  const Model model = model_of(untyped("float4_e2m1fn_x2", 6, 6));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").dtype == Dtype::f4);
  CHECK(tensor_of(model, "w").shape == Dims{12});
  CHECK(tensor_of(model, "w").bytes == 6);
}

TEST_CASE("open: known dtypes without a Safetensors form are listed", "[model]") {
  for (const char* dtype : {"complex32", "complex128", "bits8", "bits16"}) {
    const Model model = model_of(untyped(dtype, 64, 4));
    check_no_findings(model);
    CHECK(dtype_word(tensor_of(model, "w").dtype) == dtype);
  }
}

TEST_CASE("open: calls with the wrong number of values are corrupt and named", "[model]") {
  PickleBuilder builder;
  builder.proto(2)
      .empty_dict()
      .binunicode("w")
      .global("torch._utils", "_rebuild_tensor_v2")
      .binint1(1)
      .binint1(2)
      .tuple2();
  builder.reduce().setitem().stop();
  check_unreadable(model_of(torch_file(builder.bytes(), {})), ErrorCode::corrupt,
                   "\"w\": _rebuild_tensor_v2 takes 6 or 7 values, got 2");
}

TEST_CASE("open: a location does not matter, except meta", "[model]") {
  PickledTensor tensor;
  tensor.location = "cuda:9999";
  check_no_findings(with_tensor(tensor));
  tensor.location = "meta";
  const Model meta = model_of(torch_file(p0_pickle(tensor), {}));
  check_no_findings(meta);
  CHECK(tensor_of(meta, "w").kind == TensorKind::meta);
}

TEST_CASE("open: a byte order or version that is none is corrupt", "[model]") {
  ZipBuilder archive;
  archive.add("m/data.pkl", p0_pickle())
      .add("m/byteorder", "middle")
      .add("m/data/0", pattern_bytes(16))
      .add("m/version", "x");
  const Model model = model_of(archive);
  CHECK(finds(model.findings, Severity::error, ErrorCode::corrupt, "m/byteorder: byte order is \"middle\""));
  CHECK(finds(model.findings, Severity::error, ErrorCode::corrupt, "m/version: archive version is \"x\""));
  ZipBuilder newer;
  newer.add("m/data.pkl", p0_pickle()).add("m/data/0", pattern_bytes(16)).add("m/version", "11");
  check_error(error_of(newer), ErrorCode::unsupported,
              "m/version: archive version is 11, the newest known is 10");
}

TEST_CASE("open: names are kept byte for byte", "[model]") {
  std::vector<PickledTensor> tensors;
  const std::vector<std::string> names = {"",
                                          " ",
                                          "a/b",
                                          "..",
                                          "tab\tquote\"",
                                          "e\xcc\x81",
                                          "\xc3\xa9",
                                          "\xf0\x9f\x98\x80",
                                          std::string("nul\0!", 5),
                                          "\x1b[31m",
                                          std::string(64 << 10, 'n')};
  for (const std::string& name : names) tensors.push_back(pickled(name, "0", {4}));
  const Model model = model_of(torch_file(tensors));
  REQUIRE(model.tensors.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(model.tensors[i].name == names[i]);
}

TEST_CASE("open: a name above 64 KiB is a limit", "[model]") {
  check_error(error_of(torch_file({pickled(std::string((64 << 10) + 1, 'n'), "0", {4})})), ErrorCode::limit,
              "name length");
}

TEST_CASE("open: the same key twice, and names that meet, are both listed", "[model]") {
  CHECK(tensor_names(model_of(torch_file({pickled("w", "0", {4}), pickled("w", "1", {4})}))) == "w w");
  PickleBuilder builder;
  builder.proto(2).empty_dict().integer(0);
  add_tensor(builder, pickled("", "0", {4}));
  builder.setitem().binunicode("0");
  add_tensor(builder, pickled("", "0", {4}));
  builder.setitem().stop();
  CHECK(tensor_names(model_of(torch_file(builder.bytes(), {{"0", pattern_bytes(16)}}))) == "0 0");
}

TEST_CASE("open: a bare tensor is called tensor, a bare storage is one dimension", "[model]") {
  PickleBuilder bare;
  bare.proto(2);
  add_tensor(bare, PickledTensor());
  bare.stop();
  const Model tensor = model_of(torch_file(bare.bytes(), {{"0", pattern_bytes(16)}}));
  check_no_findings(tensor);
  CHECK(tensor_names(tensor) == "tensor");
  PickleBuilder id;
  id.proto(2)
      .mark()
      .binunicode("storage")
      .global("torch", "HalfStorage")
      .binunicode("0")
      .binunicode("cpu")
      .binint1(5)
      .tuple();
  id.binpersid().stop();
  const Model storage = model_of(torch_file(id.bytes(), {{"0", pattern_bytes(10)}}));
  check_no_findings(storage);
  CHECK(tensor_names(storage) == "tensor");
  CHECK(storage.tensors[0].shape == Dims{5});
  CHECK(storage.tensors[0].dtype == Dtype::f16);
}

TEST_CASE("open: protocol 0 writes its storages as text", "[model]") {
  PickleBuilder builder;
  builder.mark().dict().unicode("w").global("torch._utils", "_rebuild_tensor_v2").mark();
  builder.persid("('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)")
      .int_("0")
      .mark()
      .int_("4")
      .tuple();
  builder.mark().int_("1").tuple().int_("00").none().tuple().reduce().setitem().stop();
  const Model model = model_of(torch_file(builder.bytes(), {{"0", pattern_bytes(16)}}));
  check_no_findings(model);
  CHECK(tensor_of(model, "w").bytes == 16);
}

TEST_CASE("open: a pickle without tensors is listed", "[model]") {
  check_no_findings(model_of(torch_file(PickleBuilder().proto(2).empty_dict().stop().bytes(), {})));
  const Model number = model_of(torch_file(PickleBuilder().proto(2).binint1(5).stop().bytes(), {}));
  CHECK(number.tensors.empty());
  REQUIRE(number.others.size() == 1);
  CHECK(number.others[0].kind == "int");
  CHECK(number.others[0].value == "5");
}

TEST_CASE("open: values that are no tensors are described", "[model]") {
  PickleBuilder builder;
  builder.proto(2).empty_dict().mark();
  builder.binunicode("none").none().binunicode("yes").newtrue().binunicode("real").binfloat(0.5);
  builder.binunicode("text").binunicode(std::string(200, 't')).binunicode("bytes").short_binbytes("abc");
  builder.binunicode("class")
      .global("my", "Class")
      .binunicode("call")
      .global("my", "function")
      .empty_tuple()
      .reduce();
  builder.setitems().stop();
  const Model model = model_of(torch_file(builder.bytes(), {}));
  std::string text;
  for (const Other& other : model.others) text += other.path + ": " + other.kind + " " + other.value + "\n";
  CHECK(text == "none: none \nyes: bool True\nreal: float 0.5\ntext: str " + std::string(80, 't') +
                    "...\nbytes: bytes 3 bytes\nclass: class or function my.Class\ncall: my.function \n");
}

TEST_CASE("open: an archive inside a storage is tensor data", "[model]") {
  ZipBuilder inner = torch_file(
      PickleBuilder().proto(2).global("os", "system").binunicode("x").tuple1().reduce().stop().bytes(), {});
  const std::vector<std::byte> data = inner.build();
  const auto numel = static_cast<std::int64_t>(data.size());
  const Model model =
      model_of(torch_file(p0_pickle(pickled("w", "0", {numel}, "ByteStorage")), {{"0", data}}));
  check_no_findings(model);
  for (const ImportedName& import : model.imports) CHECK(import.level != ImportLevel::dangerous);
}

TEST_CASE("open: two roots are ambiguous, in either order", "[model]") {
  for (const bool swap : {false, true}) {
    ZipBuilder archive;
    for (const char* root : {swap ? "b" : "a", swap ? "a" : "b"}) {
      archive.add(std::string(root) + "/data.pkl", p0_pickle())
          .add(std::string(root) + "/data/0", pattern_bytes(16));
    }
    check_error(error_of(archive), ErrorCode::ambiguous, "2 folders hold data.pkl");
  }
}

TEST_CASE("open: no root folder is corrupt, and listed all the same", "[model]") {
  ZipBuilder archive;
  archive.add("data.pkl", p0_pickle()).add("data/0", pattern_bytes(16)).add("version", "3\n");
  const Model model = model_of(archive);
  check_defect(model, ErrorCode::corrupt, "data.pkl is not inside a root folder");
  CHECK(tensor_of(model, "w").kind == TensorKind::plain);
}

TEST_CASE("open: resource forks are left alone", "[model]") {
  ZipBuilder archive = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  archive.add("__MACOSX/m/._data.pkl", "x").add("__MACOSX/m/data.pkl", "y");
  check_no_findings(model_of(archive));
}

TEST_CASE("open: a ZIP in a ZIP is unsupported, and named", "[model]") {
  ZipBuilder outer(ZipBuilder::Style::plain);
  outer.add("weights/model.pt", torch_file(p0_pickle(), {}).build());
  check_error(error_of(outer), ErrorCode::unsupported, "this ZIP holds a checkpoint, \"weights/model.pt\"");
}

TEST_CASE("open: an archive with constants is TorchScript", "[model]") {
  ZipBuilder archive = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  archive.add("m/constants.pkl", "\x80\x02).").add("m/code/__torch__.py", "class M: pass\n");
  const Model model = model_of(archive);
  check_no_findings(model);
  CHECK(model.files[0].format == Format::torchscript);
  CHECK(tensor_of(model, "w").bytes == 16);
}

TEST_CASE("open: content decides, not the name", "[model]") {
  const TempDir folder;
  CHECK(opened(write(folder, "x.safetensors", torch_file(p0_pickle(), {{"0", pattern_bytes(16)}})))
            .files[0]
            .format == Format::torch_zip);
  CHECK(opened(folder.write_file("x.pt", s0_file())).files[0].format == Format::safetensors);
}

TEST_CASE("open: bytes in front of an archive or behind it are corrupt", "[model]") {
  const TempDir folder;
  ZipBuilder archive = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  const std::vector<std::byte> bytes = archive.build();
  const std::string zip(as_text(bytes));
  const Model behind = opened(folder.write_file("a", zip + "TRAILING"));
  CHECK(finds(behind.findings, Severity::error, ErrorCode::corrupt, "8"));
  CHECK(tensor_names(behind) == "w");
  check_error(open_error(folder.write_file("b", std::string("\x7f"
                                                            "ELF") +
                                                    std::string(60, '\0') + zip)),
              ErrorCode::unknown_format, "an ELF program");
}

TEST_CASE("open: paths that are no file say why", "[model]") {
  const TempDir folder;
  check_error(open_error(folder.file("none")), ErrorCode::not_found, "none");
  check_error(open_error(folder.path()), ErrorCode::unsupported, "is a folder");
  check_error(open_error(folder.write_file("empty", "")), ErrorCode::unknown_format, "file is empty");
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  check_error(open_error(folder.file("dangling")), ErrorCode::not_found, "dangling");
  check_error(open_error("/dev/null"), ErrorCode::io, "/dev/null");
}

TEST_CASE("open: every prefix of an archive fails cleanly or is listed with findings", "[model]") {
  const TempDir folder;
  ZipBuilder archive = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  const std::vector<std::byte> bytes = archive.build();
  const std::string zip(as_text(bytes));
  for (std::size_t length = 0; length < zip.size(); length += 7) {
    const auto model = open_model(folder.write_file("cut", zip.substr(0, length)), {});
    INFO("the first " << length << " bytes");
    CHECK((!model || !model->findings.empty()));
  }
}

TEST_CASE("open: one flipped byte never breaks the reader", "[model]") {
  const TempDir folder;
  ZipBuilder archive = torch_file(p0_pickle(), {{"0", pattern_bytes(16)}});
  const std::vector<std::byte> bytes = archive.build();
  std::string zip(as_text(bytes));
  for (std::size_t at = 0; at < zip.size(); at += 3) {
    zip[at] = static_cast<char>(~zip[at]);
    const auto model = open_model(folder.write_file("flipped", zip), {});
    if (model) CHECK(model->tensors.size() <= 2);
    zip[at] = static_cast<char>(~zip[at]);
  }
}

}  // namespace ckpt::test
