#include "ckpt/model/model.h"

#include <array>

namespace ckpt {

std::string_view format_word(Format format) {
  constexpr std::array<std::string_view, 3> kWords = {"torch-zip", "torchscript", "safetensors"};
  return kWords[static_cast<std::size_t>(format)];
}

std::string_view tensor_kind_word(TensorKind kind) {
  constexpr std::array<std::string_view, 7> kWords = {"plain",  "meta",    "quantized", "sparse",
                                                      "nested", "wrapped", "unreadable"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view import_level_word(ImportLevel level) {
  constexpr std::array<std::string_view, 3> kWords = {"known-safe", "unknown", "dangerous"};
  return kWords[static_cast<std::size_t>(level)];
}

}  // namespace ckpt
