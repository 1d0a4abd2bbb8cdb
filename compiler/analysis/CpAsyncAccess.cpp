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
  program::TensorAttr tensor = tensorOf(slice);
  if (!target.cpAsync)
    return llvm::formatv("{0} has no cp.async", target.name).str();
  if (Value fill = slice.getFill();
      fill && !matchPattern(fill, m_Zero()) && !matchPattern(fill, m_PosZeroFloat()))
    return "cp.async fills with zeros only";
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
  return "";
}
