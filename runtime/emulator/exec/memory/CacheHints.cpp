// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hints for caches, and the policies that some of them name.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Memory.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"

namespace tlc::emulator {

namespace {

/// What createpolicy gives. PTX leaves the encoding open; these are what machines of sm_90 use for policies
/// of all lines (CUTLASS, include/cute/arch/copy_sm90_desc.hpp, passes them as constants).
enum class Policy : uint64_t {
  unchanged = 0x1000000000000000,
  first = 0x12F0000000000000,
  last = 0x14F0000000000000,
  normal = 0x16F0000000000000,
};

bool isPolicy(uint64_t value) {
  constexpr Policy all[] = {Policy::unchanged, Policy::first, Policy::last, Policy::normal};
  return std::ranges::find(all, Policy(value)) != std::end(all);
}

/// slots: the policy
Step checkPolicy(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<uint64_t> policies = lanesOf<uint64_t>(warp, instruction.slots[0]);
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1 && !isPolicy(policies[l]))
      return fault(
          warp, instruction,
          fmt::format("the cache policy {:#x} in lane {} is none that createpolicy makes", policies[l], l));
  return Step::next;
}

/// slots: d. The immediate is the policy.
Step createPolicy(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint64_t results[warpSize];
  std::ranges::fill(results, uint64_t(instruction.immediate));
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

} // namespace

void takeCacheHints(Decoder &d) {
  std::vector<std::string_view> hints;
  for (std::string_view word : d.remaining())
    if (word.starts_with("L1::") || word.starts_with("L2::"))
      hints.push_back(word);
  for (std::string_view word : hints) {
    d.take(word);
    if (word != "L2::cache_hint")
      continue;
    if (d.operandCount() < 2)
      return d.fail("'{}' lacks a cache policy", d.at().fullName());
    d.emit(checkPolicy, {d.in(d.operandCount() - 1, Type::b64)});
  }
  d.ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"});
}

void decodeHint(Decoder &d) {
  takeCacheHints(d);
  d.ignore({"L1", "L2", "tensormap", "global", "local", "param", "const"});
}

void decodeCreatePolicy(Decoder &d) {
  const Policy policy = d.takeOneOf<Policy>({{"L2::evict_first", Policy::first},
                                             {"L2::evict_last", Policy::last},
                                             {"L2::evict_normal", Policy::normal}})
                            .value_or(Policy::unchanged);
  takeCacheHints(d);
  d.ignore({"fractional", "range", "cvt", "L2", "global"});
  d.take("b64");
  d.emit(createPolicy, {d.out(0, Type::b64)}, int64_t(policy));
}

} // namespace tlc::emulator
