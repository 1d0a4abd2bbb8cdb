#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages a build, looks into both packages, and runs tlc from where each is unpacked. package_test.sh BUILD SOURCE
set -euo pipefail
build=$1 package=$2/tools/package.sh
for program in dpkg-deb dpkg-shlibdeps xz; do
  command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
  echo "package: $*" >&2
  exit 1
}
# expect_error TEXT ARGUMENT...: package.sh fails with this text.
expect_error() {
  local text=$1
  shift
  ! "$package" "$@" >said 2>&1 || fail "expected package.sh $* to fail"
  grep -qF "$text" said || fail "expected '$text', but got '$(cat said)'"
}
mkdir empty
expect_error "expected a build folder, but '$folder/empty' has no CMakeCache.txt" "$folder/empty"
echo "CMAKE_PROJECT_VERSION:STATIC=1" >empty/CMakeCache.txt
expect_error "expected a finished build, but '$folder/empty' has no bin/tlc" "$folder/empty"
expect_error "expected a build folder and a folder for the packages, but got 3 arguments" a b c
expect_error "expected --level=0 to --level=9, but got --level=10" --level=10

"$package" --level=0 "$build" out | tee said # the fastest
deb=$(echo out/*.deb) tar=$(echo out/*.tar.xz)
name=$(basename "$tar" .tar.xz)

# Both have the same files, which belong to root.
tar -tJf "$tar" >listed
grep -v '/$' listed | sed "s|^$name/||" | grep -v '^LICENSE$' | sort >in_tar
dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' | sed 's|^\./usr/||' | grep -v '^share/doc/tlc/copyright$' | sort >in_deb
diff in_tar in_deb
for file in bin/tlc lib/libtlc.so lib/libtlc_compiler.so lib/libtlc_runtime.so lib/libtlc_runtime.a lib/cmake/tlc/tlcConfig.cmake include/tlc/kernel.h include/tlc/tlc.h \
  include/tlc/kernels/library/Compile.h include/tlc/runtime/device/Device.h share/doc/tlc/licenses/{tlc,llvm,fmt,zstd,zlib,libstdc++}; do
  grep -qxF "$file" in_tar || fail "expected $file in $tar"
done
grep -qxF "$name/LICENSE" listed || fail "expected a licence in $tar"
! { tar -tvJf "$tar" && dpkg-deb -c "$deb"; } | awk '$2 != "0/0" && $2 != "root/root"' | grep . || fail "expected root's files"
[ "$(dpkg-deb -f "$deb" Package)" = tlc ]
[ "$(dpkg-deb -f "$deb" Architecture)" = "$(dpkg --print-architecture)" ]
[[ $(dpkg-deb -f "$deb" Depends) == *'libc6 (>= '* ]] || fail "expected what it depends on, but got '$(dpkg-deb -f "$deb" Depends)'"

# Each runs from where it is unpacked, and finds its headers there.
mkdir "other place" debian
tar -xJf "$tar" -C "other place"
mv "other place/$name" "other place/moved"
dpkg-deb -x "$deb" debian
for prefix in "$folder/other place/moved" "$folder/debian/usr"; do
  tlc=(env -i "PATH=$build/test/compilers:$PATH" "XDG_CACHE_HOME=$folder/cache" "CCACHE_BASEDIR=$folder" "$prefix/bin/tlc")
  ! ldd "$prefix/bin/tlc" | grep -F "$build" || fail "expected nothing of the build folder to be loaded"
  "${tlc[@]}" run gemm -D m=40 -D n=24 -D k=48 --device emulator --verify >said || fail "expected tlc to run in '$prefix'"
  grep -q ': ok$' said
  "${tlc[@]}" new "$folder/my.cpp" >/dev/null
  "${tlc[@]}" run "$folder/my.cpp" --device emulator --verify >said 2>errors || grep -q 'or a later version' errors
  rm "$folder/my.cpp"
done
