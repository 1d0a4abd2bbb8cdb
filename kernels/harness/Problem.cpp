// SPDX-License-Identifier: Apache-2.0
/// \file
/// Contents, references, comparisons.
#include "kernels/harness/Problem.h"

#include "kernels/library/call/Scalars.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

Result<std::shared_ptr<const Problem>> Problem::create(const Request &request,
                                                       const ProblemOptions &options) {
  std::shared_ptr<Problem> problem(new Problem(request, options));
  Result<InitialTensors> initial =
      InitialTensors::create(request.kernel->tensors(request.values), options.placement, problem->random,
                             options.derived, options.lastStrides, needOfRun, options.change);
  if (!initial)
    return initial.error();
  problem->tensors = std::move(*initial);
  return std::shared_ptr<const Problem>(std::move(problem));
}

Result<std::vector<ScalarValue>> Problem::scalars(const Artifact &artifact) const {
  return scalarsOf(artifact, request.values);
}

Result<Verdict> Problem::compare(std::span<const HostTensor> outputs) const {
  Verdict verdict;
  verdict.outputs = digestOf(outputs);
  size_t output = 0;
  for (size_t i = 0; i < tensors.specs.size(); ++i) {
    if (tensors.specs[i].access == Access::input)
      continue;
    Result<OutputVerdict> compared = compare(tensors.specs[i], output, outputs[output]);
    if (!compared)
      return compared.error();
    if (const auto count = size_t(ranks()); !compared->correct() && count > 1)
      compared->complaint += fmt::format(" on rank {}", i / (tensors.specs.size() / count));
    verdict.add(std::move(*compared));
    ++output;
  }
  return verdict;
}

Result<void> Problem::computeReference() const {
  std::lock_guard lock(mutex);
  size_t output = 0;
  for (size_t i = 0; i < tensors.specs.size(); ++i)
    if (tensors.specs[i].access != Access::input)
      if (Result<const Expected *> done = expected(tensors.specs[i], output++, tensors.tensors[i]); !done)
        return done.error();
  return {};
}

Result<OutputVerdict> Problem::compare(const TensorSpec &spec, size_t output,
                                       const HostTensor &actual) const {
  const Tolerance tolerance = request.kernel->tolerance(request.values, output);
  OutputVerdict verdict = {.name = spec.name, .limit = tolerance.limit, .elements = actual.elementCount()};
  if (auto stray = actual.findStrayWrite(spec.isPadding)) {
    verdict.complaint = *stray;
    return verdict;
  }
  if (auto unwritten = actual.findUnwritten(spec.isPadding)) {
    verdict.complaint = *unwritten;
    return verdict;
  }
  std::unique_lock lock(mutex);
  Result<const Expected *> always = expected(spec, output, actual);
  lock.unlock(); // what is known stays where it is
  if (!always)
    return always.error();
  verdict.elements = (*always)->count;
  Comparison comparison(tolerance);
  const auto check = [&](std::span<const int64_t> elements, std::span<const double> expected) {
    for (size_t i = 0; i != elements.size(); ++i)
      comparison.check(elements[i], actual.at(elements[i]), expected[i]);
  };
  check((*always)->elements, (*always)->values);
  // Among integers the poison is a number like others: what was not written differs from what is expected.
  constexpr size_t mostSuspects = 64;
  std::vector<int64_t> suspects = actual.findPoison(mostSuspects, spec.isPadding);
  std::erase_if(suspects,
                [&](int64_t suspect) { return std::ranges::binary_search((*always)->elements, suspect); });
  if (!suspects.empty()) {
    lock.lock();
    Result<std::vector<double>> values = expectedOf(output, suspects);
    if (!values)
      return values.error();
    check(suspects, *values);
  }
  verdict.largestError = comparison.largestError();
  verdict.compared = comparison.compared();
  verdict.firstWrong = comparison.firstWrong();
  verdict.complaint =
      comparison.complaint(spec.name, [&](int64_t element) { return actual.indexText(element); });
  return verdict;
}

Result<const Problem::Expected *> Problem::expected(const TensorSpec &spec, size_t output,
                                                    const HostTensor &actual) const {
  if (auto found = known.find(output); found != known.end())
    return &found->second;
  Expected expected;
  expected.count = actual.elementCount();
  expected.elements = elementsToCompare(actual);
  std::ranges::sort(expected.elements);
  expected.elements.erase(std::ranges::unique(expected.elements).begin(), expected.elements.end());
  if (spec.isPadding) {
    std::erase_if(expected.elements, spec.isPadding);
    for (int64_t number = 0; number < actual.elementCount(); ++number)
      expected.count -= spec.isPadding(number);
  }
  Result<std::vector<double>> values = expectedOf(output, expected.elements);
  if (!values)
    return values.error();
  expected.values = std::move(*values);
  return &known.emplace(output, std::move(expected)).first->second;
}

Result<std::vector<double>> Problem::expectedOf(size_t output, std::span<const int64_t> elements) const {
  if (!reference) {
    for (size_t i = 0; i != tensors.specs.size(); ++i)
      if (tensors.specs[i].access != Access::output)
        inputs.push_back(tensors.tensors[i].values());
    reference = request.kernel->reference(request.values, inputs);
  }
  return reference(output, elements);
}

std::vector<int64_t> Problem::elementsToCompare(const HostTensor &tensor) const {
  int64_t count = tensor.elementCount();
  std::vector<int64_t> elements;
  if (count == 0)
    return elements;
  double cost = std::max(1.0, request.kernel->flops(request.values) / static_cast<double>(count));
  auto affordable = static_cast<int64_t>(std::max(256.0, options.referenceOperations / cost));
  if (affordable >= count) {
    elements.reserve(size_t(count));
    for (int64_t i = 0; i != count; ++i)
      elements.push_back(i);
    return elements;
  }
  // Half of the sample lies in the last row and column, where tiles overhang.
  int64_t columns = std::max<int64_t>(tensor.shape().empty() ? 1 : tensor.shape().back(), 1),
          rows = count / columns;
  auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  elements = {0, count - 1};
  for (int64_t i = 0; i < affordable; i += 4) {
    elements.push_back(pick(count));
    elements.push_back(pick(count));
    elements.push_back((rows - 1) * columns + pick(columns));
    elements.push_back(pick(rows) * columns + columns - 1);
  }
  return elements;
}
