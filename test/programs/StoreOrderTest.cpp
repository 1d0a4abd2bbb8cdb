// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accesses of a tensor by a block: what comes later in the program finds what came before, whichever threads
/// and units make them.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

Memory counting(ElementType element, std::vector<int64_t> shape) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double(int64_t(i) % 5 - 2);
  return memory;
}

/// C := A B, 128x128 of 128x64 and 64x128, by a role that loads and one that multiplies and goes on with
/// `rest`.
Artifact productThen(const std::function<void(Scope &, Fragment, Global)> &rest) {
  return compiled(Program::trace("product", [&](Scope &k) {
    Global A = k.input("A", bf16, {128, 64}, {.alignment = 16});
    Global B = k.input("B", bf16, {64, 128}, {.alignment = 16});
    Global C = k.inout("C", bf16, {256, 128}, {.alignment = 16});
    Fragment sum = k.fragment(f32, {128, 128}).named("sum");
    k.pipelined(2, {.stages = 2}, [&](Index s) {
      Shared a = k.shared("a", bf16, {128, 32}), b = k.shared("b", bf16, {32, 128});
      copy(A.tile({0, s * 32}, {128, 32}), a);
      copy(B.tile({s * 32, 0}, {32, 128}), b);
      gemm(a, b, sum);
    });
    rest(k, sum, C);
  }));
}

struct Matrices {
  Memory a = counting(bf16, {128, 64}), b = counting(bf16, {64, 128}), c = counting(bf16, {256, 128});

  double product(int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t at = 0; at < 64; ++at)
      sum += a.at({row, at}) * b.at({at, column});
    return sum;
  }
};

/// Fails unless C has what `expected` says.
void check(const Artifact &artifact, const std::function<double(Matrices &, int64_t, int64_t)> &expected) {
  Matrices m, before;
  run(artifact, {&m.a, &m.b, &m.c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < 256; ++row)
    for (int64_t column = 0; column < 128; ++column)
      wrong += m.c.at({row, column}) != expected(before, row, column);
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("what the TMA stores is read by the same block", "[store-order]") {
  Artifact artifact = productThen([](Scope &k, Fragment sum, Global C) {
    copy(sum.to(bf16), C.tile({0, 0}, {128, 128}));
    k.loop(2, [&](Index) {
      Fragment rows = k.fragment(bf16, {64, 128}); // of other threads
      copy(C.tile({32, 0}, {64, 128}), rows);
      copy(rows, C.tile({160, 0}, {64, 128}));
    });
  });
  check(artifact, [](Matrices &m, int64_t row, int64_t column) {
    bool isCopied = row >= 160 && row < 224;
    return row < 128  ? m.product(row, column)
           : isCopied ? m.product(row - 128, column)
                      : m.c.at({row, column});
  });
}

TEST_CASE("stores through the TMA to boxes that overlap", "[store-order]") {
  Artifact artifact = productThen([](Scope &k, Fragment sum, Global C) {
    k.loop(3, [&](Index i) { copy((sum + i.to(f32)).to(bf16), C.tile({i * 64, 0}, {128, 128})); });
  });
  check(artifact, [](Matrices &m, int64_t row, int64_t column) {
    int64_t last = std::min<int64_t>(row / 64, 2);
    return row < 256 ? m.product(row - last * 64, column) + double(last) : m.c.at({row, column});
  });
}

TEST_CASE("stores by threads and through the TMA to one box", "[store-order]") {
  Artifact artifact = productThen([](Scope &k, Fragment sum, Global C) {
    k.loop(2, [&](Index) {
      copy(k.fragment(bf16, {128, 32}, 7), C.tile({0, 16}, {128, 32})); // too narrow for the TMA
      copy(sum.to(bf16), C.tile({0, 0}, {128, 128}));
      copy(k.fragment(bf16, {16, 8}, 9), C.tile({120, 120}, {16, 8}));
    });
  });
  check(artifact, [](Matrices &m, int64_t row, int64_t column) {
    bool isLast = row >= 120 && row < 136 && column >= 120;
    return isLast ? 9 : row < 128 ? m.product(row, column) : m.c.at({row, column});
  });
}

TEST_CASE("stores of fragments in different layouts to one box", "[store-order]") {
  Artifact artifact = compiled(Program::trace("stores", [](Scope &k) {
    Global X = k.input("X", bf16, {64, 64}), Y = k.output("Y", f32, {64, 64});
    auto [block] = k.grid(1);
    Shared x = k.shared("x", bf16, {64, 64});
    copy(X.tile({0, 0}, {64, 64}), x);
    Fragment product = k.fragment(f32, {64, 64});
    gemm(x, x.t(), product);
    Fragment last = k.fragment(f32, {64, 64}, 3);
    copy(product, Y.tile({block * 64, 0}, {64, 64}));
    copy(last, Y.tile({block * 64, 0}, {64, 64}));
  }));
  Memory x = counting(bf16, {64, 64}), y = Memory::filled(f32, {64, 64}, notANumber);
  run(artifact, {&x, &y});
  CHECK(y.values == Memory::filled(f32, {64, 64}, 3).values);
}

TEST_CASE("what one role stores, another one loads through the TMA", "[store-order]") {
  // By threads, and from shared memory by the TMA itself.
  for (bool byTma : {false, true}) {
    Artifact artifact = compiled(Program::trace("roles", [&](Scope &k) {
      Global X = k.input("X", bf16, {64, 64}, {.alignment = 16});
      Global Y = k.inout("Y", bf16, {64, 64}, {.alignment = 16});
      Global Z = k.output("Z", bf16, {64, 64});
      Shared from = k.shared("from", bf16, {64, 64});
      Shared to = k.shared("to", bf16, {64, 64}, {.slots = 1});
      Channel loaded = k.channel("to", {.slots = 1});
      Barrier stored = k.barrier("stored", 128);
      k.roles([&] {
        k.role("first", {.warps = 4}, [&] {
          Fragment x = k.fragment(bf16, {64, 64});
          copy(X.tile({0, 0}, {64, 64}), x);
          if (byTma) {
            copy(x, from);
            copy(from, Y.tile({0, 0}, {64, 64}));
          } else {
            copy(x, Y.tile({0, 0}, {64, 64}));
          }
          stored.arrive();
        });
        k.role("second", {.warps = 4}, [&] {
          stored.wait(0);
          loaded.put([&](const Slot &at) { copy(Y.tile({0, 0}, {64, 64}), to.slot(at)); });
          Fragment z = k.fragment(bf16, {64, 64});
          copy(to.slot(loaded.get()), z);
          copy(z, Z.tile({0, 0}, {64, 64}));
        });
      });
    }));
    Memory x = counting(bf16, {64, 64}), y = Memory::filled(bf16, {64, 64}, 1),
           z = Memory::filled(bf16, {64, 64}, notANumber);
    run(artifact, {&x, &y, &z});
    CHECK(z.values == x.values);
  }
}
