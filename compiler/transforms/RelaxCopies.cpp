// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a store of a tile by the TMA is waited for only until the tile has been read, where nothing in
/// the kernel accesses what it writes. Of a symmetric tensor another rank may.

#include "compiler/analysis/TensorAccesses.h"
#include "compiler/transforms/Passes.h"

namespace tlc::tile {
#define GEN_PASS_DEF_RELAXCOPIES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct RelaxCopies : impl::RelaxCopiesBase<RelaxCopies> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto isMet = [&](Operation *op) {
      return llvm::any_of(tensorAccessesOf(op), [&](const TensorAccess &access) {
        return SliceOp(access.slice).isSymmetric() || isMetLater(access, kernel);
      });
    };
    kernel.walk([&](CopyOp copy) { copy.setUntilRead(copy.storesByEngine() && !isMet(copy)); });
    kernel.walk([&](CopyReduceOp copy) { copy.setUntilRead(!isMet(copy)); });
  }
};

} // namespace
} // namespace tlc::tile
