// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix instructions as pure functions: mma.sync, wgmma, ldmatrix, stmatrix,
/// movmatrix. The fragment, descriptor and swizzle maps are written from the
/// PTX ISA and share nothing with the compiler's, so that each checks the other.
///
/// Registers of a warp are lane-contiguous: register r of lane l is
/// `registers[r * 32 + l]`. A 64-bit element takes two registers, the low word
/// first. Shared memory is a span whose index is the shared-window address of
/// the block, so the swizzles see the address bits that hardware sees.
///
/// Arithmetic: floating-point sums are an H200's, bit for bit (MatrixSum.h).
/// f64 and integers follow the ISA exactly (fused multiply-add in ascending k;
/// wrap or saturate). A NaN result is the canonical NaN.
#pragma once

#include "runtime/emulator/math/ByteRange.h"
#include "runtime/emulator/math/Float.h"
#include "runtime/support/Result.h"
#include "runtime/support/Swizzle.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace tlc::emulator {

enum class MatrixElement : uint8_t {
  f16,
  bf16,
  tf32,
  e4m3,
  e5m2,
  e2m3,
  e3m2,
  e2m1,
  s8,
  u8,
  s4,
  u4,
  b1,
  f32,
  s32,
  f64
};
std::string_view toString(MatrixElement element);

/// .and.popc and .xor.popc of the forms of b1.
enum class BitProduct : uint8_t { conjunction, exclusive };

/// .satfinite of the integer forms.
enum class IntegerOverflow : uint8_t { wrap, saturate };

// --- mma.sync ---------------------------------------------------------------

/// mma.sync.aligned.m<m>n<n>k<k>.row.col: c and d have the same element type.
struct MmaSync {
  unsigned m = 16, n = 8, k = 16;
  MatrixElement a = MatrixElement::bf16, b = MatrixElement::bf16;
  MatrixElement accumulator = MatrixElement::f32;
  IntegerOverflow overflow = IntegerOverflow::wrap;
  Rounding rounding = Rounding::nearestEven; ///< of f64
  BitProduct bitProduct =
      BitProduct::conjunction; ///< of b1: what stands for the product, whose ones are counted
};

/// 32-bit registers per lane of each operand.
struct MmaRegisters {
  unsigned a = 0, b = 0, accumulator = 0;
};

/// The register counts, or an Error naming the combination that no hardware has
/// (or that is not emulated). Call it when the instruction is decoded; it is
/// the precondition of `mmaSync`.
///   f16: m16n8k8 m16n8k16 -> f16 f32      bf16: m16n8k8 m16n8k16 -> f32
///   tf32: m16n8k4 m16n8k8 -> f32          f64: m8n8k4 m16n8k4 m16n8k8 m16n8k16 -> f64
///   s8 u8 (mixed too): m8n8k16 m16n8k16 m16n8k32 -> s32; s4 u4: twice that k; b1: eight times
///   e4m3 e5m2 (mixed too): m16n8k16 m16n8k32 -> f16 f32
Result<MmaRegisters> mmaSyncRegisters(const MmaSync &instruction);

/// d = a * b + c. The spans hold at least 32 times the counts of
/// `mmaSyncRegisters`; d may be the same memory as any input.
void mmaSync(const MmaSync &instruction, std::span<const uint32_t> a, std::span<const uint32_t> b,
             std::span<const uint32_t> c, std::span<uint32_t> d);

// --- ldmatrix, stmatrix, movmatrix --------------------------------------------

enum class Transpose : uint8_t { no, yes };

/// What a shared row of 16 bytes holds: 8 or 16 elements, or 16 of 6 or 4 bits side by side and
/// padding. In registers those stand in the low bits of a byte each.
enum class MoveElement : uint8_t { b16, b8, b6, b4 };

/// A form of ldmatrix or stmatrix.
///   ldmatrix: m8n8 b16; m8n16 b6 b4; m16n16 b8 b6 b4, transposed, in two registers
///   stmatrix: m8n8 b16; m16n8 b8, transposed
struct MatrixMove {
  unsigned matrices = 1; ///< 1, 2 or 4
  Transpose transpose = Transpose::no;
  MoveElement element = MoveElement::b16;
  unsigned rows = 8; ///< of a matrix in shared memory, 8 or 16

  unsigned addresses() const { return matrices * rows; }
  unsigned registers() const { return matrices * rows / 8; }
};

/// Lane addresses of a warp: those of the rows of matrix 0, then of matrix 1, and
/// so on; others are ignored.
using LaneAddresses = std::span<const uint32_t, 32>;

/// ldmatrix from `shared` into `d`. An Error names the lane whose row is misaligned
/// (16 bytes) or ends beyond `shared`; then `d` is unchanged.
Result<void> ldmatrix(const MatrixMove &move, std::span<const std::byte> shared, LaneAddresses addresses,
                      std::span<uint32_t> d);

/// stmatrix, likewise; nothing is written when there is an Error.
Result<void> stmatrix(const MatrixMove &move, std::span<std::byte> shared, LaneAddresses addresses,
                      std::span<const uint32_t> source);

/// movmatrix.sync.aligned.m8n8.trans.b16: `d` may be `source`.
void movmatrix(std::span<const uint32_t, 32> source, std::span<uint32_t, 32> d);

// --- wgmma ----------------------------------------------------------------------

/// The 64-bit matrix descriptor, decoded; offsets and the address in bytes.
///
/// With 16-byte units u, the unit (i, j) of an operand, i along its rows (m or
/// n) and j along k, for each layout:
///   K-major, none:       (i % 8) * 16 + (i / 8) * stride + j * leading
///   K-major, W bytes:    (i % 8) * W  + (i / 8) * stride + j * 16
/// where rows count in elements and j in units; and when rows are contiguous
/// (MN-major), i in units of 16 bytes and k in elements:
///   MN-major, none:      i * stride + (k % 8) * 16 + (k / 8) * leading
///   MN-major, W bytes:   (i % (W/16)) * 16 + (i / (W/16)) * leading + (k % 8) * W + (k / 8) * stride
/// then start is added and the address is swizzled.
struct MatrixDescriptor {
  uint32_t start = 0;
  uint32_t leading = 0;
  uint32_t stride = 0;
  uint32_t baseOffset = 0; ///< 0-7: which 128-byte row of the swizzle pattern lies at address 0 mod 1024
  Swizzle swizzle = Swizzle::none;

  static MatrixDescriptor decode(uint64_t bits);
  uint64_t encode() const;
  bool operator==(const MatrixDescriptor &) const = default;
};

/// The swizzle that TMA and wgmma apply to a shared address: address bits 4-6
/// (128 bytes), 4-5 (64) or 4 (32) are xored with the bits three above them,
/// counted from the pattern's first row.
inline uint32_t swizzleAddress(Swizzle swizzle, uint32_t address, uint32_t baseOffset = 0) {
  const uint32_t mask = swizzle == Swizzle::bytes128  ? 7
                        : swizzle == Swizzle::bytes64 ? 3
                        : swizzle == Swizzle::bytes32 ? 1
                                                      : 0;
  return address ^ ((((address >> 7) - baseOffset) & mask) << 4);
}

/// Which dimension of an operand is contiguous in shared memory. K-major is
/// the plain form; MN-major (imm-trans 1) exists for 16-bit elements only.
enum class Major : uint8_t { k, mn };

/// wgmma.mma_async{.sp}.sync.aligned.m64n<n>k<k>; k follows from the element.
struct Wgmma {
  unsigned n = 64;
  MatrixElement a = MatrixElement::bf16, b = MatrixElement::bf16;
  MatrixElement accumulator = MatrixElement::f32;
  Major majorA = Major::k, majorB = Major::k;
  int scaleA = 1, scaleB = 1; ///< 1 or -1
  IntegerOverflow overflow = IntegerOverflow::wrap;
  bool isSparse = false; ///< .sp: half of A's elements are stored
  /// Of .sp: the lanes whose number % 4 is twice that or the next have metadata; of 8 bits all lanes.
  unsigned selector = 0;
};

/// k. Of A 32 bytes of a row are stored: 16 elements of 16 bits, 8 of tf32, 32 of 8 bits; .sp has twice as
/// many.
unsigned wgmmaDepth(const Wgmma &instruction);

/// 32-bit accumulator registers per lane (n / 2, or n / 4 for f16), or an Error
/// naming what is wrong. Call it when the instruction is decoded; it is the
/// precondition of the functions below.
///   f16 -> f16 f32; bf16 -> f32; tf32 -> f32; e4m3 e5m2 (mixed too) -> f16 f32;
///   s8 u8 (mixed too) -> s32. n is a multiple of 8 up to 256 (of 16 above 24 for s8 and u8).
Result<unsigned> wgmmaAccumulatorRegisters(const Wgmma &instruction);

/// Registers of the four warps of a warpgroup, warp 0 first.
using WarpgroupRegisters = std::array<std::span<const uint32_t>, 4>;

/// A comes from shared memory (its descriptor) or from registers (4 per lane).
using WgmmaOperandA = std::variant<uint64_t, WarpgroupRegisters>;

/// Four bits of metadata of .sp say which elements of a group are stored: two of four, whose places are the
/// lower two bits and the higher two, in increasing order; of tf32 one of two, 0100 the first, 1110 the
/// second. A word has eight groups. Row 16 w + g + 8 h of A (w < 4, g < 8, h < 2) finds its groups in warp w
///   of 8 bits:         8 l to 8 l + 7 in lane 4 g + 2 l + h (l < 2)
///   of 16 and 32 bits: 4 l to 4 l + 3 in the lower half (h = 0) or the higher one of lane 4 g + 2 selector +
///   l

/// d = a * b + d, or a * b when scaleD is zero. Accumulator register i of lane l
/// of warp w holds row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2
/// (f16: both columns of a pair in one register, the even one in the low half).
/// An Error says which operand reaches beyond `shared`, or which group of a row has other metadata; then d is
/// unchanged. `metadata`, a word per lane, is read if the instruction is sparse.
enum class ScaleD : uint8_t { zero, one };
Result<void> wgmma(const Wgmma &instruction, std::span<const std::byte> shared, const WgmmaOperandA &a,
                   uint64_t descriptorB, ScaleD scaleD, const std::array<std::span<uint32_t>, 4> &d,
                   const WarpgroupRegisters &metadata = {});

/// The shared bytes that an operand reads, merged where neighbours follow each
/// other. `B` has n rows, `A` 64.
enum class WgmmaOperand : uint8_t { a, b };
void wgmmaRanges(const Wgmma &instruction, WgmmaOperand operand, uint64_t descriptor,
                 std::vector<ByteRange> &ranges);
/// Whether an operand is certainly inside [begin, end) of shared memory; where
/// not, its ranges tell.
bool isSurelyWithin(const Wgmma &instruction, WgmmaOperand operand, uint64_t descriptor, uint32_t begin,
                    uint32_t end);

} // namespace tlc::emulator
