// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs any pass of the compiler over any of its dialects.
#include "compiler/pipeline/Register.h"
#include "tools/opt/OptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tlc::registerDialects(registry);
  tlc::registerPasses();
  return tlc::optMain(argc, argv, "driver of all dialects and passes\n", registry);
}
