// SPDX-License-Identifier: Apache-2.0
/// \file
/// The GEMM in the registry.
#pragma once

#include "kernels/Registry.h"
#include "kernels/gemm/Gemm.h"

namespace tlc::kernels {

class GemmKernel : public Kernel {
public:
  GemmKernel();
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override {
    return "C[m,n] = A[m,k] B with sums in f32; B is n x k (tn) or k x n (nn)";
  }
  std::span<const Parameter> parameters() const override { return declared; }
  dsl::Program build(const Parameters &values, const dsl::TraceOptions &options) const override;
  std::vector<TensorSpec> tensors(const Parameters &values) const override;
  std::vector<double> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                size_t output, std::span<const int64_t> elements) const override;
  Tolerance tolerance(const Parameters &values, size_t output) const override;
  double flops(const Parameters &values) const override;
  std::vector<Definitions> suite() const override;

  /// The heuristic's choice, with what the parameters say themselves.
  static GemmConfig config(const Parameters &values);

private:
  std::vector<Parameter> declared;
};

} // namespace tlc::kernels
