// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from shared memory by ldmatrix and stmatrix.
///
/// A 32-bit register of a warp is a matrix of 8 rows of 16 bytes. One instruction moves
/// four: lane l gives the address of row l % 8 of matrix l / 8. Which four registers go
/// together is free; we take two binary digits of the register number, so that the lane
/// bits above the row move along those digits' axes, and addresses stay a sum of parts.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "dialects/layout/StockLayouts.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
int64_t elementsPerRow(const SharedTile &tile) { return matrixRowBytes * 8 / tile.layout.elementBits(); }

struct Digit {
  int64_t extent = 1;
  int axis = 0;
  int64_t step = 0;
  int64_t stride = 1; ///< in the number of the 32-bit register
};

/// One instruction: its registers, and the constant part of the first matrix' coordinates.
struct Move {
  Coordinates start;
  SmallVector<int64_t> words;
};

/// How a fragment is cut into moves, and the layout by which lanes address their rows.
struct MatrixPlan {
  FragmentLayout addressing;
  SmallVector<Move> moves;
  bool transpose = false;
};

MatrixPlan planMoves(const FragmentLayout &layout, const MatrixFragment &match, const SharedTile &tile) {
  SmallVector<Digit> digits;
  int64_t stride = 1;
  // The first digit counts the elements of a register, if there are several.
  bool isPacked = tile.layout.elementBits() != registerBits;
  for (LayoutMode mode : ArrayRef(layout.modes(HardwareAxis::reg)).drop_front(isPacked ? 1 : 0)) {
    digits.push_back({mode.extent, mode.axis, mode.step, stride});
    stride *= mode.extent;
  }
  SmallVector<Digit> together;
  for (Digit &digit : digits)
    while (together.size() < 2 && digit.extent % 2 == 0) {
      together.push_back({2, digit.axis, digit.step, digit.stride});
      digit = {digit.extent / 2, digit.axis, digit.step * 2, digit.stride * 2};
    }
  MatrixPlan plan;
  plan.transpose = match.form == MatrixFragment::Form::transposed;
  FragmentLayout::Modes lane = {{matrixRows, match.rowAxis, 1}};
  int64_t idle = lanesPerWarp / matrixRows;
  for (const Digit &digit : together) {
    lane.push_back({digit.extent, digit.axis, digit.step});
    idle /= digit.extent;
  }
  lane.push_back(LayoutMode::replicated(idle));
  FragmentLayout::Modes reg = {{elementsPerRow(tile), match.columnAxis, 1}};
  for (const Digit &digit : digits)
    reg.push_back({digit.extent, digit.axis, digit.step});
  plan.addressing = FragmentLayout::get(layout.rank(), reg, lane, layout.modes(HardwareAxis::warp));

  int64_t moves = 1;
  for (const Digit &digit : digits)
    moves *= digit.extent;
  for (int64_t number = 0; number < moves; ++number) {
    Move move{Coordinates(size_t(layout.rank()), 0), {0}};
    int64_t rest = number;
    for (const Digit &digit : digits) {
      int64_t value = rest % digit.extent;
      rest /= digit.extent;
      move.start[size_t(digit.axis)] += value * digit.step;
      move.words[0] += value * digit.stride;
    }
    for (const Digit &digit : together)
      for (int64_t word : SmallVector<int64_t>(move.words))
        move.words.push_back(word + digit.stride);
    plan.moves.push_back(std::move(move));
  }
  return plan;
}

MatrixPlan planFor(const SharedTile &tile, const FragmentLayout &layout) {
  return planMoves(layout, *matchMatrixFragment(layout, tile.contiguousAxis(), tile.layout.elementBits()),
                   tile);
}
} // namespace

bool lowering::fitsMatrixMoves(const SharedTile &tile, const FragmentLayout &layout,
                               ArrayRef<int64_t> shape) {
  bool isOwn = cast<LLVM::LLVMPointerType>(tile.base.getType()).getAddressSpace() ==
               unsigned(NVVM::NVVMMemorySpace::Shared);
  if (!isOwn || !matchMatrixFragment(layout, tile.contiguousAxis(), tile.layout.elementBits()) ||
      layout.replication(HardwareAxis::reg) != 1 || tile.layout.contiguousElements() < elementsPerRow(tile))
    return false;
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (layout.coveredExtent(int(axis)) != extent)
      return false;
  return true;
}

Value lowering::loadMatrices(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                             ArrayRef<int64_t> origin) {
  Emitter &b = k.b;
  MatrixPlan plan = planFor(tile, layout);
  SharedAddresses addresses(b, tile, plan.addressing, k.team);
  SmallVector<Value> words(size_t(layout.registersPerThread() * tile.layout.elementBits() / registerBits));
  for (Move &move : plan.moves) {
    for (auto [coordinate, first] : llvm::zip(move.start, origin))
      coordinate += first;
    Value loaded = simt::LdMatrixOp::create(b, b.vectorOf(int64_t(move.words.size()), b.getI32Type()),
                                            addresses.at(move.start), plan.transpose);
    for (auto [i, word] : llvm::enumerate(move.words))
      words[size_t(word)] = b.extract(loaded, int64_t(i));
  }
  return b.recast(b.pack(words), tile.element);
}

void lowering::storeMatrices(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                             Value value) {
  Emitter &b = k.b;
  MatrixPlan plan = planFor(tile, layout);
  SharedAddresses addresses(b, tile, plan.addressing, k.team);
  Value words = b.recast(value, b.getI32Type());
  for (const Move &move : plan.moves)
    simt::StMatrixOp::create(b, b.pick(words, move.words), addresses.at(move.start), plan.transpose);
}
