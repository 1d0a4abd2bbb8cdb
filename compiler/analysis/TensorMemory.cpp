// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asks the table of instructions, and the layouts that shared tiles will have.
#include "compiler/analysis/TensorMemory.h"

#include "compiler/analysis/TmaAccess.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tlc::tile {

namespace {

const MmaAtom *findAtom(GemmInPlaceOp product, const Target &target) {
  ElementType element = *toElementType(elementTypeOf(product.getB().getType()));
  for (const MmaAtom *atom : findMmaAtoms(target, element, element, ElementType::f32))
    if (atom->kind == MmaKind::tcgen05 && atom->blocks == 1 && int64_t(atom->m) == tcgen05Rows)
      return atom;
  return nullptr;
}

/// Why the instruction cannot read this factor; empty if it can.
std::string factorProblem(Value factor, StringRef name, int kAxis) {
  auto shared = dyn_cast<TypedValue<SharedType>>(factor);
  if (!shared)
    return "";
  int axis = shared.getType().getTransposed() ? 1 - kAxis : kAxis;
  Result<WgmmaOperand> operand = wgmmaOperand(preferredLayout(shared), axis);
  return operand ? "" : describe(factor, name) + " must lie as for wgmma: " + operand.error().message;
}

std::string productProblem(GemmInPlaceOp product, const Target &target) {
  const MmaAtom *atom = findAtom(product, target);
  if (!atom)
    return llvm::formatv("{0} has none for factors of {1}", target.name,
                         elementTypeOf(product.getB().getType()));
  int64_t n = product.getAcc().getType().getShape()[1];
  if (!atom->allowsN(unsigned(n)))
    return llvm::formatv("n = {0} is not a multiple of {1} from {2} to {3}", n, atom->nStep, atom->nMin,
                         atom->nMax);
  std::string left = factorProblem(product.getA(), "the left factor", 1);
  return left.empty() ? factorProblem(product.getB(), "the right factor", 0) : left;
}

} // namespace

LogicalResult checkTensorMemory(KernelOp kernel, const Target &target) {
  WalkResult checked = kernel.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<AllocTensorMemoryOp>(op); buffer && !target.tensorMemory.available) {
      buffer.emitError("expected a target with tensor memory because '")
          << buffer.getName() << "' lies there, but got " << StringRef(target.name);
      return WalkResult::interrupt();
    }
    auto product = dyn_cast<GemmInPlaceOp>(op);
    std::string problem = product ? productProblem(product, target) : "";
    if (problem.empty())
      return WalkResult::advance();
    op->emitError("expected a product that tcgen05.mma can make because it adds in tensor memory, but ")
        << problem;
    return WalkResult::interrupt();
  });
  return failure(checked.wasInterrupted());
}

} // namespace tlc::tile
