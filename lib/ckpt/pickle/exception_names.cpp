#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

constexpr std::string_view kPaths = "PurePath PurePosixPath PureWindowsPath Path PosixPath WindowsPath";

// Data types of the standard library that checkpoints hold.
const NameTable& standard_library_names() {
  static const NameTable table = {
      {"argparse", "Namespace"},
      {"array", "_array_reconstructor"},
      {"datetime", "date datetime time timedelta timezone tzinfo"},
      {"decimal", "Decimal"},
      {"enum", "Enum IntEnum StrEnum Flag IntFlag ReprEnum"},
      {"fractions", "Fraction"},
      {"functools", "partial"},
      {"io", "BytesIO"},
      {"_io", "BytesIO"},
      {"ipaddress", "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network"},
      {"logging", "Logger getLogger"},
      {"pathlib", kPaths},
      {"pathlib._local", kPaths},  // Python 3.13
      {"random", "Random"},
      {"re", "_compile"},
      {"types", "SimpleNamespace"},
      {"uuid", "UUID"},
      {"zoneinfo", "ZoneInfo ZoneInfo._unpickle"},
  };
  return table;
}

constexpr std::string_view kMemoryFormats =
    "contiguous_format preserve_format channels_last channels_last_3d";
constexpr std::string_view kPlacements = "Shard Replicate Partial _Partial _StridedShard";

// Classes and functions of torch that only describe data.
const NameTable& torch_names() {
  static const NameTable table = {
      {"torch", kMemoryFormats},
      {"torch", "Generator"},
      // A memory format is written as an attribute of the name "torch" in this module.
      {"torch._utils",
       "torch torch.contiguous_format torch.preserve_format torch.channels_last torch.channels_last_3d"},
      {"torch.torch_version", "TorchVersion"},
      {"torch._C", "Generator"},
      {"torch._C._nn", "gelu"},
      {"torch._dynamo.decorators", "_DimRange"},
      {"torch.nn.backends.thnn", "_get_thnn_function_backend"},
      {"torch.distributed.device_mesh", "DeviceMesh"},
      {"torch.distributed._tensor.device_mesh", "DeviceMesh"},
      {"torch.distributed.tensor", "DTensor"},
      {"torch.distributed.tensor._api", "DTensor"},
      {"torch.distributed._tensor", "DTensor"},
      {"torch.distributed._tensor.api", "DTensor"},
      {"torch.distributed.tensor._dtensor_spec", "DTensorSpec TensorMeta ShardOrderEntry"},
      {"torch.distributed._tensor._dtensor_spec", "DTensorSpec TensorMeta"},
      {"torch.distributed.tensor.placement_types", kPlacements},
      {"torch.distributed._tensor.placement_types", kPlacements},
      {"torch.distributed._tensor.placement_types", "DTensorSpec TensorMeta"},
      {"torch.distributed._shard.sharded_tensor.api", "ShardedTensor ShardedTensor.ProcessGroupState"},
      {"torch.distributed._shard.sharded_tensor.metadata",
       "ShardedTensorMetadata TensorProperties MEM_FORMAT_ENCODING"},
      {"torch.distributed._shard.sharded_tensor.shard", "Shard"},
      {"torch.distributed._shard.metadata", "ShardMetadata"},
      {"torch.distributed._shard.sharding_spec.api", "EnumerableShardingSpec"},
      {"torch.distributed._shard.sharding_spec.chunk_sharding_spec", "ChunkShardingSpec"},
      {"torch.distributed.remote_device", "_remote_device"},
      {"torch.distributed.checkpoint.metadata",
       "Metadata MetadataIndex TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata "
       "TensorProperties "
       "StorageMeta _MEM_FORMAT_ENCODING"},
      {"torch.distributed.checkpoint.filesystem", "_StorageInfo"},
      {"torch.nested._internal.nested_tensor", "NestedTensor _rebuild_njt"},
      {"torch.masked.maskedtensor.core", "MaskedTensor"},
  };
  return table;
}

const NameTable& numpy_names() {
  static const NameTable table = {
      {"numpy.core.numeric", "_frombuffer"},
      {"numpy._core.numeric", "_frombuffer"},
      {"numpy.random", "__RandomState_ctor"},
      {"numpy.random._pickle", "__randomstate_ctor __generator_ctor __bit_generator_ctor"},
      {"numpy.random.mtrand", "RandomState"},
      {"numpy.random._generator", "Generator"},
      {"numpy.random.bit_generator", "SeedSequence"},
      {"numpy.random._mt19937", "MT19937"},
      {"numpy.random._pcg64", "PCG64 PCG64DXSM"},
      {"numpy.random._philox", "Philox"},
      {"numpy.random._sfc64", "SFC64"},
  };
  return table;
}

}  // namespace

bool is_harmless_exception(std::string_view module, std::string_view name) {
  return standard_library_names().contains(module, name) || torch_names().contains(module, name) ||
         numpy_names().contains(module, name);
}

}  // namespace ckpt::pickle
