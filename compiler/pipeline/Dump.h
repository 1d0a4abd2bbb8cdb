// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of every phase in a file of its own: 00-input.mlir ... 09-nvvm.mlir 10-llvm.ll 11-ptx.ptx.
#pragma once

#include "compiler/pipeline/Phases.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tlc {

/// Writes the text of one phase into `directory`, which is made if it does not exist.
llvm::Error dumpPhase(llvm::StringRef directory, Phase phase, llvm::StringRef text);

} // namespace tlc
