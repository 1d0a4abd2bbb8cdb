// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accumulators of 16 bits leave through panels in shared memory, by the TMA or by threads: rows of any
/// alignment, boxes that are stored twice, tensors in another order, roles of any warps, little memory left.
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
    memory.values[i] = double(int64_t(i) % 5 - 2);
  return memory;
}

constexpr int64_t depth = 64;

struct Factors {
  Global A, B;
};
Factors factorsOf(Scope &k, int64_t rows, int64_t columns) {
  return {k.input("A", bf16, {rows, depth}, {.alignment = 16}),
          k.input("B", bf16, {columns, depth}, {.alignment = 16})};
}

/// A B^T of tile (i, j), by roles that the compiler makes.
Fragment product(Scope &k, const Factors &p, const Index &i, const Index &j, int64_t bm, int64_t bn,
                 int64_t stages) {
  Shared a = k.shared("a", bf16, {bm, 64}), b = k.shared("b", bf16, {bn, 64});
  Fragment sum = k.fragment(f32, {bm, bn}).named("sum");
  k.pipelined(depth / 64, {.stages = stages}, [&](Index s) {
    copy(p.A.tile({i * bm, s * 64}, {bm, 64}), a);
    copy(p.B.tile({j * bn, s * 64}, {bn, 64}), b);
    gemm(a, b.t(), sum);
  });
  return sum;
}

struct Matrices {
  Memory a, b;
  Matrices(int64_t rows, int64_t columns)
      : a(counting(bf16, {rows, depth})), b(counting(bf16, {columns, depth})) {}
  double product(int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t at = 0; at < depth; ++at)
      sum += a.at({row, at}) * b.at({column, at});
    return sum;
  }
  /// Elements of C that are not `factor` times the product's.
  int64_t wrong(Memory &c, double factor = 1) {
    int64_t count = 0;
    for (int64_t row = 0; row < c.shape[0]; ++row)
      for (int64_t column = 0; column < c.shape[1]; ++column)
        count += c.at({row, column}) != factor * product(row, column);
    return count;
  }
};

bool hasPanels(const Artifact &artifact) {
  return artifact.variants.front().ptx.find("stmatrix") != std::string::npos;
}

} // namespace

TEST_CASE("rows of any alignment leave through panels", "[panel-stores]") {
  int64_t columns = GENERATE(1, 63, 129, 200), rows = GENERATE(65, 128), padding = GENERATE(0, 3);
  Artifact artifact = compiled(Program::trace("unaligned", [&](Scope &k) {
    Factors p = factorsOf(k, rows, columns);
    Global C = k.output("C", bf16, {rows, columns}, {.alignment = 2});
    auto [i, j] = k.grid(ceilDiv(rows, 128), ceilDiv(columns, 128));
    copy(product(k, p, i, j, 128, 128, 2).to(bf16), C.tile({i * 128, j * 128}, {128, 128}));
  }));
  CHECK(hasPanels(artifact));
  Matrices m(rows, columns);
  Memory c = Memory::filled(bf16, {rows, columns}, notANumber, padding);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c) == 0);
}

TEST_CASE("tiles that end in the middle of a panel leave through narrower ones", "[panel-stores]") {
  int64_t bn = GENERATE(32, 96, 160, 224), columns = GENERATE(8, 200, 256), alignment = GENERATE(2, 16);
  constexpr int64_t rows = 72, bm = 128;
  Artifact artifact = compiled(Program::trace("narrow", [&](Scope &k) {
    Factors p = factorsOf(k, rows, columns);
    Global C = k.output("C", bf16, {rows, columns}, {.alignment = alignment});
    auto [i, j] = k.grid(ceilDiv(rows, bm), ceilDiv(columns, bn));
    Shared a = k.shared("a", bf16, {bm, 32}), b = k.shared("b", bf16, {bn, 32});
    Fragment sum = k.fragment(f32, {bm, bn}).named("sum");
    k.pipelined(depth / 32, {.stages = 2}, [&, i = i, j = j](Index s) { // a step alone makes no roles
      copy(p.A.tile({i * bm, s * 32}, {bm, 32}), a);
      copy(p.B.tile({j * bn, s * 32}, {bn, 32}), b);
      gemm(a, b.t(), sum);
    });
    copy(sum.to(bf16), C.tile({i * bm, j * bn}, {bm, bn}));
  }));
  CHECK(hasPanels(artifact));
  bool isByTma = artifact.variants.front().ptx.find("cp.async.bulk.tensor.2d.global") != std::string::npos;
  CHECK(isByTma == (alignment == 16));
  Matrices m(rows, columns);
  Memory c = Memory::filled(bf16, {rows, columns}, notANumber);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c) == 0);
}

TEST_CASE("panels keep the order of a workspace", "[panel-stores]") {
  ElementType element = GENERATE(f16, bf16);
  Artifact artifact = compiled(Program::trace("ordered", [&](Scope &k) {
    Factors p = factorsOf(k, 128, 256);
    Global C = k.output("C", f32, {128, 256});
    Global kept = k.workspace("kept", element, {128, 256}, {.order = TensorOrder::accumulator});
    k.launch("write", [&] {
      auto [i, j] = k.grid(1, 2);
      copy(product(k, p, i, j, 128, 128, 3).to(element), kept.tile({i * 128, j * 128}, {128, 128}));
    });
    k.launch("read", [&] {
      auto [i, j] = k.grid(2, 4);
      Fragment x = k.fragment(element, {64, 64});
      copy(kept.tile({i * 64, j * 64}, {64, 64}), x);
      copy(x.to(f32), C.tile({i * 64, j * 64}, {64, 64}));
    });
  }));
  Matrices m(128, 256);
  Memory c = Memory::filled(f32, {128, 256}, notANumber),
         kept = Memory::filled(element, {128, 256}, notANumber);
  run(artifact, {&m.a, &m.b, &c, &kept});
  CHECK(m.wrong(c) == 0);
}

TEST_CASE("a box that is stored twice has what came last", "[panel-stores]") {
  // With four stages only the first store has room for panels.
  int64_t stages = GENERATE(2, 4);
  Artifact artifact = compiled(Program::trace("twice", [&](Scope &k) {
    Factors p = factorsOf(k, 128, 256);
    Global C = k.output("C", bf16, {128, 256}, {.alignment = 2});
    auto [i, j] = k.grid(1, 1);
    Fragment sum = product(k, p, i, j, 128, 256, stages);
    copy(sum.to(bf16), C.tile({i * 128, j * 256}, {128, 256}));
    copy((sum * 2).to(bf16), C.tile({i * 128, j * 256}, {128, 256}));
  }));
  Matrices m(128, 256);
  Memory c = Memory::filled(bf16, {128, 256}, notANumber);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c, 2) == 0);
}

TEST_CASE("roles that are no whole warpgroups store without panels", "[panel-stores]") {
  struct Roles {
    int64_t load, store;
  };
  auto [load, store] = GENERATE(Roles{1, 4}, Roles{4, 6}, Roles{4, 4}, Roles{1, 2});
  int64_t alignment = GENERATE(2, 16);
  Artifact artifact = compiled(Program::trace("roles", [&, load = load, store = store](Scope &k) {
    Factors p = factorsOf(k, 128, 64);
    Global C = k.output("C", bf16, {128, 64}, {.alignment = alignment});
    k.grid(1);
    Shared a = k.shared("a", bf16, {128, 64}, {.slots = 1}), b = k.shared("b", bf16, {64, 64}, {.slots = 1});
    Shared out = k.shared("out", bf16, {128, 64});
    Channel loaded = k.channel("ab", {.slots = 1});
    Barrier done = k.barrier("done", 256);
    k.roles([&] {
      k.role("math", {.warps = 8}, [&] {
        Fragment sum = k.fragment(f32, {128, 64}).named("sum");
        Slot at = loaded.get();
        gemmAsync(a.slot(at), b.slot(at).t(), sum);
        gemmWait(sum);
        loaded.release();
        copy(sum.to(bf16), out);
        done.arrive();
      });
      k.role("load", {.warps = load}, [&] {
        loaded.put([&](const Slot &at) {
          copy(p.A.tile({0, 0}, {128, 64}), a.slot(at));
          copy(p.B.tile({0, 0}, {64, 64}), b.slot(at));
        });
      });
      k.role("store", {.warps = store}, [&] {
        Fragment x = k.fragment(bf16, {128, 64});
        done.wait(0);
        copy(out, x);
        copy(x, C.tile({0, 0}, {128, 64}));
      });
    });
  }));
  Matrices m(128, 64);
  Memory c = Memory::filled(bf16, {128, 64}, notANumber);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c) == 0);
}

TEST_CASE("boxes that begin below 0 leave through panels", "[panel-stores]") {
  int64_t rowsBelow = GENERATE(0, 8, 64), columnsBelow = GENERATE(0, 8);
  Artifact artifact = compiled(Program::trace("below", [&](Scope &k) {
    Factors p = factorsOf(k, 128, 128);
    Global C = k.output("C", bf16, {128, 128}, {.alignment = 16});
    auto [i, j] = k.grid(3, 3);
    Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {64, 32});
    Fragment sum = k.fragment(f32, {64, 64}).named("sum");
    k.pipelined(2, {.stages = 2}, [&, i = i, j = j](Index s) {
      copy(p.A.tile({i * 64 - rowsBelow, s * 32}, {64, 32}), a);
      copy(p.B.tile({j * 64 - columnsBelow, s * 32}, {64, 32}), b);
      gemm(a, b.t(), sum);
    });
    copy(sum.to(bf16), C.tile({i * 64 - rowsBelow, j * 64 - columnsBelow}, {64, 64}));
  }));
  CHECK_THAT(artifact.variants.front().ptx, Catch::Contains("cp.async.bulk.tensor.2d.global.shared::cta"));
  Matrices m(128, 128);
  Memory c = Memory::filled(bf16, {128, 128}, notANumber);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c) == 0);
}

TEST_CASE("panels of threads take no barrier", "[panel-stores]") {
  Artifact artifact = compiled(Program::trace("barriers", [&](Scope &k) {
    Factors p = factorsOf(k, 128, 64);
    Global C = k.output("C", bf16, {128, 64}, {.alignment = 2});
    k.grid(1);
    Shared a = k.shared("a", bf16, {128, 64}, {.slots = 1}), b = k.shared("b", bf16, {64, 64}, {.slots = 1});
    Channel loaded = k.channel("ab", {.slots = 1});
    std::vector<NamedBarrier> barriers;
    for (int i = 0; i < 14; ++i)
      barriers.push_back(k.namedBarrier(8));
    k.roles([&] {
      k.role("math", {.warps = 8}, [&] {
        Fragment sum = k.fragment(f32, {128, 64}).named("sum");
        Slot at = loaded.get();
        gemmAsync(a.slot(at), b.slot(at).t(), sum);
        gemmWait(sum);
        for (NamedBarrier &barrier : barriers)
          barrier.sync();
        copy(sum.to(bf16), C.tile({0, 0}, {128, 64}));
      });
      k.role("load", {.warps = 1}, [&] {
        loaded.put([&](const Slot &at) {
          copy(p.A.tile({0, 0}, {128, 64}), a.slot(at));
          copy(p.B.tile({0, 0}, {64, 64}), b.slot(at));
        });
      });
    });
  }));
  CHECK(hasPanels(artifact));
  Matrices m(128, 64);
  Memory c = Memory::filled(bf16, {128, 64}, notANumber);
  run(artifact, {&m.a, &m.b, &c});
  CHECK(m.wrong(c) == 0);
}
