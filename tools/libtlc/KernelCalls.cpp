// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that tells of kernels: of those of tlc without the compiler.
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/CompilerFacts.h"

using namespace tlc;

Result<int> calls::kernelCount(const tlc_file *file) {
  return file ? ask(&Compiler::countKernels, file) : Result<int>(int(ourKernels.size()));
}

Result<void> calls::kernelOf(const tlc_file *file, int kernel, tlc_kernel_info *info) {
  if (file)
    return ask(&Compiler::describeKernel, file, kernel, info);
  if (Result<void> valid = checkNumber("a kernel", kernel, ourKernels.size()); !valid)
    return valid;
  if (Result<void> valid = checkRoom(info); !valid)
    return valid;
  const KernelFacts &facts = ourKernels[size_t(kernel)];
  *info = {sizeof(*info), facts.name, facts.summary, int32_t(facts.parameters.size())};
  return {};
}

Result<void> calls::parameterOf(const tlc_file *file, int kernel, int parameter, tlc_parameter_info *info) {
  if (file)
    return ask(&Compiler::describeParameter, file, kernel, parameter, info);
  if (Result<void> valid = checkNumber("a kernel", kernel, ourKernels.size()); !valid)
    return valid;
  const std::span<const ParameterFacts> parameters = ourKernels[size_t(kernel)].parameters;
  if (Result<void> valid = checkNumber("a parameter", parameter, parameters.size()); !valid)
    return valid;
  if (Result<void> valid = checkRoom(info); !valid)
    return valid;
  const ParameterFacts &facts = parameters[size_t(parameter)];
  *info = {sizeof(*info), facts.name, facts.allowed, facts.fallback, facts.description};
  return {};
}
