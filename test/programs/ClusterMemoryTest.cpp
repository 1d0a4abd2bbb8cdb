// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared memory of other blocks of the cluster: copies both ways, rows, sums, in loops, in roles and in
/// branches, at odd sizes.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// Element (i, j) is 1000 i + j.
Memory numbered(ElementType element, int64_t rows, int64_t columns) {
  Memory memory = Memory::filled(element, {rows, columns}, 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      memory.at({i, j}) = double(1000 * i + j);
  return memory;
}

} // namespace

TEST_CASE("blocks read and write tiles of their neighbours", "[cluster-memory]") {
  auto [element, blocks, columns, writes] = GENERATE(table<ElementType, int64_t, int64_t, bool>({
      {f32, 2, 64, false},
      {f32, 4, 33, true},
      {ElementType::i32, 8, 20, false},
      {ElementType::f64, 2, 7, true},
      {ElementType::i32, 3, 72, true},
  }));
  CAPTURE(int(element), blocks, columns, writes);
  constexpr int64_t rows = 16;
  Artifact artifact = compiled(Program::trace(
      "pass", [&, element = element, blocks = blocks, columns = columns, writes = writes](Scope &k) {
        Index m = k.dim("m");
        Global X = k.input("X", element, {m, columns}), Y = k.output("Y", element, {m, columns});
        k.cluster(blocks);
        k.warps(4);
        auto [i] = k.grid(ceilDiv(ceilDiv(m, rows), blocks) * blocks);
        Shared tile = k.shared("tile", element, {rows, columns});
        Fragment x = k.fragment(element, {rows, columns});
        Index next = (k.blockRank() + 1) % blocks;
        copy(X.tile({i * rows, 0}, {rows, columns}), x);
        if (writes) {
          copy(x, tile.of(next));
          copy(tile, x);
        } else {
          copy(x, tile);
          copy(tile.of(next), x);
        }
        copy(x, Y.tile({i * rows, 0}, {rows, columns}));
      }));
  int64_t tiles = 2 * blocks - 1,
          m = tiles * rows - 3; // the last block has none, the one before a part of one
  Memory x = numbered(element, m, columns), y = Memory::filled(element, {m, columns}, -1);
  run(artifact, {&x, &y});
  for (int64_t row = 0; row < m; ++row) {
    int64_t i = row / rows, first = i / blocks * blocks,
            from = first + (i - first + (writes ? blocks - 1 : 1)) % blocks,
            source = from * rows + row % rows;
    for (int64_t column = 0; column < columns; ++column) {
      CAPTURE(row, column);
      REQUIRE(y.at({row, column}) == (source < m ? x.at({source, column}) : 0));
    }
  }
}

TEST_CASE("all blocks of a cluster exchange their parts in a loop", "[cluster-memory]") {
  // Round r: each block gives row group b to block b, and takes what has come.
  constexpr int64_t blocks = 4, rows = 32, columns = 40, rounds = 3;
  Artifact artifact = compiled(Program::trace("exchange", [&](Scope &k) {
    Global X = k.input("X", f32, {rounds * blocks * rows, columns});
    Global Y = k.output("Y", f32, {rounds * blocks * rows, columns});
    k.cluster(blocks);
    k.warps(4);
    auto [i] = k.grid(blocks);
    constexpr int64_t share = rows / blocks;
    Shared out = k.shared("out", f32, {rows, columns}), in = k.shared("in", f32, {rows, columns});
    Fragment part = k.fragment(f32, {share, columns}), all = k.fragment(f32, {rows, columns});
    k.loop(rounds, [&](Index round) {
      copy(X.tile({(round * blocks + i) * rows, 0}, {rows, columns}), out);
      k.loop(blocks, [&](Index other) {
        copy(out.of(other).rows(k.blockRank() * share, share), part);
        copy(part, in.of(k.blockRank()).rows(other * share, share));
      });
      copy(in, all);
      copy(all, Y.tile({(round * blocks + i) * rows, 0}, {rows, columns}));
    });
  }));
  Memory x = numbered(f32, rounds * blocks * rows, columns), y = Memory::filled(f32, x.shape, notANumber);
  run(artifact, {&x, &y});
  constexpr int64_t share = rows / blocks;
  for (int64_t round = 0; round < rounds; ++round)
    for (int64_t to = 0; to < blocks; ++to)
      for (int64_t row = 0; row < rows; ++row) {
        int64_t from = row / share, source = (round * blocks + from) * rows + to * share + row % share;
        REQUIRE(y.at({(round * blocks + to) * rows + row, 17}) == x.at({source, 17}));
      }
}

TEST_CASE("sums over a cluster, whole and by rows", "[cluster-memory]") {
  auto [blocks, columns] = GENERATE(table<int64_t, int64_t>({{2, 48}, {4, 33}, {8, 9}}));
  CAPTURE(blocks, columns);
  constexpr int64_t rows = 64;
  Artifact artifact = compiled(Program::trace("sums", [blocks = blocks, columns = columns](Scope &k) {
    Index parts = k.dim("parts");
    Global X = k.input("X", f32, {parts, rows, columns});
    Global All = k.output("All", f32, {parts, rows, columns}),
           Most = k.output("Most", f32, {parts, rows, columns}),
           Share = k.output("Share", f32, {rows, columns});
    k.cluster(blocks);
    k.warps(4);
    auto [i] = k.grid(blocks);
    Fragment x = k.fragment(f32, {rows, columns});
    copy(X.tile({i, 0, 0}, {1, rows, columns}), x);
    copy(clusterSum(x), All.tile({i, 0, 0}, {1, rows, columns}));
    copy(clusterMax(x), Most.tile({i, 0, 0}, {1, rows, columns}));
    copy(clusterSumShare(x), Share.tile({k.blockRank() * (rows / blocks), 0}, {rows / blocks, columns}));
  }));
  Memory x = Memory::filled(f32, {blocks, rows, columns}, 0), all = Memory::filled(f32, x.shape, notANumber),
         most = Memory::filled(f32, x.shape, notANumber),
         share = Memory::filled(f32, {rows, columns}, notANumber);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(int64_t(i * 7 % 101) - 50);
  run(artifact, {&x, &all, &most, &share});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0, largest = -100;
      for (int64_t block = 0; block < blocks; ++block) {
        sum += x.at({block, row, column});
        largest = std::max(largest, x.at({block, row, column}));
      }
      CAPTURE(row, column);
      REQUIRE(share.at({row, column}) == sum);
      for (int64_t block = 0; block < blocks; ++block)
        REQUIRE((all.at({block, row, column}) == sum && most.at({block, row, column}) == largest));
    }
}

TEST_CASE("sums and maxima over a cluster of numbers without a sign", "[cluster-memory]") {
  constexpr int64_t blocks = 2, columns = 33;
  Artifact artifact = compiled(Program::trace("unsigned_sums", [](Scope &k) {
    Index parts = k.dim("parts");
    Global X = k.input("X", u32, {parts, 16, columns}), Y = k.output("Y", u32, {parts, 2, 16, columns}),
           Share = k.output("Share", u32, {16, columns});
    k.cluster(blocks);
    auto [i] = k.grid(blocks);
    Fragment x = k.fragment(u32, {16, columns});
    copy(X.tile({i, 0, 0}, {1, 16, columns}), x);
    copy(clusterSum(x), Y.tile({i, 0, 0, 0}, {1, 1, 16, columns}));
    copy(clusterMax(x), Y.tile({i, 1, 0, 0}, {1, 1, 16, columns}));
    copy(clusterSumShare(x), Share.tile({k.blockRank() * 8, 0}, {8, columns}));
  }));
  Memory x = Memory::filled(u32, {blocks, 16, columns}, 0),
         y = Memory::filled(u32, {blocks, 2, 16, columns}, 7), share = Memory::filled(u32, {16, columns}, 7);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i % 2 ? uint32_t(4000000000) + uint32_t(i) : uint32_t(i));
  run(artifact, {&x, &y, &share});
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      auto a = uint32_t(x.at({0, row, column})), b = uint32_t(x.at({1, row, column}));
      REQUIRE(share.at({row, column}) == double(a + b));
      for (int64_t block = 0; block < blocks; ++block) {
        REQUIRE(y.at({block, 0, row, column}) == double(a + b));
        REQUIRE(y.at({block, 1, row, column}) == double(std::max(a, b)));
      }
    }
}

TEST_CASE("the role that computes sums over the cluster while another one loads", "[cluster-memory]") {
  // Blocks compute halves of k of one tile; the loop over tiles comes back to the shared partial sums.
  constexpr int64_t rows = 200, n = 70, depth = 328;
  Artifact artifact = compiled(Program::trace("product", [&](Scope &k) {
    Index m = k.dim("m"), columns = k.dim("n"), d = k.dim("k");
    Global A = k.input("A", bf16, {m, d}), B = k.input("B", bf16, {columns, d});
    Global C = k.output("C", f32, {m, columns});
    constexpr int64_t parts = 2;
    k.cluster(parts);
    k.require(Requirement::warpSpecialized);
    Index steps = ceilDiv(d, 64), each = ceilDiv(steps, parts), first = k.blockRank() * each;
    k.persistent({ceilDiv(m, 64) * parts, ceilDiv(columns, 64)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
      Fragment acc = k.fragment(f32, {64, 64});
      k.pipelined(min(each, steps - first), {.stages = 3}, [&](Index s) {
        copy(A.tile({i / parts * 64, (first + s) * 64}, {64, 64}), a);
        copy(B.tile({j * 64, (first + s) * 64}, {64, 64}), b);
        gemm(a, b.t(), acc);
      });
      copy(clusterSumShare(acc), C.tile({i / parts * 64 + k.blockRank() * 32, j * 64}, {32, 64}));
    });
  }));
  Memory a = Memory::filled(bf16, {rows, depth}, 0), b = Memory::filled(bf16, {n, depth}, 0);
  Memory c = Memory::filled(f32, {rows, n}, notANumber);
  for (size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = double(i % 5) - 2;
  for (size_t i = 0; i < b.values.size(); ++i)
    b.values[i] = double(i % 3) - 1;
  run(artifact, {&a, &b, &c}, /*multiprocessors=*/4);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t at = 0; at < depth; ++at)
        sum += a.at({row, at}) * b.at({column, at});
      CAPTURE(row, column);
      REQUIRE(c.at({row, column}) == sum);
    }
}

TEST_CASE("one block's branch reaches another block's tile", "[cluster-memory]") {
  Artifact artifact = compiled(Program::trace("branch", [&](Scope &k) {
    Global Y = k.output("Y", f32, {2, 64});
    k.cluster(2);
    k.warps(1);
    auto [i] = k.grid(2);
    Shared tile = k.shared("tile", f32, {1, 64});
    Fragment x = k.fragment(f32, {1, 64});
    fill(tile, 1);
    k.when(k.blockRank() == 0, [&] { copy(k.fragment(f32, {1, 64}, 5), tile.of(1)); });
    copy(tile, x);
    copy(x, Y.tile({i, 0}, {1, 64}));
  }));
  Memory y = Memory::filled(f32, {2, 64}, notANumber);
  run(artifact, {&y});
  for (int64_t column = 0; column < 64; ++column) {
    CHECK(y.at({0, column}) == 1);
    CHECK(y.at({1, column}) == 5);
  }
}

TEST_CASE("what other blocks have written, the TMA and products read", "[cluster-memory]") {
  Artifact artifact = compiled(Program::trace("engines", [&](Scope &k) {
    Global X = k.input("X", bf16, {128, 64}, {.alignment = 16}),
           Y = k.output("Y", bf16, {128, 64}, {.alignment = 16});
    Global C = k.output("C", f32, {128, 64});
    k.cluster(2);
    k.warps(4);
    auto [i] = k.grid(2);
    Shared tile = k.shared("tile", bf16, {64, 64}), own = k.shared("own", bf16, {64, 64});
    Fragment x = k.fragment(bf16, {64, 64}), sum = k.fragment(f32, {64, 64});
    copy(X.tile({i * 64, 0}, {64, 64}), own);
    copy(own, x);
    k.loop(2, [&](Index) {
      copy(x, tile.of(1 - k.blockRank()));
      gemm(tile, tile.t(), sum);
      copy(tile, Y.tile({i * 64, 0}, {64, 64}));
    });
    copy(sum, C.tile({i * 64, 0}, {64, 64}));
  }));
  Memory x = Memory::filled(bf16, {128, 64}, 0), y = Memory::filled(bf16, {128, 64}, notANumber),
         c = Memory::filled(f32, {128, 64}, notANumber);
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i % 7) - 3;
  run(artifact, {&x, &y, &c});
  for (int64_t row = 0; row < 128; ++row)
    for (int64_t column = 0; column < 64; ++column) {
      REQUIRE(y.at({row, column}) == x.at({(row + 64) % 128, column}));
      double sum = 0;
      for (int64_t at = 0; at < 64; ++at)
        sum += x.at({(row + 64) % 128, at}) * x.at({(row < 64 ? 64 : 0) + column, at});
      REQUIRE(c.at({row, column}) == 2 * sum);
    }
}
