#!/usr/bin/env bash
# Installs the missing packages of scripts/packages.txt. Needs neither root nor network when none is missing.
# Usage: install_packages.sh [SECTION...]    (build, test, interop, dev; default: build test)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/packages.txt
[ $# -gt 0 ] || set -- build test

if [ "$(uname -s)" = Darwin ]; then
  cat <<'END'
On macOS: brew install ccache catch2 cli11 cmake fmt libdeflate libzip ninja nlohmann-json openssl@3 pkgconf \
            simdjson spdlog tl-expected
END
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "install_packages.sh: no apt-get here; install what $list names in your system's way" >&2
  exit 1
fi

# Lines of one section, without comments.
section() {
  awk -v wanted="[$1]" '/^\[/ { inside = $0 == wanted; found = found || inside; next }
                        inside && NF && !/^#/ { print $1 }
                        END { exit !found }' "$list" || {
    echo "install_packages.sh: $list has no section [$1]" >&2
    exit 2
  }
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
is_available() { apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; }

any_installed() {
  local name
  for name in ${1//|/ }; do
    is_installed "$name" && return 0
  done
  return 1
}

first_available() {
  local name
  for name in ${1//|/ }; do
    is_available "$name" && { echo "$name"; return 0; }
  done
  return 1
}

# Fills `packages` with what to install; false if one is in no package list.
choose() {
  local wanted name
  packages=()
  for wanted in "${missing[@]}"; do
    name=$(first_available "$wanted") || { unknown=$wanted; return 1; }
    packages+=("$name")
  done
}

missing=()
for name in "$@"; do
  wanted=$(section "$name")
  for package in $wanted; do
    any_installed "$package" || missing+=("$package")
  done
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "install_packages.sh: these packages are missing, and there is neither root nor sudo to install them:" >&2
  echo "  apt-get install ${missing[*]%%|*}" >&2
  exit 1
fi

echo "Installing ${missing[*]%%|*}"
run_apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null; }
install() { run_apt install --no-install-recommends "${packages[@]}"; }

# The package lists may be absent or too old, and then they are fetched once.
if choose && install; then exit 0; fi
run_apt update
choose || { echo "install_packages.sh: no package is called $unknown on this system" >&2; exit 1; }
install
