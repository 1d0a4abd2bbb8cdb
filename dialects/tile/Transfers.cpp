// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Transfers.h"

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;

bool tile::isWrittenByTransfer(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto kernel = argument ? dyn_cast_or_null<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  auto module = kernel ? kernel->getParentOfType<ModuleOp>() : ModuleOp();
  auto transfers =
      module ? module->getAttrOfType<ArrayAttr>(program::ProgramDialect::transfersAttrName) : ArrayAttr();
  if (!transfers)
    return false;
  int64_t number = llvm::count_if(kernel.getArgumentTypes().take_front(argument.getArgNumber()),
                                  llvm::IsaPred<GlobalType>);
  return llvm::any_of(transfers.getAsRange<program::TransferAttr>(), [&](program::TransferAttr transfer) {
    return transfer.getUntil() > transfer.getAfter() &&
           llvm::any_of(transfer.getCopies(),
                        [&](program::TransferCopyAttr copy) { return copy.getTo().getTensor() == number; });
  });
}
