// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters that several attention kernels of the registry have.
#include "kernels/attention/problem/Parameters.h"

#include "kernels/Tolerance.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "runtime/artifact/Artifact.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

Parameter choiceParameter(std::string name, std::string description, std::vector<std::string> choices) {
  std::string first = choices.front();
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = Parameter::Kind::choice,
          .fallback = std::move(first),
          .choices = std::move(choices)};
}

Parameter typeParameter() { return choiceParameter("dtype", "type of Q, K, V and O", {"bf16", "f16"}); }

std::vector<Parameter> maskParameters() {
  using Kind = Parameter::Kind;
  return {
      choiceParameter("causal",
                      "which keys a query sees: all, those up to its own position, or up to its position "
                      "counted from the end",
                      {"none", "left", "right"}),
      {"window", "keys before its own place that a query sees; auto: all", Kind::integer, "auto", 0,
       longestDistance},
      {"window_right", "keys behind its own place that a query sees; auto: all", Kind::integer, "auto", 0,
       longestDistance},
      choiceParameter("mask", "a further mask: noisy and clean halves of a sequence, in blocks",
                      {"none", "block_causal"}),
      {"block", "positions of a block of the block-causal mask", Kind::constant, "32", 1, longestDistance}};
}

Parameter valueLengthParameter() {
  return {"dv",
          fmt::format("length of a row of V and O; auto: d, at most {}", longestValueRow),
          Parameter::Kind::integer,
          "auto",
          8,
          longestValueRow,
          8};
}

Parameter scaleParameter() {
  return {"scale",
          "of scores, above 0; auto: 1 / sqrt(d)",
          Parameter::Kind::number,
          "auto",
          0,
          int64_t(largestScale)};
}

Parameter softCapParameter() {
  return {"softcap",
          "scores become cap tanh(score / cap); 0: they stay",
          Parameter::Kind::number,
          "0",
          0,
          int64_t(largestSoftCap)};
}

Parameter sinkParameter() {
  return choiceParameter("sink", "whether each head has a further score, whose key has the value 0",
                         {"no", "yes"});
}

Parameter logBaseParameter() { return choiceParameter("lse", "base of the logarithms in LSE", {"e", "2"}); }

CausalAlignment causalOf(const Parameters &values) {
  std::string_view text = values.choice("causal");
  return text == "none"   ? CausalAlignment::none
         : text == "left" ? CausalAlignment::left
                          : CausalAlignment::right;
}

MaskConfig maskOf(const Parameters &values) {
  MaskConfig mask{.causal = causalOf(values),
                  .windowLeft = values.integer("window"),
                  .windowRight = values.integer("window_right")};
  if (values.choice("mask") == "block_causal")
    mask.blockCausal = values.constant("block");
  return mask;
}

double scaleOf(const Parameters &values) {
  return values.number("scale").value_or(1 / std::sqrt(double(values.constant("d"))));
}

int64_t valueLengthOf(const Parameters &values) {
  return values.integer("dv").value_or(std::min(values.constant("d"), longestValueRow));
}

double softCapOf(const Parameters &values) { return values.number("softcap").value_or(0); }

AttentionSink sinkOf(const Parameters &values) {
  return values.choice("sink") == "yes" ? AttentionSink::perHead : AttentionSink::none;
}

LogBase logBaseOf(const Parameters &values) {
  return values.choice("lse") == "2" ? LogBase::two : LogBase::e;
}

double scoreError(const Parameters &values) {
  return 4 * scaleOf(values) * double(values.constant("d")) * roundingError(ElementType::f32);
}

std::string headsConflict(int64_t h, int64_t hkv) {
  if (h % hkv == 0)
    return {};
  return fmt::format(
      "expected h to be a multiple of hkv because as many heads of Q share each head of K and V, "
      "but got h = {} and hkv = {}",
      h, hkv);
}

std::string scaleConflict(const Parameters &values) {
  if (values.number("scale") == 0)
    return "expected a scale above 0 because all keys would weigh the same, but got 0";
  if (double cap = softCapOf(values); cap != 0 && cap < leastSoftCap)
    return fmt::format("expected a softcap of 0, which is none, or of at least {}, but got {}", leastSoftCap,
                       cap);
  return {};
}

std::string maskConflict(const Parameters &values) {
  MaskConfig mask = maskOf(values);
  if (mask.blockCausal && (mask.causal != CausalAlignment::none || mask.windowLeft || mask.windowRight))
    return "expected the block-causal mask alone, but got a causal mask or a window beside it";
  return {};
}

std::string maskConflict(const Parameters &values, size_t sequence, int64_t queries, int64_t keys) {
  if (!maskOf(values).blockCausal || (queries == keys && queries % 2 == 0))
    return {};
  return fmt::format(
      "expected as many queries as keys, an even number, because the block-causal mask is about "
      "a noisy and a clean half of one sequence, but sequence {} has {} and {}",
      sequence, queries, keys);
}

} // namespace tlc::kernels
