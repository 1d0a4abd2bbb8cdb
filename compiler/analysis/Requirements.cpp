// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/Requirements.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

RequireOp tile::findRequirement(KernelOp kernel, Requirement what) {
  RequireOp found;
  kernel.walk([&](RequireOp require) {
    if (require.getWhat() != what)
      return WalkResult::advance();
    found = require;
    return WalkResult::interrupt();
  });
  return found;
}

LogicalResult tile::reportMissed(Operation *op, Requirement what, bool isAvailable, RemarkId id,
                                 const Twine &message) {
  if (RequireOp require = findRequirement(op->getParentOfType<KernelOp>(), what)) {
    InFlightDiagnostic diag = op->emitError() << message;
    diag.attachNote(require.getLoc()) << "required here";
    return diag;
  }
  if (isAvailable)
    emitRemark(op, id) << message;
  return success();
}
