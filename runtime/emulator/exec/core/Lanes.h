// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over the lanes of a warp, which the host's compiler vectorises.
#pragma once

#include "runtime/emulator/exec/core/State.h"

#include <tuple>
#include <utility>

namespace tlc::emulator {

/// 32 lanes (64 for packed halves) of a slot.
template <class T> struct In {
  const std::byte *bytes;
  T operator[](unsigned lane) const {
    T value;
    std::memcpy(&value, bytes + lane * sizeof(T), sizeof(T));
    return value;
  }
};

template <class T> In<T> lanesOf(const Warp &warp, Slot slot) { return {warp.read(slot)}; }

/// 1 << lane, as a table: loops that test lanes against it vectorise everywhere.
inline constexpr std::array<uint32_t, warpSize> laneBits = [] {
  std::array<uint32_t, warpSize> bits = {};
  for (unsigned l = 0; l < warpSize; ++l)
    bits[l] = 1u << l;
  return bits;
}();

/// The unsigned integer of a size.
template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// Stores the active lanes.
template <class T> void store(Warp &warp, Slot slot, uint32_t active, const T *values) {
  std::byte *to = warp.at(slot);
  if (active == allLanes) {
    // In parts that compilers copy without a call.
    constexpr size_t bytes = sizeof(T) * warpSize, part = bytes < 128 ? bytes : 128;
    std::memcpy(to, values, part);
    if constexpr (bytes > part)
      std::memcpy(to + part, reinterpret_cast<const std::byte *>(values) + part, bytes - part);
    return;
  }
  using Bits = UnsignedOf<sizeof(T)>;
  for (unsigned l = 0; l < warpSize; ++l) {
    const Bits mask = Bits(0) - Bits((active & laneBits[l]) != 0);
    Bits now, before;
    std::memcpy(&now, values + l, sizeof(T));
    std::memcpy(&before, to + l * sizeof(T), sizeof(T));
    now = Bits((now & mask) | (before & ~mask));
    std::memcpy(to + l * sizeof(T), &now, sizeof(T));
  }
}

/// slots[0] = Op(slots[1], ...) for each lane.
template <class Op, class D, class... S>
Step mapLanes(Warp &warp, uint32_t active, const Instruction &instruction) {
  return [&]<size_t... index>(std::index_sequence<index...>) {
    const std::tuple<In<S>...> sources{lanesOf<S>(warp, instruction.slots[index + 1])...};
    alignas(64) D results[warpSize];
    for (unsigned l = 0; l < warpSize; ++l)
      results[l] = Op()(std::get<index>(sources)[l]...);
    store(warp, instruction.slots[0], active, results);
    return Step::next;
  }(std::index_sequence_for<S...>());
}

/// The same with the instruction at hand: Op(instruction)(...).
template <class Op, class D, class... S>
Step mapLanesWith(Warp &warp, uint32_t active, const Instruction &instruction) {
  return [&]<size_t... index>(std::index_sequence<index...>) {
    const std::tuple<In<S>...> sources{lanesOf<S>(warp, instruction.slots[index + 1])...};
    const Op op(instruction);
    alignas(64) D results[warpSize];
    for (unsigned l = 0; l < warpSize; ++l)
      results[l] = op(std::get<index>(sources)[l]...);
    store(warp, instruction.slots[0], active, results);
    return Step::next;
  }(std::index_sequence_for<S...>());
}

/// Packed halves: 64 elements of 16 bits in 32 lanes.
template <class T> struct Pair {
  T low, high;
};
/// Op on both halves of 32-bit lanes.
template <class Op> struct Packed {
  template <class... T> auto operator()(Pair<T>... v) const {
    using R = decltype(Op()(v.low...));
    return Pair<R>{Op()(v.low...), Op()(v.high...)};
  }
};

} // namespace tlc::emulator
