// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of the softmax, described once.
#pragma once

#include "kernels/Describe.h"
#include "kernels/softmax/Softmax.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, SoftmaxConfig> &config) {
  auto &[dtype, rows, columns, cluster, warps, piece, length, alignment] = config;
  visit.option(
      []() -> Parameter {
        return {.name = "dtype",
                .description = "type of X and Y",
                .kind = Parameter::Kind::choice,
                .choices = {"f32", "f16", "bf16"}};
      },
      dtype);
  visit.hidden(rows);
  visit.hidden(columns);
  visit.open([] { return describedInteger("cluster", "blocks that share a row", 1, 8); }, {1, 2, 4, 8},
             cluster);
  visit.open([] { return describedInteger("warps", "warps of a block", 1, 32); }, {4, 8, 16, 32}, warps);
  visit.open([] { return describedInteger("piece", "columns of rows that are loaded at once", 1, 32768); },
             {}, piece);
  visit.hidden(length);
  visit.hidden(alignment);
}

} // namespace tlc::kernels
