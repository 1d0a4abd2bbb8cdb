// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions, shape changes of fragments: checks, folders, and what they say of themselves.
#include "dialects/layout/BankModel.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/Relayout.h"
#include "dialects/layout/Reshape.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

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
/// reduce_c2
LogicalResult verifyKind(Operation *op, ReduceKind kind, Type element) {
  bool isOfBits = kind == ReduceKind::bitAnd || kind == ReduceKind::bitOr || kind == ReduceKind::bitXor;
  bool isOfFloats = kind == ReduceKind::maxOrNaN || kind == ReduceKind::minOrNaN;
  if (isOfBits && !element.isSignlessInteger())
    return op->emitOpError() << "expected integers because '" << stringifyReduceKind(kind)
                             << "' combines bits, but got " << element;
  if (isOfFloats && !isa<FloatType>(element))
    return op->emitOpError() << "expected floats because '" << stringifyReduceKind(kind)
                             << "' is about NaN, but got " << element;
  return success();
}
} // namespace

LogicalResult ReduceOp::verify() { // reduce_c1
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifyAxis(*this, getAxis(), source)) || failed(verifySameElementType(*this, source, result)) ||
      failed(verifyKind(*this, getKind(), source.getElementType())))
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

LogicalResult ReduceOp::stateLayouts(FragmentRules &rules) {
  rules.reduceOf(getResult(), getSource(), getAxis(), "the reduction");
  return success();
}

/// Of parts of warps that share an axis: one element each, in the place of the axis.
static ScratchNeed needOfParts(Value fragment, int64_t axis, int64_t parts, int64_t warps) {
  auto type = cast<RankedTensorType>(fragment.getType());
  Shape shape(type.getShape().begin(), type.getShape().end());
  shape[size_t(axis)] = parts;
  Type element = memoryTypeOf(type.getElementType());
  return {SharedLayout::preferred(shape, element.getIntOrFloatBitWidth(), int(shape.size()) - 1), element,
          axis, warps};
}

std::optional<ScratchNeed> ReduceOp::getScratchNeed() {
  int64_t warps = 1;
  for (const PlacedMode &mode : layoutOf(getSource()).reduction(int(getAxis())).warps)
    warps *= mode.mode.extent;
  return warps == 1 ? std::nullopt : std::optional(needOfParts(getResult(), getAxis(), warps, warps));
}
ScratchWords ReduceOp::getScratchWords() { return {"reduce", "a reduction", "reduce"}; }

LogicalResult ScanOp::verify() { // scan_c1
  if (failed(verifyAxis(*this, getAxis(), getSource().getType())))
    return failure();
  return verifyKind(*this, getKind(), getSource().getType().getElementType());
}

OpFoldResult ScanOp::fold(FoldAdaptor) {
  bool isAlone = getSource().getType().getDimSize(getAxis()) == 1;
  return isAlone && !getScratch() ? OpFoldResult(getSource()) : OpFoldResult();
}

LogicalResult ScanOp::stateLayouts(FragmentRules &rules) {
  rules.equal(getResult(), getSourceMutable(), "the scan");
  return success();
}

/// Of the first ones, which nothing comes before.
bool ScanOp::mayKeepElements() { return true; }

/// The parts are what lies between two steps of the lowest digit that tells warps apart.
std::optional<ScratchNeed> ScanOp::getScratchNeed() {
  FragmentLayout layout = layoutOf(getSource());
  auto axis = int(getAxis());
  int64_t warps = 1, step = layout.coveredExtent(axis);
  for (const PlacedMode &mode : layout.reduction(axis).warps) {
    warps *= mode.mode.extent;
    step = std::min(step, mode.mode.step);
  }
  int64_t parts = layout.coveredExtent(axis) / step;
  return warps == 1 ? std::nullopt : std::optional(needOfParts(getSource(), axis, parts, warps));
}
ScratchWords ScanOp::getScratchWords() { return {"scan", "a cumulative operation", "compute it"}; }

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

/// Whether it moves elements between a fragment and tensor memory, of which each warp has its own lanes.
static bool movesTensorMemory(Operation *op) {
  return isa<TensorMemoryFenceOp>(op) ||
         (isa<LoadOp, StoreOp>(op) && llvm::all_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
            return access.isTensorMemory();
          }));
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
          !isMemoryEffectFree(op) && !movesTensorMemory(op))
        other = op;
    });
    if (other) {
      InFlightDiagnostic diagnostic =
          emitOpError()
          << "expected only arithmetic in its branch because each warp decides by itself whether to run it";
      diagnostic.attachNote(other->getLoc()) << "but this accesses memory or synchronises with other warps";
      return diagnostic;
    }
  }
  return success();
}

/// What a warp decides is about what it holds.
LogicalResult AnyInWarpOp::stateLayouts(FragmentRules &rules) {
  for (Operation *decision : decisionsBy(getResult()))
    for (Value result : decision->getResults())
      if (isa<RankedTensorType>(result.getType()) && shapeOf(result) == shapeOf(getCondition()))
        rules.equal(result, getConditionMutable(), "the decision of a warp");
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

LogicalResult BroadcastOp::stateLayouts(FragmentRules &rules) {
  auto [first, ignored] = llvm::mismatch(getSource().getType().getShape(), getResult().getType().getShape());
  rules.broadcastOf(getResult(), getSourceMutable(), first - getSource().getType().getShape().begin(),
                    "the broadcast");
  return success();
}
Value BroadcastOp::getSharedRegisters() { return getSource(); }

namespace {
/// reshape_c2
LogicalResult verifyElementsOfReshape(ReshapeOp op, Type source, Type result) {
  std::optional<ElementType> from = toElementType(source), to = toElementType(result);
  auto isOfBytes = [](std::optional<ElementType> element) { return element && !isPacked(*element); };
  if (source == result || (isOfBytes(from) && isOfBytes(to) && bitsOf(*from) != bitsOf(*to)))
    return success();
  return op.emitOpError() << "expected elements of one type, or of different widths in whole bytes, but got "
                          << source << " and " << result;
}
} // namespace

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  if (failed(verifyElementsOfReshape(*this, source.getElementType(), result.getElementType())))
    return failure();
  int64_t has = source.getNumElements(), gets = result.getNumElements();
  if (source.getElementType() != result.getElementType()) {
    has *= source.getElementTypeBitWidth();
    gets *= result.getElementTypeBitWidth();
  }
  if (has != gets) // reshape_c1
    return emitOpError() << "expected as many "
                         << (source.getElementType() == result.getElementType() ? "elements" : "bits")
                         << " as the source's " << has << ", but got " << gets;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  RankedTensorType source = getSource().getType(), result = getType();
  if (source == result)
    return getSource();
  if (auto constant = dyn_cast_if_present<SplatElementsAttr>(adaptor.getSource());
      constant && source.getElementType() == result.getElementType())
    return constant.resizeSplat(result);
  // Two in a row are one, as long as no layout has been settled for the value between them.
  auto inner = getSource().getDefiningOp<ReshapeOp>();
  if (!inner || source.getEncoding())
    return {};
  Type first = inner.getSource().getType().getElementType(), last = result.getElementType();
  if (first != last && first.getIntOrFloatBitWidth() == last.getIntOrFloatBitWidth())
    return {};
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

LogicalResult ReshapeOp::stateLayouts(FragmentRules &rules) {
  auto tileOf = [](Value value) { return RowMajorTile{shapeOf(value), elementBitsOf(value)}; };
  constexpr int64_t most = 1024; // four times what a thread holds
  RowMajorTile from = tileOf(getSource()), to = tileOf(getResult());
  int64_t warps = executingWarps(getOperation());
  int64_t elements = reshapableLayout(from, to, warps).registersPerThread();
  int64_t registers = ceilDiv(elements * from.elementBits, registerBits);
  int64_t even =
      ceilDiv(getSource().getType().getNumElements() * from.elementBits, registerBits * lanesPerWarp * warps);
  if (registers > most && registers > 2 * even)
    return emitOpError()
           << "expected extents that divide each other's, so that elements stay in their threads, "
              "but those of "
           << printShape(from.shape) << " and " << printShape(to.shape) << " leave " << registers
           << " registers of them in each thread; store the fragment to a shared tile and load it "
              "from there by positions, tile.tile(...)";
  rules.reshapeOf(getResult(), getSourceMutable(), "the reshape");
  return success();
}
Value ReshapeOp::getSharedRegisters() { return getSource(); }

//===----------------------------------------------------------------------===//
// cuda
//===----------------------------------------------------------------------===//

LogicalResult CudaOp::verify() {
  if (getInputs().empty()) // cuda_c1
    return emitOpError() << "expected an operand because the result has its extents, but got none";
  SmallVector<Value> fragments(getInputs());
  fragments.push_back(getResult());
  for (Value fragment : fragments) {
    auto type = cast<RankedTensorType>(fragment.getType());
    if (type.getShape() != getType().getShape())
      return emitOpError() << "expected operands of the result's extents " << toText(getType().getShape())
                           << ", but got " << toText(type.getShape());
    if (!isOfCuda(type.getElementType())) // cuda_c2
      return emitOpError() << "expected element types that a function in CUDA C++ takes (" << cudaTypesText()
                           << "), but got " << type.getElementType();
  }
  return success();
}

LogicalResult CudaOp::stateLayouts(FragmentRules &rules) {
  for (OpOperand &input : getInputsMutable())
    rules.equal(getResult(), input, "a function of each element");
  return success();
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

Value ConvertLayoutOp::getSharedRegisters() { return getScratch() ? Value() : getSource(); }

std::optional<ScratchNeed> ConvertLayoutOp::getScratchNeed() {
  FragmentLayout from = layoutOf(getSource()), to = layoutOf(getResult());
  Shape shape = shapeOf(getSource());
  if (planRelayout(from, to, shape).kind != RelayoutKind::throughShared)
    return std::nullopt;
  Type element = memoryTypeOf(getSource().getType().getElementType());
  return ScratchNeed{stagingLayout(from, to, shape, int(element.getIntOrFloatBitWidth())), element};
}
ScratchWords ConvertLayoutOp::getScratchWords() { return {"relayout", "a change of layout", "compute it"}; }
