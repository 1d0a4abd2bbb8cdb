// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs passes over the tile dialect. It knows no simt: what leaks fails to parse.
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "mlir/Transforms/Passes.h"
#include "tools/opt/OptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tlc::program::ProgramDialect, tlc::tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::registerTransformsPasses();
  tlc::tile::registerTileTransformsPasses();
  return tlc::optMain(argc, argv, "driver of the tile dialect\n", registry);
}
