// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reasons, each with the names and numbers that it is about.
#include "compiler/analysis/TmaAccess.h"

#include "compiler/analysis/Divisibility.h"
#include "dialects/layout/SharedOperands.h"
#include "mlir/IR/Matchers.h"
#include "runtime/artifact/TensorWindow.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

SharedLayout tile::preferredLayout(SharedType type) {
  // A transposed view lies in memory as its buffer does.
  Shape shape(type.getShape().begin(), type.getShape().end());
  if (type.getTransposed())
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return SharedLayout::preferred(shape, type.getElementType().getIntOrFloatBitWidth(), int(shape.size()) - 1);
}

/// The columns of a tile that the view shows; null if it shows all.
static RowsOp columnsOf(TypedValue<SharedType> view) {
  while (Operation *op = view.getDefiningOp()) {
    auto rows = dyn_cast<RowsOp>(op);
    if (rows && rows.getSource().getType().getTransposed())
      return rows;
    if (!isa<RowsOp, TransposeOp>(op))
      break;
    view = cast<TypedValue<SharedType>>(op->getOperand(0));
  }
  return {};
}

SharedLayout tile::preferredLayout(TypedValue<SharedType> tile) {
  RowsOp columns = columnsOf(tile);
  return columns ? preferredLayout(columns.getSource()) : preferredLayout(tile.getType());
}

std::string tile::partProblem(TypedValue<SharedType> tile) {
  RowsOp columns = columnsOf(tile);
  if (!columns)
    return "";
  SharedLayout layout = preferredLayout(tile);
  int64_t panel = layout.panelExtent(), count = columns.getView().getType().getShape()[0];
  return layout.swizzle() == Swizzle::none || count % panel == 0
             ? ""
             : llvm::formatv("the {0} columns end within a panel of {1}", count, panel).str();
}

std::string tile::windowProblem(SliceOp slice, const Target &target) {
  auto windows = slice.getTensor().getDefiningOp<WindowsOp>();
  if (!windows)
    return "";
  StringRef name = slice.getTensorFacts().getName();
  if (slice.getLimit())
    return llvm::formatv("the slice of the windows of '{0}' has a limit", name).str();
  TensorWindow window = windows.getWindow().getWindow();
  ArrayRef<int64_t> box = slice.getType().getShape();
  int64_t reach = TmaFacts::im2colReach(box.size());
  for (size_t axis = 0; axis < window.taps.size(); ++axis) {
    if (box[axis + 1] != 1)
      return llvm::formatv("a copy is of one tap of a window, but the slice of the windows of '{0}' has {1} "
                           "along axis {2}",
                           name, box[axis + 1], axis + 1)
          .str();
    if (window.strides[axis] > int64_t(target.tma.maxElementStride))
      return llvm::formatv(
                 "the window moves over '{0}' by {1} elements along axis {2}, and the TMA by at most "
                 "{3}",
                 name, window.strides[axis], axis + 1, target.tma.maxElementStride)
          .str();
    int64_t lower = window.lowerCorner(axis), upper = window.upperCorner(axis);
    if (lower < -reach || upper < -reach || upper >= reach || window.span(axis) > 2 * reach)
      return llvm::formatv(
                 "the first taps of the window of '{0}' begin at {1} and end {2} from the last element "
                 "along axis {3}, and with {4} axes the TMA takes {5} to {6}",
                 name, lower, upper, axis + 1, box.size(), -reach, reach - 1)
          .str();
  }
  return "";
}

std::string tile::tmaProblem(SliceOp slice, SharedType shared, const Target &target) {
  program::TensorAttr tensor = slice.getTensorFacts();
  if (!target.tma.available)
    return llvm::formatv("{0} has no TMA", target.name).str();
  if (slice.getTensor().getDefiningOp<MemberOp>())
    return llvm::formatv("the addresses of '{0}' are known on the device only", tensor.getName()).str();
  if (tensor.getAlignment() < int64_t(target.tma.globalAlignment))
    return llvm::formatv("'{0}' is not known to be aligned to {1} bytes", tensor.getName(),
                         target.tma.globalAlignment)
        .str();
  if (tensor.getStrided())
    return llvm::formatv("the last stride of '{0}' may be any", tensor.getName()).str();
  if (tensor.getOrder() == program::TensorOrder::accumulator)
    return llvm::formatv("'{0}' is in the order of accumulators", tensor.getName()).str();
  if (Value fill = slice.getFill();
      fill && !matchPattern(fill, m_Zero()) && !matchPattern(fill, m_PosZeroFloat()))
    return "the TMA fills with zeros only";
  if (cast<GlobalType>(slice.getTensor().getType()).getShape().size() > target.tma.maxRank)
    return llvm::formatv("'{0}' has more than {1} axes", tensor.getName(), target.tma.maxRank).str();
  if (std::string problem = windowProblem(slice, target); !problem.empty())
    return problem;
  if (slice.getLimit()) {
    size_t rank = slice.getOrigin().size();
    if (size_t(*slice.getLimitedAxis()) + 1 == rank)
      return llvm::formatv("the limit is along the last axis of '{0}', whose elements are adjacent",
                           tensor.getName())
          .str();
    if (rank + 1 > target.tma.maxRank)
      return llvm::formatv("'{0}' has {1} axes, and a limit takes one more of the TMA's {2}",
                           tensor.getName(), rank, target.tma.maxRank)
          .str();
  }
  // A box that begins elsewhere is an illegal instruction.
  int64_t granule = target.tma.innerBoxGranularity * 8 / shared.getElementType().getIntOrFloatBitWidth();
  if (granule > 1 && knownDivisor(slice.getOrigin().back()) % granule != 0)
    return llvm::formatv(
               "the slice of '{0}' is not known to begin at a multiple of {1} elements along its last axis",
               tensor.getName(), granule)
        .str();
  Result<TmaBoxes> boxes = tmaBoxes(preferredLayout(shared));
  return boxes ? "" : boxes.error().message;
}

bool tile::hasRowsAlongLastAxis(SliceOp slice, ArrayRef<int64_t> tile) {
  return cast<SliceType>(slice.getSlice().getType()).getShape().back() == tile.back();
}

std::string tile::loadProblem(SliceOp slice, SharedType shared, const Target &target) {
  std::string problem = tmaProblem(slice, shared, target);
  if (problem.empty() && !hasRowsAlongLastAxis(slice, shared.getShape()))
    return llvm::formatv("the tile's rows do not run along the last axis of '{0}'",
                         slice.getTensorFacts().getName())
        .str();
  return problem;
}

std::string tile::loadProblem(CopyOp copy, const Target &target) {
  auto shared = cast<TypedValue<SharedType>>(copy.getDestination());
  std::string problem = loadProblem(copy.getSource().getDefiningOp<SliceOp>(), shared.getType(), target);
  return problem.empty() ? partProblem(shared) : problem;
}

/// A known divisor of the extent of the tensor's last axis.
static int64_t lastExtentDivisor(SliceOp slice) {
  int64_t extent = cast<GlobalType>(slice.getTensor().getType()).getShape().back();
  if (!ShapedType::isDynamic(extent))
    return extent;
  if (auto member = slice.getTensor().getDefiningOp<MemberOp>())
    return knownDivisor(member.getExtents().back());
  auto kernel = cast<KernelOp>(cast<BlockArgument>(slice.getTensor()).getOwner()->getParentOp());
  auto dimension =
      cast<program::DimensionAttr>(kernel.getArgument(unsigned(slice.getTensorFacts().getDims().back())));
  return dimension.getFixed() >= 0 ? dimension.getFixed() : dimension.getMultipleOf();
}

std::string tile::storeProblem(SharedType shared, SliceOp slice, const Target &target) {
  std::string problem = loadProblem(slice, shared, target);
  // It writes whole granules also where the tensor's rows end within one.
  int64_t granule = target.tma.innerBoxGranularity * 8 / shared.getElementType().getIntOrFloatBitWidth();
  if (problem.empty() && granule > 1 && lastExtentDivisor(slice) % granule != 0)
    return llvm::formatv("the last extent of '{0}' is not known to be a multiple of {1}",
                         slice.getTensorFacts().getName(), granule)
        .str();
  return problem;
}
