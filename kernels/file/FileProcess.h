// SPDX-License-Identifier: Apache-2.0
/// \file
/// What runs in a process of its own, because code of the user's runs in it: the shared object is loaded and
/// registers its kernels, and one of them is asked. Each gives what the process answers, or what is wrong.
/// Built with exceptions, without MLIR.
#pragma once

#include "kernels/file/Entries.h"

#include <string>

namespace tlc::kernels {

/// A shared object in an open file.
struct ObjectFile {
  int descriptor = -1;
  std::string source; ///< for messages
};

/// All kernels (`unpackDescriptions`).
Result<std::string> describeKernels(const ObjectFile &object);

/// As `traceEntry`.
Result<std::string> traceKernel(const ObjectFile &object, size_t kernel, const ParameterTexts &values,
                                const dsl::TraceOptions &options);

/// As `numbersOfEntry`.
Result<std::string> numbersOfKernel(const ObjectFile &object, size_t kernel, const ParameterTexts &values,
                                    const NumbersQuestion &question);

} // namespace tlc::kernels
