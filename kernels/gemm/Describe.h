// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of the GEMM, described once.
#pragma once

#include "kernels/Describe.h"
#include "kernels/gemm/Gemm.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, GemmConfig> &config) {
  auto &[dtype, dtypeOfB, out, layout, scales, bias, activation, residual, isBatched, bm, bn, bk, stages,
         group, tiles, split, sum, cluster, clusterAxis, residents, policy, swapped, storeRole, rowsOfA,
         rowsOfB, rowsOfC, alignmentOfA, alignmentOfB] = config;
  visit.option(
      [&] {
        return describedChoice("dtype", "type of A, and of B unless dtype_b is given",
                               {"f16", "bf16", "f32", "e4m3", "e5m2", "i8"});
      },
      dtype);
  visit.hidden(dtypeOfB); // as sum
  visit.option(
      [&] {
        return describedChoice("out", "type of C; i32 is that of i8", {"f32", "f16", "bf16", "e4m3", "i32"});
      },
      out);
  visit.option(
      [&] {
        return describedChoice("layout",
                               "B is n x k (tn, tt) or k x n (nn, nt), A is m x k (tn, nn) or k x m (tt, nt)",
                               {"tn", "nn", "tt", "nt"});
      },
      layout);
  visit.option(
      [&] {
        return describedChoice(
            "scales", "of A and of B: a number each, or one for each row of C and one for each column",
            {"none", "tensor", "row"});
      },
      scales);
  visit.option(
      [&] { return describedChoice("bias", "number added to each column of C", {"none", "column"}); }, bias);
  visit.option(
      [&] { return describedChoice("activation", "after the bias", {"none", "relu", "gelu", "silu"}); },
      activation);
  visit.option(
      [&] {
        return describedChoice("residual", "what is added at last: a tensor like C, or what C was",
                               {"none", "tensor", "in_place"});
      },
      residual);
  visit.hidden(isBatched);
  visit.open([&] { return describedInteger("bm", "rows of a tile of C", 8, 256, 8); }, {64, 128, 192, 256},
             bm);
  visit.open([&] { return describedInteger("bn", "columns of a tile of C", 8, 256, 8); },
             {64, 96, 128, 192, 256}, bn);
  visit.open([&] { return describedInteger("bk", "step along k", 16, 256, 16); }, {}, bk);
  visit.open([&] { return describedInteger("stages", "steps whose copies are in flight", 1, 8); }, {},
             stages);
  visit.open([&] { return describedInteger("split", "parts of k that different blocks compute", 1, 64); },
             {1, 2, 4}, split);
  visit.open([&] { return describedInteger("group", "rows of tiles that are walked together", 1, 1024); }, {},
             group);
  visit.option(
      [&] {
        return describedChoice(
            "tiles",
            "how blocks come to tiles of C: each knows its own from the start, or takes the next one "
            "when it is ready, which needs cluster launch control (sm_100 and later)",
            {"static", "dynamic"});
      },
      tiles);
  visit.open([&] { return describedInteger("cluster", "blocks that share what they load", 1, 8); }, {1, 2},
             cluster);
  visit.open([&] { return describedInteger("residents", "blocks that share a multiprocessor", 1, 8); }, {},
             residents);
  visit.hidden(sum);         // the registry's may be left open
  visit.hidden(clusterAxis); // as sum
  visit.hidden(policy);
  visit.hidden(swapped);   // as sum
  visit.hidden(storeRole); // as sum
  visit.hidden(rowsOfA);
  visit.hidden(rowsOfB);
  visit.hidden(rowsOfC);
  visit.hidden(alignmentOfA);
  visit.hidden(alignmentOfB);
}

} // namespace tlc::kernels
