// SPDX-License-Identifier: Apache-2.0
/// \file
/// The language server for .mlir files of this project: completion, types,
/// diagnostics while one types. Editors find it as they find mlir-lsp-server.
#include "compiler/pipeline/Register.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tlc::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
