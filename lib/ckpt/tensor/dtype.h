#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ckpt/base/export.h"

namespace ckpt {

/// Element types, in the order of the Safetensors reference writer's enum (docs/formats/safetensors.md):
/// it sorts tensors by this rank, highest first. Behind `u64` come types that Safetensors cannot hold.
enum class Dtype : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
  // Known to torch only.
  c32,
  c128,
  qint8,
  quint8,
  qint32,
  quint4x2,
  quint2x4,
  bits8,
  bits16,
  bits1x8,
  bits2x4,
  bits4x2,
  bcomplex32,
  // Of tensors that cannot be read far enough to tell.
  unknown,
};

inline constexpr std::size_t kDtypeCount = static_cast<std::size_t>(Dtype::unknown) + 1;
inline constexpr std::size_t kSafetensorsDtypeCount = static_cast<std::size_t>(Dtype::u64) + 1;

/// What is known of one element type. The only table of element sizes.
struct DtypeFacts {
  Dtype dtype;
  std::string_view safetensors;  ///< name in a Safetensors header; empty if the format has none
  std::string_view torch;        ///< name in module `torch`, as in `torch.float32`; empty if torch has none
  std::string_view storage;      ///< torch's storage class, empty if Python has none for it
  std::uint8_t bits;             ///< of one logical element, as Safetensors counts them
  std::uint8_t torch_bytes;      ///< of one element as torch counts them (F4: one byte holds two values)
  std::uint8_t swap_bytes;  ///< unit that byte order applies to: a complex number is two halves; 1 = never
};

/// Facts of `dtype`; always found.
[[nodiscard]] CKPT_API const DtypeFacts& dtype_facts(Dtype dtype);

/// The Safetensors word, else torch's name, else "unknown": what reports print.
[[nodiscard]] CKPT_API std::string_view dtype_word(Dtype dtype);

[[nodiscard]] CKPT_API bool has_safetensors_form(Dtype dtype);

/// "F32" → f32. Case counts: `f32` is no dtype.
[[nodiscard]] std::optional<Dtype> dtype_of_safetensors(std::string_view name);
/// "float32" or an alias ("float", "half", "double", "long", "int", "short", "cfloat", …) → f32.
[[nodiscard]] std::optional<Dtype> dtype_of_torch(std::string_view name);
/// "FloatStorage" → f32, also the names that TorchScript derives ("Float8_e4m3fnStorage").
/// "UntypedStorage" has no dtype and is not found here.
[[nodiscard]] std::optional<Dtype> dtype_of_storage(std::string_view class_name);

}  // namespace ckpt
