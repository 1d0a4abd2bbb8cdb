// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options that do not fit each other.
#include "kernels/attention/problem/Describe.h"

#include "kernels/Tolerance.h"
#include "runtime/target/MmaAtoms.h"

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

std::string whyNotExplicit(const Target &target) {
  constexpr ElementType factor = ElementType::f16, sum = ElementType::f32;
  return hasSumsInFlight(target, factor, factor, sum)
             ? ""
             : describeMissing(target, MmaKind::wgmma, factor, factor, sum);
}

double scoreError(const AttentionProblem &problem) {
  return 4 * problem.scoreScale() * double(problem.d) * roundingError(ElementType::f32);
}

std::string conflictOf(const AttentionProblem &problem) {
  if (problem.scale == 0)
    return "expected a scale above 0 because all keys would weigh the same, but got 0";
  if (problem.isCapped() && problem.softCap < leastSoftCap)
    return fmt::format("expected a softcap of 0, which is none, or of at least {}, but got {}", leastSoftCap,
                       problem.softCap);
  if (problem.dropout >= 1)
    return fmt::format("expected dropout_p below 1 because some weights have to stay, but got {}",
                       problem.dropout);
  if (problem.drops() && (problem.shards || problem.hasBytes()))
    return fmt::format("expected dropout_p = 0 because {}, but got {}",
                       problem.shards ? "ranks have parts of sequences" : "elements have 8 bits",
                       problem.dropout);
  const MaskConfig &mask = problem.mask;
  if (mask.blockCausal && (mask.causal != CausalAlignment::none || mask.windowLeft || mask.windowRight))
    return "expected the block-causal mask alone, but got a causal mask or a window beside it";
  const char *other = mask.blockCausal                     ? "the block-causal mask"
                      : problem.lengths == Lengths::padded ? "padded sequences"
                      : problem.hasBytes()                 ? "elements of 8 bits"
                                                           : nullptr;
  if (problem.shards && other)
    return fmt::format("expected sequences of 16-bit elements, of one length or packed, without the "
                       "block-causal mask, because ranks share them, but got {}",
                       other);
  if (problem.passesKeys() && problem.lengths == Lengths::packed)
    return "expected exchange = gather or heads with packed sequences because in a ring all ranks have as "
           "many rows of each sequence, but got exchange = ring";
  return {};
}

std::string conflictOfHeads(int64_t h, int64_t hkv) {
  if (hkv >= 1 && h % hkv == 0)
    return {};
  return fmt::format(
      "expected h to be a multiple of hkv because as many heads of Q share each head of K and V, "
      "but got h = {} and hkv = {}",
      h, hkv);
}

std::string conflictOfRows(const MaskConfig &mask, const std::string &whose, int64_t queries, int64_t keys) {
  if (!mask.blockCausal || (queries == keys && queries % 2 == 0))
    return {};
  return fmt::format(
      "expected as many queries as keys, an even number, because the block-causal mask is about "
      "a noisy and a clean half of one sequence, but {} has {} and {}",
      whose, queries, keys);
}

} // namespace tlc::kernels
