// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of the all-reduce, described once.
#pragma once

#include "kernels/Describe.h"
#include "kernels/collectives/AllReduce.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, AllReduceConfig> &config) {
  auto &[dtype, tile] = config;
  visit.option(
      []() -> Parameter {
        return {.name = "dtype",
                .description = "type of X and Y",
                .kind = Parameter::Kind::choice,
                .choices = {"f32", "f16", "bf16"}};
      },
      dtype);
  visit.option(
      []() -> Parameter {
        return {.name = "tile",
                .description = "elements that a block reduces at once",
                .kind = Parameter::Kind::integer,
                .least = 128,
                .most = 8192,
                .multipleOf = 128,
                .mayBeAuto = false};
      },
      tile);
}

} // namespace tlc::kernels
