// SPDX-License-Identifier: Apache-2.0
/// \file
/// Instructions among the lanes of a warp. Lanes with the same member mask are
/// one group, which runs once all of them are together.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/math/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tlc::emulator {

namespace {

/// `runTogether` for what computes one result of all members.
template <class F>
Step combine(Warp &warp, uint32_t active, const Instruction &instruction, Slot mask, F of) {
  return runTogether(warp, active, instruction, mask, [&](const Members &members) {
    if (Observer *observer = clusterOf(warp).observer.get())
      observer->combineLanes(warp, members);
    of(members);
  });
}

// Operands and results of members are each in the slots of the instruction that its lane stands at.

template <class T> std::array<T, warpSize> valuesOf(const Warp &warp, const Members &members, size_t slot) {
  const auto parts = members.parts();
  std::array<T, warpSize> values;
  std::memcpy(values.data(), warp.read(parts.front().instruction->slots[slot]), sizeof(values));
  for (const Members::Part &part : parts.subspan(1)) {
    const In<T> theirs = lanesOf<T>(warp, part.instruction->slots[slot]);
    for (uint32_t left = part.lanes; left != 0; left &= left - 1)
      values[size_t(std::countr_zero(left))] = theirs[unsigned(std::countr_zero(left))];
  }
  return values;
}

uint32_t predicatesOf(const Warp &warp, const Members &members, size_t slot) {
  uint32_t bits = 0;
  for (const Members::Part &part : members.parts())
    bits |= warp.predicate(part.instruction->slots[slot]) & part.lanes;
  return bits;
}

template <class T> void storeResults(Warp &warp, const Members &members, size_t slot, const T *values) {
  for (const Members::Part &part : members.parts())
    store(warp, part.instruction->slots[slot], part.lanes, values);
}

void storePredicates(Warp &warp, const Members &members, size_t slot, uint32_t bits) {
  for (const Members::Part &part : members.parts())
    warp.setPredicate(part.instruction->slots[slot], part.lanes, bits);
}

/// Gives the lanes the same value.
template <class T> void storeAll(Warp &warp, const Members &members, size_t slot, T value) {
  T values[warpSize];
  std::fill(values, values + warpSize, value);
  storeResults(warp, members, slot, values);
}

enum class Shuffle : uint8_t { up, down, bfly, idx };

/// slots: d, p, a, b, c, mask
void shuffleMembers(Warp &warp, const Members &members, Shuffle mode) {
  const auto a = valuesOf<uint32_t>(warp, members, 2), b = valuesOf<uint32_t>(warp, members, 3),
             c = valuesOf<uint32_t>(warp, members, 4);
  uint32_t results[warpSize], sources[warpSize], inRange = 0;
  for (uint32_t l = 0; l < warpSize; ++l) {
    const uint32_t by = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
    const uint32_t last = (l & segment) | (clamp & ~segment & 31), first = l & segment;
    uint32_t from = l;
    bool inside = false;
    switch (mode) {
    case Shuffle::up:
      from = l - by;
      inside = int32_t(from) >= int32_t(last);
      break;
    case Shuffle::down:
      from = l + by;
      inside = from <= last;
      break;
    case Shuffle::bfly:
      from = l ^ by;
      inside = from <= last;
      break;
    case Shuffle::idx:
      from = first | (by & ~segment & 31);
      inside = from <= last;
      break;
    }
    if (!inside)
      from = l;
    sources[l] = from & 31;
    results[l] = a[sources[l]];
    inRange |= uint32_t(inside) << l;
  }
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->shuffleLanes(warp, members, sources);
  storeResults(warp, members, 0, results);
  storePredicates(warp, members, 1, inRange);
}

Step shuffle(Warp &warp, uint32_t active, const Instruction &instruction) {
  return runTogether(warp, active, instruction, instruction.slots[5], [&](const Members &members) {
    shuffleMembers(warp, members, Shuffle(instruction.immediate));
  });
}

void decodeShfl(Decoder &d) {
  const bool sync = d.take("sync");
  const auto mode = d.takeOneOf<Shuffle>(
      {{"up", Shuffle::up}, {"down", Shuffle::down}, {"bfly", Shuffle::bfly}, {"idx", Shuffle::idx}});
  if (!sync || !mode)
    return d.fail("'{}' needs .sync and one of .up .down .bfly .idx", d.at().fullName());
  d.take("b32");
  d.expectOperands(5);
  const Operand &to = d.operand(0);
  Operand value = to;
  value.second.reset();
  d.emit(shuffle,
         {d.out(value, Type::b32), d.second(to, Type::pred), d.in(1, Type::b32), d.in(2, Type::b32),
          d.in(3, Type::b32), d.in(4, Type::b32)},
         int64_t(*mode));
}

enum class Vote : uint8_t { all, any, uni, ballot };

/// slots: d, p, mask
Step vote(Warp &warp, uint32_t active, const Instruction &instruction) {
  return combine(warp, active, instruction, instruction.slots[2], [&](const Members &members) {
    const uint32_t bits = predicatesOf(warp, members, 1);
    const bool all = bits == members.lanes(), any = bits != 0;
    switch (Vote(instruction.immediate)) {
    case Vote::all:
      return storePredicates(warp, members, 0, all ? ~0u : 0);
    case Vote::any:
      return storePredicates(warp, members, 0, any ? ~0u : 0);
    case Vote::uni:
      return storePredicates(warp, members, 0, all || !any ? ~0u : 0);
    case Vote::ballot:
      return storeAll(warp, members, 0, bits);
    }
  });
}

void decodeVote(Decoder &d) {
  const bool sync = d.take("sync");
  const auto mode = d.takeOneOf<Vote>(
      {{"all", Vote::all}, {"any", Vote::any}, {"uni", Vote::uni}, {"ballot", Vote::ballot}});
  if (!sync || !mode)
    return d.fail("'{}' needs .sync and one of .all .any .uni .ballot", d.at().fullName());
  const Type type = d.type();
  d.expectOperands(3);
  if (type != (*mode == Vote::ballot ? Type::b32 : Type::pred))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(type));
  d.emit(vote, {d.out(0, type), d.in(1, Type::pred), d.in(2, Type::b32)}, int64_t(*mode));
}

/// slots: d, p, a, mask
template <class T, bool all> Step match(Warp &warp, uint32_t active, const Instruction &instruction) {
  return combine(warp, active, instruction, instruction.slots[3], [&](const Members &members) {
    const auto a = valuesOf<T>(warp, members, 2);
    const uint32_t lanes = members.lanes();
    uint32_t results[warpSize] = {}, same = 0;
    for (unsigned l = 0; l < warpSize; ++l) {
      for (unsigned other = 0; other < warpSize; ++other)
        if (lanes >> other & 1 && a[other] == a[l])
          results[l] |= 1u << other;
      if (all && results[l] != lanes)
        results[l] = 0;
      same |= uint32_t(results[l] == lanes) << l;
    }
    storeResults(warp, members, 0, results);
    storePredicates(warp, members, 1, same);
  });
}

void decodeMatch(Decoder &d) {
  const bool all = d.take("all");
  if (!all && !d.take("any"))
    d.fail("'{}' needs .any or .all", d.at().fullName());
  d.take("sync");
  const Type type = d.type();
  d.expectOperands(3);
  Operand value = d.operand(0);
  value.second.reset();
  const Slot slots[] = {d.out(value, Type::b32), d.second(d.operand(0), Type::pred), d.in(1, type),
                        d.in(2, Type::b32)};
  if (type == Type::b32)
    d.emit(all ? match<uint32_t, true> : match<uint32_t, false>, slots);
  else if (type == Type::b64)
    d.emit(all ? match<uint64_t, true> : match<uint64_t, false>, slots);
  else
    d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(type));
}

Step activeMask(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint32_t values[warpSize];
  std::fill(values, values + warpSize, active);
  store(warp, instruction.slots[0], active, values);
  return Step::next;
}

void decodeActivemask(Decoder &d) {
  d.take("b32");
  d.expectOperands(1);
  d.emit(activeMask, {d.out(0, Type::b32)});
}

enum class Reduce : uint8_t { add, minimum, maximum, bitAnd, bitOr, bitXor };

template <class T> T reducePair(Reduce op, T a, T b) {
  switch (op) {
  case Reduce::add:
    return T(uint32_t(a) + uint32_t(b));
  case Reduce::minimum:
    return std::min(a, b);
  case Reduce::maximum:
    return std::max(a, b);
  case Reduce::bitAnd:
    return a & b;
  case Reduce::bitOr:
    return a | b;
  case Reduce::bitXor:
    return a ^ b;
  }
  return a;
}

/// slots: d, a, mask
template <class T> Step reduceLanes(Warp &warp, uint32_t active, const Instruction &instruction) {
  return combine(warp, active, instruction, instruction.slots[2], [&](const Members &members) {
    const auto a = valuesOf<T>(warp, members, 1);
    T result = a[std::countr_zero(members.lanes())];
    for (uint32_t rest = members.lanes() & (members.lanes() - 1); rest != 0; rest &= rest - 1)
      result = reducePair(Reduce(instruction.immediate), result, a[std::countr_zero(rest)]);
    storeAll(warp, members, 0, result);
  });
}

struct ReduceFloats {
  bool maximum = false, magnitude = false, propagateNan = false;
};

/// redux of f32, where NaNs lose unless one is to win. slots: d, a, mask
Step reduceFloats(Warp &warp, uint32_t active, const Instruction &instruction) {
  const ReduceFloats &how = instruction.payloadAs<ReduceFloats>();
  return combine(warp, active, instruction, instruction.slots[2], [&](const Members &members) {
    const auto a = valuesOf<float>(warp, members, 1);
    const float canonical = std::bit_cast<float>(0x7FFFFFFFu);
    float result = canonical;
    bool nan = false;
    for (uint32_t rest = members.lanes(); rest != 0; rest &= rest - 1) {
      const float raw = a[std::countr_zero(rest)], value = how.magnitude ? std::fabs(raw) : raw;
      nan |= value != value;
      // -0 is below +0.
      const bool below = value < result || (value == result && std::signbit(value) && !std::signbit(result));
      const bool above = value > result || (value == result && !std::signbit(value) && std::signbit(result));
      if (value == value && (result != result || (how.maximum ? above : below)))
        result = value;
    }
    storeAll(warp, members, 0, nan && how.propagateNan ? canonical : result);
  });
}

void decodeReduxFloat(Decoder &d, Reduce op) {
  const ReduceFloats how{op == Reduce::maximum, d.take("abs"), d.take("NaN")};
  d.expectOperands(3);
  if (op != Reduce::minimum && op != Reduce::maximum)
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.emitWith(reduceFloats, {d.out(0, Type::f32), d.in(1, Type::f32), d.in(2, Type::b32)}, how);
}

void decodeRedux(Decoder &d) {
  d.take("sync");
  const auto op = d.takeOneOf<Reduce>({{"add", Reduce::add},
                                       {"min", Reduce::minimum},
                                       {"max", Reduce::maximum},
                                       {"and", Reduce::bitAnd},
                                       {"or", Reduce::bitOr},
                                       {"xor", Reduce::bitXor}});
  const Type type = d.type();
  if (op && type == Type::f32)
    return decodeReduxFloat(d, *op);
  d.expectOperands(3);
  if (!op || sizeInBytes(type) != 4 || isFloat(type))
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.emit(type == Type::s32 ? reduceLanes<int32_t> : reduceLanes<uint32_t>,
         {d.out(0, type), d.in(1, type), d.in(2, Type::b32)}, int64_t(*op));
}

/// slots: d, p, mask. The lowest member is the leader.
Step elect(Warp &warp, uint32_t active, const Instruction &instruction) {
  return combine(warp, active, instruction, instruction.slots[2], [&](const Members &members) {
    const uint32_t leader = uint32_t(std::countr_zero(members.lanes()));
    storeAll(warp, members, 0, leader);
    storePredicates(warp, members, 1, 1u << leader);
  });
}

void decodeElect(Decoder &d) {
  d.take("sync");
  d.expectOperands(2);
  Operand value = d.operand(0);
  value.second.reset();
  d.emit(elect, {d.out(value, Type::b32), d.second(d.operand(0), Type::pred), d.in(1, Type::b32)});
}

constexpr DecodeEntry entries[] = {
    {"shfl", decodeShfl},   {"vote", decodeVote},   {"match", decodeMatch}, {"activemask", decodeActivemask},
    {"redux", decodeRedux}, {"elect", decodeElect},
};

} // namespace

std::span<const DecodeEntry> warpInstructions() { return entries; }

} // namespace tlc::emulator
