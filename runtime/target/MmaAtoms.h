// SPDX-License-Identifier: Apache-2.0
/// \file
/// The matrix instructions of each target, as rows: D[m,n] += A[m,k] * B[k,n].
/// A row says which types, extents and operand places one instruction takes;
/// how its fragments are laid out is the layout library's subject.
#pragma once

#include "runtime/support/ElementType.h"
#include "runtime/target/Target.h"

#include <span>
#include <vector>

namespace tlc {

enum class MmaKind : uint8_t {
  mmaSync,     ///< mma.sync: a warp, everything in registers
  sparseWgmma, ///< wgmma.mma_async.sp: as wgmma; of A, in shared memory, half the elements are stored
  wgmma,       ///< wgmma.mma_async: a warpgroup, asynchronous
  tcgen05,     ///< tcgen05.mma: one thread, asynchronous, accumulator in tensor memory
};

/// Places an operand may be read from or accumulated in; a set of flags.
enum class OperandPlaces : uint8_t { none = 0, registers = 1, shared = 2, tensorMemory = 4 };
constexpr OperandPlaces operator|(OperandPlaces a, OperandPlaces b) {
  return OperandPlaces(uint8_t(a) | uint8_t(b));
}
constexpr bool contains(OperandPlaces set, OperandPlaces place) {
  return (uint8_t(set) & uint8_t(place)) == uint8_t(place);
}

/// Which axis of an operand may be contiguous where it is read from shared
/// memory: k ("K-major"), or m for A and n for B as well ("MN-major").
enum class OperandMajors : uint8_t { kOnly, kOrMn };

struct MmaAtom {
  MmaKind kind = MmaKind::mmaSync;
  ElementType a = ElementType::f16;
  ElementType b = ElementType::f16;
  ElementType accumulator = ElementType::f32;
  unsigned m = 0;
  unsigned nMin = 0; ///< n is one of nMin, nMin + nStep, ..., nMax
  unsigned nMax = 0;
  unsigned nStep = 0;
  unsigned k = 0;       ///< of B
  unsigned threads = 0; ///< that issue it together
  unsigned blocks = 1;  ///< of a cluster that work on it (cta_group)
  OperandPlaces aPlaces = OperandPlaces::none;
  OperandPlaces bPlaces = OperandPlaces::none;
  OperandPlaces accumulatorPlaces = OperandPlaces::none;
  OperandMajors aMajors = OperandMajors::kOnly; ///< of A in shared memory
  OperandMajors bMajors = OperandMajors::kOnly; ///< of B in shared memory
  unsigned otherRegisters = 0; ///< of a thread, that ptxas wants for the instruction besides its operands'
  int minSm = 0;

  /// Registers that a thread must have for an instruction with `partsOfA` parts of A in registers: its own,
  /// and those of the instructions that are in flight with it. ptxas refuses a kernel
  /// - that has fewer than one instruction takes when it starts (C7602): those that setmaxnreg adds do not
  ///   count,
  /// - often, if threads never have what all instructions of a product take (C7600); with that many it
  ///   refused 3 of about a thousand random programs.
  unsigned registersFor(unsigned n, unsigned partsOfA) const;
  /// True if threads continue while it runs, and wait for its sums.
  bool isAsynchronous() const { return kind != MmaKind::mmaSync; }
  bool allowsN(unsigned n) const { return n >= nMin && n <= nMax && (n - nMin) % nStep == 0; }
};

/// All rows of all targets.
std::span<const MmaAtom> allMmaAtoms();
/// Whether the target executes the row.
bool supports(const Target &target, const MmaAtom &atom);
/// The rows for these types on this target whose factors have all their elements, the fastest kind first,
/// larger extents first within a kind.
std::vector<const MmaAtom *> findMmaAtoms(const Target &target, ElementType a, ElementType b,
                                          ElementType accumulator);
/// The largest instruction that one block executes, of the fastest kind for these types; null if there is
/// none.
const MmaAtom *findFastestAtom(const Target &target, ElementType a, ElementType b, ElementType accumulator);
/// Its rows; 0 if there is none.
int64_t rowsOfFastestAtom(const Target &target, ElementType a, ElementType b, ElementType accumulator);
/// True if threads continue while that instruction adds to their registers.
bool hasSumsInFlight(const Target &target, ElementType a, ElementType b, ElementType accumulator);
/// The row of one kind for these types: of several that with the largest extents. Null if the target has
/// none.
const MmaAtom *findMmaAtom(const Target &target, MmaKind kind, ElementType a, ElementType b,
                           ElementType accumulator);
/// The same, whatever the target.
const MmaAtom *findMmaAtom(MmaKind kind, ElementType a, ElementType b, ElementType accumulator);
/// What a target lacks that has no row of this kind for these types: "sm_80 has no wgmma", or "sm_80 has no
/// mma.sync for e4m3 and e5m2 with sums of f32".
std::string describeMissing(const Target &target, MmaKind kind, ElementType a, ElementType b,
                            ElementType accumulator);
std::string_view toString(MmaKind kind);

} // namespace tlc
