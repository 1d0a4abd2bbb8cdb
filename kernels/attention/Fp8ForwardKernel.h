// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward on e4m3 in the registry.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/Forward.h"

namespace tlc::kernels {

class Fp8AttentionForwardKernel : public Kernel {
public:
  Fp8AttentionForwardKernel();
  static ForwardConfig config(const Parameters &values);

  std::string_view name() const override { return "attention_fwd_fp8"; }
  std::string_view summary() const override {
    return "attention_fwd of e4m3: scaleQ[b,h] Q, scaleK[b,hkv] K and scaleV[b,hkv] V, O in f16 or bf16";
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
