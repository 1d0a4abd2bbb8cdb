#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes packages of what `cmake --install` installs: tlc_<version>_<architecture>.deb, and a .tar.xz whose folder runs
# wherever it is unpacked.
#
# package.sh [--level=<0 to 9>] [<build folder> [<folder for the packages>]]: without a build folder builds the portable
# preset, whose packages need nothing but the C library; those of another build need its libraries. The packages go to
# <build folder>/packages unless a folder is named. They are compressed by xz with its level 6 unless another one is
# named. Equal builds give equal packages.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

fail() {
  echo "package: $*" >&2
  exit 1
}
level=6
case ${1:-} in
--level=[0-9]) level=${1#*=} && shift ;;
--*) fail "expected --level=0 to --level=9, but got $1" ;;
esac
[ $# -le 2 ] || fail "expected a build folder and a folder for the packages, but got $# arguments"
for program in dpkg-deb dpkg-shlibdeps xz; do
  command -v $program >/dev/null || fail "expected $program on PATH, but found none; apt-get install dpkg-dev xz-utils"
done

build=${1:-$here/build/portable}
[ $# -gt 0 ] || "$here/tools/scripts/build.sh" portable
[ -f "$build/CMakeCache.txt" ] || fail "expected a build folder, but '$build' has no CMakeCache.txt"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
for file in bin/tlc lib/libtlc.so lib/libtlc_compiler.so lib/libtlc_runtime.so include/tlc/kernel.h; do
  [ -f "$build/$file" ] || fail "expected a finished build, but '$build' has no $file; cmake --build '$build'"
done
output=${2:-$build/packages}
mkdir -p "$output" || fail "expected to write to '$output'"
output=$(cd "$output" && pwd)

# Files bear the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$build/bin/tlc")}
export SOURCE_DATE_EPOCH

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
chmod 755 "$staging"
log=$staging/log
show_log() {
  cat "$log" >&2
  fail "$1"
}

# The archive: one folder, which may be anywhere.
name=tlc-$version-linux-$(uname -m)
cmake --install "$build" --prefix "$staging/$name" >"$log" 2>&1 || show_log "cannot install '$build'"
cp "$here/LICENSE" "$staging/$name"
python3 -B "$here/tools/scripts/check_linked.py" "$build" >"$log" || show_log "expected a licence of all that is linked into '$build'"
find "$staging/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
tar=$output/$name.tar.xz
tar -C "$staging" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | xz "-$level" --threads=1 >"$tar"

# The Debian package: the same below /usr, and the packages that the programs need.
architecture=$(dpkg --print-architecture)
deb=$output/tlc_${version}_$architecture.deb
mkdir -p "$staging/deb/DEBIAN" "$staging/debian"
cp -a "$staging/$name" "$staging/deb/usr"
mkdir -p "$staging/deb/usr/share/doc/tlc"
mv "$staging/deb/usr/LICENSE" "$staging/deb/usr/share/doc/tlc/copyright"
echo "Source: tlc" >"$staging/debian/control" # what dpkg-shlibdeps wants to see
depends=$(cd "$staging" && PERL_HASH_SEED=0 dpkg-shlibdeps -O --ignore-missing-info -ldeb/usr/lib \
  deb/usr/bin/tlc deb/usr/lib/*.so 2>"$log") || # the seed: it asks in the order of a hash table
  show_log "cannot find out which packages '$build' needs"
depends=${depends#shlibs:Depends=}
cat >"$staging/deb/DEBIAN/control" <<END
Package: tlc
Version: $version
Architecture: $architecture
Maintainer: the tlc project
Section: devel
Priority: optional
Installed-Size: $(du -sk --apparent-size "$staging/deb/usr" | cut -f1)
Depends: $depends
Recommends: g++ (>= 4:12) | clang (>= 1:16)
Description: tile language and compiler for NVIDIA GPUs, embedded in C++
 The program tlc, which compiles, runs, checks and times kernels, the libraries
 that it calls, and headers and CMake targets for programs that use them.
 Kernels run on GPUs and, without one, on an emulator that finds races.
END
find "$staging/deb" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz "-z$level" --build "$staging/deb" "$deb" >/dev/null

for package in "$deb" "$tar"; do
  echo "package: $package has $(($(stat -c %s "$package") / 1000000)) MB"
done
echo "package: they need $depends"
