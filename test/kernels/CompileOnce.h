// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles the programs of a test's requests, equal ones once.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/library/Library.h"

#include <memory>

namespace tlc::kernels::test {

/// The program of a request. Other sizes and other parameters often give an equal one, which a process then
/// compiles once; `Library` compiles it for each of them. NVLink multicast is allowed. Fails the test if it
/// does not compile.
std::shared_ptr<const Artifact> compileOnce(const Request &request, const CompileOptions &options = {});

} // namespace tlc::kernels::test
