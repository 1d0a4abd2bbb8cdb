#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# record_sequences.sh <tlc-conformance> <folder>: on a machine with a GPU, which
# needs nothing but its driver, records the random sequences of instructions,
# the parts at the same time, and compares them with the emulator. The folder
# gets sequences.tar.gz: the recordings, log with the programs that fail on the
# GPU, differences.txt with the first values of each program that differs, and
# outputs/ with all that the GPU computed of those.
set -euo pipefail
program=$(realpath "${1:?usage: record_sequences.sh <tlc-conformance> <folder>}")
mkdir -p "${2:?usage: record_sequences.sh <tlc-conformance> <folder>}"
folder=$(realpath "$2")
most_dumped=60 # of a part
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What fits into the time counts, whatever a part does.
do_part() {
  local part=$1 names
  timeout 300 "$program" record "$work" "$part" || true
  timeout 60 "$program" check "$work" "$part" >"$work/$part.check" || true
  tail -1 "$work/$part.check"
  names=$(sed -n "s/^\($part\.[0-9]*\): '.*/\1/p" "$work/$part.check" | sort -u | head -$most_dumped)
  [ -n "$names" ] || return 0
  # shellcheck disable=SC2086 # one word each
  timeout 60 "$program" dump "$work/outputs" $names >/dev/null || true
  # shellcheck disable=SC2086
  timeout 60 "$program" compare --outputs "$work/outputs" $names >"$work/$part.differences" || true
}
for part in $("$program" list | grep '^sequence'); do
  do_part "$part" >"$work/$part.log" 2>&1 &
done
wait
cat "$work"/*.log | grep -v '^NVIDIA' | tee "$work/log"
cat "$work"/*.differences >"$work/differences.txt" 2>/dev/null || true
tar -C "$work" -czf "$folder/sequences.tar.gz" --exclude='sequence*.log' --exclude='*.differences' --exclude='*.check' .
