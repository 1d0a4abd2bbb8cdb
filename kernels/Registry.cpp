// SPDX-License-Identifier: Apache-2.0
/// \file
/// The list of kernels.
#include "kernels/KernelList.h"
#include "runtime/support/Excerpt.h"

#include <array>
#include <fmt/format.h>

namespace tlc::kernels {

Result<Parameters> Kernel::parse(const Definitions &given, const Definitions &defaults) const {
  Result<Parameters> values = Parameters::parse(name(), parameters(), given, defaults);
  if (!values)
    return values;
  if (std::string problem = conflict(*values); !problem.empty())
    return Error{.message = fmt::format("kernel '{}': {}", name(), problem)};
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
  return Error{.message = fmt::format("expected one of the kernels {}, but got '{}'", fmt::join(names, ", "),
                                      excerpt(name))};
}

} // namespace tlc::kernels
