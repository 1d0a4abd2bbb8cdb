// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors whose last stride is known at run time only.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// A tensor of these strides, whose elements are numbers of their positions; other memory is 77.
Memory strided(ElementType type, std::vector<int64_t> shape, std::vector<int64_t> strides,
               bool isFilled = true) {
  Memory memory{type, std::move(shape), std::move(strides), {}};
  int64_t last = 0;
  for (size_t axis = 0; axis < memory.shape.size(); ++axis)
    last += (memory.shape[axis] - 1) * memory.strides[axis];
  memory.values.assign(size_t(last + 1), 77);
  for (int64_t i = 0; isFilled && i < memory.shape[0]; ++i)
    for (int64_t j = 0; j < memory.shape[1]; ++j)
      memory.at({i, j}) = double((i * 7 + j * 3) % 11 - (type == u8 ? 0 : 5));
  return memory;
}

/// Elements of two tensors of one shape that differ, and elements of the second one's memory that are no
/// element and are not 77 any more.
int64_t countWrong(Memory &expected, Memory &actual) {
  int64_t wrong = 0;
  std::vector<bool> isElement(actual.values.size());
  for (int64_t i = 0; i < actual.shape[0]; ++i)
    for (int64_t j = 0; j < actual.shape[1]; ++j) {
      wrong += expected.at({i, j}) != actual.at({i, j});
      isElement[size_t(i * actual.strides[0] + j * actual.strides[1])] = true;
    }
  for (size_t place = 0; place < actual.values.size(); ++place)
    wrong += !isElement[place] && actual.values[place] != 77;
  return wrong;
}

constexpr TensorFacts anyStride = {.lastStride = LastStride::any};

} // namespace

TEST_CASE("copies of tensors with any last stride", "[strides]") {
  constexpr int64_t m = 37, n = 45;
  using Strides = std::vector<int64_t>;
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {u8, bf16, f32, f64}) {
      Artifact artifact =
          compiled(Program::trace("copies",
                                  [&](Scope &k) {
                                    Index rows = k.dim("m"), columns = k.dim("n");
                                    Global X = k.input("X", type, {rows, columns}, anyStride);
                                    Global Y = k.output("Y", type, {rows, columns}, anyStride);
                                    Global Z = k.output("Z", type, {rows, columns}, anyStride);
                                    auto [i, j] = k.grid(ceilDiv(rows, 16), ceilDiv(columns, 32));
                                    Shared tile = k.shared("tile", type, {16, 32});
                                    Fragment x = k.fragment(type, {16, 32});
                                    copy(X.tile({i * 16, j * 32}, {16, 32}), tile);
                                    copy(tile, Y.tile({i * 16, j * 32}, {16, 32}));
                                    copy(X.tile({i * 16, j * 32}, {16, 32}), x);
                                    copy(x, Z.tile({i * 16, j * 32}, {16, 32}));
                                  }),
                   compilingFor(target));
      // Contiguous, transposed, with gaps, and one row or element for all.
      for (const Strides &ofX : {Strides{n, 1}, {1, m}, {n * 3 + 1, 3}, {2, 2 * m}, {0, 1}, {1, 0}, {0, 0}})
        for (const Strides &ofY : {Strides{n, 1}, {1, m + 2}, {2 * n, 2}}) {
          CAPTURE(target, toString(type), ofX, ofY);
          Memory x = strided(type, {m, n}, ofX), y = strided(type, {m, n}, ofY, false), z = y;
          run(artifact, {&x, &y, &z});
          CHECK(countWrong(x, y) == 0);
          CHECK(countWrong(x, z) == 0);
        }
    }
}

TEST_CASE("a product of factors with any last stride", "[strides]") {
  constexpr int64_t m = 70, n = 40, depth = 90;
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    Artifact artifact =
        compiled(Program::trace("product",
                                [&](Scope &k) {
                                  Index rows = k.dim("m"), columns = k.dim("n"), steps = k.dim("k");
                                  Global A = k.input("A", bf16, {rows, steps}, anyStride);
                                  Global B = k.input("B", bf16, {columns, steps});
                                  Global C = k.output("C", f32, {rows, columns}, anyStride);
                                  auto [i, j] = k.grid(ceilDiv(rows, 64), ceilDiv(columns, 32));
                                  Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 32});
                                  Fragment acc = k.fragment(f32, {64, 32});
                                  k.pipelined(ceilDiv(steps, 32), {.stages = 2}, [&](Index s) {
                                    copy(A.tile({i * 64, s * 32}, {64, 32}), a);
                                    copy(B.tile({j * 32, s * 32}, {32, 32}), b);
                                    gemm(a, b.t(), acc);
                                  });
                                  copy(acc, C.tile({i * 64, j * 32}, {64, 32}));
                                }),
                 compilingFor(target));
    auto tellsOf = [&](std::string_view text) {
      return std::ranges::any_of(artifact.remarks, [&](const Remark &remark) {
        return remark.message.find(text) != std::string::npos;
      });
    };
    CHECK(tellsOf("the last stride of 'A' may be any"));
    Memory a = strided(bf16, {m, depth}, {1, m + 1}), b = strided(bf16, {n, depth}, {depth, 1}),
           c = strided(f32, {m, n}, {1, m}, false);
    run(artifact, {&a, &b, &c});
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t at = 0; at < depth; ++at)
          sum += a.at({i, at}) * b.at({j, at});
        wrong += c.at({i, j}) != sum;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gathered rows, sums and limits of tensors with any last stride", "[strides]") {
  constexpr int64_t m = 37, n = 45;
  Artifact artifact = compiled(Program::trace("sums", [&](Scope &k) {
    Index rows = k.dim("m"), columns = k.dim("n");
    Global Row = k.input("Row", i32, {rows}, anyStride), X = k.input("X", f32, {rows, columns}, anyStride);
    Global Y = k.inout("Y", f32, {rows, columns}, anyStride);
    auto [i, j] = k.grid(ceilDiv(rows, 16), ceilDiv(columns, 32));
    Fragment row = k.fragment(i32, {16, 1}), x = k.fragment(f32, {16, 32});
    copy(Row.tile({i * 16}, {16}).fill(-1), row);
    copy(X.tile({row.toIndex(), j * 32}, {16, 32}).limited(1, Row.read({2})), x);
    atomicAdd(x, Y.tile({row.toIndex(), j * 32}, {16, 32}));
  }));
  Memory row = Memory{i32, {m}, {3}, std::vector<double>(size_t(3 * m - 2), 77)};
  for (int64_t i = 0; i < m; ++i)
    row.at({i}) = double((i * 5 + 30) % m); // and 3 as the third one
  Memory x = strided(f32, {m, n}, {2, 2 * m}), y = strided(f32, {m, n}, {1, m}, false);
  run(artifact, {&row, &x, &y});
  const auto limit = int64_t(row.at({2}));
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      wrong += y.at({i, j}) != 77 + (j < limit ? x.at({i, j}) : 0);
  CHECK(wrong == 0);
}
