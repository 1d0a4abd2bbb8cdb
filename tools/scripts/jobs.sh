#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints how many compilers to run at once: one per processor, as far as
# there are 2 GiB of memory for each (a file full of MLIR headers takes that).
set -euo pipefail
processors=$(nproc)
fitting=$(awk '/^MemAvailable:/ { print int($2 / (2 * 1024 * 1024)) }' /proc/meminfo)
jobs=$((fitting < processors ? fitting : processors))
echo $((jobs > 1 ? jobs : 1))
