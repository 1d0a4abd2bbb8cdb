// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward in the registry.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/Forward.h"

namespace tlc::kernels {

class AttentionForwardKernel : public Kernel {
public:
  AttentionForwardKernel();
  static ForwardConfig config(const Parameters &values);

  std::string_view name() const override { return "attention_fwd"; }
  std::string_view summary() const override {
    return "O[b,sq,h,dv] = softmax(Q[b,sq,h,d] K[b,sk,hkv,d]ᵀ / sqrt(d)) V[b,sk,hkv,dv], and LSE[b,h,sq]";
  }
  std::span<const Parameter> parameters() const override { return declared; }
  dsl::Program build(const Parameters &values, const dsl::TraceOptions &options) const override;
  std::vector<TensorSpec> tensors(const Parameters &values) const override;
  std::vector<double> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                size_t output, std::span<const int64_t> elements) const override;
  Tolerance tolerance(const Parameters &values, size_t output) const override;
  std::string conflict(const Parameters &values) const override;
  double flops(const Parameters &values) const override;
  std::vector<Definitions> suite() const override;

private:
  std::vector<Parameter> declared;
};

} // namespace tlc::kernels
