// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of checking a kernel that all its runs share: contents of the inputs, and expected results in
/// double precision.
#pragma once

#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/Verdict.h"
#include "kernels/library/Library.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tlc::kernels {

struct ProblemOptions {
  Placement placement = {};
  LastStrides lastStrides = {};     ///< of tensors whose program takes any
  uint64_t seed = 0;                ///< of the inputs, and of the choice of elements that are compared
  double referenceOperations = 5e8; ///< what comparing may cost; a sample of the elements if all cost more
  DerivedInputs derived = DerivedInputs::computed;
  InputChange change = {};
};

/// A request with one seed. The reference is computed when it is needed first, and kept. Safe to use from
/// several threads.
class Problem {
public:
  static Result<std::shared_ptr<const Problem>> create(const Request &request, const ProblemOptions &options);

  /// On how many devices it runs at once.
  int64_t ranks() const { return request.kernel->ranks(request.values); }
  /// The program's scalars, in its order. An error if one has no value.
  Result<std::vector<ScalarValue>> scalars(const Artifact &artifact) const;
  /// The tensors before a launch, of all ranks.
  const InitialTensors &initial() const { return tensors; }
  /// Computes what comparing computes otherwise the first time, so that processes that are forked share it.
  Result<void> computeReference() const;
  /// Compares the outputs, given as a launch left them and in their order, with the reference.
  Result<Verdict> compare(std::span<const HostTensor> outputs) const;

private:
  Problem(const Request &request, const ProblemOptions &options)
      : request(request), options(options), random(options.seed) {}

  /// What is always compared of an output.
  struct Expected {
    int64_t count = 0;             ///< of all its elements that are not padding
    std::vector<int64_t> elements; ///< row-major numbers, ascending
    std::vector<double> values;
  };
  Result<OutputVerdict> compare(const TensorSpec &spec, size_t output, const HostTensor &actual) const;
  std::vector<int64_t> elementsToCompare(const HostTensor &tensor) const;
  /// The caller of these two holds the mutex.
  Result<std::vector<double>> expectedOf(size_t output, std::span<const int64_t> elements) const;
  Result<const Expected *> expected(const TensorSpec &spec, size_t output, const HostTensor &actual) const;

  Request request;
  ProblemOptions options;
  InitialTensors tensors;
  mutable std::mutex mutex; ///< of what follows
  mutable Random random;
  mutable std::vector<std::vector<double>> inputs; ///< contents, converted once
  mutable Reference reference;                     ///< for them
  mutable std::map<size_t, Expected> known;        ///< by output
};

} // namespace tlc::kernels
