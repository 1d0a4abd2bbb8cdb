// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/MmaAtoms.h"

#include "runtime/target/CodeTarget.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

using namespace tlc;

namespace {

using enum ElementType;

constexpr MmaAtom mmaSync(ElementType a, ElementType b, ElementType accumulator, unsigned m, unsigned n,
                          unsigned k, int minSm) {
  return {.kind = MmaKind::mmaSync,
          .a = a,
          .b = b,
          .accumulator = accumulator,
          .m = m,
          .nMin = n,
          .nMax = n,
          .nStep = n,
          .k = k,
          .threads = lanesPerWarp,
          .aPlaces = OperandPlaces::registers,
          .bPlaces = OperandPlaces::registers,
          .accumulatorPlaces = OperandPlaces::registers,
          .minSm = minSm};
}

constexpr MmaAtom mmaSync(ElementType operand, ElementType accumulator, unsigned m, unsigned n, unsigned k,
                          int minSm) {
  return mmaSync(operand, operand, accumulator, m, n, k, minSm);
}

/// Only 16-bit operands may have m or n contiguous in shared memory.
constexpr OperandMajors majorsOf(ElementType operand) {
  return bitsOf(operand) == 16 ? OperandMajors::kOrMn : OperandMajors::kOnly;
}

constexpr MmaAtom wgmma(ElementType a, ElementType b, ElementType accumulator, unsigned nMin, unsigned nStep,
                        unsigned k) {
  return {.kind = MmaKind::wgmma,
          .a = a,
          .b = b,
          .accumulator = accumulator,
          .m = wgmmaRows,
          .nMin = nMin,
          .nMax = maxWgmmaColumns,
          .nStep = nStep,
          .k = k,
          .threads = threadsPerWarpgroup,
          .aPlaces = OperandPlaces::registers | OperandPlaces::shared,
          .bPlaces = OperandPlaces::shared,
          .accumulatorPlaces = OperandPlaces::registers,
          .aMajors = majorsOf(a),
          .bMajors = majorsOf(b),
          .otherRegisters = 26, // measured with ptxas 13.0, for all n
          .minSm = 90};
}

constexpr MmaAtom wgmma(ElementType operand, ElementType accumulator, unsigned nMin, unsigned nStep,
                        unsigned k) {
  return wgmma(operand, operand, accumulator, nMin, nStep, k);
}

/// `k` is what B has: twice the elements that are stored of A.
constexpr MmaAtom sparseWgmma(ElementType a, ElementType b, ElementType accumulator, unsigned nMin,
                              unsigned nStep, unsigned k) {
  MmaAtom atom = wgmma(a, b, accumulator, nMin, nStep, k);
  atom.kind = MmaKind::sparseWgmma;
  atom.aPlaces = OperandPlaces::shared;
  ++atom.otherRegisters; // a word of metadata
  return atom;
}

constexpr MmaAtom sparseWgmma(ElementType operand, ElementType accumulator, unsigned nMin, unsigned nStep,
                              unsigned k) {
  return sparseWgmma(operand, operand, accumulator, nMin, nStep, k);
}

constexpr MmaAtom tcgen05(ElementType a, ElementType b, ElementType accumulator, unsigned blocks, unsigned m,
                          unsigned nStep, unsigned k) {
  return {.kind = MmaKind::tcgen05,
          .a = a,
          .b = b,
          .accumulator = accumulator,
          .m = m,
          .nMin = nStep,
          .nMax = maxTcgen05Columns,
          .nStep = nStep,
          .k = k,
          .threads = 1,
          .blocks = blocks,
          .aPlaces = OperandPlaces::shared | OperandPlaces::tensorMemory,
          .bPlaces = OperandPlaces::shared,
          .accumulatorPlaces = OperandPlaces::tensorMemory,
          // Unlike with wgmma, bytes may be transposed. 32 bits would want a swizzle that no layout has.
          .aMajors = bitsOf(a) == 32 ? OperandMajors::kOnly : OperandMajors::kOrMn,
          .bMajors = bitsOf(a) == 32 ? OperandMajors::kOnly : OperandMajors::kOrMn,
          .minSm = 100};
}

constexpr MmaAtom tcgen05(ElementType operand, ElementType accumulator, unsigned blocks, unsigned m,
                          unsigned nStep, unsigned k) {
  return tcgen05(operand, operand, accumulator, blocks, m, nStep, k);
}

constexpr std::array atoms = {
    // Accumulator f32 or f16 for f16 operands, f32 for bf16.
    mmaSync(f16, f32, 16, 8, 16, 80),
    mmaSync(f16, f32, 16, 8, 8, 75),
    mmaSync(f16, f16, 16, 8, 16, 80),
    mmaSync(f16, f16, 16, 8, 8, 75),
    mmaSync(bf16, f32, 16, 8, 16, 80),
    mmaSync(bf16, f32, 16, 8, 8, 80),
    // f32 as a factor is read as tf32, which ignores its low 13 bits.
    mmaSync(f32, f32, 16, 8, 8, 80),
    mmaSync(f32, f32, 16, 8, 4, 80),
    // Integers of 8 bits: each factor with or without a sign.
    mmaSync(i8, i32, 16, 8, 32, 80),
    mmaSync(i8, i32, 16, 8, 16, 80),
    mmaSync(i8, u8, i32, 16, 8, 32, 80),
    mmaSync(i8, u8, i32, 16, 8, 16, 80),
    mmaSync(u8, i8, i32, 16, 8, 32, 80),
    mmaSync(u8, i8, i32, 16, 8, 16, 80),
    mmaSync(u8, i32, 16, 8, 32, 80),
    mmaSync(u8, i32, 16, 8, 16, 80),
    // Floats of 8 bits: each factor of either type.
    mmaSync(e4m3, f32, 16, 8, 32, 89),
    mmaSync(e4m3, e5m2, f32, 16, 8, 32, 89),
    mmaSync(e5m2, e4m3, f32, 16, 8, 32, 89),
    mmaSync(e5m2, f32, 16, 8, 32, 89),
    mmaSync(f64, f64, 8, 8, 4, 80),
    mmaSync(f64, f64, 16, 8, 16, 90),
    mmaSync(f64, f64, 16, 8, 8, 90),
    mmaSync(f64, f64, 16, 8, 4, 90),

    wgmma(f16, f32, 8, 8, 16),
    wgmma(f16, f16, 8, 8, 16),
    wgmma(bf16, f32, 8, 8, 16),
    wgmma(f32, f32, 8, 8, 8),
    // Floats of 8 bits: each factor of either type.
    wgmma(e4m3, f32, 8, 8, 32),
    wgmma(e4m3, e5m2, f32, 8, 8, 32),
    wgmma(e5m2, e4m3, f32, 8, 8, 32),
    wgmma(e5m2, f32, 8, 8, 32),
    // Integer operands also allow n = 8 and 24, which are no steps of 16.
    wgmma(i8, i32, 16, 16, 32),
    wgmma(i8, u8, i32, 16, 16, 32),
    wgmma(u8, i8, i32, 16, 16, 32),
    wgmma(u8, i32, 16, 16, 32),

    sparseWgmma(f16, f32, 8, 8, 32),
    sparseWgmma(bf16, f32, 8, 8, 32),
    sparseWgmma(f32, f32, 8, 8, 16),
    sparseWgmma(e4m3, f32, 8, 8, 64),
    sparseWgmma(e4m3, e5m2, f32, 8, 8, 64),
    sparseWgmma(e5m2, e4m3, f32, 8, 8, 64),
    sparseWgmma(e5m2, f32, 8, 8, 64),
    sparseWgmma(i8, i32, 16, 16, 64),
    sparseWgmma(i8, u8, i32, 16, 16, 64),
    sparseWgmma(u8, i8, i32, 16, 16, 64),
    sparseWgmma(u8, i32, 16, 16, 64),

    tcgen05(f16, f32, 1, 64, 8, 16),
    tcgen05(f16, f32, 1, 128, 16, 16),
    tcgen05(f16, f32, 2, 128, 16, 16),
    tcgen05(f16, f32, 2, 256, 16, 16),
    tcgen05(f16, f16, 1, 64, 8, 16),
    tcgen05(f16, f16, 1, 128, 16, 16),
    tcgen05(f16, f16, 2, 128, 16, 16),
    tcgen05(f16, f16, 2, 256, 16, 16),
    tcgen05(bf16, f32, 1, 64, 8, 16),
    tcgen05(bf16, f32, 1, 128, 16, 16),
    tcgen05(bf16, f32, 2, 128, 16, 16),
    tcgen05(bf16, f32, 2, 256, 16, 16),
    tcgen05(f32, f32, 1, 64, 8, 8),
    tcgen05(f32, f32, 1, 128, 16, 8),
    tcgen05(f32, f32, 2, 128, 16, 8),
    tcgen05(f32, f32, 2, 256, 16, 8),
    tcgen05(e4m3, f32, 1, 64, 8, 32),
    tcgen05(e4m3, f32, 1, 128, 16, 32),
    tcgen05(e4m3, f32, 2, 128, 16, 32),
    tcgen05(e4m3, f32, 2, 256, 16, 32),
    tcgen05(e4m3, e5m2, f32, 1, 64, 8, 32),
    tcgen05(e4m3, e5m2, f32, 1, 128, 16, 32),
    tcgen05(e4m3, e5m2, f32, 2, 128, 16, 32),
    tcgen05(e4m3, e5m2, f32, 2, 256, 16, 32),
    tcgen05(e5m2, e4m3, f32, 1, 64, 8, 32),
    tcgen05(e5m2, e4m3, f32, 1, 128, 16, 32),
    tcgen05(e5m2, e4m3, f32, 2, 128, 16, 32),
    tcgen05(e5m2, e4m3, f32, 2, 256, 16, 32),
    tcgen05(e5m2, f32, 1, 64, 8, 32),
    tcgen05(e5m2, f32, 1, 128, 16, 32),
    tcgen05(e5m2, f32, 2, 128, 16, 32),
    tcgen05(e5m2, f32, 2, 256, 16, 32),
    tcgen05(i8, i32, 1, 64, 16, 32),
    tcgen05(i8, i32, 1, 128, 16, 32),
    tcgen05(i8, i32, 2, 128, 32, 32),
    tcgen05(i8, i32, 2, 256, 32, 32),
    tcgen05(i8, u8, i32, 1, 64, 16, 32),
    tcgen05(i8, u8, i32, 1, 128, 16, 32),
    tcgen05(i8, u8, i32, 2, 128, 32, 32),
    tcgen05(i8, u8, i32, 2, 256, 32, 32),
    tcgen05(u8, i8, i32, 1, 64, 16, 32),
    tcgen05(u8, i8, i32, 1, 128, 16, 32),
    tcgen05(u8, i8, i32, 2, 128, 32, 32),
    tcgen05(u8, i8, i32, 2, 256, 32, 32),
    tcgen05(u8, i32, 1, 64, 16, 32),
    tcgen05(u8, i32, 1, 128, 16, 32),
    tcgen05(u8, i32, 2, 128, 32, 32),
    tcgen05(u8, i32, 2, 256, 32, 32),
};

} // namespace

unsigned MmaAtom::registersFor(unsigned columns, unsigned partsOfA) const {
  auto registersOf = [&](unsigned elements, ElementType type) {
    return unsigned(bytesOf(type, elements / threads)) / unsigned(registerBytes);
  };
  return registersOf(m * columns, accumulator) + partsOfA * registersOf(m * k, a) + otherRegisters;
}

std::span<const MmaAtom> tlc::allMmaAtoms() { return atoms; }

static bool hasIntegersInTensorMemory(const Target &target) {
  static const std::string modifiers[] = {"mma", "kind::i8"};
  return !missingInstruction(*parseCodeTarget(target.name), "tcgen05", modifiers);
}

bool tlc::supports(const Target &target, const MmaAtom &atom) {
  if (target.sm() < atom.minSm)
    return false;
  switch (atom.kind) {
  case MmaKind::mmaSync:
    return target.mmaSync;
  case MmaKind::sparseWgmma:
  case MmaKind::wgmma:
    return target.wgmma;
  case MmaKind::tcgen05:
    return target.tcgen05 && (isFloat(atom.a) || hasIntegersInTensorMemory(target));
  }
  return false;
}

/// What is fast comes first.
static std::vector<const MmaAtom *> atomsOf(ElementType a, ElementType b, ElementType accumulator) {
  std::vector<const MmaAtom *> found;
  for (const MmaAtom &atom : atoms)
    if (atom.a == a && atom.b == b && atom.accumulator == accumulator)
      found.push_back(&atom);
  std::ranges::sort(found, std::greater(), [](const MmaAtom *atom) {
    return std::tuple(atom->kind, atom->blocks, atom->m, atom->k);
  });
  return found;
}

std::vector<const MmaAtom *> tlc::findMmaAtoms(const Target &target, ElementType a, ElementType b,
                                               ElementType accumulator) {
  std::vector<const MmaAtom *> found = atomsOf(a, b, accumulator);
  std::erase_if(found, [&](const MmaAtom *atom) {
    return atom->kind == MmaKind::sparseWgmma || !supports(target, *atom);
  });
  return found;
}

const MmaAtom *tlc::findFastestAtom(const Target &target, ElementType a, ElementType b,
                                    ElementType accumulator) {
  const MmaAtom *fastest = nullptr;
  for (const MmaAtom *atom : findMmaAtoms(target, a, b, accumulator))
    if (atom->blocks == 1 && (!fastest || (atom->kind == fastest->kind && atom->m > fastest->m)))
      fastest = atom;
  return fastest;
}

int64_t tlc::rowsOfFastestAtom(const Target &target, ElementType a, ElementType b, ElementType accumulator) {
  const MmaAtom *atom = findFastestAtom(target, a, b, accumulator);
  return atom ? atom->m : 0;
}

bool tlc::hasSumsInFlight(const Target &target, ElementType a, ElementType b, ElementType accumulator) {
  const MmaAtom *atom = findFastestAtom(target, a, b, accumulator);
  return atom && atom->isAsynchronous() && contains(atom->accumulatorPlaces, OperandPlaces::registers);
}

const MmaAtom *tlc::findMmaAtom(const Target &target, MmaKind kind, ElementType a, ElementType b,
                                ElementType accumulator) {
  for (const MmaAtom *atom : atomsOf(a, b, accumulator))
    if (atom->kind == kind && supports(target, *atom))
      return atom;
  return nullptr;
}

const MmaAtom *tlc::findMmaAtom(MmaKind kind, ElementType a, ElementType b, ElementType accumulator) {
  for (const MmaAtom *atom : atomsOf(a, b, accumulator))
    if (atom->kind == kind)
      return atom;
  return nullptr;
}

std::string tlc::describeMissing(const Target &target, MmaKind kind, ElementType a, ElementType b,
                                 ElementType accumulator) {
  bool hasUnit = std::ranges::any_of(
      atoms, [&](const MmaAtom &atom) { return atom.kind == kind && supports(target, atom); });
  std::string text = std::string(target.name) + " has no " + std::string(toString(kind));
  if (!hasUnit)
    return text;
  text += " for " + std::string(toString(a));
  if (a != b)
    text += " and " + std::string(toString(b));
  return text + " with sums of " + std::string(toString(accumulator));
}

std::string_view tlc::toString(MmaKind kind) {
  switch (kind) {
  case MmaKind::mmaSync:
    return "mma.sync";
  case MmaKind::sparseWgmma:
    return "wgmma.sp";
  case MmaKind::wgmma:
    return "wgmma";
  case MmaKind::tcgen05:
    return "tcgen05.mma";
  }
  return "";
}
