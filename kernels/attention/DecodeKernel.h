// SPDX-License-Identifier: Apache-2.0
/// \file
/// Decoding in the registry.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/Decode.h"

namespace tlc::kernels {

class AttentionDecodeKernel : public Kernel {
public:
  AttentionDecodeKernel();
  static DecodeConfig config(const Parameters &values);

  std::string_view name() const override { return "attention_decode"; }
  std::string_view summary() const override {
    return "O[b,sq,hkv,group,dv] = softmax(scale Q[b,sq,hkv,group,d] Kᵀ) V with K [b,sk,hkv,d] and V "
           "[b,sk,hkv,dv] or in pages, and LSE[b,hkv,group,sq]";
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
