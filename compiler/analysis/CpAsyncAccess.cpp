// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reasons, each with the names and numbers that it is about.
#include "compiler/analysis/CpAsyncAccess.h"

#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/TmaAccess.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/Hardware.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

std::string tile::cpAsyncProblem(SliceOp slice, SharedType shared, const Target &target) {
  program::TensorAttr tensor = slice.getTensorFacts();
  if (!target.cpAsync)
    return llvm::formatv("{0} has no cp.async", target.name).str();
  if (Value fill = slice.getFill();
      fill && !matchPattern(fill, m_Zero()) && !matchPattern(fill, m_PosZeroFloat()))
    return "cp.async fills with zeros only";
  if (tensor.getStrided())
    return llvm::formatv("the last stride of '{0}' may be any", tensor.getName()).str();
  if (tensor.getOrder() != program::TensorOrder::natural)
    return llvm::formatv("the elements of '{0}' are not in their natural order", tensor.getName()).str();
  if (shared.getTransposed() || !hasRowsAlongLastAxis(slice, shared.getShape()))
    return llvm::formatv("the tile's rows do not run along the last axis of '{0}'", tensor.getName()).str();
  int64_t bits = shared.getElementType().getIntOrFloatBitWidth();
  int64_t together = std::gcd(shared.getShape().back(), knownDivisor(slice.getOrigin().back())) * bits / 8;
  int64_t bytes = std::gcd(tensor.getAlignment(), together);
  if (bytes % minCpAsyncBytes != 0)
    return llvm::formatv("'{0}' is not known to be read in units of {1} bytes", tensor.getName(),
                         minCpAsyncBytes)
        .str();
  if (SharedLayoutAttr attribute = shared.getLayout()) {
    const SharedLayout &layout = attribute.getLayout();
    bool alongRows = layout.contiguousAxis() + 1 == layout.rank();
    if ((alongRows ? layout.contiguousElements() : 1) * bits / 8 % minCpAsyncBytes != 0)
      return llvm::formatv("the buffer's layout does not keep {0} bytes of a row together", minCpAsyncBytes)
          .str();
  }
  return "";
}

std::string tile::cpAsyncProblem(CopyOp copy, const Target &target) {
  return cpAsyncProblem(copy.getSource().getDefiningOp<SliceOp>(),
                        cast<SharedType>(copy.getDestination().getType()), target);
}

PublishOp tile::announcementOf(CopyOp copy) {
  for (Operation *op = copy; !isa<RoleOp, KernelOp>(op); op = op->getParentOp())
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto publish = dyn_cast<PublishOp>(next); publish && publish.getAfterCopies())
        return publish;
  return {};
}

bool tile::isByCpAsync(CopyOp copy, const Target &target) {
  if (copy.getAtom() != CopyAtom::cp_async)
    return false;
  PublishOp announcement = announcementOf(copy);
  return (announcement && !announcement.getWithStores()) || cpAsyncProblem(copy, target).empty();
}
