// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libtlc knows of its compiler without opening it. CompilerFacts.cpp is generated from the
/// libtlc_compiler.so that it is linked after (compiler/WriteFacts.cpp).
#pragma once

#include <span>

namespace tlc::calls {

/// What the linker has named its build (runtime/cache/BuildId.h).
extern const char *const compilerBuild;

struct ParameterFacts {
  const char *name, *allowed, *fallback, *description;
};
struct KernelFacts {
  const char *name, *summary;
  std::span<const ParameterFacts> parameters;
};
/// The kernels of tlc.
extern const std::span<const KernelFacts> ourKernels;

} // namespace tlc::calls
