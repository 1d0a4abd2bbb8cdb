#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the portable preset (one static, stripped compiler that runs on a
# machine without LLVM), checks its size and what it links to, and runs its
# tests. Binaries land in build/portable/bin.
set -euo pipefail
cd "$(dirname "$0")/.."

max_megabytes=60
max_compressed_megabytes=20
binary=build/portable/bin/tlc

fail() {
  echo "portable: $*" >&2
  exit 1
}

tools/scripts/build.sh portable

foreign=$(ldd "$binary" | awk '{ print $1 }' |
  grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|librt)\.so|/ld-linux' || true)
[ -z "$foreign" ] || fail "expected $binary to need nothing but the C library, but it links to" $foreign

bytes=$(stat -c %s "$binary")
compressed=$(xz --threads=0 --stdout "$binary" | wc -c)
echo "portable: $binary has $((bytes / 1000000)) MB, $((compressed / 1000000)) MB compressed"
[ "$bytes" -lt $((max_megabytes * 1000000)) ] ||
  fail "expected $binary to be under $max_megabytes MB, but it has $bytes bytes"
[ "$compressed" -lt $((max_compressed_megabytes * 1000000)) ] ||
  fail "expected $binary to be under $max_compressed_megabytes MB compressed, but it has $compressed bytes"

ctest --preset portable --parallel "$(nproc)" "$@"
