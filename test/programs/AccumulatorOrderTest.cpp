// SPDX-License-Identifier: Apache-2.0
/// \file
/// Workspaces in the order of accumulators, and additions of vectors: extents of all kinds, what was chosen.
#include "dialects/layout/AccumulatorOrder.h"

#include "runtime/support/Math.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Contains;

namespace {

Memory counting(ElementType element, std::vector<int64_t> shape, int64_t padding = 0) {
  Memory memory = Memory::filled(element, std::move(shape), 0, padding);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(i % 23) - 7;
  return memory;
}

/// Memory for a workspace of so many rows and columns.
Memory pieces(ElementType element, int64_t heads, int64_t rows, int64_t columns, double value) {
  return Memory::filled(
      element, {heads, alignTo(rows, accumulatorRows.extent), alignTo(columns, accumulatorColumns.extent)},
      value);
}

int64_t placeOf(const Memory &memory, int64_t head, int64_t row, int64_t column) {
  return head * memory.strides[0] + row / 16 * 16 * memory.strides[1] + column / 8 * 128 +
         accumulatorRows.placeInPiece(row) + accumulatorColumns.placeInPiece(column);
}

std::string ptxOf(const Artifact &artifact) { return artifact.variants.front().ptx; }

bool isScattered(const Artifact &artifact) {
  return std::ranges::any_of(artifact.remarks,
                             [](const Remark &remark) { return remark.id == "scattered-elements"; });
}

} // namespace

TEST_CASE("products are added in vectors of four, and read so by another launch", "[accumulator-order]") {
  int64_t rows = GENERATE(1, 15, 16, 17, 63, 70, 130);
  Artifact artifact = compiled(Program::trace("parts", [](Scope &k) {
    Index heads = k.dim("heads"), rows = k.dim("rows");
    Global A = k.input("A", bf16, {heads, rows, 32}), B = k.input("B", bf16, {32, 64});
    Global C = k.output("C", f32, {heads, rows, 64});
    Global sums = k.workspace("sums", f32, {heads, rows, 64}, {Initial::undefined, TensorOrder::accumulator});
    k.launch("add", [&] {
      auto [i, head] = k.grid(ceilDiv(rows, 64), heads);
      Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 64});
      copy(A.tile({head, i * 64, 0}, {1, 64, 32}), a);
      copy(B.tile({0, 0}, {32, 64}), b);
      Fragment acc = k.fragment(f32, {64, 64});
      gemm(a, b, acc);
      atomicAdd(acc, sums.tile({head, i * 64, 0}, {1, 64, 64}));
      atomicAdd(acc, sums.tile({head, i * 64, 0}, {1, 64, 64}));
    });
    k.launch("read", [&] {
      auto [i, head] = k.grid(ceilDiv(rows, 32), heads);
      Fragment sum = k.fragment(f32, {32, 64});
      copy(sums.tile({head, i * 32, 0}, {1, 32, 64}), sum);
      copy(sum, C.tile({head, i * 32, 0}, {1, 32, 64}));
    });
  }));
  CHECK_FALSE(isScattered(artifact));
  CHECK_THAT(ptxOf(artifact), Contains("red.relaxed.gpu.global.add.v4.f32"));
  CHECK_THAT(ptxOf(artifact), !Contains("add.f32 [") && !Contains("add.v2.f32"));
  CHECK_THAT(ptxOf(artifact), Contains("ld.global.v4"));
  Memory a = counting(bf16, {2, rows, 32}), b = counting(bf16, {32, 64});
  Memory c = Memory::filled(f32, {2, rows, 64}, notANumber), sums = pieces(f32, 2, rows, 64, 1);
  run(artifact, {&a, &b, &c, &sums});
  int64_t wrong = 0;
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < 64; ++column) {
        double expected = 1;
        for (int64_t at = 0; at < 32; ++at)
          expected += 2 * a.at({head, row, at}) * b.at({at, column});
        wrong += c.at({head, row, column}) != expected;
        wrong += sums.values[size_t(placeOf(sums, head, row, column))] != expected;
      }
  CHECK(wrong == 0);
}

TEST_CASE("any box of a workspace in the order of accumulators", "[accumulator-order]") {
  // Boxes that begin anywhere, fragments of every layout: slow, and right.
  int64_t columns = GENERATE(8, 20, 33), warps = GENERATE(1, 3, 8), first = GENERATE(-3, 0, 5);
  Artifact artifact = compiled(Program::trace("boxes", [&](Scope &k) {
    Index rows = k.dim("rows");
    Global X = k.input("X", f16, {rows, columns}), Y = k.output("Y", f16, {rows, columns});
    Global kept = k.workspace("kept", f16, {rows, columns}, {.order = TensorOrder::accumulator});
    k.launch("write", [&] {
      auto [i] = k.grid(ceilDiv(rows, 24));
      k.warps(warps);
      Fragment x = k.fragment(f16, {24, 40});
      copy(X.tile({i * 24, 0}, {24, 40}), x);
      copy(x, kept.tile({i * 24, 0}, {24, 40}));
    });
    k.launch("read", [&] {
      auto [i] = k.grid(ceilDiv(rows + 3, 40));
      Fragment y = k.fragment(f16, {40, 16});
      k.loop(3, [&](Index j) {
        copy(kept.tile({i * 40 + first, j * 16}, {40, 16}).limited(0, rows - 1).fill(2), y);
        copy(y, Y.tile({i * 40 + first, j * 16}, {40, 16}));
      });
    });
  }));
  CHECK(isScattered(artifact));
  const int64_t rows = 50;
  Memory x = counting(f16, {rows, columns}, 3), y = Memory::filled(f16, {rows, columns}, notANumber);
  Memory kept = pieces(f16, 1, rows, columns, notANumber);
  kept.shape.erase(kept.shape.begin());
  kept.strides.erase(kept.strides.begin());
  run(artifact, {&x, &y, &kept});
  int64_t wrong = 0;
  for (int64_t row = std::max<int64_t>(first, 0); row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      // A limited slice that begins before the tensor is outside altogether.
      bool isFilled = row == rows - 1 || (first < 0 && row < 40 + first);
      wrong += y.at({row, column}) != (isFilled ? 2 : x.at({row, column}));
    }
  CHECK(wrong == 0);
}

TEST_CASE("stores of whole pieces leave what others hold, loads see no padding", "[accumulator-order]") {
  int64_t rows = GENERATE(64, 70, 79, 81);
  Artifact artifact = compiled(Program::trace("whole", [&](Scope &k) {
    Index n = k.dim("rows");
    Global X = k.input("X", f32, {n, 24}), Y = k.output("Y", f32, {n, 24}),
           Last = k.output("Last", f32, {16, 24});
    Global kept = k.workspace("kept", f32, {n, 24}, {.order = TensorOrder::accumulator});
    k.launch("write", [&] {
      auto [i] = k.grid(ceilDiv(n, 16));
      Fragment x = k.fragment(f32, {16, 24});
      copy(X.tile({i * 16, 0}, {16, 24}), x);
      copy(x, kept.tile({i * 16, 0}, {16, 24}));
    });
    k.launch("read", [&] {
      auto [i] = k.grid(ceilDiv(n, 16));
      Fragment y = k.fragment(f32, {16, 24});
      Slice tile = kept.tile({i * 16, 0}, {16, 24});
      copy(tile.fill(5), y);
      copy(y, Y.tile({i * 16, 0}, {16, 24}));
      k.when(i == (n - 1) / 16, [&] { copy(y, Last.tile({0, 0}, {16, 24})); });
    });
  }));
  Memory x = counting(f32, {rows, 24}), y = Memory::filled(f32, {rows, 24}, notANumber);
  Memory last = Memory::filled(f32, {16, 24}, notANumber), kept = pieces(f32, 1, rows, 24, notANumber);
  kept.shape.erase(kept.shape.begin());
  kept.strides.erase(kept.strides.begin());
  run(artifact, {&x, &y, &last, &kept});
  CHECK(y.values == x.values);
  int64_t wrong = 0, begin = (rows - 1) / 16 * 16;
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t column = 0; column < 24; ++column)
      wrong += last.at({row, column}) != (begin + row < rows ? x.at({begin + row, column}) : 5);
  CHECK(wrong == 0);
}

TEST_CASE("the TMA combines whole pieces of a shared tile", "[accumulator-order]") {
  struct Kind {
    const char *instruction;
    void (*ofTile)(const Shared &, const Slice &, Loc);
    std::function<int64_t(int64_t, int64_t)> combine;
  };
  for (const auto &[instruction, ofTile, combine] : {Kind{"and.b32", atomicAnd, std::bit_and<>()},
                                                     {"or.b32", atomicOr, std::bit_or<>()},
                                                     {"xor.b32", atomicXor, std::bit_xor<>()}}) {
    CAPTURE(instruction);
    Artifact artifact = compiled(Program::trace("bits", [&](Scope &k) {
      Index n = k.dim("rows");
      Global X = k.input("X", i32, {n, 32}), Y = k.output("Y", i32, {n, 32});
      Global kept = k.workspace("kept", i32, {n, 32}, {.order = TensorOrder::accumulator});
      k.launch("combine", [&] {
        auto [i] = k.grid(ceilDiv(n, 64));
        Shared tile = k.shared("tile", i32, {64, 32});
        Fragment x = k.fragment(i32, {64, 32});
        copy(X.tile({i * 64, 0}, {64, 32}), x);
        copy(x, tile);
        ofTile(tile, kept.tile({i * 64, 0}, {64, 32}), Loc::current());
      });
      k.launch("read", [&] {
        auto [i] = k.grid(ceilDiv(n, 64));
        Fragment y = k.fragment(i32, {64, 32});
        copy(kept.tile({i * 64, 0}, {64, 32}), y);
        copy(y, Y.tile({i * 64, 0}, {64, 32}));
      });
    }));
    CHECK_THAT(ptxOf(artifact), Contains("cp.reduce.async.bulk.global.shared::cta.bulk_group." +
                                         std::string(instruction) + " ["));
    constexpr int64_t rows = 83, before = 0x5A5A5A5A;
    Memory x = Memory::filled(i32, {rows, 32}, 0), y = x, kept = pieces(i32, 1, rows, 32, before);
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = double(int32_t(i * 2654435761u));
    kept.shape.erase(kept.shape.begin());
    kept.strides.erase(kept.strides.begin());
    run(artifact, {&x, &y, &kept});
    int64_t wrong = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < 32; ++column)
        wrong += y.at({row, column}) != double(combine(before, int64_t(x.at({row, column}))));
    CHECK(wrong == 0);
  }
}

TEST_CASE("a launch whose additions are vectors wants an aligned tensor", "[atomic]") {
  Artifact artifact = compiled(Program::trace("numbers", [](Scope &k) {
    Index rows = k.dim("rows");
    Global Y = k.inout("Y", f32, {rows, 64});
    auto [i] = k.grid(ceilDiv(rows, 8));
    atomicAdd(k.fragment(f32, {8, 64}, 3), Y.tile({i * 8, 0}, {8, 64}));
  }));
  CHECK_THAT(ptxOf(artifact), Contains("add.v4.f32"));
  int64_t padding = GENERATE(0, 1, 2, 4);
  Memory y = counting(f32, {9, 64}, padding), before = y;
  run(artifact, {&y});
  for (int64_t row = 0; row < 9; ++row)
    CHECK(y.at({row, 63}) == before.at({row, 63}) + 3);
}

TEST_CASE("additions take as many elements as lie side by side", "[atomic]") {
  // Rows that are whole vectors, rows that end within one, and a tensor that is not aligned.
  auto [columns, padding, vectors] =
      GENERATE(table<int64_t, int64_t, bool>({{64, 0, true}, {62, 2, true}, {63, 1, true}, {63, 0, true}}));
  Artifact artifact = compiled(Program::trace("vectors", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns}), Y = k.inout("Y", f32, {rows, columns});
    auto [i] = k.grid(ceilDiv(rows, 8));
    Fragment x = k.fragment(f32, {8, 64});
    copy(X.tile({i * 8, 0}, {8, 64}), x);
    atomicAdd(x, Y.tile({i * 8, 0}, {8, 64}));
    atomicAdd(x, Y.tile({i * 8, 0}, {8, 64}));
  }));
  CHECK((ptxOf(artifact).find("add.v4.f32") != std::string::npos) == vectors);
  Memory x = counting(f32, {19, columns}, padding), y = counting(f32, {19, columns}, padding), before = y;
  run(artifact, {&x, &y});
  int64_t wrong = 0;
  for (int64_t row = 0; row < 19; ++row)
    for (int64_t column = 0; column < columns; ++column)
      wrong += y.at({row, column}) != before.at({row, column}) + 2 * x.at({row, column});
  CHECK(wrong == 0);
}
