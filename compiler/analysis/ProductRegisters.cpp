// SPDX-License-Identifier: Apache-2.0
/// \file
/// An instruction's registers come from the target's table; a thread's from its block and its role.
#include "compiler/analysis/ProductRegisters.h"

#include "dialects/tile/Shapes.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/FormatVariadic.h"

#include <array>

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

/// Registers of a thread.
struct Need {
  int64_t columns = 0;     ///< of an instruction
  int64_t instruction = 0; ///< of one instruction
  int64_t product = 0;     ///< of all instructions of the product, which are in flight together
};

Need needOf(ProductOpInterface product, tlc::WarpPolicy policy, int64_t warps, const Target &target) {
  auto sums = cast<RankedTensorType>(product.getAcc().getType());
  int64_t m = sums.getDimSize(0), n = sums.getDimSize(1);
  WarpGrid grid = wgmmaGrid(m, n, warps / warpsPerWarpgroup, policy);
  int64_t columns = n / grid.alongN;
  auto elementOf = [](Value value) { return *toElementType(elementTypeOf(value.getType())); };
  MmaKind kind = product.getMetadata() ? MmaKind::sparseWgmma : MmaKind::wgmma;
  const MmaAtom *atom = findMmaAtom(target, kind, elementOf(product.getA()), elementOf(product.getB()),
                                    elementOf(product.getAcc()));
  if (!atom)
    return {columns, 0, 0};
  auto factor = dyn_cast<RankedTensorType>(product.getA().getType());
  if (!factor) {
    int64_t registers = atom->registersFor(unsigned(columns), /*partsOfA=*/0);
    return {columns, registers, registers};
  }
  // Each instruction has its part of the left factor.
  int64_t parts = factor.getNumElements() / grid.alongM / (int64_t(atom->m) * atom->k);
  return {columns, int64_t(atom->registersFor(unsigned(columns), 1)),
          int64_t(atom->registersFor(unsigned(columns), unsigned(parts)))};
}

} // namespace

std::string tile::registerProblem(Operation *product, tlc::WarpPolicy policy, int64_t warps, BlockSize block,
                                  const Target &target, RoleRegistersPhase phase) {
  Need need = needOf(cast<ProductOpInterface>(product), policy, warps, target);
  int64_t threads = block.warps * lanesPerWarp;
  BlockBudget budget(target, block.residents);
  int64_t available = budget.registersAtLaunch(block.warps);
  std::string place = llvm::formatv("in blocks of {0} threads", threads);
  if (block.residents > 1)
    place += llvm::formatv(" with k.residents({0})", block.residents).str();
  // What a role gives up it does not have. What it gets does not count for an instruction: ptxas looks at the
  // launch there, and at the role for what is in flight together.
  bool startsWithFew = need.instruction > available;
  auto role = product->getParentOfType<RoleOp>();
  if (!startsWithFew && role && role.getRegisters()) {
    available = int64_t(*role.getRegisters());
    place = llvm::formatv("by .registers of role '{0}'; give it {1} or more", role.getName(),
                          llvm::alignTo(std::max(need.instruction, need.product), target.setmaxnreg.step));
  } else if (!startsWithFew && phase == RoleRegistersPhase::open && block.warps > warps) {
    std::array others = {RoleRegisters{block.warps - warps, int64_t(target.setmaxnreg.min)}};
    available = std::max(available, budget.registersBeside(others, block.warps).value_or(0));
  }
  if (need.instruction > available)
    return llvm::formatv("a product of {0} columns takes {1} registers of a thread, which has {2} {3}",
                         need.columns, need.instruction, available, place);
  if (need.product <= available)
    return "";
  if (phase == RoleRegistersPhase::assigned && !role.getRegisters())
    place += llvm::formatv("; give role '{0}' .registers of {1} or more, or copy the factor to a shared tile",
                           role.getName(), llvm::alignTo(need.product, target.setmaxnreg.step));
  return llvm::formatv("sums of {0} columns and a left factor in registers take {1} registers of a thread at "
                       "once, which has {2} {3}",
                       need.columns, need.product, available, place);
}
