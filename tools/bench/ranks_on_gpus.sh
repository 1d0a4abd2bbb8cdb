#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Verifies programs of several ranks on the GPUs of this machine, which must reach each other's memory:
#
#   ranks_on_gpus.sh <folder of tlc and ranks_cuda_test> [<most ranks>]
#
# Prints a line for each run, and what failed at the end. The status is 1 if anything did.
set -uo pipefail
bin=${1:?expected the folder of tlc and ranks_cuda_test}
most=${2:-4}
failed=()

check() {
  if output=$(timeout 120 "$@" 2>&1); then
    echo "ok: $* $(grep -o 'largest error.*' <<<"$output")"
  else
    failed+=("$*")
    printf 'FAILED: %s\n%s\n' "$*" "$output"
  fi
}

check "$bin/ranks_cuda_test" # also ranks that are processes
for ((ranks = 1; ranks <= most; ++ranks)); do
  for n in 0 1 1000 1048577 67108864; do
    for dtype in f32 bf16; do
      check "$bin/tlc" run all_reduce --device cuda --ranks "$ranks" -D n="$n" -D dtype="$dtype" --seed 1 --verify
    done
  done
  for size in "0 8 3 5" "19 35 5 60" "128 7168 256 2048" "1000 4096 37 20000"; do
    read -r tokens hidden experts capacity <<<"$size"
    for routes in even skewed one; do
      check "$bin/tlc" run moe_dispatch --device cuda --ranks "$ranks" -D tokens="$tokens" -D hidden="$hidden" -D experts="$experts" \
        -D capacity="$capacity" -D routes="$routes" --seed 1 --verify
    done
    check "$bin/tlc" run moe_combine --device cuda --ranks "$ranks" -D tokens="$tokens" -D hidden="$hidden" -D capacity="$capacity" \
      --seed 1 --verify
  done
  for size in "0 5 8" "5 0 8" "1 1 8" "67 65 72" "1000 1544 2048" "4096 4096 4096"; do
    read -r m n k <<<"$size"
    for way in "all_gather_gemm gather=roles" "all_gather_gemm gather=copy_engine" "gemm_reduce_scatter scatter=roles" \
      "gemm_reduce_scatter scatter=copy_engine" "gemm_all_reduce group=16"; do
      read -r kernel choice <<<"$way"
      for dtype in f16 bf16; do
        check "$bin/tlc" run "$kernel" --device cuda --ranks "$ranks" -D "$choice" -D m="$m" -D n="$n" -D k="$k" -D dtype="$dtype" \
          -D out="$dtype" --seed 1 --verify
      done
    done
  done
  for order in contiguous zigzag; do
    for causal in none right; do
      for rows in 2 70 1000 4096; do
        check "$bin/tlc" run attention_fwd_sharded --device cuda --ranks "$ranks" -D order="$order" -D causal="$causal" -D b=1 -D sq="$rows" \
          -D sk="$rows" -D h=4 -D hkv=2 --seed 1 --verify
      done
      for rows in 2 70 1000; do
        for kernel in attention_fwd_sharded attention_bwd_sharded; do
          check "$bin/tlc" run "$kernel" --device cuda --ranks "$ranks" -D exchange=heads -D order="$order" -D causal="$causal" -D b=1 \
            -D sq="$rows" -D sk="$rows" -D h=20 -D hkv=10 --seed 1 --verify
        done
      done
      for rows in 2 70 1000 4096; do
        for kernel in attention_fwd_sharded attention_bwd_sharded; do
          check "$bin/tlc" run "$kernel" --device cuda --ranks "$ranks" -D exchange=ring -D order="$order" -D causal="$causal" -D b=1 \
            -D sq="$rows" -D sk="$rows" -D h=4 -D hkv=2 --seed 1 --verify
        done
      done
      for lengths in "7,0,301,3" "3000,1,5000,700"; do
        for way in gather=launch gather=copy_engine exchange=heads; do
          for kernel in attention_fwd_sharded attention_bwd_sharded; do
            check "$bin/tlc" run "$kernel" --device cuda --ranks "$ranks" -D order="$order" -D causal="$causal" -D varlen="$lengths" \
              -D "$way" -D h=20 -D hkv=10 --seed 1 --verify
          done
        done
      done
      for dkv in loop split atomic; do
        for rows in 2 70 1000; do
          check "$bin/tlc" run attention_bwd_sharded --device cuda --ranks "$ranks" -D order="$order" -D causal="$causal" -D b=1 -D sq="$rows" \
            -D sk="$rows" -D h=4 -D hkv=2 -D dkv="$dkv" --seed 1 --verify
        done
      done
    done
  done
  for repetition in $(seq 10); do
    for kernel in all_gather_gemm gemm_reduce_scatter gemm_all_reduce; do
      check "$bin/tlc" run "$kernel" --device cuda --ranks "$ranks" -D m=300 -D n=1000 -D k=512 -D bm=64 -D bn=64 --seed "$repetition" --verify
    done
  done
  for repetition in $(seq 20); do
    check "$bin/tlc" run all_reduce --device cuda --ranks "$ranks" -D n=300001 -D tile=128 --seed "$repetition" --verify
  done
done
printf '%s\n' "${failed[@]/#/failed: }"
[ ${#failed[@]} -eq 0 ]
