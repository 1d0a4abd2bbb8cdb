#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutate.sh [<tlc mutate option>...]: takes away every synchronisation of the programs of
# tools/mutate/cases.txt, also without each of the compiler's optimisations.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec build/bin/tlc mutate --cases tools/mutate/cases.txt --equivalent tools/mutate/equivalent.txt --each-disabled "$@"
