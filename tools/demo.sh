#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds the compiler, compiles some kernels to PTX,
# runs them on the GPU or, where there is none, on the emulator, checks them
# against a reference in double precision and prints a table.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/scripts/build.sh dev --target tlc
exec tools/scripts/demo_table.py build/bin/tlc
