#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the project is built and tested with on Debian 12. Does
# nothing, quickly, when everything is there.
# setup.sh [aarch64]: also what the preset aarch64 is cross-built and tested with.
set -euo pipefail

packages=(
  # The compiler is built on LLVM and MLIR 22, and built with clang 22.
  clang-22 lld-22 libmlir-22-dev llvm-22-dev llvm-22-tools mlir-22-tools
  clang-format-22 clang-tidy-22 libclang-rt-22-dev
  catch2 ccache cmake g++ libbenchmark-dev libfmt-dev ninja-build python3
  # For tests of the Python package.
  mypy python3-numpy python3-pytest
  # For the portable build and its packages.
  dpkg-dev libzstd-dev zlib1g-dev xz-utils
)

fail() {
  echo "setup: $*" >&2
  exit 1
}

case "${1:-}" in
"") ;;
aarch64) packages+=(g++-aarch64-linux-gnu qemu-user) ;;
*) fail "expected aarch64 or nothing, but got '$1'" ;;
esac

if ! command -v dpkg-query >/dev/null; then
  fail "expected a Debian 12 system, but there is no dpkg here; install by other means: ${packages[*]}"
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/ installed$//p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  root=()
elif command -v sudo >/dev/null; then
  root=(sudo)
else
  fail "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
  "$@" >"$log" 2>&1 </dev/null && return
  cat "$log" >&2
  fail "'$*' failed, see above"
}
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)

echo "setup: installing ${missing[*]}"
quietly "${apt[@]}" update
for package in "${missing[@]}"; do
  candidate=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
  if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
    fail "no package source offers $package; LLVM 22 for Debian 12 comes from the security suite:
  deb http://deb.debian.org/debian-security bookworm-security main
add this line to /etc/apt/sources.list and run again"
  fi
done
quietly "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
