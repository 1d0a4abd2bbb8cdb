#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty folder, runs a file of kernels there on the emulator, compiles all headers, and
# builds and runs an outside project, with each compiler that there is. install_test.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH=$build/test/compilers:$PATH
cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/prefix" # it may be moved
cp "$source/test/files/softcap.cpp" "$folder/my.cpp"
cp -r "$source/test/install/outside" "$source/test/install/first" "$source/test/install/precompiled" \
  "$source/test/install/ahead" "$folder"
cd "$folder"
cp my.cpp ahead
fail() {
  echo "install: $*" >&2
  exit 1
}
! grep -rnE '#include [<"](mlir|llvm|fmt)/' prefix/include || fail "expected headers without MLIR, LLVM and fmt"
# What $1 needs, by name and all that needs in turn.
needs() { ldd "$1" | awk '{ print $1 }'; }
! needs prefix/lib/libtlc_runtime.so | grep -E 'LLVM|MLIR|libtlc' || fail "expected a runtime without the compiler"
! needs prefix/lib/libtlc.so | grep -E 'LLVM|MLIR|libtlc_compiler' || fail "expected a C interface without the compiler"

tried=0
for compiler in clang++-22 clang++ g++; do
  path=$(command -v $compiler) || continue
  environment=(env -i "PATH=$PATH" "XDG_CACHE_HOME=$folder/cache" "CCACHE_BASEDIR=$folder")
  if ! "${environment[@]}" prefix/bin/tlc list my.cpp --cxx "$path" >said 2>&1 && grep -q 'or a later version' said; then
    continue # too old
  fi
  tried=$((tried + 1))
  "${environment[@]}" prefix/bin/tlc run my.cpp --cxx "$path" --device emulator --verify | tee said
  grep -q ': ok$' said
  (cd prefix/include && find tlc -name '*.h' | sort | sed 's/.*/#include <&>/') >headers.cpp
  "$path" -std=c++20 -Wall -Werror -isystem prefix/include/tlc -I prefix/include -c headers.cpp -o headers.o ||
    fail "expected all headers to compile with $compiler"
  "${environment[@]}" cmake -S outside -B "outside/$compiler" -DCMAKE_CXX_COMPILER="$path" \
    -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
  "${environment[@]}" cmake --build "outside/$compiler" >/dev/null
  bin=outside/$compiler
  "${environment[@]}" "$bin/trace" >said
  grep -q 'tile.kernel @copied' said
  "${environment[@]}" "$bin/compile" "$bin/scaled.artifact"
  ! needs "$bin/launch" | grep -E 'LLVM|MLIR|libtlc(_compiler)?\.so' || fail "expected a program of tlc::runtime without the compiler"
  "${environment[@]}" "$bin/launch" "$bin/scaled.artifact"
  "${environment[@]}" "$bin/multiply"
  ! needs "$bin/call" | grep -E 'LLVM|MLIR|libtlc_compiler' || fail "expected a program of tlc::tlc without the compiler"
  "${environment[@]}" "$bin/call" | grep -x compiled
  "${environment[@]}" cmake -S first -B "first/$compiler" -DCMAKE_CXX_COMPILER="$path" \
    -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
  "${environment[@]}" cmake --build "first/$compiler" >/dev/null
  "${environment[@]}" "first/$compiler/first" | tee said
  grep -qx '3 \* 7 + 1 = 22' said
  # A precompiled header that the compiler does not take is an error.
  "${environment[@]}" cmake -S precompiled -B "precompiled/$compiler" -DCMAKE_CXX_COMPILER="$path" \
    -DCMAKE_CXX_FLAGS=-Werror=invalid-pch -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
  "${environment[@]}" cmake --build "precompiled/$compiler" >/dev/null
  find "precompiled/$compiler" -name 'cmake_pch.hxx.*ch' | grep -q . || fail "expected a precompiled header of $compiler"
  "${environment[@]}" "precompiled/$compiler/first" | grep -x '3 \* 7 + 1 = 22'
  "${environment[@]}" cmake -S ahead -B "ahead/$compiler" -DCMAKE_CXX_COMPILER="$path" \
    -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
  "${environment[@]}" CXX="$path" cmake --build "ahead/$compiler" >/dev/null
  ! needs "ahead/$compiler/ahead" | grep -E 'LLVM|MLIR|libtlc|fmt|cuda' || fail "expected a program of archives without libraries of tlc"
  "${environment[@]}" "ahead/$compiler/ahead" | tee said
  grep -qx '2.99 22.85 -30.00' said
done
if [ "$tried" = 0 ]; then
  echo "skipped: no C++ compiler that is new enough"
  exit 77
fi
cd ahead
"${environment[@]}" "PATH=$folder/prefix/bin:$PATH" "prefix=$folder/prefix" sh build.sh
./ahead | grep -x '2.99 22.85 -30.00'
