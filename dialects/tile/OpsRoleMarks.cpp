// SPDX-License-Identifier: Apache-2.0
#include "dialects/program/Program.h"
#include "dialects/tile/RoleMarks.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsRoleMarks.cpp.inc"

LogicalResult BeginRoleOp::verify() { // begin_role_c1
  const Target *target = program::findTarget(*this);
  const int64_t warps = getWarps(), most = program::maxWarps(target ? *target : Target());
  if (warps >= 1 && warps <= most)
    return success();
  return emitOpError() << "expected role '" << getName() << "' to have from 1 to " << most
                       << " warps, but got " << warps;
}
