#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds the dev preset and runs every test; with
# `quick` first, all but the long ones: lit, units, one run of each kernel.
# Other arguments go to ctest, e.g. -R emulator.
set -euo pipefail
cd "$(dirname "$0")/.."

selection=()
if [ "${1:-}" = quick ]; then
  selection=(--label-exclude long)
  shift
fi

tools/scripts/build.sh dev
ctest --preset dev --parallel "$(nproc)" "${selection[@]}" "$@"
echo
tools/scripts/features.py
