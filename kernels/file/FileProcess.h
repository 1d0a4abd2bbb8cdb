// SPDX-License-Identifier: Apache-2.0
/// \file
/// What runs in a process of its own, because code of the user's runs in it: the shared object is loaded and
/// registers its kernels, and one of them is asked. Each gives what the process answers, or what is wrong.
/// Built with exceptions, without MLIR.
#pragma once

#include "compiler/dsl/Program.h"
#include "runtime/support/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tlc::kernels {

/// A shared object in an open file.
struct ObjectFile {
  int descriptor = -1;
  std::string source; ///< for messages
};

using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/// All kernels (`unpackDescriptions`).
Result<std::string> describeKernels(const ObjectFile &object);

/// The floating-point operations, a double, then the program (`unpackProgram`).
Result<std::string> traceKernel(const ObjectFile &object, size_t kernel, const ParameterTexts &values,
                                const dsl::TraceOptions &options);

/// A tensor's contents on the host, which the function is given.
struct NamedNumbers {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const double> numbers;
};

/// Some numbers of a tensor: what an output should hold, or what an input holds.
struct NumbersQuestion {
  std::string tensor;
  bool isOutput = true;
  std::vector<int64_t> shape;
  std::vector<NamedNumbers> inputs;
  std::span<const int64_t> elements; ///< row-major
};
/// As many doubles.
Result<std::string> numbersOfKernel(const ObjectFile &object, size_t kernel, const ParameterTexts &values,
                                    const NumbersQuestion &question);

} // namespace tlc::kernels
