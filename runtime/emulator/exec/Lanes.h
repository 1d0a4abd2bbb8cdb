// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over the lanes of a warp, which the host's compiler vectorises.
#pragma once

#include "runtime/emulator/exec/State.h"

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

/// Stores the active lanes.
template <class T> void store(Warp &warp, Slot slot, uint32_t active, const T *values) {
  std::byte *to = warp.at(slot);
  if (active == allLanes) {
    std::memcpy(to, values, sizeof(T) * warpSize);
    return;
  }
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1)
      std::memcpy(to + l * sizeof(T), values + l, sizeof(T));
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
