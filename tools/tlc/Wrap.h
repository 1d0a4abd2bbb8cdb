// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc wrap DESCRIPTION --ptx FILE --cubin FILE --out ARTIFACT`: code of another compiler as an artifact.
#pragma once

#include "tools/tlc/ExitCode.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace tlc::driver {

/// What the files that `tlc wrap` writes end in.
inline constexpr llvm::StringLiteral artifactEnding = ".artifact";

class WrapCommand {
public:
  WrapCommand();
  explicit operator bool() const { return bool(command); }
  ExitCode execute() const;

private:
  llvm::cl::SubCommand command;
  llvm::cl::opt<std::string> description, ptx, cubin, target, output;
};

} // namespace tlc::driver
