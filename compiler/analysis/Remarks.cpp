// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one place where remarks begin.
#include "compiler/analysis/Remarks.h"

using namespace mlir;

InFlightDiagnostic tlc::tile::emitRemark(Operation *op, RemarkId id) {
  return op->emitRemark() << "[" << toString(id) << "] ";
}

InFlightDiagnostic tlc::tile::emitRemark(Location location, RemarkId id) {
  return mlir::emitRemark(location) << "[" << toString(id) << "] ";
}
