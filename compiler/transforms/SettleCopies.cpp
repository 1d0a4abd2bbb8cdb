// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards copies have the atom cp.async only where the buffer's layout leaves units that it copies.
/// Threads load and store the others, and wait for their copies before they announce such a tile.

#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SETTLECOPIES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// The announcement of what `copy` writes, if arrivals of copies announce it.
PublishOp announcementOf(CopyOp copy) {
  for (Operation *op = copy; !isa<RoleOp, KernelOp>(op); op = op->getParentOp())
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto publish = dyn_cast<PublishOp>(next); publish && publish.getAfterCopies())
        return publish;
  return {};
}

struct SettleCopies : impl::SettleCopiesBase<SettleCopies> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    kernel.walk([&](CopyOp copy) {
      if (!target || cpAsyncProblem(copy, *target).empty())
        return;
      copy.setAtom(CopyAtom::simt);
      if (PublishOp publish = announcementOf(copy))
        publish.setWithStores(true);
    });
  }
};

} // namespace
} // namespace tlc::tile
