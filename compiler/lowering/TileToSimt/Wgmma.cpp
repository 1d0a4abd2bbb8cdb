// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products by wgmma.
#include "compiler/lowering/TileToSimt/Wgmma.h"

#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Descriptors count bytes in rows of core matrices.
constexpr int64_t descriptorUnit = matrixRowBytes;

bool isZeroFragment(Value acc) {
  auto splat = acc.getDefiningOp<tile::SplatOp>();
  Value number = splat ? splat.getValue() : acc;
  return matchPattern(number, m_AnyZeroFloat()) || matchPattern(number, m_Zero());
}

/// A factor in shared memory: the descriptor of the warpgroup's part, and how to step.
class SharedFactor {
public:
  /// `kAxis` of the tile is reduced; along the other one the warpgroups part as the
  /// accumulator does along `accAxis`.
  static std::optional<SharedFactor> create(KernelLowering &k, Operation *op, StringRef name,
                                            const SharedTile &tile, int kAxis, const FragmentLayout &acc,
                                            int accAxis, int64_t depthBytes = matrixDepthBytes) {
    if (tile.rank() != 2) {
      op->emitOpError() << "expected factors of two axes because wgmma takes matrices, but " << name
                        << " has " << tile.rank();
      return std::nullopt;
    }
    Result<WgmmaOperand> operand =
        wgmmaOperand(tile.layout, tile.layoutAxis(kAxis), {.depthBytes = depthBytes});
    if (!operand) {
      op->emitOpError() << "expected " << name << " in a layout that wgmma reads because the atom is wgmma: "
                        << operand.error().message;
      return std::nullopt;
    }
    SharedFactor factor(std::move(*operand));
    Emitter &b = k.b;
    Value start = b.i32(0);
    for (const PlacedMode &mode : acc.modesAlong(accAxis)) {
      if (mode.hardware != HardwareAxis::warp)
        continue;
      // The four warps of a warpgroup, at the bottom, work on one block.
      PlacedMode groups = mode;
      if (mode.stride == 1) {
        groups = {HardwareAxis::warp,
                  {mode.mode.extent / warpsPerWarpgroup, mode.mode.axis, wgmmaRows},
                  warpsPerWarpgroup};
        if (mode.mode.extent % warpsPerWarpgroup != 0 || mode.mode.extent == warpsPerWarpgroup)
          continue;
      }
      int64_t pitch = factor.operand.startOffset(groups.mode.step, 0);
      for (int64_t digit = 0; digit < groups.mode.extent; ++digit)
        if (factor.operand.startOffset(digit * groups.mode.step, 0) != digit * pitch) {
          op->emitOpError() << "expected the warpgroups' parts of " << name
                            << " at even distances because one "
                            << "descriptor serves them all, but " << printSharedLayout(tile.layout)
                            << " has panels that end within a part";
          return std::nullopt;
        }
      if (!factor.operand.hasPartsOf(groups.mode.step)) {
        op->emitOpError() << "expected the warpgroups' parts of " << name << ", " << groups.mode.step
                          << " elements each, to be whole panels or to share one because a descriptor steps "
                          << "from panel to panel, but got " << printSharedLayout(tile.layout);
        return std::nullopt;
      }
      start = b.add(start, b.mul(digitOf(b, groups, k.team), pitch));
    }
    factor.descriptor = simt::MatrixDescriptorOp::create(
        b, b.offset(tile.base, start), factor.operand.leadingByteOffset, factor.operand.strideByteOffset,
        program::swizzleOf(factor.operand.swizzle));
    return factor;
  }

  Value at(Emitter &b, int64_t mn, int64_t step) const {
    return b.add(descriptor, operand.startOffset(mn, step) / descriptorUnit);
  }
  bool isTransposed() const { return operand.majorness == Majorness::mn; }
  /// Where the columns may be cut.
  int64_t columnUnit() const { return isTransposed() ? operand.layout.panelExtent() : wgmmaColumnStep; }
  int64_t kPerStep() const { return operand.kPerInstruction; }
  RowOrder order() const { return operand.layout.rowOrder(); }

private:
  explicit SharedFactor(WgmmaOperand operand) : operand(std::move(operand)) {}

  WgmmaOperand operand;
  Value descriptor;
};

/// The words of a sparse left factor's metadata, and which of them each instruction takes.
class Metadata {
public:
  static std::optional<Metadata> create(KernelLowering &k, const Product &product, const WgmmaShare &share) {
    auto type = cast<RankedTensorType>(product.metadata.getType());
    int bits = int(tile::elementTypeOf(product.a.getType()).getIntOrFloatBitWidth());
    int64_t bytes = type.getDimSize(1);
    FragmentLayout expected = wgmmaMetadata(type.getDimSize(0), bytes, bits, {share.alongM, share.alongN});
    if (k.layoutOf(type) != expected) {
      product.op->emitOpError() << "expected the metadata's registers in the layout " << printLayout(expected)
                                << ", but got " << printLayout(k.layoutOf(type));
      return std::nullopt;
    }
    Metadata metadata;
    metadata.words = k.b.recast(k.value(product.metadata), k.b.getI32Type());
    metadata.stepsOfWord = stepsOfMetadataWord(bytes, bits);
    metadata.wordsOfRow = bytes / (metadata.stepsOfWord * metadataBytesOfStep(bits));
    return metadata;
  }

  Value at(Emitter &b, int64_t block, int64_t step) const {
    return b.extract(words, block * wordsOfRow + step / stepsOfWord);
  }
  uint64_t selectorAt(int64_t step) const { return uint64_t(step % stepsOfWord); }

private:
  Value words;
  int64_t stepsOfWord = 1, wordsOfRow = 1;
};
} // namespace

std::optional<WgmmaShare> lowering::wgmmaShare(const FragmentLayout &layout, ArrayRef<int64_t> shape,
                                               int64_t warps) {
  if (shape.size() != 2 || warps % warpsPerWarpgroup != 0)
    return std::nullopt;
  int64_t warpgroups = warps / warpsPerWarpgroup;
  for (int64_t alongM = 1; alongM <= warpgroups; ++alongM) {
    int64_t alongN = warpgroups / alongM;
    if (alongM * alongN != warpgroups || shape[0] % (wgmmaRows * alongM) != 0 ||
        shape[1] % (wgmmaColumnStep * alongN) != 0)
      continue;
    if (wgmmaAccumulator(shape[0], shape[1], {alongM, alongN}) == layout)
      return WgmmaShare{alongM, alongN, shape[0] / wgmmaRows / alongM, shape[1] / alongN};
  }
  return std::nullopt;
}

SmallVector<ColumnPart> lowering::partsOfColumns(int64_t columns, int64_t most, int64_t unit) {
  const int64_t width = tlc::alignTo(tlc::ceilDiv(columns, tlc::ceilDiv(columns, most)), unit);
  SmallVector<ColumnPart> parts;
  for (int64_t first = 0; first < columns; first += width)
    parts.push_back({first, std::min(width, columns - first)});
  return parts;
}

std::string lowering::orderMismatch(const SharedLayout *left, const SharedLayout &right) {
  if (right.rowOrder() == (left ? left->rowOrder() : RowOrder()))
    return {};
  return "expected factors with one order of elements along the reduced axis because they are multiplied "
         "place by place, but got " +
         (left ? printSharedLayout(*left) : "tensor memory, where they are one after the other,") + " and " +
         printSharedLayout(right);
}

Value lowering::startWgmma(KernelLowering &k, const Product &product) {
  Emitter &b = k.b;
  Operation *op = product.op;
  auto reject = [&](const Twine &why) {
    op->emitOpError() << "expected a product that wgmma can compute because the atom is wgmma: " << why;
    return Value();
  };
  if (!k.target.wgmma)
    return reject(Twine(StringRef(k.target.name.data(), k.target.name.size())) + " has no wgmma");
  if (!k.team.hasWarpgroups())
    return reject("expected whole warpgroups that begin at a multiple of 4 warps, but " + k.team.name +
                  " has " + Twine(k.team.warps) + " warps from warp " + Twine(k.team.firstWarp) +
                  "; give it a multiple of 4, and put it before roles of fewer");
  auto accType = cast<RankedTensorType>(product.acc.getType());
  const FragmentLayout &acc = k.layoutOf(accType);
  std::optional<WgmmaShare> share = wgmmaShare(acc, accType.getShape(), k.team.warps);
  if (!share)
    return reject("expected the accumulator in wgmma's layout for " +
                  Twine(k.team.warps / warpsPerWarpgroup) + " warpgroups, but got " + printLayout(acc));

  const SharedTile &right = k.shared(product.b);
  std::optional<SharedFactor> bFactor =
      SharedFactor::create(k, op, "the right factor", right, /*kAxis=*/0, acc, 1,
                           product.metadata ? 2 * matrixDepthBytes : matrixDepthBytes);
  if (!bFactor)
    return {};
  std::optional<Metadata> metadata;
  if (product.metadata) {
    if (!right.layout.hasNaturalOrder())
      return reject("expected the elements of the right factor in order because the left one is sparse, but "
                    "they are interleaved");
    metadata = Metadata::create(k, product, *share);
    if (!metadata)
      return {};
  }
  int64_t steps = right.shape[0] / bFactor->kPerStep();
  auto aType = dyn_cast<RankedTensorType>(product.a.getType());
  std::optional<SharedFactor> aFactor;
  Value aWords;
  if (aType) {
    FragmentLayout expected =
        wgmmaOperandA(aType.getShape()[0], aType.getShape()[1], right.layout.elementBits(),
                      {share->alongM, share->alongN}, bFactor->order());
    if (k.layoutOf(aType) != expected)
      return reject("expected the left factor's registers in the layout " + printLayout(expected) +
                    ", but got " + printLayout(k.layoutOf(aType)));
    aWords = b.recast(k.value(product.a), b.getI32Type());
  } else {
    aFactor = SharedFactor::create(k, op, "the left factor", k.shared(product.a), /*kAxis=*/1, acc, 0);
    if (!aFactor)
      return {};
    if (std::string why = orderMismatch(&k.shared(product.a).layout, right.layout); !why.empty())
      return reject(why);
  }

  SmallVector<ColumnPart> parts = partsOfColumns(share->columns, maxWgmmaColumns, bFactor->columnUnit());
  auto registersOf = [](int64_t columns) { return columns / 2; };
  SmallVector<Value> sums; // of each block, part by part
  for (int64_t block = 0; block < share->blocks; ++block)
    for (ColumnPart part : parts)
      sums.push_back(b.piece(k.value(product.acc), registersOf(block * share->columns + part.first),
                             registersOf(part.columns)));
  bool fromZero = isZeroFragment(product.acc);
  Type leftElement = tile::elementTypeOf(product.a.getType()),
       rightElement = tile::elementTypeOf(product.b.getType());
  simt::WgmmaFenceOp::create(b);
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Value> rights =
        llvm::map_to_vector(parts, [&](ColumnPart part) { return bFactor->at(b, part.first, step); });
    for (int64_t block = 0; block < share->blocks; ++block) {
      constexpr int64_t wordsPerStep = 4;
      Value left = aFactor ? aFactor->at(b, block * wgmmaRows, step)
                           : b.piece(aWords, (block * steps + step) * wordsPerStep, wordsPerStep);
      for (auto [i, part] : llvm::enumerate(parts)) {
        Value &sum = sums[size_t(block) * parts.size() + i];
        sum = simt::WgmmaOp::create(b, sum.getType(), sum, left, rights[i],
                                    fromZero && step == 0 ? b.i1(true) : Value(),
                                    metadata ? metadata->at(b, block, step) : Value(), uint64_t(part.columns),
                                    leftElement, rightElement, aFactor && aFactor->isTransposed(),
                                    bFactor->isTransposed(), metadata ? metadata->selectorAt(step) : 0);
      }
    }
  }
  simt::WgmmaCommitOp::create(b);
  return b.join(sums);
}
