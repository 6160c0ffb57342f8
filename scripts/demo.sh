#!/usr/bin/env bash
# Builds ckpt and shows its main job: look at a checkpoint, convert it, prove the result, warm it up.
# Usage: demo.sh [CHECKPOINT]
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
input=$(realpath -- "${1:-$top/tests/fixtures/good-demo.pt}")
build=$top/build/release

"$top/scripts/install_packages.sh" build
log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
echo "Building ckpt in $build"
(
  cd "$top"
  cmake --preset release -DCKPT_TESTS=OFF && cmake --build --preset release --target ckpt_program
) >"$log" 2>&1 </dev/null || { cat "$log"; exit 1; }

PATH=$build/apps/ckpt:$PATH
cd "$work"
cp -- "$input" .
name=$(basename -- "$input")

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

show ckpt inspect "$name"
show ckpt convert "$name" model.safetensors
show ckpt verify "$name" model.safetensors
show ckpt prefetch model.safetensors
