#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds the dev preset and runs every test.
# Arguments go to ctest, e.g. -R emulator.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/scripts/build.sh dev
ctest --preset dev --parallel "$(nproc)" "$@"
echo
tools/scripts/features.py
