#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [--since COMMIT] [fuzz] [asan] [tidy] [gcc] [million] [aarch64]: the checks that
# take longer than tests; the first four if none is named. They end clean.
#
#   fuzz  emulator and runtime under sanitizers: their tests, and ten thousand
#         executions of each fuzzer
#   million  a million changed inputs for each reader of files, under sanitizers
#   asan  the compiler under sanitizers: its unit tests and lit
#   tidy  clang-tidy over all product files, with --since over those that differ
#         from COMMIT; files that were clean before are skipped
#   gcc   the front end of GCC over the same files
#   aarch64  runtime and emulator cross-built, their quick tests under QEMU
#
# TLC_JOBS is how many processes run at once, instead of one per processor.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${TLC_JOBS:-$(tools/scripts/jobs.sh)}
since=()
if [ "${1:-}" = --since ]; then
  since=(--since "$(git rev-parse --verify "${2:?--since needs a commit}^{commit}")")
  shift 2
fi
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(fuzz asan tidy gcc)

# Names of a preset's quick tests.
tests_of() {
  ctest --preset "$1" -N -LE long | sed -n 's/^ *Test *#[0-9]*: //p' | sort
}

fuzz() {
  tools/scripts/build.sh fuzz --parallel "$jobs"
  ctest --preset fuzz --parallel "$jobs" -LE long
}

# In memory where there is such a folder: two of the readers read files.
million() {
  tools/scripts/build.sh fuzz --parallel "$jobs" --target fuzz_test
  [ ! -d /dev/shm ] || export TMPDIR=${TMPDIR:-/dev/shm}
  local seed=${TLC_SEED:-$((RANDOM * 32768 + RANDOM))}
  build/fuzz/bin/fuzz_test "[.long]" --durations yes --rng-seed "$seed"
}

# Without the tests that `fuzz` has: the runtime's, the emulator's, the tree's.
asan() {
  cmake --preset fuzz >/dev/null
  tools/scripts/build.sh asan-compiler --parallel "$jobs"
  local mine
  mine=$(comm -13 <(tests_of fuzz) <(tests_of asan-compiler) | paste -sd '|')
  ctest --preset asan-compiler --parallel "$jobs" -R "^($mine)\$"
}

# check_with <tool> <target>...: what files include must be there, and these targets; nothing else needs to be
# compiled.
check_with() {
  cmake --preset dev >/dev/null
  local generated
  mapfile -t generated < <(ninja -C build -t targets all | sed -n 's/^\([^/].*\.inc\): CUSTOM_COMMAND$/\1/p')
  cmake --build build --parallel "$jobs" --target "${@:2}" tlc_headers "${generated[@]}"
  tools/scripts/check_sources.py --tool "$1" --jobs "$jobs" "${since[@]}"
}
tidy() { check_with tidy tlc_mlir_pch; }
gcc() { check_with gcc; }

aarch64() {
  tools/setup.sh aarch64
  tools/scripts/build.sh aarch64 --parallel "$jobs"
  ctest --preset aarch64 --parallel "$jobs"
}

for step in "${steps[@]}"; do
  case $step in
  fuzz | asan | tidy | gcc | million | aarch64) ;;
  *)
    echo "check.sh: expected fuzz, asan, tidy, gcc, million or aarch64, but got '$step'" >&2
    exit 2
    ;;
  esac
done
failed=()
for step in "${steps[@]}"; do
  echo "== $step"
  begin=$SECONDS
  set +e
  (set -e && "$step")
  status=$?
  set -e
  [ $status -eq 0 ] || failed+=("$step")
  echo "== $step: $(((SECONDS - begin + 30) / 60)) minutes"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "check.sh: not clean: ${failed[*]}"
  exit 1
fi
echo "check.sh: clean"
