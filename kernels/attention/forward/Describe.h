// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of attention forward, described once.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Describe.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, ForwardConfig> &config) {
  using Kind = Parameter::Kind;
  auto &[problem, bq, bk, stages, queryStages, form, order, sum, dataflow, hasWholeRows] = config;
  describe(visit, problem);
  visit.hidden(form); // the registry's may be left open
  if (problem.hasBytes())
    visit.option(
        [&]() -> Parameter {
          return {.name = "sums",
                  .description = "where rows of V are added up: tile by tile in f32, or in the product, "
                                 "which keeps 13 bits",
                  .kind = Kind::choice,
                  .choices = {"exact", "fast"}};
        },
        sum);
  else
    visit.hidden(sum);
  if (problem.hasBytes() || problem.shards)
    visit.hidden(dataflow);
  else
    visit.option(
        [&]() -> Parameter {
          return {.name = "dataflow",
                  .description =
                      "where weights lie for the product with V, in the plain form: ss: shared memory; "
                      "ts: tensor memory; wasp: as ts, with one tile of 128 queries",
                  .kind = Kind::choice,
                  .choices = {"auto", "ss", "ts", "wasp"}};
        },
        dataflow);
  visit.open(
      [&]() -> Parameter {
        return {.name = "bq",
                .description = "queries that a block works on",
                .kind = Kind::integer,
                .least = 64,
                .most = 256,
                .multipleOf = 64};
      },
      {64, 128, 192}, bq);
  int64_t depth = problem.hasBytes() ? 2 * productDepth : productDepth;
  visit.open(
      [&]() -> Parameter {
        return {.name = "bk",
                .description = "keys of a step",
                .kind = Kind::integer,
                .least = depth,
                .most = problem.hasBytes() ? 128 : 256,
                .multipleOf = depth};
      },
      {64, 96, 128, 176}, bk);
  visit.open(
      [&]() -> Parameter {
        return {.name = "stages",
                .description = "steps whose copies are in flight",
                .kind = Kind::integer,
                .least = 1,
                .most = 8};
      },
      {1, 2, 3}, stages);
  visit.open(
      [&]() -> Parameter {
        return {
            .name = "q_stages",
            .description =
                "tiles of queries in shared memory, in the plain form at most 2; 1: nothing of the next one "
                "runs under this one's end",
            .kind = Kind::integer,
            .least = 1,
            .most = 8};
      },
      {}, queryStages);
  visit.hidden(order);
  visit.hidden(hasWholeRows);
}

} // namespace tlc::kernels
