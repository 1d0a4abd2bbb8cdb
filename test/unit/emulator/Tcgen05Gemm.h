// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole kernels for tcgen05: a producer warp fills a ring of stages through
/// tensor maps, one thread issues products into tensor memory, four warps store
/// them; with one block, with a pair of blocks, and with A in tensor memory.
#pragma once

#include "runtime/emulator/exec/core/State.h"
#include "runtime/support/Result.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::emulator::test {

/// C = A * B^T; each block loads its rows of A and, of a pair, its half of B.
/// Barriers: full[stage], empty[stage], done.
std::string gemmText(unsigned blocks);
/// One tile of 128 x 64: every thread converts a row of A and stores it to
/// tensor memory, at column 64; thread 0 copies B and multiplies.
std::string tensorOperandText();

struct Problem {
  uint32_t m = 256, n = 64, k = 320;
  std::vector<uint16_t> a, b;
  std::vector<float> c;
  unsigned seed = Catch::rngSeed();

  void fill();
  bool isRight() const;
};

/// Runs a text like `gemmText(blocks)`, with the checker on.
Result<void> runGemm(Problem &problem, std::string_view text, unsigned blocks,
                     const MakeSchedule &makeSchedule = {});
/// Runs a text like `tensorOperandText()`.
Result<void> runTensorOperand(Problem &problem, std::string_view text);

} // namespace tlc::emulator::test
