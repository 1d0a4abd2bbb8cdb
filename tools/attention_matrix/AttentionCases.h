// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options of attention forward, backward and decode, and sizes around those of their tiles: what tests and
/// tlc-attention-matrix combine.
#pragma once

#include "kernels/Parameters.h"
#include "kernels/harness/HostTensor.h"

#include <vector>

namespace tlc::attention_matrix {

/// The definitions that each value of an option stands for.
using Option = std::vector<kernels::Definitions>;

/// Lengths of rows: of one tile of O, and of several parts.
const Option &shortRows();
const Option &longRows();

const Option &allMasks();
/// Everything that the compiler sees.
std::vector<Option> attentionOptions(const Option &rows, const Option &masks = allMasks());
/// Where weights lie for their product with V: an option more on targets with tensor memory.
const Option &dataflows();
/// Lengths of rows whose gradients are shared among warpgroups by rows, by columns, and in between.
const Option &gradientRows();
/// Others: short ones, and rows of Q and V that differ.
const Option &moreGradientRows();
/// Everything that the compiler sees of attention backward, and all ways to sum up.
std::vector<Option> backwardOptions(const Option &rows, const Option &masks = allMasks());
/// Everything that the compiler sees of attention on e4m3, and some tiles.
std::vector<Option> fp8AttentionOptions();
/// Everything that the compiler sees of decoding, and some tiles.
std::vector<Option> decodeOptions();

/// A program of attention, and sizes at which it runs.
struct Case {
  kernels::Definitions program, sizes;

  kernels::Definitions all() const;
};
/// `values` has the number of a value of each option. Sequences have one of a list of lengths or, with
/// `longest`, any length up to `longest`. A program without the option `lengths` decodes.
Case drawCase(const std::vector<Option> &options, const std::vector<size_t> &values, kernels::Random &random,
              int longest = 0);

} // namespace tlc::attention_matrix
