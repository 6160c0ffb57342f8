#include "ckpt/model/sniff.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/io/byte_reader.h"
#include "ckpt/safetensors/header.h"

namespace ckpt {

namespace {

using namespace std::string_view_literals;

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
};

constexpr std::array kForeign = {
    Magic{0, "GGUF"sv, "a GGUF file"},
    Magic{0, "ggjt"sv, "a GGML file"},
    Magic{0, "lmgg"sv, "a GGML file"},
    Magic{0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    Magic{0, "\x93NUMPY"sv, "a NumPy array file"},
    Magic{0, "\x1f\x8b"sv, "gzip-compressed data"},
    Magic{0, "\xfd\x37zXZ\0"sv, "xz-compressed data"},
    Magic{0, "\x28\xb5\x2f\xfd"sv, "zstd-compressed data"},
    Magic{0, "BZh"sv, "bzip2-compressed data"},
    Magic{0, "\x37\x7a\xbc\xaf\x27\x1c"sv, "a 7z archive"},
    Magic{0, "Rar!\x1a\x07"sv, "a RAR archive"},
    Magic{0, "\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    Magic{0, "\xff\xd8\xff"sv, "a JPEG image"},
    Magic{0, "GIF8"sv, "a GIF image"},
    Magic{0, "%PDF-"sv, "a PDF document"},
    Magic{0, "\x7f\x45LF"sv, "an ELF program"},
    Magic{4, "TFL3"sv, "a TensorFlow Lite model"},
    Magic{0, "\x08\x03\x12"sv, "an ONNX model"},
    Magic{0, "\x08\x04\x12"sv, "an ONNX model"},
    Magic{0, "\x08\x07\x12"sv, "an ONNX model"},
    Magic{0, "\x08\x08\x12"sv, "an ONNX model"},
    Magic{0, "SQLite format 3\0"sv, "an SQLite database"},
    Magic{0, "#!"sv, "a script"},
};

constexpr std::array kUnsupported = {
    Magic{0, "PYTORCH1"sv, "a container of the torch 1.0 preview"},
    Magic{4, "PTMF"sv, "a mobile TorchScript module in flatbuffer form"},
    Magic{257, "ustar"sv, "a tar archive, the checkpoint form of torch 0.1"},
    Magic{2, "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"sv,
          "a legacy torch.save stream (torch before 1.6)"},
    Magic{0, "L119547037146038801333356L\n."sv, "a legacy torch.save stream (torch before 1.6)"},
    Magic{0, "PK\x07\x08"sv, "part of a split ZIP archive"},
};

bool has(std::string_view text, const Magic& magic) {
  return text.size() >= magic.offset && text.substr(magic.offset, magic.bytes.size()) == magic.bytes;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

std::string_view trim_front(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

Error lfs_pointer(std::string_view text) {
  std::string size = "unknown";
  if (const std::size_t at = text.find("\nsize "); at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + 6, text.find('\n', at + 6) - at - 6);
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) size = digits;
  }
  Error error = make_error(ErrorCode::unknown_format,
                           fmt::format("Git LFS pointer, not the model; the real file has {} bytes", size));
  return error.with_advice("git lfs pull");
}

/// Text formats, by their first visible characters; empty if it looks like none.
std::string_view text_kind(std::string_view text) {
  const std::string start = lower(trim_front(text).substr(0, 64));
  const auto starts = [&start](std::string_view with) { return start.rfind(with, 0) == 0; };
  if (starts("<!doctype html") || starts("<html") || starts("<head") || starts("<body"))
    return "a web page (HTML)";
  if (starts("<?xml") || starts("<error")) return "an XML document, often an error of an object store";
  if (starts("<!") || starts("<")) return "a marked-up text, often a web page";
  if (starts("{") || starts("[")) return "JSON text";
  return {};
}

bool is_bare_pickle(std::string_view text) {
  return text.size() >= 2 && text[0] == '\x80' && static_cast<unsigned char>(text[1]) <= 5;
}

/// Eight bytes that would be a header length followed by JSON, but of another file's size.
bool is_cut_safetensors(std::string_view text) {
  return text.size() >= 9 && text[8] == '{' && text.substr(4, 4) == "\0\0\0\0"sv;
}

std::string describe_bytes(std::string_view text) {
  return "not a checkpoint: starts with the bytes " + hex(text.substr(0, 8));
}

Error unknown(std::string message) { return make_error(ErrorCode::unknown_format, std::move(message)); }

Error foreign(std::string_view text) {
  if (text.rfind("version https://git-lfs", 0) == 0) return lfs_pointer(text);
  for (const Magic& magic : kForeign) {
    if (has(text, magic)) return unknown(fmt::format("this is {}, not a checkpoint", magic.what));
  }
  for (const Magic& magic : kUnsupported) {
    if (has(text, magic))
      return make_error(ErrorCode::unsupported, fmt::format("this is {}, which is not read", magic.what));
  }
  if (is_bare_pickle(text))
    return make_error(ErrorCode::unsupported, "this is a bare pickle, which is not read");
  if (const std::string_view kind = text_kind(text); !kind.empty()) {
    return unknown(fmt::format("this is {}, not a checkpoint", kind));
  }
  return unknown(describe_bytes(text));
}

}  // namespace

Result<Container> sniff(std::span<const std::byte> first, std::uint64_t file_bytes) {
  const std::string_view text = as_text(first);
  if (file_bytes == 0) return fail(unknown("file is empty"));
  if (text.rfind("PK\x03\x04"sv, 0) == 0 || text.rfind("PK\x05\x06"sv, 0) == 0) return Container::zip;
  if (file_bytes < 8) {
    return fail(unknown(fmt::format("only {} bytes, too short for any known format", file_bytes)));
  }
  if (safetensors::looks_like_header(first, file_bytes) || is_cut_safetensors(text))
    return Container::safetensors;
  return fail(foreign(text));
}

Result<Container> sniff(const ByteSource& source) {
  CKPT_LET(const auto first, source.read_vector(0, std::min<std::uint64_t>(source.size(), kSniffBytes)));
  return sniff(first, source.size());
}

}  // namespace ckpt
