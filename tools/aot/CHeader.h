// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C header of an archive of `tlc build`: for each kernel a struct of its arguments, which
/// runtime/aot/Arguments.h reads, and functions that take it.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"
#include "tools/aot/ObjectFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tlc::aot {

/// A kernel of the header. Its programs for all targets take the same arguments.
struct HeaderKernel {
  std::string function; ///< a C identifier that begins with the prefix of the header
  std::string line;     ///< the kernel's name and parameters
  std::string summary;
  const Artifact *artifact = nullptr; ///< for the first target
  std::vector<std::string> targets = {};
  bool hasWorkspaces = false; ///< for some target
};

struct Header {
  std::string prefix; ///< of all names: "fa"
  std::vector<HeaderKernel> kernels;
  bool hasEmulator = false;
};

/// What characters other than those of C identifiers become '_' in.
std::string identifierOf(llvm::StringRef text);

/// An error if two names of the header would be the same, whether or not it needs all of them: C has no name
/// spaces.
Result<void> checkNames(const std::string &prefix, llvm::ArrayRef<std::string> functions);

std::string textOf(const Header &header);

/// The functions that the header declares for a kernel.
std::vector<Forwarder> functionsOf(const HeaderKernel &kernel, bool hasEmulator);
/// And those for all kernels together.
std::vector<Forwarder> commonFunctionsOf(llvm::StringRef prefix);

} // namespace tlc::aot
