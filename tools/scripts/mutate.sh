#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutate.sh [<tlc mutate option>...]: takes away every synchronisation of the programs of
# tools/mutate/cases.txt, also without each of the compiler's optimisations, and of tools/mutate/long_cases.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

mutate() {
  build/bin/tlc mutate --cases "$1" --equivalent tools/mutate/equivalent.txt --multicast "${@:2}"
}
status=0
mutate tools/mutate/cases.txt --each-disabled "$@" || status=$?
mutate tools/mutate/long_cases.txt "$@" || status=$?
exit "$status"
