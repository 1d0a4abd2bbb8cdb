// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reports of a thread: checks.
#include "dialects/simt/Simt.h"

using namespace mlir;
using namespace tlc::simt;

LogicalResult ReportOp::verify() {
  if (int64_t axes = getSite().getAxes(); axes != int64_t(getPosition().size())) // report_c1
    return emitOpError() << "expected a position along each of the site's " << axes << " axes, but got "
                         << getPosition().size();
  if (!llvm::equal(getSite().getValues(), getValues().getTypes()))
    return emitOpError() << "expected values of the types that the site has because the host reads them so, "
                            "but got "
                         << getValues().getTypes();
  return success();
}
