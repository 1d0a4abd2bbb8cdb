#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the portable preset (a static, stripped compiler that runs on a
# machine without LLVM: libtlc_compiler.so, the C interface, the runtime, and the small executable that calls them),
# checks its size and what it links to, and runs its tests. Binaries land in
# build/portable/bin, the libraries in build/portable/lib.
set -euo pipefail
cd "$(dirname "$0")/.."

max_megabytes=60
max_compressed_megabytes=20
files=(build/portable/bin/tlc build/portable/lib/libtlc{,_compiler,_runtime}.so)

fail() {
  echo "portable: $*" >&2
  exit 1
}

tools/scripts/build.sh portable

foreign=$(ldd "${files[@]}" | awk '/=>|ld-linux|vdso/ { print $1 }' |
  grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|librt|libtlc|libtlc_compiler|libtlc_runtime)\.so|/ld-linux' || true)
[ -z "$foreign" ] || fail "expected ${files[*]} to need nothing but the C library, but they link to" $foreign

bytes=$(cat "${files[@]}" | wc -c)
compressed=$(cat "${files[@]}" | xz --threads=0 --stdout | wc -c)
echo "portable: ${files[*]} have $((bytes / 1000000)) MB, $((compressed / 1000000)) MB compressed"
[ "$bytes" -lt $((max_megabytes * 1000000)) ] ||
  fail "expected ${files[*]} to be under $max_megabytes MB, but they have $bytes bytes"
[ "$compressed" -lt $((max_compressed_megabytes * 1000000)) ] ||
  fail "expected ${files[*]} to be under $max_compressed_megabytes MB compressed, but they have $compressed bytes"

ctest --preset portable --parallel "$(nproc)" "$@"
