// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a tile of values is spread over the registers of the threads that own it.
///
/// # Tutorial
///
/// A *fragment* is a tile of any rank and any shape whose elements live in the
/// registers of the threads of one role: `numWarps` warps of 32 lanes. Its layout
/// answers one question: which element sits in register r of lane l of warp w?
/// It is a map
///
///     (register, lane, warp)  ->  tile coordinates
///
/// in this direction, because every hardware location holds exactly one element,
/// whereas an element may sit in several locations (replication) and a location
/// may lie outside the tile (padding). "Register" means a slot for one element;
/// how elements narrower than 32 bits are packed into machine registers is up to
/// the lowering, which packs them in register order.
///
/// ## Modes
///
/// It is a map of digits (LayoutMap.h): each of the three hardware indices is read as a
/// mixed-radix number, and each digit, a *mode*, moves along one axis of the tile:
///
///     extent @ axis : step        digit d in [0, extent) adds d * step to `axis`
///     extent @ *                  replication: the digit changes nothing
///
/// The first mode is the fastest digit. So
///
///     lane(4@1:2, 8@0:1)
///
/// says: lane = 4*b + a with a in [0, 4) and b in [0, 8); the lane's column is 2*a
/// and its row is b. Lane 13 (a = 1, b = 3) is at row 3, column 2.
///
/// ## Example 1: the accumulator of one wgmma m64n16
///
///     reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)
///
/// Thread 13 of warp 2 starts at row 32 + 3, column 2. Its registers:
///
///     register   0         1         2         3         4 ...
///     (row,col)  (35,2)    (35,3)    (43,2)    (43,3)    (35,10) ...
///
/// ## Example 2: any n, not only powers of two
///
/// A mode whose extent and step are powers of two is a handful of basis vectors
/// over F2, but nothing asks for that. A wgmma with n = 176 is 22 repeats of the
/// n8 base, and its layout differs from example 1 in one number:
///
///     reg(2@1:1, 2@0:8, 22@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)
///
/// ## Example 3: reduction and broadcast
///
/// The row maximum of example 2 has shape 64x1. Each thread first combines its 44
/// registers along axis 1 (`2@1:1` and `22@1:8`), then the four lanes of a group
/// combine theirs (`4@1:2`: butterfly shuffles with lane masks 1 and 2). After that
/// all four lanes hold the result:
///
///     reg(2@0:8) lane(4@*, 8@0:1) warp(4@0:16)                  = reduced(axis 1)
///
/// This is also what a broadcast along axis 1 into the layout of example 2 needs
/// from its operand, so that it costs nothing.
///
/// ## Example 4: a tile smaller than its threads
///
/// 3x5 values of 4 bytes in one warp: eight lanes along the row, four rows.
///
///     reg() lane(8@1:1, 4@0:1) warp()
///
/// The layout covers 4x8. Locations outside 3x5 are padding: they hold nothing,
/// and whoever reads or writes memory with them guards (`isInside`).
///
/// # The invariant
///
/// Along every axis the modes tile the covered extent: sorted by step, the first
/// step is 1 and each next step is the product of the previous extents. Hence each
/// coordinate has exactly one digit per mode, `digit = coordinate / step % extent`,
/// and inversion is that formula. Layouts that skew (xor) belong to shared memory
/// (SharedLayout.h), where they avoid bank conflicts; registers have no banks.
///
/// Modes are canonical, so that two layouts of the same rank and the same numbers of
/// registers and warps are the same map exactly if they are equal.
#pragma once

#include "dialects/layout/LayoutMap.h"
#include "runtime/target/Hardware.h"

#include <array>

namespace tlc {

enum class HardwareAxis { reg, lane, warp };
inline constexpr std::array<HardwareAxis, 3> hardwareAxes = {HardwareAxis::reg, HardwareAxis::lane,
                                                             HardwareAxis::warp};

struct HardwareLocation {
  int64_t reg = 0, lane = 0, warp = 0;
  auto operator<=>(const HardwareLocation &) const = default;
};

using Coordinates = std::vector<int64_t>;
using Shape = std::vector<int64_t>;

/// Upper bounds of a layout, far above any machine's, so that arithmetic is exact.
inline constexpr int64_t maxLayoutRegisters = int64_t(1) << 20;
inline constexpr int64_t maxLayoutWarps = 64;

/// A mode together with its weight in the hardware index: the digit of location
/// index i is `i / stride % mode.extent`.
struct PlacedMode {
  HardwareAxis hardware = HardwareAxis::reg;
  LayoutMode mode;
  int64_t stride = 1;
  bool operator==(const PlacedMode &) const = default;
};

/// What has to be combined to reduce a fragment along one axis; see
/// FragmentLayout::reduction.
struct AxisReduction {
  std::vector<PlacedMode> registers; ///< combined inside each thread
  std::vector<PlacedMode> lanes;     ///< combined by shuffles; extents are powers of two
  std::vector<PlacedMode> warps;     ///< combined through shared memory

  /// The masks for `shfl.bfly` that combine the lanes, smallest first.
  std::vector<int64_t> laneMasks() const;
};

class FragmentLayout {
public:
  using Modes = tlc::Modes;

  /// A scalar that all lanes of one warp hold.
  FragmentLayout();
  /// Checks the invariant and brings the modes into canonical form. The message of
  /// a failure names the axis and the step that is wrong.
  static Result<FragmentLayout> create(int rank, Modes reg, Modes lane, Modes warp);
  /// The same for modes that are correct by construction.
  static FragmentLayout get(int rank, Modes reg, Modes lane, Modes warp);
  /// The same for a map from (reg, lane, warp) to the axes of a tile.
  static FragmentLayout get(const LayoutMap &map);
  /// Every thread of `numWarps` warps holds the whole tile in its registers, the
  /// last axis fastest.
  static FragmentLayout replicated(const Shape &shape, int64_t numWarps);

  const LayoutMap &map() const { return digits; }
  int rank() const { return int(digits.outputs().size()); }
  const Modes &modes(HardwareAxis hardware) const { return digits.modes(size_t(hardware)); }
  /// Number of values of one hardware index: registers, 32 lanes, or warps.
  int64_t extent(HardwareAxis hardware) const;
  int64_t registersPerThread() const { return extent(HardwareAxis::reg); }
  int64_t numWarps() const { return extent(HardwareAxis::warp); }
  int64_t numThreads() const { return numWarps() * lanesPerWarp; }

  /// The box of coordinates that some location holds; the tile lies inside it.
  int64_t coveredExtent(int axis) const;
  Shape coveredShape() const;
  bool covers(const Shape &shape) const;

  Coordinates coordinatesOf(const HardwareLocation &location) const;
  /// Whether the location holds an element of a tile of this shape, not padding.
  bool isInside(const HardwareLocation &location, const Shape &shape) const;

  /// All locations that hold the element, in increasing (reg, lane, warp).
  std::vector<HardwareLocation> locationsOf(const Coordinates &coordinates) const;
  /// The one of them whose replicated digits are zero: who should store or add it
  /// when that must happen once.
  HardwareLocation ownerOf(const Coordinates &coordinates) const;
  bool isOwner(const HardwareLocation &location) const;
  /// The lowest register of that thread that holds the element, if one does.
  std::optional<int64_t> registerOf(const Coordinates &coordinates, int64_t lane, int64_t warp) const;

  /// How many locations along this hardware index hold the same element.
  int64_t replication(HardwareAxis hardware) const;
  bool isReplicated() const;

  /// The modes that move along an axis, in order reg, lane, warp.
  std::vector<PlacedMode> modesAlong(int axis) const;
  AxisReduction reduction(int axis) const;

  /// Layout of the reduction along an axis, kept with extent 1: registers along it
  /// disappear, lanes and warps along it become replicas.
  FragmentLayout reduced(int axis) const;
  /// Layout of a value broadcast to `extent` along an axis of covered extent 1:
  /// replicated lanes and warps share the new elements, registers take the rest.
  /// `expanded(axis, n).reduced(axis)` gives the layout back.
  FragmentLayout expanded(int axis, int64_t extent) const;
  /// Result axis i is source axis permutation[i].
  FragmentLayout transposed(const std::vector<int> &permutation) const;
  /// The reduction along an axis with the axis removed.
  FragmentLayout withoutAxis(int axis) const;
  /// The same values with an axis of extent 1 inserted before `axis`.
  FragmentLayout withUnitAxis(int axis) const;

  /// Number of consecutive elements along an axis that one thread holds, starting
  /// at multiples of that number: the widest vector for memory access.
  int64_t contiguousAlong(int axis) const;

  bool operator==(const FragmentLayout &) const = default;

private:
  using HardwareModes = std::array<Modes, hardwareAxes.size()>;
  FragmentLayout(int rank, HardwareModes modes);
  HardwareModes allModes() const;

  LayoutMap digits;
};

} // namespace tlc
