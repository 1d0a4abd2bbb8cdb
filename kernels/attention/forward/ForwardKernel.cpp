// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types, limits and accuracy of attention forward on 16-bit elements.
#include "kernels/KernelList.h"
#include "kernels/attention/forward/RegisteredForward.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Parameters.h"

#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

class AttentionForwardKernel final : public RegisteredForward {
public:
  AttentionForwardKernel()
      : RegisteredForward(
            "attention_fwd",
            "O[b,sq,h,dv] = softmax(Q[b,sq,h,d] K[b,sk,hkv,d]ᵀ / sqrt(d)) V[b,sk,hkv,dv], and LSE[b,h,sq]",
            {.length = "2048",
             .rows = {{"d", "length of a row of Q and K", Kind::constant, "128", 8, longestRow, 8},
                      valueLengthParameter(),
                      typeParameter()},
             .form = {choiceParameter("form", "who makes the roles: the compiler or the program",
                                      {"explicit", "plain"})},
             .bk = {"bk", "keys of a step", Kind::integer, "auto", productDepth, 256, productDepth}}) {}

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(values);
    if (output == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    // Weights are rounded before they meet V, whose elements are up to 1, and then the result is.
    return {.limit = 3 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  std::string conflict(const Parameters &values) const override {
    if (std::string common = RegisteredForward::conflict(values); !common.empty())
      return common;
    int64_t d = values.constant("d"), dv = valueLengthOf(values);
    if (values.choice("form") == "explicit" && (dv % productDepth != 0 || d % productDepth != 0))
      return fmt::format(
          "expected d and dv to be multiples of {} because in the explicit form all products are "
          "wgmma, but got d = {} and dv = {}; use form=plain",
          productDepth, d, dv);
    if (int64_t bq = values.integer("bq").value_or(64); values.choice("form") == "explicit" && bq != 64)
      if (isSplit(dv))
        return fmt::format("expected bq = 64 because the columns of dv = {} take two roles that compute, and "
                           "registers for no third, but got {}",
                           dv, bq);
    return {};
  }

  std::vector<Definitions> suite() const override {
    return suiteOf({{"16", "1024", "16", "16"},
                    {"8", "2048", "16", "16"},
                    {"4", "4096", "16", "16"},
                    {"2", "8192", "16", "16"},
                    {"1", "16384", "16", "16"},
                    {"4", "4096", "32", "8"}});
  }

private:
  ForwardConfig problemOf(const Parameters &values) const override {
    ForwardConfig config = RegisteredForward::problemOf(values);
    config.problem.dtype = values.element("dtype");
    return config;
  }
};

} // namespace

const Kernel &attentionForwardKernel() {
  static const AttentionForwardKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
