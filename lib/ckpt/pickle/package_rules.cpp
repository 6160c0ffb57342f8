#include <array>

#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

constexpr std::string_view kCode = "runs code";
constexpr std::string_view kPrograms = "runs programs";
constexpr std::string_view kLoads = "loads more pickles or archives";
constexpr std::string_view kFiles = "reaches files";
constexpr std::string_view kNetwork = "reaches the network";
constexpr std::string_view kScanner = "belongs to a scanner of pickles and may switch it off";
constexpr std::string_view kTorch = "is a name of torch outside the known lists";
constexpr std::string_view kNumpy = "is a name of numpy outside the known lists";

/// `package` covers all that lies in it. `name` is exact, or a start if it ends in "*"; empty covers every
/// name.
struct Rule {
  std::string_view package;
  std::string_view name;
  std::string_view reason;
};

// For the message only: what is outside the lists is dangerous whether it stands here or not.
constexpr std::array kTorchReasons = {
    Rule{"torch", "load", kLoads},        Rule{"torch", "save", kFiles},
    Rule{"torch", "compile", kCode},      Rule{"torch.hub", "", kLoads},
    Rule{"torch.jit", "", kCode},         Rule{"torch.serialization", "", kLoads},
    Rule{"torch.storage", "", kLoads},    Rule{"torch.package", "", kLoads},
    Rule{"torch.ops", "", kLoads},        Rule{"torch.classes", "", kLoads},
    Rule{"torch.utils", "", kCode},       Rule{"torch._dynamo", "", kCode},
    Rule{"torch._inductor", "", kCode},   Rule{"torch._functorch", "", kCode},
    Rule{"torch.fx", "", kCode},          Rule{"torch.export", "", kLoads},
    Rule{"torch._export", "", kLoads},    Rule{"torch.onnx", "", kFiles},
    Rule{"torch.distributed", "", kCode}, Rule{"torch.multiprocessing", "", kPrograms},
    Rule{"torch.testing", "", kCode},     Rule{"torch.library", "", kCode},
};

constexpr std::array kNumpyReasons = {
    Rule{"numpy", "load*", kLoads},      Rule{"numpy", "save*", kFiles},
    Rule{"numpy", "fromfile", kFiles},   Rule{"numpy", "memmap", kFiles},
    Rule{"numpy", "genfromtxt", kFiles}, Rule{"numpy", "DataSource", kNetwork},
    Rule{"numpy.f2py", "", kCode},       Rule{"numpy.distutils", "", kPrograms},
    Rule{"numpy.ctypeslib", "", kCode},  Rule{"numpy.testing", "", kCode},
    Rule{"numpy.lib", "", kFiles},
};

constexpr std::array kPackages = {
    Rule{"pip", "", kPrograms},
    Rule{"setuptools", "", kPrograms},
    Rule{"pkg_resources", "", kCode},
    Rule{"wheel", "", kFiles},
    Rule{"cloudpickle", "", kCode},
    Rule{"dill", "", kCode},
    Rule{"joblib", "", kLoads},
    Rule{"skops", "", kLoads},
    Rule{"keras", "load_model", kLoads},
    Rule{"keras.models", "", kLoads},
    Rule{"keras.saving", "", kLoads},
    Rule{"keras.engine.saving", "", kLoads},
    Rule{"keras.src.models", "", kLoads},
    Rule{"keras.src.saving", "", kLoads},
    Rule{"keras.src.legacy.saving", "", kLoads},
    Rule{"keras.utils", "", kNetwork},
    Rule{"keras.src.utils", "", kNetwork},
    Rule{"keras.layers", "Lambda", kCode},
    Rule{"keras.layers.core", "Lambda", kCode},
    Rule{"keras.layers.core.lambda_layer", "", kCode},
    Rule{"keras.src.layers.core.lambda_layer", "", kCode},
    Rule{"tensorflow", "load_*", kLoads},
    Rule{"tensorflow.io", "", kFiles},
    Rule{"tensorflow.keras", "", kLoads},
    Rule{"tensorflow.saved_model", "", kLoads},
    Rule{"tensorflow.python.keras", "", kLoads},
    Rule{"tensorflow.python.saved_model", "", kLoads},
    Rule{"tensorflow.python.lib.io", "", kFiles},
    Rule{"tensorflow.python.framework.load_library", "", kLoads},
    Rule{"tensorflow.python.ops.io_ops", "", kFiles},
    Rule{"tensorflow.python.ops.gen_io_ops", "", kFiles},
    Rule{"tensorflow.python.ops.script_ops", "", kCode},
    Rule{"pandas", "read_*", kLoads},
    Rule{"pandas", "eval", kCode},
    Rule{"pandas.io", "", kLoads},
    Rule{"pandas.core.computation", "", kCode},
    Rule{"scipy.io", "", kFiles},
    Rule{"PIL.Image", "open", kFiles},
    Rule{"PIL", "Image.open", kFiles},
    Rule{"cv2", "imread*", kFiles},
    Rule{"requests", "", kNetwork},
    Rule{"urllib3", "", kNetwork},
    Rule{"httpx", "", kNetwork},
    Rule{"aiohttp", "", kNetwork},
    Rule{"websockets", "", kNetwork},
    Rule{"paramiko", "", kNetwork},
    Rule{"fabric", "", kPrograms},
    Rule{"invoke", "", kPrograms},
    Rule{"sh", "", kPrograms},
    Rule{"plumbum", "", kPrograms},
    Rule{"pexpect", "", kPrograms},
    Rule{"psutil", "", kPrograms},
    Rule{"docker", "", kPrograms},
    Rule{"boto3", "", kNetwork},
    Rule{"fsspec", "", kFiles},
    Rule{"smart_open", "", kFiles},
    Rule{"yaml", "", kLoads},
    Rule{"ruamel", "", kLoads},
    Rule{"jinja2", "", kCode},
    Rule{"mako", "", kCode},
    Rule{"numexpr", "", kCode},
    Rule{"sympy", "sympify", kCode},
    Rule{"sympy", "S", kCode},
    Rule{"sympy", "lambdify", kCode},
    Rule{"sympy", "parse_expr", kCode},
    Rule{"sympy.core.sympify", "", kCode},
    Rule{"sympy.parsing", "", kCode},
    Rule{"sympy.utilities.lambdify", "", kCode},
    Rule{"IPython", "", kCode},
    Rule{"ipykernel", "", kCode},
    Rule{"numba", "", kCode},
    Rule{"cffi", "", kCode},
    Rule{"_cffi_backend", "", kCode},
    Rule{"pycparser", "", kCode},
    Rule{"llvmlite", "", kCode},
    Rule{"Cython", "", kCode},
    Rule{"cython", "", kCode},
    Rule{"pyximport", "", kCode},
    Rule{"pythonnet", "", kCode},
    Rule{"clr", "", kCode},
    Rule{"win32com", "", kPrograms},
    Rule{"win32api", "", kPrograms},
    Rule{"pythoncom", "", kPrograms},
    Rule{"torchvision.io", "", kFiles},
    Rule{"mlflow", "", kLoads},
    Rule{"huggingface_hub", "", kNetwork},
    Rule{"transformers", "pipeline", kLoads},
    Rule{"transformers", "AutoModel*", kLoads},
    Rule{"transformers.pipelines", "pipeline", kLoads},
    Rule{"transformers.models.auto", "", kLoads},
    Rule{"transformers.dynamic_module_utils", "", kCode},
    Rule{"onnxruntime", "", kLoads},
    Rule{"picklescan", "", kScanner},
    Rule{"fickling", "", kScanner},
    Rule{"modelscan", "", kScanner},
    Rule{"modelaudit", "", kScanner},
    Rule{"saferpickle", "", kScanner},
    Rule{"model_unpickler", "", kScanner},
    // Builtins written as if they were modules.
    Rule{"eval", "", kCode},
    Rule{"exec", "", kCode},
    Rule{"execfile", "", kCode},
    Rule{"compile", "", kCode},
    Rule{"__import__", "", kCode},
    Rule{"open", "", kFiles},
    Rule{"file", "", kFiles},
    Rule{"getattr", "", kCode},
    Rule{"setattr", "", kCode},
    Rule{"delattr", "", kCode},
    Rule{"globals", "", kCode},
    Rule{"locals", "", kCode},
    Rule{"vars", "", kCode},
    Rule{"apply", "", kCode},
    Rule{"breakpoint", "", kCode},
};

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return true;
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// A rule without a name covers a package; one with a name covers exactly that module.
bool applies(const Rule& rule, std::string_view module, std::string_view name) {
  if (rule.name.empty()) return is_within(module, rule.package);
  return module == rule.package && matches(name, rule.name);
}

template <std::size_t N>
std::optional<std::string_view> find_reason(const std::array<Rule, N>& rules, std::string_view module,
                                            std::string_view name) {
  for (const Rule& rule : rules) {
    if (applies(rule, module, name)) return rule.reason;
  }
  return std::nullopt;
}

// Classes are written with a capital, functions and modules are not.
bool is_class_name(std::string_view name) {
  const std::size_t first = name.find_first_not_of('_');
  return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

bool is_harmless_torch(std::string_view module, std::string_view name) {
  constexpr std::array<std::string_view, 5> kClassPackages = {"torch.nn", "torch.optim", "torch.ao",
                                                              "torch.quantization", "torch.cuda"};
  if (module == "torch.nn.functional") return true;
  for (const std::string_view package : kClassPackages) {
    if (is_within(module, package)) return is_class_name(name);
  }
  return false;
}

}  // namespace

std::optional<std::string_view> package_reason(std::string_view module, std::string_view name) {
  if (is_within(module, "torch")) {
    if (is_harmless_torch(module, name)) return std::nullopt;
    return find_reason(kTorchReasons, module, name).value_or(kTorch);
  }
  if (is_within(module, "numpy")) return find_reason(kNumpyReasons, module, name).value_or(kNumpy);
  return find_reason(kPackages, module, name);
}

}  // namespace ckpt::pickle
