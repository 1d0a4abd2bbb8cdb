// SPDX-License-Identifier: Apache-2.0
/// \file
/// The simt dialect: registration.
#include "dialects/simt/Cluster.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

#include "dialects/simt/Dialect.cpp.inc"

void SimtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/simt/Ops.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/simt/OpsCluster.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/simt/Ops.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/simt/OpsCluster.cpp.inc"
