// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accuracy of attention forward on 16-bit elements.
#include "kernels/KernelList.h"
#include "kernels/attention/dispatch/RegisteredForward.h"
#include "kernels/attention/problem/Describe.h"

namespace tlc::kernels {

namespace {
class AttentionForwardKernel final : public RegisteredForward {
public:
  AttentionForwardKernel()
      : RegisteredForward(
            "attention_fwd",
            "O[b,sq,h,dv] = softmax(Q[b,sq,h,d] K[b,sk,hkv,d]ᵀ / sqrt(d)) V[b,sk,hkv,dv], and LSE[b,h,sq]",
            {}, "2048") {}

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(problemOf(values).problem);
    if (output == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    // Weights are rounded before they meet V, whose elements are up to 1, and then the result is.
    return {.limit = 3 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  std::vector<Definitions> suite() const override {
    return suiteOf({{"16", "1024", "16", "16"},
                    {"8", "2048", "16", "16"},
                    {"4", "4096", "16", "16"},
                    {"2", "8192", "16", "16"},
                    {"1", "16384", "16", "16"},
                    {"4", "4096", "32", "8"}});
  }
};

} // namespace

const Kernel &attentionForwardKernel() {
  static const AttentionForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
