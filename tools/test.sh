#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what is missing, builds the dev preset and runs every test. First
# argument `quick`: all but the tests of label long. `long`: also programs,
# options and texts drawn from a random seed, or from TLC_SEED. Other arguments
# go to ctest, e.g. -R emulator.
set -euo pipefail
cd "$(dirname "$0")/.."

selection=()
form=
case ${1:-} in
quick)
  selection=(--label-exclude long)
  shift
  ;;
long)
  form=long
  shift
  ;;
esac

tools/scripts/build.sh dev
# Eight times the CPU time of the longest test known, 82 s on two threads, for each process.
(
  ulimit -S -t 720
  ctest --preset dev --parallel "$(nproc)" "${selection[@]}" "$@"
)
if [ "$form" = long ]; then
  seed=${TLC_SEED:-$((RANDOM * 32768 + RANDOM))}
  echo "seed $seed"
  build/bin/fuzz_test --rng-seed "$seed"
  build/bin/fuzz_test "[.long]" --rng-seed "$seed"
  build/bin/tlc-differential --seeds "$seed:2000" --jobs "$(nproc)"
  tools/scripts/ptxas_programs.py build/bin/tlc-differential --seeds "$seed:500" --jobs "$(nproc)" || [ $? = 77 ]
  build/bin/kernels_test "[.long]"
  build/bin/tile_to_simt_test "[.long]" --rng-seed "$seed"
  build/bin/kernel_runs_test "[.long]" --rng-seed "$seed"
  build/bin/programs_test "[.long]" --rng-seed "$seed"
  [ ! -x build/bin/cuda_cpp_test ] || build/bin/cuda_cpp_test "[.long]"
  build/bin/attention_forward_test "[.long]" --rng-seed "$seed"
  build/bin/attention_backward_test "[.long]" --rng-seed "$seed"
  build/bin/cookbook_test "[.long]" --rng-seed "$seed"
  /usr/lib/llvm-22/bin/lit -v --param long=1 --filter _machine build/test/lit
  build/bin/tlc-attention-matrix --part "$((seed % 400 + 1))/400" --seed "$seed"
  build/bin/tlc-attention-matrix --target sm_100a --schedules 8 --part "$((seed % 4000 + 1))/4000" --seed "$seed" --sizes 1
  build/bin/tlc-attention-matrix --kernel attention_bwd --part "$((seed % 400000 + 1))/400000" --seed "$seed"
  for multiprocessors in 1 2 3; do
    build/bin/tlc-attention-matrix --kernel attention_bwd --target sm_100a --schedules 8 --multiprocessors $multiprocessors \
      --part "$((seed % 200000 + 1))/200000" --seed "$seed" --sizes 1
    build/bin/tlc-attention-matrix --kernel attention_decode --target sm_100a --schedules 8 --multiprocessors $multiprocessors \
      --part "$((seed % 10000 + 1))/10000" --seed "$seed" --sizes 1
  done
  tools/scripts/mutate.sh
fi
echo
tools/scripts/features.py
