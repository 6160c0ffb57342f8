#!/usr/bin/env python3
"""Checks what a compiler does not: who may include whom, where system calls live, file sizes, build lists.

Prints one line for each breach and exits with 1 if there is any. Runs as the test `layers`.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LIB = TOP / "lib"
MAX_LINES = 600

# A module may include itself and these. Siblings (zip and pickle, torch and safetensors) meet only in `model`.
MODULES = {
    "base": set(),
    "io": {"base"},
    "zip": {"base", "io"},
    "pickle": {"base", "io"},
    "tensor": {"base"},
    "json": {"base"},
    "torch": {"base", "io", "zip", "pickle", "json", "tensor"},
    "safetensors": {"base", "io", "json", "tensor"},
    "model": {"base", "io", "zip", "pickle", "json", "tensor", "torch", "safetensors"},
    "jobs": {"base", "io", "zip", "pickle", "json", "tensor", "torch", "safetensors", "model"},
}

# The program: the public headers of these modules (the jobs, and the values that jobs give), and of io the
# reader's progress and what a signal handler must call.
APP_MODULES = {"base", "tensor", "model", "jobs"}
APP_HEADERS = {"ckpt/io/atomic_file.h", "ckpt/io/span_reader.h"}

# Header of another library -> the files that may include it (beginnings of their paths, as patterns).
LIBRARIES = {
    r"fmt/.*": ("lib/ckpt/", "apps/ckpt/"),
    r"tl/expected\.hpp": ("lib/ckpt/base/result.h",),
    r"openssl/.*": ("lib/ckpt/io/sha256.cpp",),
    r"libdeflate\.h": ("lib/ckpt/io/crc32.cpp",),
    r"zip\.h": (r"lib/ckpt/zip/libzip(_source)?\.",),
    r"simdjson\.h": ("lib/ckpt/json/json.cpp",),
    r"CLI/.*": ("apps/ckpt/",),
    r"nlohmann/.*": ("apps/ckpt/",),
    r"spdlog/.*": ("apps/ckpt/",),
}

# System headers -> the files that may include them: system calls are made in one layer only.
SYSTEM = {
    r"fnmatch\.h": ("lib/ckpt/base/text.cpp",),
    r"(pthread|signal)\.h": ("lib/ckpt/io/", "apps/ckpt/"),
    r"x?locale\.h": ("lib/ckpt/pickle/text_opcodes.cpp",),
    r".*\.h": (
        r"lib/ckpt/io/\w+_(posix|linux|macos)\.cpp",
        "lib/ckpt/io/platform_detail.h",
        "apps/ckpt/terminal.cpp",
    ),
}

# The library does not print, end the program, or look at the environment, but for ckpt_readers().
FORBIDDEN_IN_LIB = re.compile(
    r"std::(cout|cerr|clog)\b|\b(f|v)?printf\s*\(|\bputs\s*\(|\bperror\s*\(|\b(std::|_|quick_)?exit\s*\(|\babort\s*\("
)
ENVIRONMENT = re.compile(r"\b(secure_)?getenv\s*\(")
ENVIRONMENT_FILES = {"lib/ckpt/io/readers.cpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)

breaches = []


def breach(path, text):
    breaches.append(f"{path.relative_to(TOP)}: {text}")


def sources(*folders):
    for folder in folders:
        for suffix in ("*.cpp", "*.h"):
            yield from sorted((TOP / folder).rglob(suffix))


def public_headers():
    return set(re.findall(r"^\s+(ckpt/\S+\.h)\)?$", (TOP / "cmake/PublicHeaders.cmake").read_text(), re.M))


def module_of(header):
    """"io" of "ckpt/io/sha256.h"; empty for what lies beside the modules, such as the C interface."""
    parts = header.split("/")
    return parts[1] if len(parts) == 3 else ""


def is_allowed(name, places):
    return any(re.match(place, name) for place in places)


def check_own_include(path, header, public):
    if not (LIB / header).is_file():
        return breach(path, f"includes {header}, which is not in lib/")
    wanted = module_of(header)
    name = str(path.relative_to(TOP))
    if name.startswith("apps/"):
        if header not in APP_HEADERS and not (header in public and wanted in APP_MODULES):
            breach(path, f"includes {header}; the program uses public headers of jobs and below only")
        return
    here = module_of(str(path.relative_to(LIB)))
    if here and wanted != here and wanted not in MODULES[here]:
        breach(path, f"module {here} must not include {header}")
    if str(path.relative_to(LIB)) in public and header not in public:
        breach(path, f"is public but includes {header}, which is not")


def check_foreign_include(path, header):
    name = str(path.relative_to(TOP))
    for pattern, places in (LIBRARIES | SYSTEM).items():
        if re.fullmatch(pattern, header):
            if not is_allowed(name, places):
                breach(path, f"includes <{header}>, which belongs into {' or '.join(places)}")
            return
    if "/" in header or "." in header:
        breach(path, f"includes <{header}>, which is in no table of this check")


def check_includes(path, text, public):
    for bracket, header in INCLUDE.findall(text):
        if header.startswith("ckpt/") and (LIB / header).is_file():
            check_own_include(path, header, public)
        elif bracket == "<":
            check_foreign_include(path, header)
        elif TOP / "apps" not in path.parents or not (path.parent / header).is_file():
            breach(path, f"includes {header}, which is nowhere")


def check_conduct(path, text):
    code = COMMENT_OR_TEXT.sub("", text)
    for match in FORBIDDEN_IN_LIB.finditer(code):
        breach(path, f"{match.group().strip()} has no place in the library")
    if ENVIRONMENT.search(code) and str(path.relative_to(TOP)) not in ENVIRONMENT_FILES:
        breach(path, "looks at the environment")


def check_form(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        breach(path, f"{lines} lines, at most {MAX_LINES}")
    if path.suffix == ".h" and "#pragma once" not in text:
        breach(path, "no #pragma once")


def check_stems():
    """A file is found by its name alone, so a stem stands for one thing."""
    folders = defaultdict(set)
    for path in sources("lib"):
        folders[path.stem].add(path.parent)
    for stem, places in sorted(folders.items()):
        if len(places) > 1:
            names = ", ".join(str(place.relative_to(TOP)) for place in sorted(places))
            breaches.append(f"the name {stem} is used in {names}")


def check_build_list(list_file, folder, pattern):
    """Lists are explicit, so a file that was forgotten would silently not be built."""
    listed = set(re.findall(r"[\w/]+\.cpp", (TOP / list_file).read_text()))
    base = (TOP / list_file).parent
    for path in sorted((TOP / folder).rglob(pattern)):
        if str(path.relative_to(base)) not in listed:
            breach(path, f"is not in {list_file}")


def check_fuzz_targets():
    listed = (TOP / "tests/CMakeLists.txt").read_text()
    for path in sorted((TOP / "tests/fuzz").glob("*_fuzz.cpp")):
        name = path.stem.removesuffix("_fuzz")
        if not re.search(rf"^\s+{name}\)?$", listed, re.M):
            breach(path, "is not in tests/CMakeLists.txt")
        if not any((TOP / "tests/fuzz/seeds" / name).glob("*")):
            breach(path, f"has no seeds in tests/fuzz/seeds/{name}")


def main():
    public = public_headers()
    for path in sources("lib", "apps"):
        text = path.read_text(encoding="utf-8")
        check_includes(path, text, public)
        check_form(path, text)
        if LIB in path.parents:
            check_conduct(path, text)
    for path in sources("tests"):
        check_form(path, path.read_text(encoding="utf-8"))
    check_stems()
    check_build_list("lib/CMakeLists.txt", "lib", "*.cpp")
    check_build_list("apps/ckpt/CMakeLists.txt", "apps/ckpt", "*.cpp")
    check_build_list("tests/CMakeLists.txt", "tests/unit", "*_test.cpp")
    check_build_list("tests/CMakeLists.txt", "tests/support", "*.cpp")
    check_fuzz_targets()
    for line in breaches:
        print(line)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
