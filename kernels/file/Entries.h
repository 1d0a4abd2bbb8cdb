// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the entries of a file of kernels answer, in the process in which their functions run: in a process of
/// its own for a file of the user's, in this one for kernels that are part of tlc. Built with exceptions,
/// without MLIR.
#pragma once

#include "compiler/dsl/Program.h"
#include "kernels/file/Description.h"
#include "runtime/support/Result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tlc::inline v1 {
class KernelFile;
class KernelEntry;
struct Thrown;
} // namespace tlc::inline v1

namespace tlc::kernels {

using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/// A tensor's contents on the host, which the function is given.
struct NamedNumbers {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const double> numbers;
  int64_t rank = 0; ///< whose
};

/// Some numbers of a tensor: what an output should hold, or what an input holds.
struct NumbersQuestion {
  std::string tensor;
  bool isOutput = true;
  std::vector<int64_t> shape;
  std::vector<NamedNumbers> inputs;
  std::span<const int64_t> elements; ///< row-major
  int64_t rank = 0, ranks = 1;       ///< whose tensor it is

  std::string what() const {
    return std::string("the ") + (isOutput ? "reference" : "contents") + " of '" + tensor + "'" +
           (ranks > 1 ? " on rank " + std::to_string(rank) : "");
  }
};

/// Runs the body where its exceptions are caught (`KernelFileInterface::guard`).
using Guard = bool (*)(const std::function<void()> &body, Thrown &thrown);
/// What `body` throws is what is wrong.
Result<void> guarded(Guard guard, std::string_view what, const std::function<void()> &body);

/// All kernels, at least one; an error is the first mistake in what they say of themselves. `source` is for
/// messages.
Result<std::vector<KernelDescription>> describeEntries(const KernelFile &file, std::string_view source);

/// What `unpackTrace` takes.
Result<std::string> traceEntry(KernelEntry &kernel, Guard guard, const ParameterTexts &values,
                               const dsl::TraceOptions &options);
/// As many doubles as the question has elements.
Result<std::string> numbersOfEntry(KernelEntry &kernel, Guard guard, const ParameterTexts &values,
                                   const NumbersQuestion &question);

} // namespace tlc::kernels
