#include "ckpt/pickle/imports.h"

#include "ckpt/pickle/import_lists.h"
#include "support/catch.h"

namespace ckpt::pickle {

namespace {

std::string class_of(std::string_view module, std::string_view name, bool in_torchscript = false) {
  return std::string(import_class_word(classify_import(module, name, in_torchscript).level));
}

struct Pair {
  std::string_view module, name;
};

void check_all(const std::string& expected, std::initializer_list<Pair> pairs) {
  for (const Pair& pair : pairs) {
    INFO(pair.module << " " << pair.name);
    CHECK(class_of(pair.module, pair.name) == expected);
  }
}

}  // namespace

TEST_CASE("classify: what the program models is known-safe", "[pickle]") {
  check_all("known-safe", {{"collections", "OrderedDict"},
                           {"collections", "Counter"},
                           {"collections", "defaultdict"},
                           {"builtins", "set"},
                           {"builtins", "slice"},
                           {"_codecs", "encode"},
                           {"copyreg", "_reconstructor"},
                           {"torch", "Size"},
                           {"torch", "float8_e4m3fn"},
                           {"torch", "int7"},
                           {"torch", "FloatStorage"},
                           {"torch", "per_channel_affine_float_qparams"},
                           {"torch", "sparse_coo"},
                           {"torch.cuda", "HalfStorage"},
                           {"torch.cuda", "HalfTensor"},
                           {"torch.sparse", "FloatTensor"},
                           {"torch.storage", "UntypedStorage"},
                           {"torch._utils", "_rebuild_tensor_v3"},
                           {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor"},
                           {"torch._tensor", "_rebuild_from_type_v2"},
                           {"torch.nn.parameter", "Parameter"},
                           {"torch.nn.parameter", "Buffer"},
                           {"torch.serialization", "_get_layout"},
                           {"torch.jit._pickle", "build_tensorlist"},
                           {"numpy", "dtype"},
                           {"numpy", "float64"},
                           {"numpy.core.multiarray", "scalar"},
                           {"numpy._core.multiarray", "_reconstruct"}});
}

TEST_CASE("classify: data that harmless files hold is unknown", "[pickle]") {
  check_all("unknown", {{"argparse", "Namespace"},
                        {"datetime", "datetime"},
                        {"zoneinfo", "ZoneInfo"},
                        {"decimal", "Decimal"},
                        {"pathlib", "PosixPath"},
                        {"pathlib._local", "PosixPath"},
                        {"uuid", "UUID"},
                        {"types", "SimpleNamespace"},
                        {"functools", "partial"},
                        {"random", "Random"},
                        {"array", "_array_reconstructor"},
                        {"re", "_compile"},
                        {"logging", "getLogger"},
                        {"io", "BytesIO"},
                        {"torch.torch_version", "TorchVersion"},
                        {"torch._C", "Generator"},
                        {"torch._C._nn", "gelu"},
                        {"torch.nn.functional", "relu"},
                        {"torch._utils", "torch.channels_last"},
                        {"torch._dynamo.decorators", "_DimRange"},
                        {"torch.distributed.device_mesh", "DeviceMesh"},
                        {"torch.distributed.tensor.placement_types", "Shard"},
                        {"torch.nn.modules.linear", "Linear"},
                        {"torch.nn.modules.linear", "_LinearWithBias"},
                        {"torch.nn.parallel.data_parallel", "DataParallel"},
                        {"torch.optim.adamw", "AdamW"},
                        {"torch.ao.nn.quantized.modules.linear", "Linear"},
                        {"numpy.core.numeric", "_frombuffer"},
                        {"numpy.random._pickle", "__randomstate_ctor"},
                        {"transformers.models.bert.modeling_bert", "BertModel"},
                        {"omegaconf.dictconfig", "DictConfig"},
                        {"__main__", "Config"},
                        {"__torch__.net", "Net"},
                        {"pipeline", "Stage"},
                        {"torchvision.models.resnet", "ResNet"}});
}

TEST_CASE("classify: functions of torch.nn, torch.optim and torch.cuda are dangerous", "[pickle]") {
  check_all("dangerous", {{"torch.nn.modules.module", "warnings"},
                          {"torch.optim.swa_utils", "deepcopy"},
                          {"torch.cuda", "init"},
                          {"torch.ao.quantization", "convert"}});
}

TEST_CASE("classify: a dot in the name is dangerous unless the pair is listed", "[pickle]") {
  check_all("dangerous", {{"pathlib", "os.system"},
                          {"torch", "serialization.os.system"},
                          {"collections", "abc.sys.modules"},
                          {"mymodule", "Outer.Inner"},
                          {"torch.nn.functional", "torch.load"},
                          {"torch.nn.modules.module", "Module.load_state_dict"}});
  CHECK(classify_import("mymodule", "Outer.Inner", false).reason == "reaches through attributes");
}

TEST_CASE("classify: Python 2 names are mapped first", "[pickle]") {
  check_all("dangerous", {{"__builtin__", "eval"},
                          {"__builtin__", "reduce"},
                          {"__builtin__", "apply"},
                          {"__builtin__", "file"},
                          {"commands", "getoutput"},
                          {"cPickle", "loads"},
                          {"urllib2", "urlopen"},
                          {"httplib", "HTTPConnection"},
                          {"copy_reg", "add_extension"}});
  check_all("known-safe", {{"__builtin__", "set"},
                           {"__builtin__", "xrange"},
                           {"__builtin__", "unicode"},
                           {"__builtin__", "long"},
                           {"copy_reg", "_reconstructor"},
                           {"torch.tensor", "_rebuild_from_type_v2"}});
  CHECK(python3_name("__builtin__", "reduce").module == "functools");
  CHECK(python3_name("urllib2", "urlopen").module == "urllib.request");
  CHECK(python3_name("numpy", "dtype").name == "dtype");
}

TEST_CASE("classify: private twins of standard modules are dangerous", "[pickle]") {
  check_all("dangerous", {{"posix", "system"},
                          {"nt", "system"},
                          {"_posixsubprocess", "fork_exec"},
                          {"_io", "FileIO"},
                          {"_pickle", "loads"},
                          {"_operator", "methodcaller"},
                          {"_ctypes", "dlopen"},
                          {"_interpreters", "run_string"},
                          {"_osx_support", "_read_output"},
                          {"_frozen_importlib_external", "SourceFileLoader"}});
}

TEST_CASE("classify: torch and numpy are dangerous outside their lists", "[pickle]") {
  check_all("dangerous", {{"torch", "load"},
                          {"torch.hub", "load"},
                          {"torch.jit.unsupported_tensor_ops", "execWrapper"},
                          {"torch._dynamo.guards", "GuardBuilder.get"},
                          {"torch.distributed.rpc", "rpc_sync"},
                          {"torch.whatever_comes", "Next"},
                          {"numpy.f2py.crackfortran", "getlincoef"},
                          {"numpy.testing._private.utils", "runstring"},
                          {"numpy", "memmap"},
                          {"numpy", "whatever"}});
}

TEST_CASE("classify: packages match by whole parts", "[pickle]") {
  check_all("dangerous", {{"pip._internal.cli.main", "main"}, {"yaml", "load"}, {"os.path", "join"}});
  check_all("unknown", {{"pipx", "main"}, {"yamlish", "load"}, {"os_utils", "join"}, {"torchaudio", "X"}});
  CHECK(is_within("pip", "pip"));
  CHECK(is_within("pip.a", "pip"));
  CHECK_FALSE(is_within("pipeline", "pip"));
}

TEST_CASE("classify: look-alikes are unknown and flagged", "[pickle]") {
  for (const Pair& pair : {Pair{"t\xd0\xberch", "FloatStorage"}, Pair{"torch\xe2\x80\x8b", "load"},
                           Pair{"torch ", "load"}, Pair{"mine", "na me"}, Pair{"", ""}}) {
    const ImportVerdict verdict = classify_import(pair.module, pair.name, false);
    CHECK(verdict.level == ImportClass::unknown);
    CHECK(verdict.reason == "is not plain ASCII");
  }
  CHECK(class_of("TORCH", "load") == "unknown");
}

TEST_CASE("classify: script classes are known-safe in a TorchScript archive only", "[pickle]") {
  CHECK(class_of("__torch__.torch.nn", "Linear", true) == "known-safe");
  CHECK(class_of("__torch__", "M", true) == "known-safe");
  CHECK(class_of("__torch__", "M") == "unknown");
  CHECK(class_of("__torch__x", "M", true) == "unknown");
  CHECK(class_of("os", "system", true) == "dangerous");
}

TEST_CASE("classify: dangerous names tell what they give", "[pickle]") {
  CHECK(classify_import("os", "system", false).reason == "runs programs");
  CHECK(classify_import("builtins", "eval", false).reason == "runs code");
  CHECK(classify_import("operator", "attrgetter", false).reason == "calls by name");
  CHECK(classify_import("socket", "socket", false).reason == "reaches the network");
  CHECK(classify_import("shutil", "rmtree", false).reason == "reaches files");
}

TEST_CASE("standard library: removed, private and new modules are known", "[pickle]") {
  for (const char* module : {"imp",
                             "distutils",
                             "lib2to3",
                             "asyncore",
                             "asynchat",
                             "smtpd",
                             "telnetlib",
                             "nntplib",
                             "pipes",
                             "cgi",
                             "crypt",
                             "commands",
                             "popen2",
                             "new",
                             "compiler",
                             "user",
                             "ihooks",
                             "imputil",
                             "posix",
                             "nt",
                             "_posixsubprocess",
                             "_io",
                             "_pickle",
                             "_ctypes",
                             "_operator",
                             "_socket",
                             "_ssl",
                             "_thread",
                             "_imp",
                             "_frozen_importlib",
                             "_interpreters",
                             "_xxsubinterpreters",
                             "_pyrepl",
                             "_osx_support",
                             "_aix_support",
                             "_winapi",
                             "_sqlite3",
                             "_testcapi",
                             "annotationlib",
                             "compression",
                             "_zstd",
                             "profiling",
                             "test",
                             "tomllib"}) {
    INFO(module);
    CHECK(standard_library_reason(module));
  }
  for (const char* module : {"", "torch", "o", "oss", "__main__", "my code", "runs code"}) {
    CHECK_FALSE(standard_library_reason(module));
  }
}

TEST_CASE("name table: exact pairs only", "[pickle]") {
  const NameTable table = {{"m", "a bb  c"}, {"m.n", "a"}};
  CHECK(table.contains("m", "bb"));
  CHECK(table.contains("m.n", "a"));
  CHECK_FALSE(table.contains("m", "b"));
  CHECK_FALSE(table.contains("m", "a bb"));
  CHECK_FALSE(table.contains("m", ""));
  CHECK_FALSE(table.contains("n", "a"));
}

}  // namespace ckpt::pickle
