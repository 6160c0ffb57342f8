#include "ckpt/tensor/dtype.h"

#include <set>

#include "support/catch.h"

namespace ckpt::test {
namespace {

std::vector<DtypeFacts> all_facts() {
  std::vector<DtypeFacts> all;
  for (std::size_t i = 0; i < kDtypeCount; ++i) all.push_back(dtype_facts(static_cast<Dtype>(i)));
  return all;
}

}  // namespace

TEST_CASE("dtype: every name leads back to its dtype", "[tensor]") {
  for (const DtypeFacts& facts : all_facts()) {
    INFO(dtype_word(facts.dtype));
    if (!facts.safetensors.empty()) CHECK(dtype_of_safetensors(facts.safetensors) == facts.dtype);
    if (!facts.torch.empty()) CHECK(dtype_of_torch(facts.torch) == facts.dtype);
    if (!facts.storage.empty()) CHECK(dtype_of_storage(facts.storage) == facts.dtype);
    CHECK(has_safetensors_form(facts.dtype) == !facts.safetensors.empty());
    CHECK_FALSE(dtype_word(facts.dtype).empty());
  }
}

TEST_CASE("dtype: sizes agree with each other", "[tensor]") {
  for (const DtypeFacts& facts : all_facts()) {
    INFO(dtype_word(facts.dtype));
    CHECK(facts.bits > 0);
    if (facts.bits % 8 == 0) CHECK(facts.torch_bytes == facts.bits / 8);
    CHECK(facts.swap_bytes >= 1);
    if (facts.torch_bytes > 0) CHECK(facts.torch_bytes % facts.swap_bytes == 0);
  }
  CHECK(dtype_facts(Dtype::c64).swap_bytes == 4);
  CHECK(dtype_facts(Dtype::c128).swap_bytes == 8);
  CHECK(dtype_facts(Dtype::f4).bits == 4);
}

TEST_CASE("dtype: the order is that of the reference writer", "[tensor]") {
  CHECK(kSafetensorsDtypeCount == 22);
  CHECK(Dtype::f64 > Dtype::f32);
  CHECK(Dtype::i64 > Dtype::f64);
  CHECK(Dtype::bf16 > Dtype::f16);
  CHECK(Dtype::boolean < Dtype::u8);
}

TEST_CASE("dtype: aliases of torch and names of TorchScript", "[tensor]") {
  CHECK(dtype_of_torch("float") == Dtype::f32);
  CHECK(dtype_of_torch("half") == Dtype::f16);
  CHECK(dtype_of_torch("long") == Dtype::i64);
  CHECK(dtype_of_torch("cdouble") == Dtype::c128);
  CHECK(dtype_of_storage("Float8_e4m3fnStorage") == Dtype::f8_e4m3);
  CHECK(dtype_of_storage("UInt16Storage") == Dtype::u16);
}

TEST_CASE("dtype: what is no name has no dtype", "[tensor]") {
  for (const char* name : {"", "f32", "float32 ", "Float32", "UntypedStorage"}) {
    CHECK_FALSE(dtype_of_safetensors(name));
    CHECK_FALSE(dtype_of_storage(name));
  }
  CHECK_FALSE(dtype_of_torch("uint3"));
  CHECK_FALSE(dtype_of_torch(""));
}

}  // namespace ckpt::test
