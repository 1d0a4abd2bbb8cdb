#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the Python package that need a GPU, then what its calls cost:
#     tools/bench/calls_on_gpu.sh [libtlc.so] [options of calls.py]
# Without a library, that of the last build. Ends with an error if a test fails.
set -u
folder=$(cd "$(dirname "$0")/../.." && pwd)
options=()
if [[ ${1:-} == *.so ]]; then
  TLC_TEST_LIBRARY=$(realpath "$1")
  export TLC_TEST_LIBRARY
  options=(--library "$TLC_TEST_LIBRARY")
  shift
fi
failed=0
for test in exchange torch torch_gpu torch_repeats; do
  timeout -s KILL 580 python3 -B "$folder/test/python/test_$test.py" </dev/null || { echo "test_$test.py failed"; failed=1; }
done
timeout -s KILL 580 python3 -B "$folder/tools/bench/calls.py" "${options[@]}" "$@" || failed=1
exit $failed
