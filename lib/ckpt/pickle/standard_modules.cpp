#include <algorithm>

#include "ckpt/pickle/import_lists.h"

namespace ckpt::pickle {

namespace {

struct Group {
  std::string_view reason;
  std::string_view modules;
};

// The union of the module names of Python 2.7 and 3.6 to 3.15 on every platform, removed and private ones
// too, each under the worst that it gives. Source: sys.stdlib_module_names, sys.builtin_module_names and the
// library folders of these versions.
constexpr Group kGroups[] = {
    {"runs code",
     "__builtin__ __future__ __hello__ __hello_alias__ __hello_only__ __phello__ __phello_alias__ _abc "
     "_ast _ast_unparse _asyncio _bootlocale _contextvars _ctypes _ctypes_test _dummy_thread "
     "_dummy_threading _frozen_importlib _frozen_importlib_external _hotshot _imp _interpchannels "
     "_interpqueues _interpreters _lsprof _multiprocessing _opcode _opcode_metadata _peg_parser "
     "_py_abc _pyrepl _remote_debugging _signal _sitebuiltins _suggestions _symtable _testbuffer "
     "_testcapi _testcapi_datetime _testclinic _testclinic_limited _testconsole "
     "_testexternalinspection _testimportmultiple _testinternalcapi _testlimitedcapi _testmultiphase "
     "_testsinglephase _thread _threading_local _tracemalloc _types _typing _xxinterpchannels "
     "_xxsubinterpreters _xxtestfuzz abc annotationlib ast asyncio atexit Bastion bdb builtins cmd "
     "code codeop compiler concurrent contextlib contextvars cProfile ctypes dataclasses dis dl "
     "doctest DocXMLRPCServer dummy_thread dummy_threading enum exceptions future_builtins gc hotshot "
     "idlelib ihooks imp importlib imputil inspect lib2to3 marshal modulefinder multiprocessing new "
     "opcode parser pdb pkgutil profile profiling pyclbr pydoc pydoc_data rexec rlcompleter runpy "
     "sched signal SimpleXMLRPCServer site sitecustomize symbol symtable tabnanny test thread "
     "threading timeit trace tracemalloc types typing unittest user usercustomize xmlrpc xmlrpclib xx "
     "xxlimited xxlimited_35 xxsubtype zipimport"},
    {"runs programs",
     "_aix_support _android_support _apple_support _bootsubprocess _ios_support _osx_support "
     "_posixsubprocess _sysconfig _uuid _winapi _wmi antigravity commands distutils ensurepip "
     "findertools nt os os2emxpath pipes platform popen2 posix posixfile pty subprocess sysconfig "
     "turtle turtledemo uuid venv webbrowser zipapp"},
    {"calls by name",
     "_abcoll _collections _collections_abc _functools _operator _string _weakref _weakrefset "
     "collections copy_reg copyreg functools itertools operator repr reprlib string stringold strop "
     "UserDict UserList UserString weakref"},
    {"loads more pickles or archives",
     "_bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw "
     "_compat_pickle _compression _csv _dbm _elementtree _gdbm _json _lzma _markupbase _multibytecodec "
     "_pickle _sqlite3 _zstd anydbm base64 binascii binhex bsddb bz2 codecs compression configparser "
     "ConfigParser cPickle csv dbhash dbm dumbdbm email encodings formatter gdbm gzip html "
     "htmlentitydefs htmllib HTMLParser json lzma mailbox markupbase mhlib mimetools MimeWriter mimify "
     "multifile netrc pickle pickletools plistlib pyexpat quopri rfc822 sgmllib shelve sqlite3 tarfile "
     "tomllib uu whichdb xdrlib xml xmllib zipfile zlib"},
    {"reaches files",
     "_io _posixshmem _pyio _stat _tokenize aifc audiodev audioop chunk compileall cStringIO difflib "
     "dircache fcntl filecmp fileinput fnmatch genericpath glob imghdr io linecache logging macpath "
     "macurl2path mailcap mimetypes mmap ntpath nturl2path pathlib posixpath py_compile readline "
     "shutil sndhdr stat statvfs StringIO sunau sunaudio syslog tempfile toaiff token tokenize wave"},
    {"reaches the network",
     "_LWPCookieJar _MozillaCookieJar _overlapped _queue _scproxy _socket _ssl asynchat asyncore "
     "BaseHTTPServer cgi CGIHTTPServer cgitb Cookie cookielib ftplib http httplib imaplib nis nntplib "
     "poplib queue Queue robotparser select selectors SimpleHTTPServer smtpd smtplib socket "
     "SocketServer socketserver ssl telnetlib urllib urllib2 urlparse wsgiref"},
    {"changes the process",
     "_colorize _crypt _curses _curses_panel _locale _msi _py_warnings _warnings _winreg argparse "
     "crypt curses errno faulthandler getopt getpass gettext grp locale msilib msvcrt optparse pwd "
     "resource spwd sys termios time traceback tty warnings winreg winsound"},
    {"is a part of the standard library that no checkpoint needs",
     "_bisect _blake2 _bsddb _datetime _decimal _hashlib _heapq _hmac _math_integer _md5 "
     "_missing_stdlib_info _pydatetime _pydecimal _pylong _random _sha _sha1 _sha2 _sha256 _sha3 "
     "_sha512 _sre _statistics _strptime _struct _tkinter _zoneinfo aepack aetools aetypes al AL "
     "applesingle array autoGIL bisect buildtools calendar Canvas Carbon cd CDROM cfmfile cmath "
     "ColorPicker colorsys copy datetime decimal DEVICE Dialog DLFCN EasyDialogs FileDialog FixTk fl "
     "FL flp fm fpectl fpformat fractions FrameWork gensuitemodule GL gl graphlib hashlib heapq hmac "
     "ic icopen imageop imgfile IN ipaddress jpeg keyword linuxaudiodev macerrors MacOS macostools "
     "macresource math md5 MiniAEFrame mutex Nav numbers ossaudiodev PixMapWrapper pprint pstats "
     "random re ScrolledText secrets sets sha shlex SimpleDialog sre sre_compile sre_constants "
     "sre_parse statistics stringprep struct sunaudiodev SUNAUDIODEV textwrap this Tix tkColorChooser "
     "tkCommonDialog Tkconstants Tkdnd tkFileDialog tkFont tkinter Tkinter tkMessageBox tkSimpleDialog "
     "ttk TYPES unicodedata videoreader W zoneinfo"},
};

struct Entry {
  std::string_view module;
  std::string_view reason;
};

bool precedes(const Entry& a, const Entry& b) { return a.module < b.module; }

const std::vector<Entry>& entries() {
  static const std::vector<Entry> sorted = [] {
    std::vector<Entry> all;
    for (Group group : kGroups) {
      while (!group.modules.empty()) {
        const std::string_view module = group.modules.substr(0, group.modules.find(' '));
        all.push_back({module, group.reason});
        group.modules.remove_prefix(std::min(module.size() + 1, group.modules.size()));
      }
    }
    std::sort(all.begin(), all.end(), precedes);
    return all;
  }();
  return sorted;
}

}  // namespace

std::optional<std::string_view> standard_library_reason(std::string_view first_part) {
  const auto found = std::lower_bound(entries().begin(), entries().end(), Entry{first_part, {}}, precedes);
  if (found == entries().end() || found->module != first_part) return std::nullopt;
  return found->reason;
}

}  // namespace ckpt::pickle
