// SPDX-License-Identifier: Apache-2.0
/// \file
/// The core of all layouts: a map between named dimensions, made of digits.
///
/// # The map
///
/// Each input is an index that is read in mixed radix. A *mode* is one of its digits, the first one the
/// fastest, and moves one output:
///
///     extent @ output : step          a digit d in [0, extent) adds d * step
///     extent @ output : step ^ flip   and then flips the bits of d * flip
///     extent @ *                      replication: the digit changes nothing
///
/// All sums are taken first, then all flips. So an output is a sum of terms of one digit each, and a
/// swizzle, too, is a property of a digit.
///
/// - Fragments (Layout.h): register, lane and warp to the axes of a tile.
/// - Shared memory (SharedLayout.h): the axes of a tile to a bit's offset. Padding is a step that is larger
///   than what the digits below it cover, a swizzle is a flip, and rows whose elements are in another order
///   have other steps.
/// - Tensor memory (InstructionLayouts.h): register, lane and warp to its lane and the bit in that.
///
/// # The invariant
///
/// Along every output the modes, sorted by step, do not overlap: each step is at least what the modes below
/// it cover. A mode that flips has powers of two as its extent, step and flip, it flips bits below its step,
/// and larger steps are multiples of that. Hence an output determines the digits, from the largest step down:
/// take the digit, undo its flips, go on.
///
/// # Canonical form
///
/// Modes of extent 1 are dropped, and neighbours that continue each other (`2@1:1, 4@1:2` = `8@1:1`) are
/// merged. Two maps of the same dimensions and extents are then the same function exactly if their modes are
/// equal: f(1) gives the first mode's output and step, the first index where f stops being linear gives its
/// extent, and so on.
#pragma once

#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc {

/// One digit of an index.
struct LayoutMode {
  static constexpr int replicatedAxis = -1;

  int64_t extent = 1;
  int axis = replicatedAxis; ///< the output that it moves: its place among the map's
  int64_t step = 0;
  int64_t flip = 0;

  static LayoutMode replicated(int64_t extent) { return {extent, replicatedAxis, 0}; }
  bool isReplicated() const { return axis == replicatedAxis; }
  /// What it and all modes with smaller steps reach at most, exclusively.
  int64_t end() const { return step * extent; }
  bool operator==(const LayoutMode &) const = default;
};
using Modes = std::vector<LayoutMode>;

int64_t numIndices(const Modes &modes);
Modes canonical(const Modes &modes);

enum class Dim : uint8_t {
  reg,        ///< of a thread: a slot for one element
  lane,       ///< of a warp
  warp,       ///< of a role or a block
  block,      ///< of a cluster
  bit,        ///< of shared memory, from the tile's start
  tensorLane, ///< of tensor memory
  tensorBit,  ///< of a lane of tensor memory; 32 are a column
  axis0,      ///< of a tile; the next ones follow
};
constexpr Dim axisDim(int axis) { return Dim(int(Dim::axis0) + axis); }
/// "lane", "axis 1"
std::string toString(Dim dim);

class LayoutMap {
public:
  struct Input {
    Dim dim;
    Modes modes;
    bool operator==(const Input &) const = default;
  };

  LayoutMap() = default;
  /// Brings the modes into canonical form. They satisfy the invariant, see `problem`.
  LayoutMap(std::vector<Input> inputs, std::vector<Dim> outputs);

  /// Which mode breaks the invariant, and why; empty if none does.
  std::string problem() const;

  const std::vector<Input> &inputs() const { return ins; }
  const std::vector<Dim> &outputs() const { return outs; }
  const Modes &modes(size_t input) const { return ins[input].modes; }
  int64_t extent(size_t input) const { return numIndices(ins[input].modes); }
  /// What the sums along an output reach at most, exclusively: 1 more than the largest where there are no
  /// gaps.
  int64_t size(int output) const;

  /// Adds the sums at `indices`, one for each input, to `sums`, one for each output. The last digit of an
  /// index takes all that is left of it, so that indices beyond the extent continue linearly.
  void addSums(std::span<const int64_t> indices, std::span<int64_t> sums) const;
  /// The outputs at `indices`: the sums, with their bits flipped.
  std::vector<int64_t> operator()(std::span<const int64_t> indices) const;
  /// The smallest indices with these outputs; nothing if there are none.
  std::optional<std::vector<int64_t>> find(std::span<const int64_t> outputs) const;

  bool hasFlips() const;
  /// The map of the sums alone.
  LayoutMap withoutFlips() const;
  /// First this map, then `next`, whose inputs are this one's outputs. Nothing where one of this map's
  /// digits and one of the next one's overlap and neither's part divides the other, where a part that is no
  /// power of two meets a digit that flips, or where this map flips bits.
  std::optional<LayoutMap> then(const LayoutMap &next) const;
  /// The map back; outputs in a gap are taken for the next lower one that is an index's. Nothing where an
  /// output is several indices', where a gap is no multiple of what lies below it, or where bits are flipped.
  std::optional<LayoutMap> inverse() const;

  bool operator==(const LayoutMap &) const = default;

private:
  std::vector<Input> ins;
  std::vector<Dim> outs;
};

/// "reg(2@axis 1:1) lane(32@axis 0:4 ^ 2)", for messages.
std::string printMap(const LayoutMap &map);
/// Equal maps have equal hashes.
size_t hashOf(const LayoutMap &map);

} // namespace tlc
