// SPDX-License-Identifier: Apache-2.0
/// \file
/// The options of attention, described once; what they may not be together.
#pragma once

#include "kernels/Describe.h"
#include "kernels/attention/problem/Options.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tlc::kernels {

template <class Visitor> void describe(Visitor &visit, Of<Visitor, MaskConfig> &mask) {
  using Kind = Parameter::Kind;
  auto &[causal, windowLeft, windowRight, blockCausal] = mask;
  visit.option(
      [&]() -> Parameter {
        return {.name = "causal",
                .description = "which keys a query sees: all, those up to its own position, or up to its "
                               "position counted from the end",
                .kind = Kind::choice,
                .choices = {"none", "left", "right"}};
      },
      causal);
  visit.option(
      [&]() -> Parameter {
        return {.name = "window",
                .description = "keys before its own place that a query sees; auto: all",
                .kind = Kind::integer,
                .most = longestDistance};
      },
      windowLeft);
  visit.option(
      [&]() -> Parameter {
        return {.name = "window_right",
                .description = "keys after its own place that a query sees; auto: all",
                .kind = Kind::integer,
                .most = longestDistance};
      },
      windowRight);
  visit.switched(
      [&]() -> Parameter {
        return {.name = "mask",
                .description = "a further mask: noisy and clean halves of a sequence, in blocks",
                .kind = Kind::choice,
                .choices = {"none", "block_causal"}};
      },
      [&]() -> Parameter {
        return {.name = "block",
                .description = "positions of a block of the block-causal mask",
                .kind = Kind::constant,
                .least = 1,
                .most = longestDistance};
      },
      blockCausal, 32);
}

/// Elements of 8 bits have rows that products take whole, and a type of O.
template <class Visitor> void describe(Visitor &visit, Of<Visitor, AttentionProblem> &problem) {
  using Kind = Parameter::Kind;
  auto &[dtype, out, d, dv, mask, scale, softCap, sink, logBase, dropout, lengths, shards, gather, exchange,
         ranks] = problem;
  bool hasBytes = problem.hasBytes();
  int64_t least = hasBytes ? 32 : rowGranularity, longest = hasBytes ? 256 : longestRow;
  int64_t longestValue = hasBytes ? 256 : longestValueRow;
  visit.option(
      [&]() -> Parameter {
        return {.name = "d",
                .description = "length of a row of Q and K",
                .kind = Kind::constant,
                .least = least,
                .most = longest,
                .multipleOf = least};
      },
      d);
  visit.orElse(
      [&]() -> Parameter {
        return {.name = "dv",
                .description = "length of a row of V and O; auto: d, at most " + std::to_string(longestValue),
                .kind = Kind::integer,
                .least = least,
                .most = longestValue,
                .multipleOf = least};
      },
      dv, std::min(d, longestValue));
  std::vector<std::string> types = {"bf16", "f16"};
  if (hasBytes) {
    visit.hidden(dtype);
    visit.option(
        [&]() -> Parameter {
          return {.name = "out", .description = "type of O", .kind = Kind::choice, .choices = types};
        },
        out);
  } else {
    visit.option(
        [&]() -> Parameter {
          return {.name = "dtype",
                  .description = "type of Q, K, V and O",
                  .kind = Kind::choice,
                  .choices = types};
        },
        dtype);
    visit.hidden(out);
  }
  describe(visit, mask);
  visit.option(
      [&]() -> Parameter {
        return {.name = "scale",
                .description = "of scores, above 0; auto: 1 / sqrt(d)",
                .kind = Kind::number,
                .most = int64_t(largestScale)};
      },
      scale);
  visit.option(
      [&]() -> Parameter {
        return {.name = "softcap",
                .description = "scores become cap tanh(score / cap); 0: they stay",
                .kind = Kind::number,
                .most = int64_t(largestSoftCap)};
      },
      softCap);
  visit.option(
      [&]() -> Parameter {
        return {.name = "sink",
                .description = "whether each head has a further score, whose key has the value 0",
                .kind = Kind::choice,
                .choices = {"no", "yes"}};
      },
      sink);
  visit.option(
      [&]() -> Parameter {
        return {.name = "lse",
                .description = "base of the logarithms in LSE",
                .kind = Kind::choice,
                .choices = {"e", "2"}};
      },
      logBase);
  if (hasBytes || problem.shards)
    visit.hidden(dropout);
  else
    visit.option(
        [&]() -> Parameter {
          return {.name = "dropout_p",
                  .description = "chance that a weight becomes 0, the others are divided by 1 - dropout_p; "
                                 "the input philox has seed and offset",
                  .kind = Kind::number,
                  .most = 1};
        },
        dropout);
  visit.hidden(lengths);
  visit.hidden(shards);
  visit.hidden(gather);
  visit.hidden(exchange);
  visit.hidden(ranks);
}

/// A parameter with choices, of which the first one is the default.
Parameter choiceParameter(std::string name, std::string description, std::vector<std::string> choices);

/// What keeps the target from the explicit form; empty if nothing does.
std::string whyNotExplicit(const Target &target);

/// Of a weight, because sums of d products of numbers up to 1 are rounded before they are scaled and become
/// exponents.
double scoreError(const AttentionProblem &problem);

// What is wrong with options together, and with numbers of heads and rows; empty if nothing is.
std::string conflictOf(const AttentionProblem &problem);
std::string conflictOfHeads(int64_t h, int64_t hkv);
/// Of a sequence, which `whose` names: "sequence 3".
std::string conflictOfRows(const MaskConfig &mask, const std::string &whose, int64_t queries, int64_t keys);

} // namespace tlc::kernels
