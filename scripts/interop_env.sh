#!/usr/bin/env bash
# The Python that the interop tests compare ckpt with: one that has torch and safetensors.
#   interop_env.sh create           makes build/interop-venv if none is found; 77 if it cannot
#   interop_env.sh run FILE ARG...  runs a Python file with it; 77 (ctest: skipped) if there is none
# $CKPT_PYTHON, if set, is taken instead.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
venv=$top/build/interop-venv
skipped=77
requirements=(torch==2.13.0 safetensors==0.8.0 numpy jsonschema)

has_torch() { "$1" -c 'import torch, safetensors, numpy, jsonschema' >/dev/null 2>&1; }

find_python() {
  local python
  for python in ${CKPT_PYTHON:+"$CKPT_PYTHON"} "$venv/bin/python"; do
    has_torch "$python" && { echo "$python"; return 0; }
  done
  return 1
}

create() {
  if find_python; then return 0; fi
  echo "Making $venv (${requirements[*]})"
  rm -rf "$venv"
  mkdir -p "$top/build"
  if python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "${requirements[@]}" && find_python; then
    return 0
  fi
  rm -rf "$venv"
  echo "SKIPPED: the interop tests need a Python with ${requirements[*]}, and pip could not install it." >&2
  echo "         Set CKPT_PYTHON to one that has them." >&2
  return $skipped
}

run() {
  local python
  if ! python=$(find_python); then
    echo "SKIPPED: no Python with torch; scripts/interop_env.sh create makes one, or set CKPT_PYTHON" >&2
    exit $skipped
  fi
  exec "$python" "$@"
}

case ${1:-} in
  create) create ;;
  run) shift && run "$@" ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
