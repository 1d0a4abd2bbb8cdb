// SPDX-License-Identifier: Apache-2.0
/// \file
/// A configuration of decoding, described once.
#pragma once

#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Describe.h"

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, DecodeConfig> &config) {
  using Kind = Parameter::Kind;
  auto &[problem, queries, group, storage, pageSize, values, arguments, together, rows, bk, stages, splits,
         residents, order] = config;
  auto choice = [](std::string name, std::string description, std::vector<std::string> choices) -> Parameter {
    return choiceParameter(std::move(name), std::move(description), std::move(choices));
  };
  auto number = [](Kind kind, std::string name, std::string description, int64_t least, int64_t most,
                   int64_t multipleOf = 1) -> Parameter {
    return {.name = std::move(name),
            .description = std::move(description),
            .kind = kind,
            .least = least,
            .most = most,
            .multipleOf = multipleOf};
  };
  visit.option([&] { return number(Kind::constant, "sq", "queries of a sequence", 1, 16); }, queries);
  visit.hidden(group);
  visit.hidden(arguments);
  visit.hidden(together);
  describe(visit, problem);
  visit.option(
      [&] {
        return choice("values", "rows of V: of a tensor, or the first dv elements of K's", {"apart", "keys"});
      },
      values);
  visit.option([&] { return choice("kv", "how K and V lie in memory", {"contiguous", "paged"}); }, storage);
  visit.option(
      [&] { return number(Kind::constant, "page", "keys of a page, where there are pages", 16, 256, 16); },
      pageSize);
  visit.open(
      [&] { return number(Kind::integer, "rows", "queries times heads that a block works on", 64, 128, 64); },
      {64, 128}, rows);
  visit.open(
      [&] { return number(Kind::integer, "bk", "keys of a step, at most", productDepth, 128, productDepth); },
      {64, 128}, bk);
  visit.open(
      [&] { return number(Kind::integer, "stages", "steps whose copies are in flight, at most", 1, 8); },
      {2, 3, 4}, stages);
  visit.open(
      [&] {
        return number(Kind::integer, "splits", "parts of a sequence that different blocks work on", 1, 256);
      },
      {1, 2, 4, 8, 16, 32}, splits);
  visit.open(
      [&] { return number(Kind::integer, "residents", "blocks that share a multiprocessor, at most", 1, 4); },
      {}, residents);
  visit.option(
      [&] {
        return choice("order", "blocks take every so many-th part, or there is one for each",
                      {"rounds", "as-needed"});
      },
      order);
}

} // namespace tlc::kernels
