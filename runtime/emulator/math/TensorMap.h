// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps of the emulated device and the box copies that TMA makes with
/// them: load, store and reduce in tile mode, loads in im2col mode, one to five dimensions, every
/// swizzle, fill outside. The map travels in the same 128-byte kernel parameter
/// as CUDA's, in an encoding of our own that recognises garbage. The rules of
/// `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` are here too, for both devices.
///
/// Dimensions are innermost first, as in CUDA's API and in PTX coordinates.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/math/ByteRange.h"
#include "runtime/support/Result.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tlc::emulator {

/// In the order of CUtensorMapDataType, whose values they are.
enum class TensorElement : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16 };
unsigned sizeInBytes(TensorElement element);
std::string_view toString(TensorElement element);
/// The tensor-map element of an artifact's tensor (i8 as u8, i32 as s32).
TensorElement tensorElement(ElementType type);

/// 32, 64 or 128; 0 without a swizzle.
unsigned swizzleSpanBytes(Swizzle swizzle);

enum class OutOfBoundsFill : uint8_t { zero, nan };

/// What a map in im2col mode has besides, innermost dimension first. The bounding box of dimension i + 1 is
/// from lower[i] to its last element plus upper[i]; pixels follow one another in it, `elementStrides` apart,
/// from the end of a row to the next row, and from the last one to the next image.
struct Im2colBox {
  std::array<int32_t, TmaFacts().maxRank - 2> lower = {}, upper = {};
  uint32_t pixels = 1; ///< of a box, whose extents are those of its channels and 1

  bool operator==(const Im2colBox &) const = default;
};

struct EmulatedTensorMap {
  static constexpr unsigned maxRank = TmaFacts().maxRank;
  static constexpr size_t encodedBytes = tensorMapBytes;

  uint64_t globalAddress = 0;
  TensorElement element = TensorElement::bf16;
  unsigned rank = 0;
  std::array<uint64_t, maxRank> dims = {};        ///< elements; used up to `rank`
  std::array<uint64_t, maxRank - 1> strides = {}; ///< bytes; strides[i] is of dimension i + 1
  std::array<uint32_t, maxRank> box = {};
  std::array<uint32_t, maxRank> elementStrides = {1, 1, 1, 1,
                                                  1}; ///< the innermost is ignored, as by hardware
  Swizzle swizzle = Swizzle::none;
  OutOfBoundsFill fill = OutOfBoundsFill::zero;
  bool isEmpty =
      false; ///< all boxes lie outside; no instruction makes such a map, but launches of empty tensors
  std::optional<Im2colBox> im2col = {};

  bool operator==(const EmulatedTensorMap &) const = default;
};

/// The map that a launch plan describes, whose axes are outermost first.
EmulatedTensorMap tensorMapOf(const TensorMapValues &values);

/// The documented rules of cuTensorMapEncodeTiled (interleave none): rank 1-5;
/// address and strides multiples of 16, strides below 2^40; dims 1 to 2^32; box
/// 1 to 256 per dimension, its inner row a multiple of 16 bytes and within the
/// swizzle's span; element strides 1 to 8; NaN fill only for floating point. Of cuTensorMapEncodeIm2col: rank
/// 3-5; corners within what the rank leaves, with pixels between them; 1 to 1024 pixels of a box.
Result<void> checkTensorMap(const EmulatedTensorMap &map);

/// The 128-byte kernel parameter. Precondition: `checkTensorMap` succeeds.
std::array<std::byte, EmulatedTensorMap::encodedBytes> encodeTensorMap(const EmulatedTensorMap &map);
/// The map in 128 bytes, or an Error (kind execution) when they hold none: not
/// ours, damaged, or against the rules.
Result<EmulatedTensorMap> decodeTensorMap(std::span<const std::byte, EmulatedTensorMap::encodedBytes> bytes);

/// What tensormap.replace changes.
enum class TensorField : uint8_t {
  globalAddress,
  rank, ///< less one
  box,
  dims,
  strides, ///< bytes
  elementStrides,
  element,
  interleave,
  swizzle,
  swizzleAtomicity,
  fill,
};
/// Changes one field of a map in its 128-byte form, which need not follow the
/// rules before every field is changed. An Error (kind execution) for bytes
/// that are no map, and for values that do not exist or are not emulated.
Result<void> replaceField(std::span<std::byte, EmulatedTensorMap::encodedBytes> map, TensorField field,
                          unsigned axis, uint64_t value);

/// Bytes of the box's elements: what a load counts on its mbarrier, whatever
/// part lies outside of the tensor.
uint64_t boxBytes(const EmulatedTensorMap &map);

/// PTX coordinates of the box's first element, innermost first; may be negative
/// and beyond the tensor. At least `map.rank` of them; in im2col mode, where they are of the first tap, its
/// offsets follow.
using BoxCoordinates = std::span<const int32_t>;

/// Stores and reductions write whole units of 16 bytes: where a row of the tensor ends inside
/// of one, the rest of the unit is written too. Loads give exactly the elements inside.
enum class BoxUse : uint8_t { load, store };

/// What an H200 asks of coordinates, and stops the kernel for: the innermost one stands for
/// whole units of 16 bytes; of a store or reduction none is negative. In im2col mode PTX wants the first tap
/// in the bounding box, also where the tensor is empty, and an H200 stops for some that are not; and offsets
/// within what the rank leaves.
Result<void> checkCoordinates(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use);

/// The global bytes of the part of the box that lies inside the tensor: what a
/// load reads and a store or reduction writes. Merged where they follow each
/// other. Check them against the allocations before the copy, which does not.
void boxGlobalRanges(const EmulatedTensorMap &map, BoxCoordinates coordinates, BoxUse use,
                     std::vector<ByteRange> &ranges);

/// The shared bytes of the box at `address`, all that a load writes; a store
/// reads at most these.
void boxSharedRanges(const EmulatedTensorMap &map, uint32_t address, std::vector<ByteRange> &ranges);

/// cp.async.bulk.tensor global -> shared: fills the box at `address` of `shared`
/// (indexed by shared-window address, as the swizzle uses its bits). Rows of the
/// box follow each other, each padded to the swizzle's span. An Error
/// says that the address is not a multiple of 128 or the box does not fit; then
/// nothing is written.
Result<void> loadBox(const EmulatedTensorMap &map, BoxCoordinates coordinates, std::span<std::byte> shared,
                     uint32_t address);

/// cp.async.bulk.tensor shared -> global: units outside the tensor are dropped.
Result<void> storeBox(const EmulatedTensorMap &map, BoxCoordinates coordinates,
                      std::span<const std::byte> shared, uint32_t address);

enum class Reduction : uint8_t { add, min, max, inc, dec, bitAnd, bitOr, bitXor };
std::string_view toString(Reduction reduction);

/// Whether there is the reduction for the element: add for integers of 32 bits, u64 and every
/// float; min and max for integers of 32 and 64 bits, f16 and bf16; inc and dec for u32; and, or,
/// xor for integers of 32 bits and u64. An H200 stops the kernel for the others.
Result<void> checkReduction(Reduction reduction, TensorElement element);

/// One element's new value, in the low bits. f16 and bf16 round to nearest even
/// and keep subnormals, a NaN beside a number loses in min and max; inc wraps
/// to 0 at `operand`, dec wraps to `operand`. Precondition: `checkReduction`.
uint64_t reduceElement(Reduction reduction, TensorElement element, uint64_t old, uint64_t operand);

/// cp.reduce.async.bulk.tensor: combines the part inside the tensor, each
/// element atomically (blocks run on several host threads).
Result<void> reduceBox(const EmulatedTensorMap &map, Reduction reduction, BoxCoordinates coordinates,
                       std::span<const std::byte> shared, uint32_t address);

} // namespace tlc::emulator
