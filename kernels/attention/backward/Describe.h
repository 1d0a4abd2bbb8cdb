// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of attention backward, described once.
#pragma once

#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Describe.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, BackwardConfig> &config) {
  using Kind = Parameter::Kind;
  auto &[problem, gradients, strideOfOutputGradient, dq, dkv, bq, bk, stages, dealing, unseen, form, overlap,
         slots] = config;
  describe(visit, problem);
  visit.hidden(form); // the registry's may be left open
  visit.option(
      [&] {
        return choiceParameter("gradients", "type of dQ, dK and dV: that of Q, or f32", {"same", "f32"});
      },
      gradients);
  visit.option(
      [&] {
        return choiceParameter(
            "do_stride",
            "from an element of a row of dO to the next one: 1, or any, also 0 as in an "
            "expanded tensor; dO then has a last axis of extent 1, and the first launch copies it",
            {"one", "any"});
      },
      strideOfOutputGradient);
  visit.hidden(dq); // likewise
  visit.hidden(dkv);
  auto rows = [](std::string name, std::string description) -> Parameter {
    return {.name = std::move(name),
            .description = std::move(description),
            .kind = Kind::integer,
            .least = 64,
            .most = 128,
            .multipleOf = 64};
  };
  visit.open([&] { return rows("bq", "queries of a step"); }, {64, 128}, bq);
  visit.open([&] { return rows("bk", "keys that a block works on"); }, {64, 128}, bk);
  visit.open(
      [&]() -> Parameter {
        return {.name = "stages",
                .description = "tiles of queries in shared memory, at most",
                .kind = Kind::integer,
                .least = 1,
                .most = 8};
      },
      {1, 2, 3}, stages);
  visit.hidden(dealing); // as form
  visit.hidden(unseen);
  visit.hidden(overlap);
  visit.hidden(slots.keys);
  visit.hidden(slots.outputs);
  visit.hidden(slots.products);
}

} // namespace tlc::kernels
