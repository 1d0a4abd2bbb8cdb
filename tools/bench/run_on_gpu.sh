#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_on_gpu.sh <archive> [<option of gpu_suite.py>...]: unpacks an archive of
# tools/pack.sh on a machine with a GPU and runs all checks and benchmarks.
# Needs xz and Python 3, and PyTorch for the comparison with its kernels.
set -euo pipefail

archive=${1:?usage: run_on_gpu.sh <archive> [<option of gpu_suite.py>...]}
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xJf "$archive" -C "$folder"
python3 -B "$folder/tlc/bench/gpu_suite.py" "$@"
