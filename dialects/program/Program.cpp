// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program dialect: registration, checks of its attributes.
#include "dialects/program/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/target/Target.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::program;

#include "dialects/program/Dialect.cpp.inc"
#include "dialects/program/Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/program/Attrs.cpp.inc"

void ProgramDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/program/Attrs.cpp.inc"
      >();
}
