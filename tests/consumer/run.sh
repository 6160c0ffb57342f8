#!/usr/bin/env bash
# Installs a build into an empty prefix, moves it, and uses it as an outside project would.
# Usage: run.sh CMAKE BUILD_FOLDER CXX
set -euo pipefail

cmake=$1 build=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '== %s\n' "$*"; }

step "install, then move the prefix"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

step "the installed program runs"
"$prefix/bin/ckpt" --version

step "each installed header compiles alone"
include=$prefix/include
while IFS= read -r header; do
  printf '#include "%s"\n' "${header#"$include"/}" |
    "$cxx" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$include" -x c++ -
done < <(find "$include" -name '*.h' | sort)

step "a CMake project with find_package(ckpt)"
"$cmake" -G Ninja -S "$here" -B "$work/consumer" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
  >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/consumer" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$work/consumer/consumer"

step "a compiler line with pkg-config"
pc=$(find "$prefix" -name ckpt.pc)
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$pc")
read -ra flags < <(pkg-config --cflags --libs ckpt)
libdir=$(pkg-config --variable=libdir ckpt)
"$cxx" -std=c++20 "$here/main.cpp" -o "$work/by_pkg_config" "${flags[@]}" -Wl,-rpath,"$libdir"
"$work/by_pkg_config"
