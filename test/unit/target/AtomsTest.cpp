// SPDX-License-Identifier: Apache-2.0
/// \file
/// Invariants of the table of matrix instructions.
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("the rows of matrix instructions are consistent", "[target][mma]") {
  for (const MmaAtom &atom : allMmaAtoms()) {
    INFO(toString(atom.kind) << " " << toString(atom.a) << " m " << atom.m << " k " << atom.k);
    CHECK(atom.nMin > 0);
    CHECK(atom.allowsN(atom.nMin));
    CHECK(atom.allowsN(atom.nMax));
    CHECK_FALSE(atom.allowsN(atom.nMax + atom.nStep));
    CHECK_FALSE(atom.allowsN(0));
    CHECK(atom.aPlaces != OperandPlaces::none);
    CHECK(atom.bPlaces != OperandPlaces::none);
    CHECK(sizeInBytes(atom.accumulator) >= sizeInBytes(atom.a));
    // Every unit but the register-only one reads 32 bytes of k per step; of a sparse A they are half of it.
    if (atom.kind != MmaKind::mmaSync)
      CHECK(atom.k * sizeInBytes(atom.a) == (atom.kind == MmaKind::sparseWgmma ? 64 : 32));
    bool supportedSomewhere = false;
    for (const Target &target : allTargets())
      supportedSomewhere |= supports(target, atom);
    CHECK(supportedSomewhere);
  }
}

TEST_CASE("wgmma is preferred on sm_90a, with mma.sync next", "[target][mma]") {
  auto atoms = findMmaAtoms(*findTarget("sm_90a"), ElementType::bf16, ElementType::bf16, ElementType::f32);
  REQUIRE(atoms.size() == 3);
  CHECK(atoms[0]->kind == MmaKind::wgmma);
  CHECK(atoms[0]->m == 64);
  CHECK(atoms[0]->allowsN(176));
  CHECK_FALSE(atoms[0]->allowsN(180));
  CHECK(contains(atoms[0]->aPlaces, OperandPlaces::registers));
  CHECK_FALSE(contains(atoms[0]->bPlaces, OperandPlaces::registers));
  CHECK(atoms[0]->bMajors == OperandMajors::kOrMn);
  CHECK(atoms[0]->registersFor(128, /*partsOfA=*/0) == 90);
  CHECK(atoms[0]->registersFor(128, /*partsOfA=*/1) == 94);
  CHECK(atoms[0]->registersFor(128, /*partsOfA=*/8) == 122);
  CHECK(atoms[1]->kind == MmaKind::mmaSync);
  CHECK(atoms[1]->k == 16);
  CHECK(atoms[2]->k == 8);
}

TEST_CASE("a sparse left factor has a row of its own for each that is not", "[target][mma]") {
  for (const MmaAtom &atom : allMmaAtoms()) {
    if (atom.kind != MmaKind::wgmma || atom.accumulator == ElementType::f16)
      continue;
    INFO(toString(atom.a) << " " << toString(atom.b));
    const MmaAtom *sparse =
        findMmaAtom(*findTarget("sm_90a"), MmaKind::sparseWgmma, atom.a, atom.b, atom.accumulator);
    REQUIRE(sparse);
    CHECK(sparse->k == 2 * atom.k);
    CHECK(sparse->aPlaces == OperandPlaces::shared);
    CHECK_FALSE(findMmaAtom(*findTarget("sm_100a"), MmaKind::sparseWgmma, atom.a, atom.b, atom.accumulator));
  }
}

TEST_CASE("each target has its own matrix unit", "[target][mma]") {
  auto first = [](std::string_view target) {
    return findMmaAtoms(*findTarget(target), ElementType::f16, ElementType::f16, ElementType::f32).front();
  };
  for (std::string_view name : {"sm_80", "sm_89", "sm_120a"})
    CHECK(first(name)->kind == MmaKind::mmaSync);
  CHECK(first("sm_90a")->kind == MmaKind::wgmma);
  for (std::string_view name : {"sm_100f", "sm_100a", "sm_103a", "sm_110a"})
    CHECK(first(name)->kind == MmaKind::tcgen05);
  CHECK(first("sm_100a")->blocks == 2);
  for (const MmaAtom *atom :
       findMmaAtoms(*findTarget("sm_100a"), ElementType::f16, ElementType::f16, ElementType::f32))
    CHECK(atom->kind != MmaKind::wgmma);
}

TEST_CASE("rows and asynchrony of the fastest instruction of a block", "[target][mma]") {
  using enum ElementType;
  struct Expected {
    std::string_view target;
    int64_t rows;
    bool isAsynchronous, hasSumsInFlight;
  };
  for (const Expected &each : {Expected{"sm_80", 16, false, false}, Expected{"sm_90a", 64, true, true},
                               Expected{"sm_100a", 128, true, false}, Expected{"sm_103a", 128, true, false},
                               Expected{"sm_120a", 16, false, false}}) {
    CAPTURE(each.target);
    const Target &target = *findTarget(each.target);
    const MmaAtom *atom = findFastestAtom(target, bf16, bf16, f32);
    REQUIRE(atom);
    CHECK(atom->blocks == 1);
    CHECK(atom->isAsynchronous() == each.isAsynchronous);
    CHECK(rowsOfFastestAtom(target, bf16, bf16, f32) == each.rows);
    CHECK(hasSumsInFlight(target, bf16, bf16, f32) == each.hasSumsInFlight);
  }
  const Target &oldest = *findTarget("sm_80"); // multiplies no bytes of floats
  CHECK_FALSE(findFastestAtom(oldest, e4m3, e4m3, f32));
  CHECK(rowsOfFastestAtom(oldest, e4m3, e4m3, f32) == 0);
  CHECK_FALSE(hasSumsInFlight(oldest, e4m3, e4m3, f32));
}

TEST_CASE("of one kind the largest instruction is found", "[target][mma]") {
  const MmaAtom *atom = findMmaAtom(*findTarget("sm_80"), MmaKind::mmaSync, ElementType::bf16,
                                    ElementType::bf16, ElementType::f32);
  REQUIRE(atom);
  CHECK(atom->m == 16);
  CHECK(atom->nMax == 8);
  CHECK(atom->k == 16);
  CHECK_FALSE(findMmaAtom(*findTarget("sm_80"), MmaKind::wgmma, ElementType::bf16, ElementType::bf16,
                          ElementType::f32));
}

// dialects/layout has fragments of m16n8, in whose registers the lowering counts by the table.
TEST_CASE("mma.sync of up to 32 bits has the extents of the fragments", "[target][mma]") {
  for (const MmaAtom &atom : allMmaAtoms())
    if (atom.kind == MmaKind::mmaSync && bitsOf(atom.a) <= 32) {
      CHECK(atom.m == mmaSyncRows);
      CHECK(atom.nMax == mmaSyncColumns);
    }
}

TEST_CASE("integers of 8 bits have products with and without signs", "[target][mma]") {
  using enum ElementType;
  for (ElementType a : {i8, u8})
    for (ElementType b : {i8, u8}) {
      const MmaAtom *ofWarp = findMmaAtom(*findTarget("sm_80"), MmaKind::mmaSync, a, b, i32);
      REQUIRE(ofWarp);
      CHECK(ofWarp->k == 32);
      CHECK(findMmaAtom(*findTarget("sm_100a"), MmaKind::mmaSync, a, b, i32) == ofWarp);
      const MmaAtom *ofWarpgroup = findMmaAtom(*findTarget("sm_90a"), MmaKind::wgmma, a, b, i32);
      REQUIRE(ofWarpgroup);
      CHECK(ofWarpgroup == findMmaAtom(MmaKind::wgmma, a, b, i32));
      CHECK(ofWarpgroup->k == 32);
      CHECK(ofWarpgroup->bMajors == OperandMajors::kOnly);
      CHECK(ofWarpgroup->allowsN(256));
      CHECK_FALSE(ofWarpgroup->allowsN(40));
    }
  CHECK_FALSE(findMmaAtom(MmaKind::wgmma, i8, i8, f32));
}

TEST_CASE("products of f32 are those of tf32, along k only", "[target][mma]") {
  using enum ElementType;
  const MmaAtom *ofWarp = findMmaAtom(*findTarget("sm_80"), MmaKind::mmaSync, f32, f32, f32);
  REQUIRE(ofWarp);
  CHECK(ofWarp->k == 8);
  const MmaAtom *ofWarpgroup = findMmaAtom(*findTarget("sm_90a"), MmaKind::wgmma, f32, f32, f32);
  REQUIRE(ofWarpgroup);
  CHECK(ofWarpgroup->k == 8);
  CHECK(ofWarpgroup->aMajors == OperandMajors::kOnly);
  CHECK(ofWarpgroup->bMajors == OperandMajors::kOnly);
  const MmaAtom *ofBlock = findMmaAtom(*findTarget("sm_100a"), MmaKind::tcgen05, f32, f32, f32);
  REQUIRE(ofBlock);
  CHECK(ofBlock->bMajors == OperandMajors::kOnly);
}

TEST_CASE("floats of 8 bits have products of a warp from sm_89 on", "[target][mma]") {
  using enum ElementType;
  for (ElementType a : {e4m3, e5m2})
    for (ElementType b : {e4m3, e5m2}) {
      CHECK_FALSE(findMmaAtom(*findTarget("sm_80"), MmaKind::mmaSync, a, b, f32));
      for (std::string_view name : {"sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
        const MmaAtom *atom = findMmaAtom(*findTarget(name), MmaKind::mmaSync, a, b, f32);
        REQUIRE(atom);
        CHECK(atom->k == 32);
      }
      for (std::string_view name : {"sm_89", "sm_120a"})
        CHECK(findMmaAtoms(*findTarget(name), a, b, f32).front()->kind == MmaKind::mmaSync);
    }
}

TEST_CASE("tensor memory has sums of integers on sm_100a and sm_110a alone", "[target][mma]") {
  using enum ElementType;
  for (const Target &target : allTargets()) {
    INFO(target.name);
    CHECK((findMmaAtom(target, MmaKind::tcgen05, i8, i8, i32) != nullptr) ==
          (target.name == "sm_100a" || target.name == "sm_110a"));
    CHECK((findMmaAtom(target, MmaKind::tcgen05, bf16, bf16, f32) != nullptr) == target.tcgen05);
  }
}

TEST_CASE("what a target lacks is told: the unit, or the types", "[target][mma]") {
  using enum ElementType;
  const auto missing = [](std::string_view target, MmaKind kind, ElementType a, ElementType b,
                          ElementType sums) {
    return describeMissing(*findTarget(target), kind, a, b, sums);
  };
  CHECK(missing("sm_120a", MmaKind::tcgen05, bf16, bf16, f32) == "sm_120a has no tcgen05.mma");
  CHECK(missing("sm_103a", MmaKind::tcgen05, i8, i8, i32) ==
        "sm_103a has no tcgen05.mma for i8 with sums of i32");
  CHECK(missing("sm_80", MmaKind::mmaSync, e4m3, e5m2, f32) ==
        "sm_80 has no mma.sync for e4m3 and e5m2 with sums of f32");
}

TEST_CASE("types without a matrix instruction find none", "[target][mma]") {
  const Target &target = *findTarget("sm_90a");
  CHECK(findMmaAtoms(target, ElementType::bf16, ElementType::bf16, ElementType::bf16).empty());
  CHECK(findMmaAtoms(target, ElementType::f16, ElementType::bf16, ElementType::f32).empty());
  CHECK(findMmaAtoms(target, ElementType::i64, ElementType::i64, ElementType::i64).empty());
}
