#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats all C++ and CUDA sources in place; with --check says which are not formatted.
set -euo pipefail
cd "$(dirname "$0")/../.."
formatter=clang-format-22

sources() {
  find runtime dialects compiler kernels tools test \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0
}

if [ "${1:-}" != --check ]; then
  sources | xargs -0 "$formatter" -i
  exit
fi
unformatted=$(sources | xargs -0 "$formatter" --dry-run 2>&1 |
  sed -n 's/^\([^:]*\):.*\[-Wclang-format-violations\]$/\1/p' | sort -u)
if [ -n "$unformatted" ]; then
  echo "not formatted, run tools/scripts/format.sh:" $unformatted
  exit 1
fi
