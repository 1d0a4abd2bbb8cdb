#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs the portable build, with its tests and benchmarks, for a machine with a
# GPU and no package registry; tools/bench/run_on_gpu.sh is what to run there.
# pack.sh [<archive>]: build/portable/tlc.tar.xz unless named.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=${1:-build/portable/tlc.tar.xz}
max_mebibytes=64

tools/scripts/build.sh portable

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tlc/bin" "$folder/tlc/lib"
cp build/portable/bin/tlc build/portable/bin/tlc-attention-matrix build/portable/bin/tlc-conformance \
  build/portable/bin/tlc-differential build/portable/bin/*_test tools/conformance/record_sequences.sh "$folder/tlc/bin"
cp build/portable/bin/{launch,start,compile}_bench build/portable/bin/start_{raw,runtime,interface} "$folder/tlc/bin"
cp build/portable/lib/libtlc{,_compiler,_runtime}.so "$folder/tlc/lib"
cp -r build/portable/include "$folder/tlc/include"
cp -r tools/bench "$folder/tlc/bench"
mkdir "$folder/tlc/test" "$folder/tlc/docs"
cp README.md "$folder/tlc"
cp docs/python.md "$folder/tlc/docs"
cp -r tools/python "$folder/tlc/python"
cp -r test/python "$folder/tlc/test/python"
cp LICENSE "$folder/tlc"
find "$folder/tlc" -name __pycache__ -prune -exec rm -rf {} +

# Our programs hold the same libraries: with a window over several of them
# each after the first takes little room.
tar -C "$folder" --sort=name --owner=0 --group=0 -cf - tlc |
  xz --lzma2=preset=6,dict=128MiB >"$archive"
bytes=$(stat -c %s "$archive")
echo "pack: $archive has $((bytes / 1024 / 1024)) MiB"
if [ "$bytes" -ge $((max_mebibytes * 1024 * 1024)) ]; then
  echo "pack: expected $archive to be under $max_mebibytes MiB, but it has $bytes bytes" >&2
  exit 1
fi
