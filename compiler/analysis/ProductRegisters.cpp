// SPDX-License-Identifier: Apache-2.0
/// \file
/// An instruction's registers come from the target's table; a thread's from its block and its role.
#include "compiler/analysis/ProductRegisters.h"

#include "dialects/tile/Shapes.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

struct Instruction {
  int64_t columns = 0, registers = 0;
};

Instruction instructionOf(ProductOpInterface product, tlc::WarpPolicy policy, int64_t warps,
                          const Target &target) {
  auto sums = cast<RankedTensorType>(product.getAcc().getType());
  int64_t m = sums.getDimSize(0), n = sums.getDimSize(1);
  int64_t columns = n / wgmmaGrid(m, n, warps / warpsPerWarpgroup, policy).alongN;
  auto elementOf = [](Value value) { return *toElementType(elementTypeOf(value.getType())); };
  MmaKind kind = product.getMetadata() ? MmaKind::sparseWgmma : MmaKind::wgmma;
  const MmaAtom *atom = findMmaAtom(target, kind, elementOf(product.getA()), elementOf(product.getB()),
                                    elementOf(product.getAcc()));
  if (!atom)
    return {columns, 0};
  bool aInRegisters = isa<RankedTensorType>(product.getA().getType());
  return {columns, int64_t(atom->registersFor(unsigned(columns), aInRegisters))};
}

} // namespace

std::string tile::registerProblem(Operation *product, tlc::WarpPolicy policy, int64_t warps, BlockSize block,
                                  const Target &target) {
  Instruction instruction = instructionOf(cast<ProductOpInterface>(product), policy, warps, target);
  int64_t threads = block.warps * lanesPerWarp;
  int64_t available = BlockBudget(target, block.residents).registersAtLaunch(block.warps);
  std::string place = llvm::formatv("in blocks of {0} threads", threads);
  if (block.residents > 1)
    place += llvm::formatv(" with k.residents({0})", block.residents).str();
  // What a role gives up it does not have. What it gets does not count: ptxas looks at the launch.
  auto role = product->getParentOfType<RoleOp>();
  if (instruction.registers <= available && role && role.getRegisters()) {
    available = int64_t(*role.getRegisters());
    place = llvm::formatv("by .registers of role '{0}'; give it {1} or more", role.getName(),
                          llvm::alignTo(instruction.registers, target.setmaxnreg.step));
  }
  if (instruction.registers <= available)
    return "";
  return llvm::formatv("an instruction for {0} columns takes {1} registers of a thread, which has {2} {3}",
                       instruction.columns, instruction.registers, available, place);
}
