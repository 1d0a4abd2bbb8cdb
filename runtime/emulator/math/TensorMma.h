// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tcgen05's asynchronous instructions compute, as pure functions: mma
/// with its descriptors, cp, shift. Shared memory is a span whose index is the
/// shared-window address of the block, as in Mma.h. The order and precision of the
/// hardware's sums are not known: here the products of an instruction are summed
/// in f32 in ascending k, and the sum is added to the accumulator.
#pragma once

#include "runtime/emulator/math/Mma.h"
#include "runtime/emulator/math/TensorMemory.h"
#include "runtime/support/Math.h"

namespace tlc::emulator {

// --- the shared memory descriptor ---------------------------------------------------

/// Like `Swizzle`, and 128 bytes in atoms of 32, for tf32 operands whose rows are contiguous.
enum class TensorSwizzle : uint8_t { none, bytes32, bytes64, bytes128, bytes128Atom32 };

/// The 64-bit descriptor, decoded; offsets and the address in bytes.
struct TensorDescriptor {
  uint32_t start = 0;
  uint32_t leading = 0;
  uint32_t stride = 0;
  TensorSwizzle swizzle = TensorSwizzle::none;

  /// An Error names the field that is wrong.
  static Result<TensorDescriptor> decode(uint64_t bits);
  uint64_t encode() const;
};

// --- tcgen05.mma ----------------------------------------------------------------------

/// The last three are block-scaled: rows of A and of B have a factor for each
/// block of k, in tensor memory.
enum class TensorKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr bool isScaled(TensorKind kind) { return kind >= TensorKind::mxf8f6f4; }
/// Elements of 4 bits without gaps, the only ones of these kinds.
constexpr bool isPacked4(TensorKind kind) { return kind >= TensorKind::mxf4; }
std::string_view toString(TensorKind kind);

enum class TensorForm : uint8_t { dense, weightStationary };
enum class TensorOperandA : uint8_t { shared, tensorMemory };

/// What the text of an instruction says.
struct TensorMmaForm {
  TensorKind kind = TensorKind::f16;
  TensorForm form = TensorForm::dense;
  TensorOperandA a = TensorOperandA::shared;
  unsigned ctaGroup = 1;
  unsigned scales = 0; ///< factors of a row in one instruction: .scale_vec::1X, 2X, 4X
};

/// Factors: unsigned e4m3, or a power of two with 8 bits of exponent.
enum class ScaleElement : uint8_t { ue4m3, ue8m0 };

/// What it says together with its instruction descriptor.
struct TensorMma {
  TensorMmaForm form;
  unsigned m = 128, n = 128; ///< of all blocks together
  MatrixElement a = MatrixElement::bf16, b = MatrixElement::bf16, accumulator = MatrixElement::f32;
  Major majorA = Major::k, majorB = Major::k;
  int signA = 1, signB = 1;
  IntegerOverflow overflow = IntegerOverflow::wrap;
  ScaleElement scale = ScaleElement::ue8m0;
  unsigned scaleByteA = 0, scaleByteB = 0; ///< of the cells that hold the factors

  /// An Error names the field that is wrong.
  static Result<TensorMma> decode(TensorMmaForm form, uint32_t descriptor);
  /// Elements of k of one instruction.
  unsigned depth() const;
  /// Rows of A and of B in the shared memory of one block.
  unsigned rowsA() const { return m / form.ctaGroup; }
  unsigned rowsB() const { return n / form.ctaGroup; }
  /// Columns of tensor memory that the accumulator and A take.
  unsigned columnsD() const;
  unsigned columnsA() const { return 8; }
  /// Columns of the factors: row r's are in lane r % 32 of each quarter, column r / 32.
  unsigned columnsOfScales(WgmmaOperand operand) const {
    return ceilDiv(operand == WgmmaOperand::a ? rowsA() : n, quarterLanes);
  }
  /// Elements of an operand in 16 bytes of shared memory.
  unsigned elementsOfUnit(WgmmaOperand operand) const;
};

/// What one lane of tensor memory holds of the accumulator: columns `n`
/// onwards of row `row` of the block's part.
struct TensorRow {
  bool used = false;
  unsigned row = 0, n = 0;
};
/// `lane` is the lane of the accumulator's address: with 64 rows in a block it may be 16.
TensorRow tensorRow(const TensorMma &mma, unsigned lane, uint32_t addressLane);

/// A descriptor of shared memory fits the instruction; an Error names the field.
Result<void> checkOperand(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor);
/// The shared bytes of one block that an operand reads, merged where neighbours follow each other.
void operandRanges(const TensorMma &mma, WgmmaOperand operand, const TensorDescriptor &descriptor,
                   std::vector<ByteRange> &ranges);

/// The blocks' memories, one or two.
struct TensorBlock {
  std::span<const std::byte> shared;
  TensorCells cells;
};

/// The operands of one instruction.
struct TensorMmaCall {
  TensorDescriptor a; ///< unless A lies in tensor memory
  TensorAddress tensorA;
  TensorDescriptor b;
  TensorAddress d;
  uint32_t scalesA = 0, scalesB = 0; ///< columns of the factors
  bool accumulate = true;            ///< enable-input-d
  unsigned scale = 0;                ///< D is divided by 2^scale before
  /// Lanes whose results are not written: a bit each, four words for each block.
  std::array<uint32_t, 8> disabledLanes = {};
};
/// The quarters of tensor memory hold the same factors; an Error says where they do not.
Result<void> checkScales(const TensorMma &mma, WgmmaOperand operand, uint32_t column, TensorCells cells);
/// All addresses are inside the memories, which the caller has checked.
void tensorMma(const TensorMma &mma, const TensorMmaCall &call, std::span<const TensorBlock> blocks);

// --- tcgen05.cp, tcgen05.shift -----------------------------------------------------------

enum class TensorCopyShape : uint8_t {
  rows128x256b,
  rows4x256b,
  rows128x128b,
  rows64x128bTo02And13, ///< .warpx2::02_13
  rows64x128bTo01And23, ///< .warpx2::01_23
  rows32x128b,          ///< .warpx4
};
/// How elements lie in shared memory: as in tensor memory, or 16 of 6 or 4 bits in 16 bytes.
enum class TensorCopyFormat : uint8_t { bytes, bits6, bits4 };

struct TensorCopy {
  TensorCopyShape shape = TensorCopyShape::rows128x256b;
  TensorCopyFormat format = TensorCopyFormat::bytes;
  unsigned rows() const;
  unsigned columns() const;
};
void copyRanges(const TensorCopy &copy, const TensorDescriptor &descriptor, std::vector<ByteRange> &ranges);
void copyToTensor(const TensorCopy &copy, const TensorDescriptor &descriptor, const TensorBlock &block,
                  TensorAddress to);

/// Columns that a shift moves.
inline constexpr unsigned shiftColumns = 8;
/// Each of the 32 lanes from the address's, but the last, gets what the next one holds.
void shiftDown(TensorCells cells, TensorAddress address);

} // namespace tlc::emulator
