// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs any pass of the compiler over any of its dialects.
#include "compiler/pipeline/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tlc::registerDialects(registry);
  tlc::registerPasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "driver of all dialects and passes\n", registry));
}
