#include "ckpt/tensor/dtype.h"

#include <algorithm>

namespace ckpt {

namespace {

using D = Dtype;

// Sources: safetensors `Dtype` enum (names, bits), torch/storage.py and c10 ScalarType (names, classes).
constexpr std::array<DtypeFacts, kDtypeCount> kFacts = {{
    {D::boolean, "BOOL", "bool", "BoolStorage", 8, 1, 1},
    {D::f4, "F4", "float4_e2m1fn_x2", "", 4, 1, 1},
    {D::f6_e2m3, "F6_E2M3", "", "", 6, 0, 1},
    {D::f6_e3m2, "F6_E3M2", "", "", 6, 0, 1},
    {D::u8, "U8", "uint8", "ByteStorage", 8, 1, 1},
    {D::i8, "I8", "int8", "CharStorage", 8, 1, 1},
    {D::f8_e5m2, "F8_E5M2", "float8_e5m2", "", 8, 1, 1},
    {D::f8_e4m3, "F8_E4M3", "float8_e4m3fn", "", 8, 1, 1},
    {D::f8_e8m0, "F8_E8M0", "float8_e8m0fnu", "", 8, 1, 1},
    {D::f8_e4m3fnuz, "F8_E4M3FNUZ", "float8_e4m3fnuz", "", 8, 1, 1},
    {D::f8_e5m2fnuz, "F8_E5M2FNUZ", "float8_e5m2fnuz", "", 8, 1, 1},
    {D::i16, "I16", "int16", "ShortStorage", 16, 2, 2},
    {D::u16, "U16", "uint16", "", 16, 2, 2},
    {D::f16, "F16", "float16", "HalfStorage", 16, 2, 2},
    {D::bf16, "BF16", "bfloat16", "BFloat16Storage", 16, 2, 2},
    {D::i32, "I32", "int32", "IntStorage", 32, 4, 4},
    {D::u32, "U32", "uint32", "", 32, 4, 4},
    {D::f32, "F32", "float32", "FloatStorage", 32, 4, 4},
    {D::c64, "C64", "complex64", "ComplexFloatStorage", 64, 8, 4},
    {D::f64, "F64", "float64", "DoubleStorage", 64, 8, 8},
    {D::i64, "I64", "int64", "LongStorage", 64, 8, 8},
    {D::u64, "U64", "uint64", "", 64, 8, 8},
    {D::c32, "", "complex32", "", 32, 4, 2},
    {D::c128, "", "complex128", "ComplexDoubleStorage", 128, 16, 8},
    {D::qint8, "", "qint8", "QInt8Storage", 8, 1, 1},
    {D::quint8, "", "quint8", "QUInt8Storage", 8, 1, 1},
    {D::qint32, "", "qint32", "QInt32Storage", 32, 4, 4},
    {D::quint4x2, "", "quint4x2", "QUInt4x2Storage", 8, 1, 1},
    {D::quint2x4, "", "quint2x4", "QUInt2x4Storage", 8, 1, 1},
    {D::bits8, "", "bits8", "", 8, 1, 1},
    {D::bits16, "", "bits16", "", 16, 2, 2},
    {D::bits1x8, "", "bits1x8", "", 8, 1, 1},
    {D::bits2x4, "", "bits2x4", "", 8, 1, 1},
    {D::bits4x2, "", "bits4x2", "", 8, 1, 1},
    {D::bcomplex32, "", "bcomplex32", "", 32, 4, 2},
    {D::unknown, "", "", "", 8, 1, 1},
}};

constexpr bool table_is_in_enum_order() {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (static_cast<std::size_t>(kFacts[i].dtype) != i) return false;
    if ((i < kSafetensorsDtypeCount) == kFacts[i].safetensors.empty()) return false;
  }
  return true;
}
static_assert(table_is_in_enum_order());

struct Alias {
  std::string_view name;
  Dtype dtype;
};

constexpr std::array kTorchAliases = {
    Alias{"float", D::f32},  Alias{"double", D::f64},   Alias{"half", D::f16},
    Alias{"long", D::i64},   Alias{"int", D::i32},      Alias{"short", D::i16},
    Alias{"cfloat", D::c64}, Alias{"cdouble", D::c128}, Alias{"chalf", D::c32},
};

// TorchScript names the class after the C++ scalar type where Python has no class.
constexpr std::array kScriptStorages = {
    Alias{"UInt16Storage", D::u16},
    Alias{"UInt32Storage", D::u32},
    Alias{"UInt64Storage", D::u64},
    Alias{"ComplexHalfStorage", D::c32},
    Alias{"Float8_e5m2Storage", D::f8_e5m2},
    Alias{"Float8_e4m3fnStorage", D::f8_e4m3},
    Alias{"Float8_e4m3fnuzStorage", D::f8_e4m3fnuz},
    Alias{"Float8_e5m2fnuzStorage", D::f8_e5m2fnuz},
    Alias{"Float8_e8m0fnuStorage", D::f8_e8m0},
    Alias{"Float4_e2m1fn_x2Storage", D::f4},
    Alias{"Bits8Storage", D::bits8},
    Alias{"Bits16Storage", D::bits16},
    Alias{"Bits1x8Storage", D::bits1x8},
    Alias{"Bits2x4Storage", D::bits2x4},
    Alias{"Bits4x2Storage", D::bits4x2},
};

std::optional<Dtype> find(std::string_view name, std::string_view DtypeFacts::*column) {
  if (name.empty()) return std::nullopt;
  const auto* row = std::find_if(kFacts.begin(), kFacts.end(), [&](const DtypeFacts& facts) {
    const std::string_view own = facts.*column;
    // Sizes and first letters tell nearly all apart; this is asked for every tensor.
    return own.size() == name.size() && own.front() == name.front() && own == name;
  });
  if (row == kFacts.end()) return std::nullopt;
  return row->dtype;
}

template <std::size_t N>
std::optional<Dtype> find_alias(std::string_view name, const std::array<Alias, N>& aliases) {
  for (const Alias& alias : aliases) {
    if (alias.name == name) return alias.dtype;
  }
  return std::nullopt;
}

}  // namespace

const DtypeFacts& dtype_facts(Dtype dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

std::string_view dtype_word(Dtype dtype) {
  const DtypeFacts& facts = dtype_facts(dtype);
  if (dtype == Dtype::unknown) return "unknown";
  return facts.safetensors.empty() ? facts.torch : facts.safetensors;
}

bool has_safetensors_form(Dtype dtype) { return !dtype_facts(dtype).safetensors.empty(); }

std::optional<Dtype> dtype_of_safetensors(std::string_view name) {
  return find(name, &DtypeFacts::safetensors);
}

std::optional<Dtype> dtype_of_torch(std::string_view name) {
  const std::optional<Dtype> exact = find(name, &DtypeFacts::torch);
  return exact ? exact : find_alias(name, kTorchAliases);
}

std::optional<Dtype> dtype_of_storage(std::string_view class_name) {
  const std::optional<Dtype> exact = find(class_name, &DtypeFacts::storage);
  return exact ? exact : find_alias(class_name, kScriptStorages);
}

}  // namespace ckpt
