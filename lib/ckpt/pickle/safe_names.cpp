#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

constexpr std::string_view kDtypes =
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex32 complex64 complex128 "
    "double float half long int short cfloat cdouble chalf "
    "qint8 qint32 quint8 quint4x2 quint2x4 uint16 uint32 uint64 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 "
    "bits8 bits16 bits1x8 bits2x4 bits4x2 bcomplex32 "
    "int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7";
constexpr std::string_view kStorages =
    "DoubleStorage FloatStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage "
    "ByteStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage QInt8Storage QUInt8Storage "
    "QInt32Storage QUInt4x2Storage QUInt2x4Storage UntypedStorage TypedStorage";
// Classes that the C++ pickler of TorchScript names after its scalar types.
constexpr std::string_view kScriptStorages =
    "UInt16Storage UInt32Storage UInt64Storage ComplexHalfStorage Float8_e5m2Storage Float8_e4m3fnStorage "
    "Float8_e4m3fnuzStorage Float8_e5m2fnuzStorage Float8_e8m0fnuStorage Float4_e2m1fn_x2Storage "
    "Bits8Storage Bits16Storage Bits1x8Storage Bits2x4Storage Bits4x2Storage";
constexpr std::string_view kTensors =
    "DoubleTensor FloatTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor "
    "ByteTensor "
    "BoolTensor";
constexpr std::string_view kQuantisationSchemes =
    "per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric "
    "per_channel_affine_float_qparams";

// Source: torch/_weights_only_unpickler.py, plus the plain types, numpy reconstructors and older rebuild
// functions whose results the library models.
const NameTable& safe_names() {
  static const NameTable table = {
      {"collections", "OrderedDict Counter defaultdict deque"},
      {"builtins",
       "set bytearray complex dict list tuple frozenset int float bool str bytes object slice range"},
      {"_codecs", "encode"},
      {"copyreg", "_reconstructor"},
      {"torch",
       "Size Tensor device strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn"},
      {"torch", kDtypes},
      {"torch", kStorages},
      {"torch", kScriptStorages},
      {"torch", kTensors},
      {"torch", kQuantisationSchemes},
      {"torch.cuda", kStorages},
      {"torch.cuda", kTensors},
      {"torch.sparse", kTensors},
      {"torch.cuda.sparse", kTensors},
      {"torch.storage", "TypedStorage UntypedStorage _TypedStorage _UntypedStorage"},
      {"torch._utils",
       "_rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter "
       "_rebuild_parameter_with_state "
       "_rebuild_qtensor _rebuild_sparse_tensor _rebuild_sparse_csr_tensor _rebuild_nested_tensor "
       "_rebuild_meta_tensor_no_storage _rebuild_wrapper_subclass _rebuild_device_tensor_from_numpy "
       "_rebuild_device_tensor_from_cpu_tensor _rebuild_xla_tensor"},
      {"torch._tensor", "_rebuild_from_type _rebuild_from_type_v2"},
      {"torch.nn.parameter", "Parameter Buffer UninitializedParameter UninitializedBuffer"},
      {"torch.autograd.variable", "Variable"},
      {"torch.serialization", "_get_layout"},
      {"torch.jit._pickle",
       "build_intlist build_tensorlist build_doublelist build_boollist build_tensor_from_id "
       "restore_type_tag"},
      {"numpy",
       "dtype ndarray bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
       "complex64 complex128"},
      {"numpy.core.multiarray", "_reconstruct scalar"},
      {"numpy._core.multiarray", "_reconstruct scalar"},
  };
  return table;
}

}  // namespace

bool is_known_safe(std::string_view module, std::string_view name) {
  return safe_names().contains(module, name);
}

}  // namespace ckpt::pickle
