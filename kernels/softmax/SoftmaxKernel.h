// SPDX-License-Identifier: Apache-2.0
/// \file
/// The softmax in the registry.
#pragma once

#include "kernels/Registry.h"
#include "kernels/softmax/Softmax.h"

namespace tlc::kernels {

class SoftmaxKernel : public Kernel {
public:
  SoftmaxKernel();
  std::string_view name() const override { return "softmax"; }
  std::string_view summary() const override {
    return "Y = softmax of X[rows,columns] along rows; a row of -inf alone gives zeros";
  }
  std::span<const Parameter> parameters() const override { return declared; }
  dsl::Program build(const Parameters &values, const dsl::TraceOptions &options) const override;
  std::vector<TensorSpec> tensors(const Parameters &values) const override;
  std::vector<double> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                size_t output, std::span<const int64_t> elements) const override;
  Tolerance tolerance(const Parameters &values, size_t output) const override;
  double flops(const Parameters &values) const override;
  std::vector<Definitions> suite() const override;

private:
  std::vector<Parameter> declared;
};

} // namespace tlc::kernels
