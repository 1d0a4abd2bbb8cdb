// SPDX-License-Identifier: Apache-2.0
/// \file
/// The list of kernels.
#include "kernels/KernelList.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/NearestName.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
/// Which of the values that a conflict names are defaults: "; hkv = 8 is the default: -D hkv=... changes it".
std::string defaultsIn(std::string_view conflict, const Parameters &values, const Definitions &given) {
  std::string text;
  for (const auto &[name, value] : values.values()) {
    const size_t at = conflict.find(fmt::format(" {} = {}", name, value));
    if (at == conflict.npos || given.contains(name))
      continue;
    text += fmt::format("; {0} = {1} is the default: -D {0}=... changes it", name, value);
  }
  return text;
}
} // namespace

Result<Parameters> Kernel::parse(const Definitions &given, const Definitions &defaults) const {
  if (auto ranks = given.find("ranks");
      ranks != given.end() &&
      std::ranges::find(parameters(), "ranks", &Parameter::name) == parameters().end())
    return Error{.message = fmt::format("expected no number of ranks because kernel '{}' runs on one device, "
                                        "but got {}; 'tlc list' shows which kernels have the parameter ranks",
                                        name(), excerpt(ranks->second))};
  Result<Parameters> values = Parameters::parse(name(), parameters(), given, defaults);
  if (!values)
    return values;
  if (std::string problem = conflict(*values); !problem.empty())
    return Error{.message =
                     fmt::format("kernel '{}': {}{}", name(), problem, defaultsIn(problem, *values, given))};
  return values;
}

double Kernel::bytes(const Parameters &values) const {
  double sum = 0;
  for (const TensorSpec &tensor : tensors(values)) {
    double bits = bitsOf(tensor.element);
    for (int64_t extent : tensor.shape)
      bits *= double(extent);
    sum += bits / 8;
  }
  return sum;
}

std::span<const Kernel *const> allKernels() {
  static const std::array<const Kernel *, 14> kernels = {&gemmKernel(),
                                                         &softmaxKernel(),
                                                         &attentionForwardKernel(),
                                                         &fp8AttentionForwardKernel(),
                                                         &attentionBackwardKernel(),
                                                         &attentionDecodeKernel(),
                                                         &allReduceKernel(),
                                                         &allGatherGemmKernel(),
                                                         &gemmReduceScatterKernel(),
                                                         &gemmAllReduceKernel(),
                                                         &moeDispatchKernel(),
                                                         &moeCombineKernel(),
                                                         &shardedAttentionForwardKernel(),
                                                         &shardedAttentionBackwardKernel()};
  return kernels;
}

Result<const Kernel *> findKernel(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Kernel *kernel : allKernels()) {
    if (kernel->name() == name)
      return kernel;
    names.push_back(kernel->name());
  }
  return Error{.message = fmt::format("expected one of the kernels {}, but got '{}'{}",
                                      fmt::join(names, ", "), excerpt(name), nearestText(name, names))};
}

} // namespace tlc::kernels
