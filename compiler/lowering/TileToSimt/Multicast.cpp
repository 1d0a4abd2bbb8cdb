// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from all ranks' memory at once.
#include "compiler/lowering/TileToSimt/Multicast.h"

#include "dialects/tile/Names.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

/// multimem accesses 4 bytes at least.
constexpr int64_t leastBits = 32;

/// An element that is alone in its vector, or in what is left of it at the tensor's edge, must have them.
LogicalResult checkPairs(KernelLowering &k, Operation *op, Value memory, const FragmentLayout &layout,
                         ArrayRef<int64_t> shape, GlobalUse use) {
  const Slice &slice = k.slice(memory);
  if (slice.tensor->element.getIntOrFloatBitWidth() >= leastBits)
    return success();
  GlobalAccess access(k, slice, layout, shape, use);
  if (access.vectorWidth() > 1 && !access.mayStraddle())
    return success();
  InFlightDiagnostic diagnostic = op->emitError() << "expected pairs of elements of '" << tile::nameOf(memory)
                                                  << "' because multimem accesses 4 bytes at least, but ";
  if (slice.tensor->argument.getStrided())
    diagnostic << "the tensor may have any stride; declare it with LastStride::one";
  else if (access.vectorWidth() == 1)
    diagnostic
        << "they are not known to be adjacent and aligned; declare the tensor with .alignment = 16, and use "
           "boxes whose last position and extent are even";
  else if (slice.limitedAxis + 1 == int(slice.shape.size()))
    diagnostic << "the limit of the slice may be inside of a pair; give it a multiple of 2";
  else
    diagnostic << "the tensor may end inside of a pair; give its last extent a multiple, as in "
                  "k.dim(\"n\", {.multipleOf = 8})";
  tile::noteDeclaration(diagnostic, memory);
  return diagnostic;
}

} // namespace

bool lowering::isOfAllRanks(Value memory) {
  auto slice = memory.getDefiningOp<tile::SliceOp>();
  return slice && slice.getOfAll();
}

int64_t lowering::widestMulticastVector(Type element, GlobalUse use) {
  constexpr int64_t bytes = 16;
  int64_t fit = bytes * 8 / element.getIntOrFloatBitWidth();
  bool areWords = element.getIntOrFloatBitWidth() <= leastBits;
  if (use == GlobalUse::store) // of any bits
    return areWords ? fit : 1;
  return areWords && isa<FloatType>(element) ? fit : 1;
}

void lowering::betweenAliasFences(KernelLowering &k, function_ref<void()> accesses) {
  simt::AliasFenceOp::create(k.b);
  accesses();
  simt::AliasFenceOp::create(k.b);
}

LogicalResult lowering::loadOfAllRanks(KernelLowering &k, tile::LoadOp op) {
  RankedTensorType type = op.getValue().getType();
  const FragmentLayout &layout = k.layoutOf(type);
  if (failed(checkPairs(k, op, op.getSource(), layout, type.getShape(), GlobalUse::load)))
    return failure();
  betweenAliasFences(k, [&] {
    k.set(op.getValue(), loadGlobal(k, k.slice(op.getSource()), layout, type.getShape(),
                                    atomicKindOf(*op.getKind(), type.getElementType())));
  });
  return success();
}

LogicalResult lowering::storeToAllRanks(KernelLowering &k, tile::StoreOp op) {
  RankedTensorType type = op.getValue().getType();
  const FragmentLayout &layout = k.layoutOf(type);
  if (failed(checkPairs(k, op, op.getDestination(), layout, type.getShape(), GlobalUse::store)))
    return failure();
  betweenAliasFences(k, [&] {
    storeGlobal(k, k.slice(op.getDestination()), layout, type.getShape(), k.value(op.getValue()));
  });
  return success();
}

void lowering::countOnAllRanks(KernelLowering &k, Value by, Value address) {
  simt::MulticastAtomicOp::create(k.b, arith::AtomicRMWKind::addi, by, address, /*release=*/true);
  simt::AliasFenceOp::create(k.b);
}
