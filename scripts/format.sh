#!/usr/bin/env bash
# Formats every C++ file in place.
# Usage: format.sh [--check]    with --check: changes nothing, shows what it would change, and fails if anything
set -euo pipefail

cd "$(dirname "$0")/.."
known=14

clang_format=$(command -v "clang-format-$known" || command -v clang-format || true)
version=$([ -z "$clang_format" ] || "$clang_format" --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$version" != "$known" ]; then
  echo "format.sh: needs clang-format $known, found ${version:-none}; other versions disagree on a few lines" >&2
  [ "${1:-}" = --check ] && exit 0
  exit 1
fi

mapfile -t files < <(find lib apps tests -name '*.cpp' -o -name '*.h' | sort)

check() {
  local file bad=0
  for file in "${files[@]}"; do
    "$clang_format" "$file" | diff -u --label "$file" --label "$file, formatted" "$file" - || bad=1
  done
  return $bad
}

case ${1:-} in
  '') "$clang_format" -i "${files[@]}" ;;
  --check) check ;;
  *) sed -n '2,3s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
