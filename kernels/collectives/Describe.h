// SPDX-License-Identifier: Apache-2.0
/// \file
/// Configurations of the collectives, each described once.
#pragma once

#include "kernels/Describe.h"
#include "kernels/collectives/AllReduce.h"
#include "kernels/collectives/MoeExchange.h"
#include "kernels/collectives/RankGemm.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, AllReduceConfig> &config) {
  auto &[dtype, exchange, tile, blocks] = config;
  visit.option([] { return describedChoice("dtype", "type of X and Y", {"f32", "f16", "bf16"}); }, dtype);
  visit.option(
      [] {
        return describedChoice("exchange",
                               "loads of other ranks' memory, or NVLink multicast, which needs --multicast",
                               {"loads", "multicast"});
      },
      exchange);
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
  visit.open([&] { return describedInteger("blocks", "blocks for each multiprocessor", 1, 8); }, {1, 2, 4},
             blocks);
}

template <class Visitor> void describe(Visitor &visit, Of<Visitor, MoeExchangeConfig> &config) {
  auto &[dtype, topk, tile, blocks, multipleOfHidden] = config;
  visit.option([] { return describedChoice("dtype", "type of rows", {"f32", "f16", "bf16"}); }, dtype);
  visit.option(
      []() -> Parameter {
        return {.name = "topk",
                .description = "experts of a token",
                .kind = Parameter::Kind::constant,
                .least = 1,
                .most = 32};
      },
      topk);
  visit.option(
      []() -> Parameter {
        return {.name = "tile",
                .description = "elements of a row that a block moves at once",
                .kind = Parameter::Kind::integer,
                .least = 128,
                .most = 4096,
                .multipleOf = 128,
                .mayBeAuto = false};
      },
      tile);
  visit.open([] { return describedInteger("blocks", "blocks for each multiprocessor", 1, 16); }, {1, 2, 4, 8},
             blocks);
  visit.hidden(multipleOfHidden);
}

template <class Visitor> void describe(Visitor &visit, Of<Visitor, RankGemmConfig> &config) {
  auto &[dtype, out, bm, bn, bk, stages, group, multipleOfColumns, copiesRows, carrier, parts, piecesOfPart,
         multiprocessors] = config;
  visit.option([&] { return describedChoice("dtype", "type of A and B", {"f16", "bf16"}); }, dtype);
  visit.option(
      [&] {
        return describedChoice("out", "type of C and of what ranks send each other", {"f32", "f16", "bf16"});
      },
      out);
  visit.open([&] { return describedInteger("bm", "rows of a tile of C", 64, 128, 64); }, {64, 128}, bm);
  visit.open([&] { return describedInteger("bn", "columns of a tile of C", 8, 256, 8); }, {64, 128, 192, 256},
             bn);
  visit.open([&] { return describedInteger("bk", "step along k", 16, 256, 16); }, {}, bk);
  visit.open([&] { return describedInteger("stages", "steps whose copies are in flight", 1, 8); }, {},
             stages);
  visit.open([&] { return describedInteger("group", "rows of tiles that are walked together", 1, 1024); }, {},
             group);
  visit.hidden(multipleOfColumns);
  visit.hidden(copiesRows);
  visit.hidden(carrier); // a kernel's own parameter
  visit.hidden(parts);
  visit.hidden(piecesOfPart);
  visit.hidden(multiprocessors);
}

} // namespace tlc::kernels
