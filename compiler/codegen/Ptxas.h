// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine compiler as a subprocess, where the CUDA toolkit is installed: what it thinks of our PTX, and
/// machine code for entries of the cache and for `tlc build`.
#pragma once

#include "runtime/target/Target.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlc {

/// What one kernel needs of the machine.
struct KernelResources {
  std::string entry;
  unsigned registers = 0; ///< per thread
  unsigned stackBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
};

struct MachineCode {
  std::string cubin;
  std::vector<KernelResources> kernels;
  /// Warnings and advice, one line each: "... Potential Performance Loss: wgmma.mma_async instructions are
  /// serialized ...".
  std::vector<std::string> messages;
};

/// Path of ptxas: in an absolute folder of PATH, in the toolkit's usual place, or in a wheel. A program that
/// gains rights (setuid) does not look at PATH.
std::optional<std::string> findPtxas();
/// That of Python's packages of nvidia-cuda-nvcc or Triton, of the interpreters python3 in these folders,
/// which are written as in PATH.
std::optional<std::string> findPtxasOfWheels(llvm::StringRef paths);

/// For profilers; with them the machine code contains the PTX, too.
enum class SourceLines : uint8_t { keep, drop };

/// The PTX without the lines of its directive `.loc`.
std::string withoutSourceLines(llvm::StringRef ptx);

/// Compiles a PTX module; an error with ptxas's own text if it refuses. Temporary files are written to
/// `folder`, whose owner removes what a signal leaves; without one to that for temporary files, and a handler
/// of signals removes them.
llvm::Expected<MachineCode> assemble(llvm::StringRef ptxas, llvm::StringRef ptx, const Target &target,
                                     SourceLines lines = SourceLines::keep, llvm::StringRef folder = {});

} // namespace tlc
