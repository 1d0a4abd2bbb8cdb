// SPDX-License-Identifier: Apache-2.0
/// \file
/// From code of another compiler and a description to an artifact.
#pragma once

#include "tools/wrap/Description.h"

#include <optional>

namespace tlc::wrap {

/// The content of a file and its name.
struct CodeFile {
  std::string name, content;
};

/// Code of a kernel: PTX, machine code, or both.
struct Code {
  std::optional<CodeFile> ptx = {}, cubin = {};
  /// Of `runtime/target`; empty: the first one that runs the PTX.
  std::string target = {};
};

/// The artifact has passed `verify`. Entries, sizes of parameters and bounds of launches of PTX are checked;
/// errors name the place in the description, or the file of code.
Result<Artifact> wrap(const Description &description, Code code);

} // namespace tlc::wrap
