// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of a left factor of 2:4 sparsity, of every element type. Of small whole numbers the sums are
/// exact.
#include "kernels/file/kernel.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

struct Elements {
  ElementType left = bf16, right = bf16;

  ElementType sums() const { return left == i8 || left == u8 ? i32 : f32; }
  int64_t group() const { return left == f32 ? 2 : 4; } ///< of which half are stored
  int64_t perByte() const { return 2 * group(); }       ///< along k, of metadata
  /// Along k, of an instruction.
  int64_t step() const { return 64 * 8 / bitsOf(right); }
};

Memory wholeNumbers(ElementType element, std::vector<int64_t> shape, unsigned seed) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  std::mt19937 random(seed);
  for (double &value : memory.values)
    value = double(random() % 7) - (element == u8 ? 0 : 3);
  return memory;
}

/// A left factor, and what products take.
struct SparseFactor {
  std::vector<double> dense;
  Memory values, metadata;

  SparseFactor(Elements e, int64_t m, int64_t k)
      : dense(size_t(m * k)), values(Memory::filled(e.left, {m, k / 2}, 0)),
        metadata(Memory::filled(u8, {m, k / e.perByte()}, 0)) {
    std::mt19937 random(5);
    for (size_t group = 0; group < dense.size(); group += size_t(e.group()))
      for (int64_t i = 0; i < e.group() / 2; ++i) // perhaps twice the same, or 0
        dense[group + random() % size_t(e.group())] = double(random() % 7) - (e.left == u8 ? 0 : 3);
    SparseMatrix matrix = compress(dense, k, e.group());
    values.values = matrix.values;
    metadata.values = matrix.metadata;
  }
};

/// Of C = start + A Bᵀ, where B is [n, k].
int64_t countWrong(const SparseFactor &a, Memory &b, Memory &c, double start) {
  int64_t m = c.shape[0], n = c.shape[1], depth = b.shape[1], wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = start;
      for (int64_t at = 0; at < depth; ++at)
        sum += a.dense[size_t(row * depth + at)] * b.at({column, at});
      wrong += c.at({row, column}) != sum;
    }
  return wrong;
}

void check(const Artifact &artifact, Elements e, int64_t m, int64_t n, int64_t depth) {
  SparseFactor a(e, m, depth);
  Memory b = wholeNumbers(e.right, {n, depth}, 2), c = Memory::filled(e.sums(), {m, n}, -3);
  run(artifact, {&a.values, &a.metadata, &b, &c});
  CHECK(countWrong(a, b, c, -3) == 0);
}

/// One tile in one block.
Program tile(Elements e, int64_t m, int64_t n, int64_t depth, WarpPolicy policy = WarpPolicy::fullRow,
             int64_t warps = 0) {
  return Program::trace("tile", [&](Scope &k) {
    if (warps)
      k.warps(warps);
    int64_t bytes = depth / e.perByte();
    Global A = k.input("A", e.left, {m, depth / 2}), E = k.input("E", u8, {m, bytes}),
           B = k.input("B", e.right, {n, depth}), C = k.inout("C", e.sums(), {m, n});
    Shared a = k.shared("a", e.left, {m, depth / 2}), b = k.shared("b", e.right, {n, depth});
    Fragment metadata = k.fragment(u8, {m, bytes}), acc = k.fragment(e.sums(), {m, n});
    copy(A.tile({0, 0}, {m, depth / 2}), a);
    copy(E.tile({0, 0}, {m, bytes}), metadata);
    copy(B.tile({0, 0}, {n, depth}), b);
    copy(C.tile({0, 0}, {m, n}), acc);
    gemm(Sparse{a, metadata}, b.t(), acc, policy);
    copy(acc, C.tile({0, 0}, {m, n}));
  });
}

/// C += A Bᵀ by tiles whose copies run ahead; what lies outside of E is no metadata.
Program pipelined(Elements e, int64_t bm, int64_t bn, int64_t bk) {
  return Program::trace("pipelined", [&](Scope &k) {
    k.require(Requirement::wgmma);
    k.require(Requirement::warpSpecialized);
    Index m = k.dim("m"), n = k.dim("n"), stored = k.dim("stored"), bytes = k.dim("bytes"),
          depth = k.dim("depth");
    Global A = k.input("A", e.left, {m, stored}), E = k.input("E", u8, {m, bytes}),
           B = k.input("B", e.right, {n, depth}), C = k.inout("C", e.sums(), {m, n});
    k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", e.left, {bm, bk / 2}), b = k.shared("b", e.right, {bn, bk}),
             metadata = k.shared("metadata", u8, {bm, bk / e.perByte()});
      Fragment acc = k.fragment(e.sums(), {bm, bn});
      copy(C.tile({i * bm, j * bn}, {bm, bn}), acc);
      k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&](Index s) {
        copy(A.tile({i * bm, s * (bk / 2)}, {bm, bk / 2}), a);
        copy(E.tile({i * bm, s * (bk / e.perByte())}, {bm, bk / e.perByte()}), metadata);
        copy(B.tile({j * bn, s * bk}, {bn, bk}), b);
        Fragment places = k.fragment(u8, {bm, bk / e.perByte()});
        copy(metadata, places);
        gemm(Sparse{a, where(places == 0, 0x44, places)}, b.t(), acc);
      });
      copy(acc, C.tile({i * bm, j * bn}, {bm, bn}));
    });
  });
}

constexpr Elements allElements[] = {{bf16, bf16}, {f16, f16}, {f32, f32}, {e4m3, e4m3}, {e5m2, e4m3},
                                    {i8, i8},     {i8, u8},   {u8, i8},   {u8, u8}};

} // namespace

TEST_CASE("a sparse left factor of every element type", "[sparse-products]") {
  for (Elements e : allElements)
    for (int64_t steps : {1, 2, 3, 4}) { // of which two share words of metadata
      CAPTURE(toString(e.left), toString(e.right), steps);
      int64_t depth = steps * e.step();
      check(compiled(tile(e, 64, 32, depth)), e, 64, 32, depth);
    }
}

TEST_CASE("a sparse left factor on targets without sparse products", "[sparse-products]") {
  for (const char *target : {"sm_80", "sm_89", "sm_100a"})
    for (Elements e : allElements) {
      CAPTURE(target, toString(e.left), toString(e.right));
      const int64_t depth = 2 * e.step();
      check(compiled(tile(e, 64, 32, depth), compilingFor(target)), e, 64, 32, depth);
    }
}

TEST_CASE("warpgroups share a sparse product", "[sparse-products]") {
  for (Elements e : {Elements{bf16, bf16}, Elements{e4m3, e4m3}}) {
    CAPTURE(toString(e.left));
    int64_t depth = 2 * e.step();
    check(compiled(tile(e, 128, 48, depth, WarpPolicy::fullRow, 8)), e, 128, 48, depth);
    check(compiled(tile(e, 64, 48, depth, WarpPolicy::fullColumn, 8)), e, 64, 48, depth);
    check(compiled(tile(e, 256, 16, depth, WarpPolicy::fullRow, 8)), e, 256, 16, depth); // two blocks of rows
    check(compiled(tile(e, 128, 64, depth, WarpPolicy::square, 16)), e, 128, 64, depth);
  }
}

TEST_CASE("sparse products whose copies run ahead, of any extents", "[sparse-products]") {
  for (Elements e : {Elements{bf16, bf16}, Elements{i8, i8}, Elements{e4m3, e4m3}, Elements{f32, f32}}) {
    CAPTURE(toString(e.left));
    int64_t bk = 16 * e.perByte(); // rows of metadata that the TMA copies
    Artifact artifact = compiled(pipelined(e, 128, 32, bk));
    check(artifact, e, 136, 40, 3 * bk);
    check(artifact, e, 129, 33, bk + 2 * e.perByte()); // rows that the TMA cannot copy
    check(artifact, e, 64, 8, e.perByte());
  }
}

TEST_CASE("factors of a sparse product may lie across", "[sparse-products]") {
  constexpr int64_t m = 64, n = 64, depth = 64;
  Elements e{f16, f16};
  Artifact artifact = compiled(Program::trace("across", [&](Scope &k) {
    Global A = k.input("A", f16, {depth / 2, m}), E = k.input("E", u8, {m, depth / 8}),
           B = k.input("B", f16, {depth, n}), C = k.inout("C", f32, {m, n});
    Shared a = k.shared("a", f16, {depth / 2, m}), b = k.shared("b", f16, {depth, n});
    Fragment metadata = k.fragment(u8, {m, depth / 8}), acc = k.fragment(f32, {m, n});
    copy(A.tile({0, 0}, {depth / 2, m}), a);
    copy(E.tile({0, 0}, {m, depth / 8}), metadata);
    copy(B.tile({0, 0}, {depth, n}), b);
    copy(C.tile({0, 0}, {m, n}), acc);
    gemm(Sparse{a.t(), metadata}, b, acc);
    copy(acc, C.tile({0, 0}, {m, n}));
  }));
  SparseFactor a(e, m, depth);
  Memory b = wholeNumbers(f16, {n, depth}, 2), c = Memory::filled(f32, {m, n}, 0);
  Memory left = Memory::filled(f16, {depth / 2, m}, 0), right = Memory::filled(f16, {depth, n}, 0);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t at = 0; at < depth / 2; ++at)
      left.at({at, row}) = a.values.at({row, at});
  for (int64_t column = 0; column < n; ++column)
    for (int64_t at = 0; at < depth; ++at)
      right.at({at, column}) = b.at({column, at});
  run(artifact, {&left, &a.metadata, &right, &c});
  CHECK(countWrong(a, b, c, 0) == 0);
}

TEST_CASE("sparse products that are started by hand", "[sparse-products]") {
  constexpr int64_t m = 64, n = 32, depth = 64, rounds = 3;
  Elements e{bf16, bf16};
  Artifact artifact = compiled(Program::trace("started", [&](Scope &k) {
    Global A = k.input("A", bf16, {m, rounds * depth / 2}), E = k.input("E", u8, {m, rounds * depth / 8}),
           B = k.input("B", bf16, {n, rounds * depth}), C = k.inout("C", f32, {m, n});
    Shared a = k.shared("a", bf16, {m, depth / 2}), b = k.shared("b", bf16, {n, depth});
    Fragment metadata = k.fragment(u8, {m, depth / 8}), acc = k.fragment(f32, {m, n});
    copy(C.tile({0, 0}, {m, n}), acc);
    k.loop(rounds, [&](Index s) {
      copy(A.tile({0, s * (depth / 2)}, {m, depth / 2}), a);
      copy(E.tile({0, s * (depth / 8)}, {m, depth / 8}), metadata);
      copy(B.tile({0, s * depth}, {n, depth}), b);
      gemmAsync(Sparse{a, metadata}, b.t(), acc);
      gemmWait(acc);
    });
    copy(acc, C.tile({0, 0}, {m, n}));
  }));
  check(artifact, e, m, n, rounds * depth);
}

TEST_CASE("nothing is multiplied by what a sparse factor does not store", "[sparse-products]") {
  constexpr int64_t m = 64, n = 8, depth = 32;
  Elements e{bf16, bf16};
  SparseFactor a(e, m, depth);
  Memory b = Memory::filled(bf16, {n, depth}, 1), c = Memory::filled(f32, {m, n}, 0);
  std::fill(a.metadata.values.begin(), a.metadata.values.end(), 0x44); // the first two of each group
  std::fill(a.values.values.begin(), a.values.values.end(), 2);
  for (int64_t at = 0; at < depth; ++at)
    if (at % 4 >= 2)
      b.at({3, at}) = std::numeric_limits<double>::infinity();
  run(compiled(tile(e, m, n, depth)), {&a.values, &a.metadata, &b, &c});
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column)
      CHECK(c.at({row, column}) == depth);
}

TEST_CASE("a matrix is compressed", "[sparse-products]") {
  SparseMatrix matrix = compress(std::vector<double>{0, 1, 0, 2, 0, 0, 3, 0, 4, 5, 0, 0, 0, 0, 0, 0}, 16);
  CHECK(matrix.values == std::vector<double>{1, 2, 0, 3, 4, 5, 0, 0});
  CHECK(matrix.metadata == std::vector<double>{0x8D, 0x44});
  SparseMatrix pairs = compress(std::vector<double>{0, 1, 2, 0}, 4, 2);
  CHECK(pairs.values == std::vector<double>{1, 2});
  CHECK(pairs.metadata == std::vector<double>{0x4E});
  auto messageOf = [](const std::vector<double> &dense, int64_t columns, int64_t group) {
    try {
      compress(dense, columns, group);
    } catch (const std::invalid_argument &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(messageOf({1, 1, 0, 1, 0, 0, 0, 0}, 8, 4) ==
        "expected 2 elements other than 0 at most in 4, but got 3 from element 0 on");
  const std::string expected =
      "expected rows of groups of 4 elements, or of 2 of f32, two for each byte of metadata, but got ";
  CHECK(messageOf(std::vector<double>(24), 12, 4) == expected + "24 elements in rows of 12 and groups of 4");
  CHECK(messageOf({0, 0, 0, 0}, 4, 1) == expected + "4 elements in rows of 4 and groups of 1");
  CHECK(messageOf(std::vector<double>(12), 8, 4) == expected + "12 elements in rows of 8 and groups of 4");
}

TEST_CASE("products that are scaled before they are added", "[sparse-products]") {
  constexpr int64_t m = 64, n = 48, depth = 64, rounds = 3;
  for (ElementType element : {bf16, i8}) {
    CAPTURE(toString(element));
    Artifact artifact = compiled(Program::trace("scaled", [&](Scope &k) {
      Global A = k.input("A", element, {m, rounds * depth}), B = k.input("B", element, {n, rounds * depth}),
             R = k.input("R", f32, {m, rounds}), S = k.input("S", f32, {n, rounds}),
             C = k.inout("C", f32, {m, n});
      Shared a = k.shared("a", element, {m, depth}), b = k.shared("b", element, {n, depth});
      Fragment acc = k.fragment(f32, {m, n}), rows = k.fragment(f32, {m, 1}),
               columns = k.fragment(f32, {1, n});
      copy(C.tile({0, 0}, {m, n}), acc);
      k.pipelined(rounds, {.stages = 2}, [&](Index s) {
        copy(A.tile({0, s * depth}, {m, depth}), a);
        copy(B.tile({0, s * depth}, {n, depth}), b);
        copy(R.tile({0, s}, {m, 1}), rows);
        copy(S.tile({0, s}, {n, 1}), columns);
        gemmScaled(a, b.t(), rows * columns, acc);
      });
      copy(acc, C.tile({0, 0}, {m, n}));
    }));
    Memory a = wholeNumbers(element, {m, rounds * depth}, 1),
           b = wholeNumbers(element, {n, rounds * depth}, 2), r = wholeNumbers(f32, {m, rounds}, 3),
           s = wholeNumbers(f32, {n, rounds}, 4), c = Memory::filled(f32, {m, n}, 7);
    run(artifact, {&a, &b, &r, &s, &c});
    int64_t wrong = 0;
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        double sum = 7;
        for (int64_t round = 0; round < rounds; ++round) {
          double part = 0;
          for (int64_t at = round * depth; at < (round + 1) * depth; ++at)
            part += a.at({row, at}) * b.at({column, at});
          sum += part * r.at({row, round}) * s.at({column, round});
        }
        wrong += c.at({row, column}) != sum;
      }
    CHECK(wrong == 0);
  }
}
