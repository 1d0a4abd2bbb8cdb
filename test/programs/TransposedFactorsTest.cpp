// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of wgmma whose factors lie either way in shared memory, with every warp policy: in a pipelined
/// loop, and with roles by hand.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t tile = 128, step = 64;

struct Form {
  bool transposedA, transposedB;
  WarpPolicy policy;
};

/// A tensor that holds rows x columns of a factor, or its transpose.
Global factor(Scope &k, const char *name, const Index &rows, const Index &columns, bool isTransposed) {
  return isTransposed ? k.input(name, bf16, {columns, rows}, {.alignment = 16})
                      : k.input(name, bf16, {rows, columns}, {.alignment = 16});
}

Slice box(const Global &tensor, bool isTransposed, const Index &row, const Index &column, int64_t rows,
          int64_t columns) {
  return isTransposed ? tensor.tile({column, row}, {columns, rows})
                      : tensor.tile({row, column}, {rows, columns});
}

dsl::Shape shapeOf(bool isTransposed, int64_t rows, int64_t columns) {
  return isTransposed ? dsl::Shape{columns, rows} : dsl::Shape{rows, columns};
}

struct Arguments {
  explicit Arguments(Scope &k, const Form &form)
      : m(k.dim("m")), n(k.dim("n")), depth(k.dim("k")), a(factor(k, "A", m, depth, form.transposedA)),
        b(factor(k, "B", depth, n, form.transposedB)), c(k.output("C", f32, {m, n})) {}
  Index m, n, depth;
  Global a, b, c;
};

Program pipelined(const Form &form) {
  return Program::trace("pipelined", [&](Scope &k) {
    Arguments p(k, form);
    k.require(Requirement::wgmma);
    k.require(Requirement::warpSpecialized);
    auto [i, j] = k.grid(ceilDiv(p.m, tile), ceilDiv(p.n, tile));
    Shared a = k.shared("a", bf16, shapeOf(form.transposedA, tile, step));
    Shared b = k.shared("b", bf16, shapeOf(form.transposedB, step, tile));
    Fragment acc = k.fragment(f32, {tile, tile});
    k.pipelined(ceilDiv(p.depth, step), {.stages = 2}, [&](Index s) {
      copy(box(p.a, form.transposedA, i * tile, s * step, tile, step), a);
      copy(box(p.b, form.transposedB, s * step, j * tile, step, tile), b);
      gemm(form.transposedA ? a.t() : a, form.transposedB ? b.t() : b, acc, form.policy);
    });
    copy(acc, p.c.tile({i * tile, j * tile}, {tile, tile}));
  });
}

Program byHand(const Form &form) {
  return Program::trace("by_hand", [&](Scope &k) {
    Arguments p(k, form);
    auto [i, j] = k.grid(ceilDiv(p.m, tile), ceilDiv(p.n, tile));
    Shared a = k.shared("a", bf16, shapeOf(form.transposedA, tile, step), {.slots = 2});
    Shared b = k.shared("b", bf16, shapeOf(form.transposedB, step, tile), {.slots = 2});
    Channel loaded = k.channel("ab", {.slots = 2});
    Index steps = ceilDiv(p.depth, step);
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(steps, [&](Index s) {
          loaded.put([&](const Slot &at) {
            copy(box(p.a, form.transposedA, i * tile, s * step, tile, step), a.slot(at));
            copy(box(p.b, form.transposedB, s * step, j * tile, step, tile), b.slot(at));
          });
        });
      });
      k.role("math", {.warps = 8}, [&] {
        Fragment acc = k.fragment(f32, {tile, tile});
        k.loop(steps, [&](Index) {
          Slot at = loaded.get();
          Shared left = a.slot(at), right = b.slot(at);
          gemmAsync(form.transposedA ? left.t() : left, form.transposedB ? right.t() : right, acc,
                    form.policy);
          gemmWait(acc);
          loaded.release();
        });
        copy(acc, p.c.tile({i * tile, j * tile}, {tile, tile}));
      });
    });
  });
}

Memory counting(std::vector<int64_t> shape) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(i % 13) - 5;
  return memory;
}

} // namespace

TEST_CASE("factors that lie either way, whatever the warps' shares", "[products]") {
  bool isByHand = GENERATE(false, true), transposedA = GENERATE(false, true),
       transposedB = GENERATE(false, true);
  WarpPolicy policy = GENERATE(WarpPolicy::fullRow, WarpPolicy::fullColumn, WarpPolicy::square);
  Form form = {transposedA, transposedB, policy};
  INFO("by hand " << isByHand << ", transposed " << transposedA << transposedB << ", policy " << int(policy));
  Artifact artifact = compiled(isByHand ? byHand(form) : pipelined(form));
  const int64_t m = 136, n = 72, depth = 104; // of 128 x 128 x 64
  Memory a = counting(transposedA ? std::vector{depth, m} : std::vector{m, depth});
  Memory b = counting(transposedB ? std::vector{n, depth} : std::vector{depth, n});
  Memory c = Memory::filled(f32, {m, n}, notANumber);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double expected = 0;
      for (int64_t at = 0; at < depth; ++at)
        expected += (transposedA ? a.at({at, row}) : a.at({row, at})) *
                    (transposedB ? b.at({column, at}) : b.at({at, column}));
      wrong += c.at({row, column}) != expected;
    }
  CHECK(wrong == 0);
}
