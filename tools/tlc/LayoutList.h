// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layouts of a module: every fragment, shared tile and tensor-memory buffer.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "tools/tlc/LayoutGrid.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::driver {

/// The names that the source gives to fragments. Promotion drops variables; the operations whose results they
/// take keep their lines.
class FragmentNames {
public:
  /// Those of a module whose variables are still there.
  explicit FragmentNames(mlir::ModuleOp module);
  /// The name of the variable that takes `value`, or of several "a, b"; empty if none has a name.
  std::string of(mlir::Value value) const;

private:
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, llvm::SmallVector<llvm::StringRef>> names;
};

/// Every fragment and buffer of a module that has layouts, those of a kernel together and its buffers first.
/// Fragments of the same name, place, type and layout are one.
std::vector<PlacedTile> listTiles(mlir::ModuleOp module, const FragmentNames &names);

} // namespace tlc::driver
