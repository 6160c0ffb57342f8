#include "ckpt/model/sniff.h"

#include "ckpt/io/byte_reader.h"
#include "support/header_builder.h"
#include "support/model_checks.h"

namespace ckpt::test {
namespace {

using namespace std::string_view_literals;

Result<Container> sniffed(std::string_view content) { return sniff(source_of(content)); }

void check_unknown(std::string_view content, std::string_view part) {
  const auto container = sniffed(content);
  REQUIRE_FALSE(container);
  check_error(container.error(), ErrorCode::unknown_format, part);
}

std::string long_text(std::string_view start) { return std::string(start) + std::string(600, ' '); }

}  // namespace

TEST_CASE("sniff: archives and Safetensors are told by their bytes", "[model]") {
  CHECK(sniffed("PK\x03\x04 and so on") == Container::zip);
  CHECK(sniffed("PK\x05\x06"sv) == Container::zip);
  CHECK(sniffed(s0_file()) == Container::safetensors);
  CHECK(sniffed(header_file("{}", "")) == Container::safetensors);
}

TEST_CASE("sniff: a Safetensors file that was cut is still one", "[model]") {
  CHECK(sniffed(s0_file().substr(0, 40)) == Container::safetensors);
}

TEST_CASE("sniff: an empty file and files of a few bytes are said to be so", "[model]") {
  check_unknown("", "file is empty");
  for (std::size_t bytes = 1; bytes < 8; ++bytes) {
    check_unknown(std::string(bytes, '\x80'),
                  "only " + std::to_string(bytes) + " bytes, too short for any known format");
  }
}

TEST_CASE("sniff: a Git LFS pointer is named with the size of the file it stands for", "[model]") {
  const auto container =
      sniffed("version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
              "\nsize 4976698672\n");
  REQUIRE_FALSE(container);
  check_error(container.error(), ErrorCode::unknown_format,
              "Git LFS pointer, not the model; the real file has 4976698672 bytes");
  CHECK(container.error().advice == "git lfs pull");
  check_unknown("version https://git-lfs.github.com/spec/v1\nsize x\x1b[0m\n",
                "the real file has unknown bytes");
  check_unknown("version https://git-lfs.github.com/spec/v1\n", "unknown bytes");
}

TEST_CASE("sniff: other formats are named", "[model]") {
  check_unknown(long_text("GGUF\x03"), "a GGUF file");
  check_unknown(long_text("\x89HDF\r\n\x1a\n"), "an HDF5 file");
  check_unknown(long_text("\x93NUMPY\x01"), "a NumPy array file");
  check_unknown(long_text("\x1f\x8b\x08"), "gzip-compressed data");
  check_unknown(long_text("\xfd\x37zXZ\0"sv), "xz-compressed data");
  check_unknown(long_text("\x28\xb5\x2f\xfd"), "zstd-compressed data");
  check_unknown(long_text("7z\xbc\xaf\x27\x1c"), "a 7z archive");
  check_unknown(long_text("\x89PNG\r\n\x1a\n"), "a PNG image");
  check_unknown(long_text("\x7f"
                          "ELF"),
                "an ELF program");
  check_unknown(long_text("\x08\x07\x12\x07pytorch"), "an ONNX model");
  check_unknown(long_text("<!DOCTYPE html>"), "a web page (HTML)");
  check_unknown(long_text("\n  <HTML>"), "a web page (HTML)");
  check_unknown(long_text("\xef\xbb\xbf<?xml version=\"1.0\"?><Error>"), "an XML document");
  check_unknown(long_text("{\"error\": \"Not found\"}"), "JSON text");
  check_unknown("plain words here", "starts with the bytes 706c61696e20776f");
}

TEST_CASE("sniff: checkpoint formats that are not read are unsupported", "[model]") {
  const auto check_unsupported = [](std::string_view content, std::string_view part) {
    const auto container = sniffed(content);
    REQUIRE_FALSE(container);
    check_error(container.error(), ErrorCode::unsupported, part);
  };
  check_unsupported("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e\x80\x02",
                    "a legacy torch.save stream");
  check_unsupported("\x80\x04\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e\x80\x02",
                    "a legacy torch.save stream");
  check_unsupported("L119547037146038801333356L\n.", "a legacy torch.save stream");
  check_unsupported("\x80\x02}q\x00X\x01\x00\x00"sv, "a bare pickle");
  check_unsupported("PYTORCH1....", "torch 1.0 preview");
  check_unsupported("\x3c\0\0\0PTMF...."sv, "flatbuffer");
  check_unsupported(std::string(257, 'x') + "ustar" + std::string(100, '\0'), "a tar archive");
  check_unsupported("PK\x07\x08PK\x03\x04", "part of a split ZIP");
}

TEST_CASE("sniff: eight bytes that only look like a length are unknown", "[model]") {
  CHECK_FALSE(sniffed(std::string("\x10\0\0\0\0\0\0\0", 8) + "no json at all, really"));
}

}  // namespace ckpt::test
