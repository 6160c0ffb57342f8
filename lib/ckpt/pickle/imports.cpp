#include "ckpt/pickle/imports.h"

#include <array>

#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

struct ModuleMapping {
  std::string_view python2;
  std::string_view python3;
};

struct NameMapping {
  PythonName python2;
  PythonName python3;
};

// Source: CPython's Lib/_compat_pickle.py, with `thread` and `urllib` straightened out. Only what
// changes a verdict or its reason is needed; all these modules are in the closed list under their old names.
constexpr std::array kModules = {
    ModuleMapping{"__builtin__", "builtins"},
    ModuleMapping{"exceptions", "builtins"},
    ModuleMapping{"copy_reg", "copyreg"},
    ModuleMapping{"cPickle", "pickle"},
    ModuleMapping{"commands", "subprocess"},
    ModuleMapping{"thread", "_thread"},
    ModuleMapping{"dummy_thread", "_dummy_thread"},
    ModuleMapping{"Queue", "queue"},
    ModuleMapping{"StringIO", "io"},
    ModuleMapping{"cStringIO", "io"},
    ModuleMapping{"UserDict", "collections"},
    ModuleMapping{"UserList", "collections"},
    ModuleMapping{"UserString", "collections"},
    ModuleMapping{"repr", "reprlib"},
    ModuleMapping{"httplib", "http.client"},
    ModuleMapping{"urllib2", "urllib.request"},
    ModuleMapping{"urlparse", "urllib.parse"},
    ModuleMapping{"robotparser", "urllib.robotparser"},
    ModuleMapping{"cookielib", "http.cookiejar"},
    ModuleMapping{"Cookie", "http.cookies"},
    ModuleMapping{"BaseHTTPServer", "http.server"},
    ModuleMapping{"SimpleHTTPServer", "http.server"},
    ModuleMapping{"CGIHTTPServer", "http.server"},
    ModuleMapping{"SocketServer", "socketserver"},
    ModuleMapping{"xmlrpclib", "xmlrpc.client"},
    ModuleMapping{"SimpleXMLRPCServer", "xmlrpc.server"},
    ModuleMapping{"DocXMLRPCServer", "xmlrpc.server"},
    ModuleMapping{"ConfigParser", "configparser"},
    ModuleMapping{"anydbm", "dbm"},
    ModuleMapping{"whichdb", "dbm"},
    ModuleMapping{"_winreg", "winreg"},
    ModuleMapping{"Tkinter", "tkinter"},
};

constexpr std::array kNames = {
    NameMapping{{"__builtin__", "xrange"}, {"builtins", "range"}},
    NameMapping{{"__builtin__", "long"}, {"builtins", "int"}},
    NameMapping{{"__builtin__", "unicode"}, {"builtins", "str"}},
    NameMapping{{"__builtin__", "unichr"}, {"builtins", "chr"}},
    NameMapping{{"__builtin__", "basestring"}, {"builtins", "str"}},
    NameMapping{{"__builtin__", "reduce"}, {"functools", "reduce"}},
    NameMapping{{"__builtin__", "intern"}, {"sys", "intern"}},
    NameMapping{{"itertools", "imap"}, {"builtins", "map"}},
    NameMapping{{"itertools", "izip"}, {"builtins", "zip"}},
    NameMapping{{"itertools", "ifilter"}, {"builtins", "filter"}},
    NameMapping{{"UserDict", "IterableUserDict"}, {"collections", "UserDict"}},
    NameMapping{{"torch.tensor", "_rebuild_from_type"}, {"torch._tensor", "_rebuild_from_type"}},
    NameMapping{{"torch.tensor", "_rebuild_from_type_v2"}, {"torch._tensor", "_rebuild_from_type_v2"}},
};

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7F) return false;
  }
  return !text.empty();
}

ImportVerdict dangerous(std::string_view reason) { return {ImportClass::dangerous, std::string(reason)}; }

// Pairs that no exact list has.
ImportVerdict classify_unlisted(const PythonName& pair) {
  const std::string_view first_part = pair.module.substr(0, pair.module.find('.'));
  if (const auto reason = standard_library_reason(first_part)) return dangerous(*reason);
  if (const auto reason = package_reason(pair.module, pair.name)) return dangerous(*reason);
  if (pair.name.find('.') != std::string_view::npos) return dangerous("reaches through attributes");
  if (!is_plain(pair.module) || !is_plain(pair.name)) return {ImportClass::unknown, "is not plain ASCII"};
  return {ImportClass::unknown, {}};
}

}  // namespace

std::string_view import_class_word(ImportClass c) {
  switch (c) {
    case ImportClass::known_safe: return "known-safe";
    case ImportClass::unknown: return "unknown";
    case ImportClass::dangerous: return "dangerous";
  }
  return "unknown";
}

PythonName python3_name(std::string_view module, std::string_view name) {
  for (const NameMapping& mapping : kNames) {
    if (mapping.python2.module == module && mapping.python2.name == name) return mapping.python3;
  }
  for (const ModuleMapping& mapping : kModules) {
    if (mapping.python2 == module) return {mapping.python3, name};
  }
  return {module, name};
}

ImportVerdict classify_import(std::string_view module, std::string_view name, bool in_torchscript) {
  const PythonName pair = python3_name(module, name);
  if (in_torchscript && is_within(pair.module, "__torch__")) return {ImportClass::known_safe, {}};
  if (is_known_safe(pair.module, pair.name)) return {ImportClass::known_safe, {}};
  if (is_harmless_exception(pair.module, pair.name)) return {ImportClass::unknown, {}};
  return classify_unlisted(pair);
}

}  // namespace ckpt::pickle
