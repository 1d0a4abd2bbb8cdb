#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheel of the Python package: tlc-<version>-py3-none-manylinux_2_36_<machine>.whl, with the libraries and
# headers of a build, for any Python from 3.9 on.
#
# wheel.sh [<build folder> [<folder for the wheel>]]: without a build folder builds the portable preset, whose
# libraries need nothing but the C library; those of another build need its libraries. The wheel goes to
# <build folder>/packages unless a folder is named. Equal builds give equal wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
max_megabytes=25

fail() {
  echo "wheel: $*" >&2
  exit 1
}
case ${1:-} in -*) fail "expected a build folder and a folder for the wheel, but got the option $1" ;; esac
[ $# -le 2 ] || fail "expected a build folder and a folder for the wheel, but got $# arguments"
build=${1:-$here/build/portable}
[ $# -gt 0 ] || "$here/tools/scripts/build.sh" portable
[ -f "$build/CMakeCache.txt" ] || fail "expected a build folder, but '$build' has no CMakeCache.txt"
for file in lib/libtlc.so lib/libtlc_compiler.so lib/libtlc_runtime.so include/tlc/kernel.h; do
  [ -f "$build/$file" ] || fail "expected a finished build, but '$build' has no $file; cmake --build '$build'"
done
output=${2:-$build/packages}
mkdir -p "$output" || fail "expected to write to '$output'"
output=$(cd "$output" && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$build/lib/libtlc.so")}
export SOURCE_DATE_EPOCH

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
log=$staging/log
cmake --install "$build" --prefix "$staging/prefix" >"$log" 2>&1 || { cat "$log" >&2 && fail "cannot install '$build'"; }
mkdir -p "$staging/wheel/tlc/lib"
cp "$here"/tools/python/tlc/*.py "$here/tools/python/tlc/py.typed" "$staging/wheel/tlc"
cp "$staging"/prefix/lib/libtlc{,_compiler,_runtime}.so "$staging/wheel/tlc/lib"
cp -r "$staging/prefix/include" "$staging/wheel/tlc/include"

# The licences of tlc and of what is linked in.
python3 -B "$here/tools/scripts/check_linked.py" "$build" >"$log" || { cat "$log" >&2 && fail "expected a licence of all that is linked in"; }

python3 -B "$here/tools/scripts/make_wheel.py" "$staging/wheel" "$staging/prefix/share/doc/tlc/licenses" "$output" >"$staging/name" || fail "cannot write the wheel"
wheel=$(cat "$staging/name")
bytes=$(stat -c %s "$wheel")
echo "wheel: $wheel has $((bytes / 1000000)) MB"
[ "$bytes" -le $((max_megabytes * 1000000)) ] || fail "expected at most $max_megabytes MB, but '$wheel' has $bytes bytes"
