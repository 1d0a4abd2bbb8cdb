// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products, reductions, shape changes of fragments: checks and folders.
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

//===----------------------------------------------------------------------===//
// gemm, gemm_async, gemm_wait
//===----------------------------------------------------------------------===//

namespace {
/// gemm_c1
template <typename Gemm> LogicalResult verifyProductShape(Gemm op) {
  ArrayRef<int64_t> a = extentsOf(op.getA().getType()), b = extentsOf(op.getB().getType());
  ArrayRef<int64_t> acc = op.getAcc().getType().getShape();
  std::string aName = describe(op.getA(), "the left factor"), bName = describe(op.getB(), "the right factor");
  auto report = [&](InFlightDiagnostic diagnostic) {
    noteDeclaration(diagnostic, op.getA());
    noteDeclaration(diagnostic, op.getB());
    return diagnostic;
  };
  auto checkRank = [&](ArrayRef<int64_t> extents, StringRef name) -> LogicalResult {
    if (extents.size() == 2)
      return success();
    return report(op.emitOpError() << "expected " << name
                                   << " to have two axes because it is a matrix, but got "
                                   << toText(extents));
  };
  if (failed(checkRank(a, aName)) || failed(checkRank(b, bName)) || failed(checkRank(acc, "the accumulator")))
    return failure();
  if (a[1] != b[0])
    return report(op.emitOpError() << "expected " << bName << " to have " << a[1] << " rows because " << aName
                                   << " has " << a[1] << " columns, but got " << b[0] << " (" << toText(a)
                                   << " times " << toText(b) << ")");
  if (acc[0] != a[0] || acc[1] != b[1])
    return report(op.emitOpError() << "expected an accumulator of " << toText({a[0], b[1]}) << " because "
                                   << aName << " is " << toText(a) << " and " << bName << " is " << toText(b)
                                   << ", but got " << toText(acc));
  return success();
}

/// gemm_c2
template <typename Gemm> LogicalResult verifyProductTypes(Gemm op) {
  Type a = elementTypeOf(op.getA().getType()), b = elementTypeOf(op.getB().getType());
  if ((!a.isF16() && !a.isBF16() && !isa<Float8E4M3FNType>(a)) || a != b) {
    InFlightDiagnostic diagnostic = op.emitOpError()
                                    << "expected factors of one element type, f16, bf16 or f8E4M3FN, but "
                                    << describe(op.getA(), "the left factor") << " has " << a << " and "
                                    << describe(op.getB(), "the right factor") << " has " << b;
    noteDeclaration(diagnostic, op.getA());
    noteDeclaration(diagnostic, op.getB());
    return diagnostic;
  }
  Type acc = op.getAcc().getType().getElementType();
  if (!acc.isF32())
    return op.emitOpError() << "expected an accumulator of f32 because products of " << a
                            << " are summed in f32, but got " << acc;
  return success();
}

/// Whether a gemm in flight may be used like this: nothing reads its registers.
bool mayBeInFlight(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto gemm = dyn_cast<GemmAsyncOp>(user))
    return &use == &gemm.getAccMutable();
  return isa<GemmWaitOp, WriteOp, scf::YieldOp, scf::ForOp>(user);
}
} // namespace

LogicalResult GemmOp::verify() {
  return failure(failed(verifyProductShape(*this)) || failed(verifyProductTypes(*this)));
}

LogicalResult GemmAsyncOp::verify() {
  if (failed(verifyProductShape(*this)) || failed(verifyProductTypes(*this)))
    return failure();
  if (getAtom().value_or(MatrixAtom::wgmma) != MatrixAtom::wgmma) // gemm_async_c2
    return emitOpError()
           << "expected the atom wgmma because no other matrix instruction is asynchronous, but got "
           << stringifyMatrixAtom(*getAtom());
  for (OpOperand &use : getResult().getUses()) { // gemm_async_c3
    if (mayBeInFlight(use))
      continue;
    InFlightDiagnostic diagnostic =
        emitOpError() << "expected 'tile.gemm_wait' before the product is used because it is "
                      << "still in flight, but got a use by '" << use.getOwner()->getName() << "'";
    diagnostic.attachNote(use.getOwner()->getLoc()) << "used here";
    return diagnostic;
  }
  return success();
}

LogicalResult GemmWaitOp::verify() {
  int64_t pending = getPending();
  if (pending < 0) // gemm_wait_c1
    return emitOpError() << "expected 'pending' to be at least 0, but got " << pending;
  return success();
}

//===----------------------------------------------------------------------===//
// reduce, broadcast
//===----------------------------------------------------------------------===//

namespace {
LogicalResult verifyAxis(Operation *op, int64_t axis, RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return op->emitOpError() << "expected an axis from 0 to " << type.getRank() - 1
                           << " because the fragment has the extents " << toText(type.getShape())
                           << ", but got " << axis;
}

LogicalResult verifySameElementType(Operation *op, RankedTensorType source, RankedTensorType result) {
  if (source.getElementType() == result.getElementType())
    return success();
  return op->emitOpError() << "expected a result of " << source.getElementType()
                           << " because the source is, but got " << result.getElementType();
}
} // namespace

LogicalResult ReduceOp::verify() { // reduce_c1
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifyAxis(*this, getAxis(), source)) || failed(verifySameElementType(*this, source, result)))
    return failure();
  SmallVector<int64_t> expected(source.getShape());
  expected[getAxis()] = 1;
  if (result.getShape() != ArrayRef(expected))
    return emitOpError() << "expected a result of " << toText(expected) << " because axis " << getAxis()
                         << " of " << toText(source.getShape()) << " is reduced to extent 1, but got "
                         << toText(result.getShape());
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType()) // nothing to combine
    return getSource();
  return {};
}

SmallVector<Operation *> tile::decisionsBy(Value truth) {
  SmallVector<Operation *> decisions;
  for (Operation *user : truth.getUsers()) {
    bool combines = isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(user) &&
                    user->getResult(0).getType() == truth.getType();
    if (combines)
      llvm::append_range(decisions, decisionsBy(user->getResult(0)));
    else
      decisions.push_back(user);
  }
  return decisions;
}

LogicalResult AnyInWarpOp::verify() {
  if (Type element = getCondition().getType().getElementType(); !element.isInteger(1)) // any_in_warp_c1
    return emitOpError() << "expected a fragment of truth values, but got one of " << element;
  for (Operation *user : decisionsBy(getResult())) { // any_in_warp_c2
    if (auto select = dyn_cast<arith::SelectOp>(user); select && isa<RankedTensorType>(select.getType()))
      continue;
    auto branch = dyn_cast<scf::IfOp>(user);
    if (!branch) {
      InFlightDiagnostic diagnostic =
          emitOpError() << "expected to be the condition of a branch because warps differ in it";
      diagnostic.attachNote(user->getLoc()) << "but it is used here";
      return diagnostic;
    }
    Operation *other = nullptr;
    branch->walk([&](Operation *op) {
      if (op != branch && !isa<ReadOp, WriteOp>(op) && !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
          !isMemoryEffectFree(op))
        other = op;
    });
    if (other) {
      InFlightDiagnostic diagnostic =
          emitOpError() << "expected nothing but arithmetic in its branch because each warp takes it or not";
      diagnostic.attachNote(other->getLoc()) << "but this touches memory or meets other warps";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult BroadcastOp::verify() { // broadcast_c1
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifySameElementType(*this, source, result)))
    return failure();
  if (source.getRank() != result.getRank())
    return emitOpError() << "expected a result of as many axes as the source's " << source.getRank()
                         << ", but got " << toText(source.getShape()) << " to " << toText(result.getShape());
  for (auto [axis, from, to] : llvm::enumerate(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError() << "expected axis " << axis << " to keep its extent " << from
                           << " because only extents of 1 are repeated, but got " << to;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  // Two in a row are one, as long as no layout has been settled for the value between them.
  if (auto inner = getSource().getDefiningOp<BroadcastOp>(); inner && !inner.getType().getEncoding()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// splat, coordinates, convert_layout
//===----------------------------------------------------------------------===//

LogicalResult SplatOp::verify() { // splat_c1
  Type element = getResult().getType().getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "expected a fragment of " << getValue().getType()
                         << " because the number is, but got one of " << element;
  return success();
}

LogicalResult CoordinatesOp::verify() { // coordinates_c1
  RankedTensorType result = getResult().getType();
  if (!result.getElementType().isIndex())
    return emitOpError() << "expected a fragment of index because positions are, but got one of "
                         << result.getElementType();
  return verifyAxis(*this, int64_t(getAxis()), result);
}

LogicalResult ConvertLayoutOp::verify() { // convert_layout_c1
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifySameElementType(*this, source, result)))
    return failure();
  if (source.getShape() != result.getShape())
    return emitOpError() << "expected a result of " << toText(source.getShape())
                         << " because only the layout changes, but got " << toText(result.getShape());
  for (RankedTensorType type : {source, result})
    if (!isa_and_present<LayoutAttr>(type.getEncoding()))
      return emitOpError() << "expected a layout on both sides, but got " << type;
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  // Scratch memory is made for one pair of layouts: a conversion that has it stays as it is.
  auto inner = getSource().getDefiningOp<ConvertLayoutOp>();
  if (inner && !inner.getScratch() && !getScratch()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}
