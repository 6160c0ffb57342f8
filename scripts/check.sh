#!/usr/bin/env bash
# Everything that must hold before a change goes in: packages, build without warnings, format, layers, tests.
# Usage: check.sh [--ci]
#   --ci  also the tests under AddressSanitizer (clang) and ThreadSanitizer, and against torch if pip has it
# Stops at the first failure and shows it last.
set -euo pipefail

cd "$(dirname "$0")/.."
ci=false
case ${1:-} in
  '') ;;
  --ci) ci=true ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
logs=build/check
mkdir -p "$logs"

# step NAME COMMAND...: one line when it goes well, the end of its output when it does not.
step() {
  local name=$1 log started=$SECONDS
  log="$logs/$(tr -c 'a-z0-9\n' '-' <<<"$name").log"
  shift
  printf '%-34s' "$name"
  if "$@" >"$log" 2>&1 </dev/null; then
    printf 'ok  %4d s\n' $((SECONDS - started))
    return 0
  fi
  printf 'FAILED\n\n'
  show_failure "$log"
  printf '\ncheck.sh: %s failed; all of its output is in %s\n' "$name" "$log"
  exit 1
}

# The first error of a build with what follows it, else the end.
show_failure() {
  local first
  first=$(grep -n -m1 -E '^FAILED: |^CMake Error' "$1" | cut -d: -f1) || true
  if [ -n "$first" ]; then
    tail -n "+$first" "$1" | head -n 60
  else
    tail -n 60 "$1"
  fi
}

# A test run, closed by a line that every version of ctest leads to; after a bad one, its first failure again.
run_tests() {
  local preset=$1 folder=$2 failed
  if ctest --preset "$preset" --output-junit junit.xml </dev/null; then
    count_tests "build/$folder/junit.xml"
    return
  fi
  failed=$(head -n1 "build/$folder/Testing/Temporary/LastTestsFailed.log" 2>/dev/null | cut -d: -f1) || true
  if [ -n "$failed" ]; then
    printf '\nThe first failure again:\n'
    ctest --test-dir "build/$folder" -I "$failed,$failed" --output-on-failure </dev/null || true
  fi
  return 1
}

count_tests() {
  python3 - "$1" <<'END'
import sys
import xml.etree.ElementTree as xml

suite = xml.parse(sys.argv[1]).getroot()
total, failed, skipped = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped"))
print(f"tests: {total - failed - skipped} passed, {failed} failed, {skipped} skipped")
sys.exit(total == skipped)
END
}

build_preset() {
  step "configure $1" cmake --preset "$1" -DCKPT_WERROR=ON
  step "build $1" cmake --build --preset "$1"
}

check_format() {
  scripts/format.sh --check || ! $ci
}

$ci && sections=(build test interop) || sections=(build test)
step "packages (${sections[*]})" scripts/install_packages.sh "${sections[@]}"
step "layers" python3 scripts/check_layers.py
step "format" check_format
build_preset dev

if $ci; then
  CXX=clang++ build_preset asan
  step "tests asan" run_tests asan asan
  build_preset tsan
  step "tests tsan" run_tests tsan tsan
  printf '%-34s' "environment of the interop tests"
  if scripts/interop_env.sh create >"$logs/interop.log" 2>&1 </dev/null; then
    echo ok
  else
    echo SKIPPED
    grep -A1 SKIPPED "$logs/interop.log" || tail -n 3 "$logs/interop.log"
  fi
  run_tests all dev
else
  run_tests dev dev
fi
