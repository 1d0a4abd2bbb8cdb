#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh <preset> [<cmake --build option>...]: installs what is missing,
# configures the preset and builds it.
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=$1
shift

tools/setup.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
cmake --build --preset "$preset" --parallel "$(tools/scripts/jobs.sh)" "$@"
