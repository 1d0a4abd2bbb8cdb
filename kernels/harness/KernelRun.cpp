// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs and comparisons.
#include "kernels/harness/KernelRun.h"

#include "runtime/device/LaunchPlan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// The artifact with the wanted variant alone, where there are two.
Artifact restrict(Artifact artifact, std::optional<Alignment> alignment) {
  if (alignment == Alignment::general)
    artifact.variants.erase(artifact.variants.begin(), artifact.variants.end() - 1);
  return artifact;
}

} // namespace

KernelRun::KernelRun(Device &device, const Request &request, std::shared_ptr<const LoadedProgram> loaded,
                     DeviceArguments arguments, const RunOptions &options)
    : device(&device), request(&request), loaded(std::move(loaded)), deviceArguments(std::move(arguments)),
      options(options), random(options.seed) {}

Result<KernelRun> KernelRun::create(Device &device, const Request &request,
                                    const std::shared_ptr<const Artifact> &artifact,
                                    const RunOptions &options) {
  if (options.alignment == Alignment::aligned && artifact->variants.size() == 1)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected the general variant, or none, because '{}' has only one: alignment "
                    "makes no difference to it, or it always requires alignment; but got the aligned "
                    "one",
                    artifact->name)};
  Result<std::shared_ptr<const LoadedProgram>> loaded = device.load(restrict(*artifact, options.alignment));
  if (!loaded)
    return loaded.error();
  const Artifact &own = (*loaded)->artifact();
  Result<DeviceArguments> arguments =
      DeviceArguments::create(device, own, request.kernel->tensors(request.values), options.placement);
  if (!arguments)
    return arguments.error();
  KernelRun run(device, request, *loaded, std::move(*arguments), options);
  Result<LaunchPlan> plan = planLaunch(own, run.deviceArguments.launchArguments(), device.properties());
  if (!plan)
    return plan.error();
  run.variantName = plan->variant->name;
  if (options.alignment == Alignment::aligned && plan->variantIndex != 0)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected tensors aligned to 16 bytes because the aligned variant of '{}' was asked for, "
                    "but for these the launcher takes the {} one",
                    own.name, run.variantName)};
  if (Result<void> filled = run.deviceArguments.fill(run.random, options.derived); !filled)
    return filled.error();
  return run;
}

Result<void> KernelRun::launch() { return device->launch(*loaded, deviceArguments.launchArguments()); }

Result<void> KernelRun::execute() {
  if (Result<void> reset = deviceArguments.reset(); !reset)
    return reset;
  auto begin = std::chrono::steady_clock::now();
  if (Result<void> launched = launch(); !launched)
    return launched;
  if (Result<void> done = device->synchronize(); !done)
    return done;
  elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Result<Verdict> KernelRun::verify() {
  if (Result<void> done = execute(); !done)
    return done.error();
  if (Result<void> fetched = deviceArguments.fetch(); !fetched)
    return fetched.error();

  std::vector<TensorSpec> specs = request->kernel->tensors(request->values);
  if (inputs.empty())
    for (size_t i = 0; i != specs.size(); ++i)
      if (specs[i].access != Access::output)
        inputs.push_back(deviceArguments.initial(i).values());
  Verdict verdict;
  size_t output = 0;
  for (size_t i = 0; i != specs.size() && verdict.correct(); ++i)
    if (specs[i].access != Access::input)
      if (Result<void> done = compare(specs[i], deviceArguments.tensors()[i], output++, verdict); !done)
        return done.error();
  return verdict;
}

Result<void> KernelRun::compare(const TensorSpec &spec, const HostTensor &actual, size_t output,
                                Verdict &verdict) {
  verdict.outputs.update(actual.bytes());
  if (auto stray = actual.findStrayWrite(spec.isPadding)) {
    verdict.complaint = *stray;
    return {};
  }
  if (auto unwritten = actual.findUnwritten(spec.isPadding)) {
    verdict.complaint = *unwritten;
    return {};
  }
  std::vector<int64_t> elements = elementsToCompare(actual);
  // Among integers the poison is a number like others: what was not written differs from what is expected.
  constexpr size_t mostSuspects = 64;
  for (int64_t suspect : actual.findPoison(mostSuspects, spec.isPadding))
    elements.push_back(suspect);
  std::ranges::sort(elements);
  elements.erase(std::ranges::unique(elements).begin(), elements.end());
  int64_t count = actual.elementCount();
  if (spec.isPadding) {
    std::erase_if(elements, spec.isPadding);
    for (int64_t number = 0; number < actual.elementCount(); ++number)
      count -= spec.isPadding(number);
  }
  verdict.elements += count;
  verdict.compared += static_cast<int64_t>(elements.size());
  Result<std::vector<double>> expected =
      request->kernel->reference(request->values, inputs, output, elements);
  if (!expected)
    return expected.error();
  Tolerance tolerance = request->kernel->tolerance(request->values, output);
  verdict.limit = std::max(verdict.limit, tolerance.limit);
  for (size_t i = 0; i != elements.size(); ++i) {
    double value = actual.at(elements[i]), error = errorOf(value, (*expected)[i], tolerance);
    if (error <= verdict.largestError && error <= tolerance.limit)
      continue;
    verdict.largestError = std::max(verdict.largestError, error);
    if (!(error <= tolerance.limit))
      verdict.complaint = fmt::format(
          "element {} of '{}' is {}, but {} was expected: the error {:.3g} is above the limit {:.3g}",
          actual.indexText(elements[i]), actual.name(), value, (*expected)[i], error, tolerance.limit);
  }
  return {};
}

std::vector<int64_t> KernelRun::elementsToCompare(const HostTensor &tensor) {
  int64_t count = tensor.elementCount();
  std::vector<int64_t> elements;
  if (count == 0)
    return elements;
  double cost = std::max(1.0, request->kernel->flops(request->values) / static_cast<double>(count));
  auto affordable = static_cast<int64_t>(std::max(256.0, options.referenceOperations / cost));
  if (affordable >= count) {
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
