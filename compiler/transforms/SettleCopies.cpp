// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards threads wait for their copies before they announce a tile that they store a part of: the
/// layouts of buffers tell from which cp.async is kept.

#include "compiler/analysis/CpAsyncAccess.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SETTLECOPIES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct SettleCopies : impl::SettleCopiesBase<SettleCopies> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    kernel.walk([&](CopyOp copy) {
      if (!target || copy.getAtom() != CopyAtom::cp_async || cpAsyncProblem(copy, *target).empty())
        return;
      if (PublishOp publish = announcementOf(copy))
        publish.setWithStores(true);
    });
  }
};

} // namespace
} // namespace tlc::tile
