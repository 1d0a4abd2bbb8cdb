// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of floats of 8 bits, each factor of either type, by wgmma, dense and sparse, by mma.sync, and by
/// single multiply-adds. Factors are so small that sums are exact in the 13 bits that wgmma keeps.
#include "test/programs/PipelinedProduct.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

const std::vector<Factors> allFactors = {{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2}};

/// Numbers that both types have: halves from -2 to 2, without 0.
Memory smallNumbers(ElementType element, std::vector<int64_t> shape, unsigned seed) {
  static constexpr double numbers[] = {-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2};
  Memory memory = Memory::filled(element, std::move(shape), 0);
  std::mt19937 random(seed);
  for (double &value : memory.values)
    value = numbers[random() % std::size(numbers)];
  return memory;
}

/// C += A Bᵀ, with B as n x k.
void check(const Artifact &artifact, Factors factors, int64_t m, int64_t n, int64_t depth) {
  constexpr double start = -3;
  Memory a = smallNumbers(factors.a, {m, depth}, 1), b = smallNumbers(factors.b, {n, depth}, 2);
  Memory c = Memory::filled(f32, {m, n}, start);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = start;
      for (int64_t at = 0; at < depth; ++at)
        sum += a.at({row, at}) * b.at({column, at});
      wrong += c.at({row, column}) != sum;
    }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a pipelined product of floats of 8 bits, of any two types", "[float8-products]") {
  for (Factors factors : allFactors) {
    CAPTURE(toString(factors.a), toString(factors.b));
    Artifact artifact = compiled(
        pipelinedProduct(factors, f32, 128, 64, 128, {Requirement::wgmma, Requirement::warpSpecialized}));
    check(artifact, factors, 136, 72, 144);
    check(artifact, factors, 129, 70, 33); // rows that the TMA cannot copy
  }
}

TEST_CASE("floats of 8 bits where no instruction multiplies them", "[float8-products]") {
  for (std::string target : {"sm_90a", "sm_80", "sm_100a"}) {
    CAPTURE(target);
    for (Factors factors : {Factors{e4m3, e5m2}, {e5m2, e5m2}})
      check(compiled(pipelinedProduct(factors, f32, 12, 20, 8, {}), compilingFor(target)), factors, 13, 21,
            24);
  }
}

namespace {
void checkPtx(const Artifact &artifact, Factors factors) {
  const std::string name = "mma.sync.aligned.m16n8k32.row.col.f32." + std::string(toString(factors.a)) + "." +
                           std::string(toString(factors.b)) + ".f32";
  for (const Variant &variant : artifact.variants)
    CHECK(variant.ptx.find(name) != std::string::npos);
}
} // namespace

TEST_CASE("a warp multiplies floats of 8 bits", "[float8-products]") {
  for (Factors factors : allFactors)
    for (std::string target : {"sm_89", "sm_120a"}) {
      CAPTURE(toString(factors.a), toString(factors.b), target);
      Artifact artifact = compiled(pipelinedProduct(factors, f32, 64, 32, 64, {}), compilingFor(target));
      checkPtx(artifact, factors);
      check(artifact, factors, 72, 40, 144);
      check(artifact, factors, 65, 37, 33);
    }
}

TEST_CASE("a warp multiplies floats of 8 bits, wherever the left factor is and however the right one lies",
          "[float8-products]") {
  constexpr int64_t m = 48, n = 40, depth = 64;
  for (bool isTransposed : {false, true})
    for (bool isInRegisters : {false, true}) {
      CAPTURE(isTransposed, isInRegisters);
      Factors factors = {isInRegisters ? e5m2 : e4m3, isTransposed ? e5m2 : e4m3};
      Artifact artifact = compiled(Program::trace("product",
                                                  [&](Scope &k) {
                                                    Global A = k.input("A", factors.a, {m, depth}),
                                                           B = k.input("B", factors.b, {n, depth});
                                                    Global C = k.inout("C", f32, {m, n});
                                                    Shared a = k.shared("a", factors.a, {m, depth}),
                                                           b = k.shared("b", factors.b, {n, depth}),
                                                           across = k.shared("across", factors.b, {depth, n});
                                                    Fragment left = k.fragment(factors.a, {m, depth}),
                                                             acc = k.fragment(f32, {m, n});
                                                    copy(A.tile({0, 0}, {m, depth}), a);
                                                    copy(B.tile({0, 0}, {n, depth}), b);
                                                    copy(b.t(), across);
                                                    copy(C.tile({0, 0}, {m, n}), acc);
                                                    copy(a, left);
                                                    if (isInRegisters)
                                                      gemm(left, isTransposed ? across : b.t(), acc);
                                                    else
                                                      gemm(a, isTransposed ? across : b.t(), acc);
                                                    copy(acc, C.tile({0, 0}, {m, n}));
                                                  }),
                                   compilingFor("sm_89"));
      checkPtx(artifact, factors);
      check(artifact, factors, m, n, depth);
    }
}

TEST_CASE("a left factor of e5m2 in registers meets a right one of e4m3", "[float8-products]") {
  constexpr int64_t m = 64, n = 32, depth = 64;
  Artifact artifact = compiled(Program::trace("in_registers", [&](Scope &k) {
    k.require(Requirement::wgmma);
    Global A = k.input("A", e5m2, {m, depth}), B = k.input("B", e4m3, {n, depth});
    Global C = k.inout("C", f32, {m, n});
    Fragment a = k.fragment(e5m2, {m, depth}), acc = k.fragment(f32, {m, n});
    Shared b = k.shared("b", e4m3, {n, depth});
    copy(A.tile({0, 0}, {m, depth}), a);
    copy(B.tile({0, 0}, {n, depth}), b);
    copy(C.tile({0, 0}, {m, n}), acc);
    gemm(a, b.t(), acc);
    copy(acc, C.tile({0, 0}, {m, n}));
  }));
  check(artifact, {e5m2, e4m3}, m, n, depth);
}
