// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc layout`: which place each element of a fragment, shared tile or tensor-memory buffer has.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/LayoutGrid.h"
#include "tools/tlc/ProgramFlags.h"

namespace tlc::driver {

class LayoutCommand {
public:
  LayoutCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  ExitCode show(llvm::ArrayRef<PlacedTile> tiles, llvm::ArrayRef<size_t> chosen) const;

  llvm::cl::SubCommand command;
  ProgramFlags programs; // first: its argument comes before the next one
  llvm::cl::opt<std::string> name;
  llvm::cl::opt<std::string> rows;
  llvm::cl::opt<std::string> columns;
  llvm::cl::opt<std::string> svg;
  llvm::cl::opt<bool> json;
};

} // namespace tlc::driver
