// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which decodings there are, and how each is done well.
#include "kernels/attention/decode/DecodeTiles.h"
#include "kernels/attention/problem/Describe.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <vector>

namespace tlc::kernels {

using namespace dsl;
using namespace decode;

std::string conflictOf(const DecodeConfig &config) {
  if (config.problem.shards)
    return "expected sequences of one device because decoding gathers no keys of other ranks";
  constexpr int64_t mostHeads = 1024; // of a head of K and V
  const AttentionProblem &problem = config.problem;
  if (config.group < 1 || config.group > mostHeads)
    return fmt::format("expected at most {} heads of Q for each head of K and V because they are rows of "
                       "tiles, but got {}",
                       mostHeads, config.group);
  if (config.values == ValueStorage::inKeys && (problem.dv > problem.d || problem.dv % productDepth != 0))
    return fmt::format("expected dv to be a multiple of {} and at most d because rows of V are part of K's, "
                       "but got dv = {} and d = {}",
                       productDepth, problem.dv, problem.d);
  if (problem.mask.blockCausal)
    return "expected no block-causal mask because it is about whole sequences, but got one";
  return conflictOf(problem);
}

std::string whyNotDecode(const Target &target) {
  return target.setmaxnreg.available
             ? ""
             : fmt::format(
                   "expected a target whose warpgroups can give each other registers, as the roles of "
                   "decoding do (sm_90a and later), but got {}",
                   target.name);
}

/// Whether threads have the registers of products with that many columns when the block is launched; those
/// that roles get later do not count.
static bool hasRegisters(DecodeConfig c, int64_t residents, int64_t bk, const Target &target) {
  c.residents = residents; // which decides how many warps load
  int64_t columns = 0, warps = warpsOf(c).load.warps;
  for (const ColumnRange &part : partsOf(c)) {
    columns = std::max(columns, part.count);
    warps += warpsOf(c).math.warps;
  }
  int64_t available = BlockBudget(target, residents).registersAtLaunch(warps);
  const MmaAtom *atom = findMmaAtom(target, MmaKind::wgmma, c.problem.dtype, c.problem.dtype, f32);
  return !atom || std::max(atom->registersFor(unsigned(columns), /*partsOfA=*/1),
                           atom->registersFor(unsigned(bk), holdsQueries(c))) <= available;
}

void fitDecode(DecodeConfig &c, const Target &target) {
  int64_t bytes = bytesOf(c.problem.dtype, 1);
  bool hasStaging = isWhole(c) && partsOf(c).size() == 1; // without it, stores leave from registers
  auto stagesOf = [&](int64_t residents, int64_t bk) {
    BlockBudget block(target, residents);
    std::vector<SharedBytes> ofStage;
    for (const ColumnRange &columns : depthPartsOf(c)) {
      block.addBuffer(SharedBytes::tile(c.rows, columns.count * bytes), querySlots(c));
      ofStage.push_back(SharedBytes::tile(bk, columns.count * bytes));
    }
    if (areApart(c))
      for (const ColumnRange &columns : partsOf(c))
        ofStage.push_back(SharedBytes::tile(bk, columns.count * bytes));
    if (hasStaging)
      block.addBuffer({2 * panelRows * maxSwizzleBytes}, c.rows / panelRows);
    return block.slotsThatFit(BlockBudget::slotBytes(ofStage));
  };
  auto fits = [&](int64_t residents, int64_t bk) {
    return stagesOf(residents, bk) >= 1 && hasRegisters(c, residents, bk, target);
  };
  if (c.rows > 64) // two warpgroups' sums take more registers than two blocks leave
    c.residents = 1;
  while (c.residents > 1 && !fits(c.residents, productDepth))
    --c.residents;
  while (c.bk > productDepth && !fits(c.residents, c.bk))
    c.bk -= productDepth;
  c.stages = std::clamp<int64_t>(stagesOf(c.residents, c.bk), 1, c.stages);
}

void tuneDecode(DecodeConfig &c, int64_t batches, int64_t kvHeads, int64_t keys, const Target &target) {
  int64_t longest = std::max(paddedDepth(c.problem), paddedValues(c.problem));
  // Two warpgroups would share the rows of an instruction that has more than one of them computes.
  const bool isShared =
      rowsOfFastestAtom(target, c.problem.dtype, c.problem.dtype, f32) > rowsOfMathWarpgroup;
  auto chooseRows = [&](int64_t rows) {
    const bool isOne = rows <= rowsOfMathWarpgroup || isSplit(paddedValues(c.problem)) || isShared;
    c.rows = (isOne ? 1 : 2) * rowsOfMathWarpgroup;
  };
  chooseRows(c.queries * paddedGroup(c));
  if (c.arguments == DecodeArguments::forward && c.queries * paddedGroup(c) > rowsOfMathWarpgroup &&
      c.group * swizzleRows <= rowsOfMathWarpgroup) {
    chooseRows(c.queries * c.group);
    c.together = int64_t(std::bit_floor(uint64_t(c.rows / c.group)));
  }
  // Two blocks compute and wait in turns, where registers and shared memory are enough for both.
  c.residents = c.rows == 64 && longest <= 128 ? 2 : 1;
  constexpr int64_t tileBytes = 16384;
  int64_t least = longest <= 256 || !areApart(c) ? 64 : 32; // two tiles in flight
  c.bk = std::clamp<int64_t>(tileBytes / bytesOf(c.problem.dtype, longest) / productDepth * productDepth,
                             least, 128);

  // Parts that fill the multiprocessors, at a cost of some keys for each of them. Blocks that share one share
  // what it gets from memory, too.
  constexpr int64_t keysOfPart = 128, mostSplits = 256;
  int64_t lowest = 0;
  int64_t sequences = std::max<int64_t>(batches * kvHeads, 1);
  int64_t tiles = std::max<int64_t>(ceilDiv(keys, c.bk), 1);
  for (int64_t splits = 1; splits <= std::min(tiles, mostSplits); ++splits) {
    int64_t rounds = ceilDiv(sequences * rowTiles(c) * splits, int64_t(target.multiprocessors));
    int64_t cost = rounds * (ceilDiv(tiles, splits) * c.bk + keysOfPart);
    if (splits > 1 && cost >= lowest)
      continue;
    lowest = cost;
    c.splits = splits;
  }
  c.stages = 8;
  fitDecode(c, target);
}

} // namespace tlc::kernels
