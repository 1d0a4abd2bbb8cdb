// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the registry's kernels of attention forward have in common: parameters, tensors, the reference and
/// the cost.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/dispatch/ForwardChoice.h"
#include "kernels/attention/registry/SequenceParameters.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace tlc::kernels {

/// A kernel adds accuracy and factors.
class RegisteredForward : public Kernel {
public:
  /// `defaults` are what is computed if nothing is said; `length` is the default of `sq` and `sk`.
  RegisteredForward(std::string_view name, std::string_view summary, const ForwardConfig &defaults,
                    const std::string &length);

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const final;
  std::vector<TensorSpec> tensors(const Parameters &values) const final;
  /// Of the first three inputs, as they are.
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override;
  /// With heads, scale, lengths, mask and form.
  std::string conflict(const Parameters &values) const override;
  std::vector<Remark> remarks(const Parameters &values, const Target &target) const final;
  double flops(const Parameters &values) const final;
  Definitions emulatorSizes() const final;

protected:
  /// What is computed, and where it is summed up; without form and how.
  ForwardConfig problemOf(const Parameters &values) const;
  /// The form that is given, or chosen. A program that is fixed for a number of heads has no split keys.
  ForwardChoice formOf(const Parameters &values, const Target &target,
                       const dsl::TraceOptions &options = {}) const;
  /// With form and how: the choice for the problem, and what is given instead. Without split keys.
  ForwardConfig configOf(const Parameters &values, AttentionForm form, const Target &target) const;
  /// What keeps values from the explicit form; empty if nothing does.
  std::string whyNotExplicit(const Parameters &values) const;
  /// What keeps them from split keys.
  std::string whyNotSplitKeys(const Parameters &values) const;
  AttentionShape shapeOf(const Parameters &values) const;

  struct Sizes {
    const char *b, *s, *h, *hkv;
  };
  /// Each with all keys visible, and causal.
  static std::vector<Definitions> suiteOf(std::initializer_list<Sizes> sizes);

private:
  ForwardConfig defaults;
};

} // namespace tlc::kernels
