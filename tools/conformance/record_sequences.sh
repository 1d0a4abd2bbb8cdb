#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# record_sequences.sh <tlc-conformance> <folder>: on a machine with a GPU, which
# needs nothing but its driver, records the random sequences of instructions,
# the parts at the same time, and compares them with the emulator. The folder
# gets sequences.tar.gz: the recordings, and differences.txt with the first
# values of each program that differs.
set -euo pipefail
program=$(realpath "${1:?usage: record_sequences.sh <tlc-conformance> <folder>}")
mkdir -p "${2:?usage: record_sequences.sh <tlc-conformance> <folder>}"
folder=$(realpath "$2")
most_failures=20
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An error of the GPU, or a program that does not end, ends the process; the next goes on behind it.
record_part() {
  for _ in $(seq $most_failures); do
    if timeout 240 "$program" record "$work" "$1"; then
      return
    fi
  done
}
parts=$("$program" list | grep '^sequence')
for part in $parts; do
  record_part "$part" >"$work/$part.log" 2>&1 &
done
wait
grep -h -v '^NVIDIA' "$work"/*.log || true

# shellcheck disable=SC2086 # one word each
"$program" check "$work" $parts >"$work/check.log" || true
tail -1 "$work/check.log"
names=$(sed -n 's/^\(sequence[0-9]*\.[0-9]*\):.*/\1/p' "$work/check.log" | sort -u | head -400)
touch "$work/differences.txt"
for name in $names; do
  timeout 60 "$program" compare "$name" >>"$work/differences.txt" || true
done
tar -C "$work" -czf "$folder/sequences.tar.gz" --exclude='sequence*.log' .
