// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hints for L2: no result depends on them, and each role makes a policy once.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

Memory numbers(ElementType type, std::vector<int64_t> shape, int64_t first) {
  Memory memory = Memory::filled(type, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 37 + first) % 9 - 4);
  return memory;
}

int64_t count(const std::string &text, std::string_view part) {
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Program product(Eviction ofA, Eviction ofB, Eviction ofC) {
  return Program::trace("product", [=](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", bf16, {m, n});
    k.persistent({ceilDiv(m, 128), ceilDiv(n, 64)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {64, 64});
      Fragment acc = k.fragment(f32, {128, 64});
      k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
        copy(A.tile({i * 128, s * 64}, {128, 64}).evict(ofA), a);
        copy(B.tile({j * 64, s * 64}, {64, 64}).evict(ofB), b);
        gemm(a, b.t(), acc);
      });
      copy(acc.to(bf16), C.tile({i * 128, j * 64}, {128, 64}).evict(ofC));
    });
  });
}

} // namespace

TEST_CASE("a product with hints is the product without", "[eviction]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (int64_t depth : {88, 90}) { // rows of whole 16 bytes, and others
      CAPTURE(target, depth);
      constexpr int64_t m = 131, n = 72;
      Memory a = numbers(bf16, {m, depth}, 0), b = numbers(bf16, {n, depth}, 5),
             c = Memory::filled(bf16, {m, n}, 99), d = c;
      run(compiled(product(Eviction::normal, Eviction::normal, Eviction::normal), compilingFor(target)),
          {&a, &b, &c});
      Artifact hinted =
          compiled(product(Eviction::first, Eviction::last, Eviction::first), compilingFor(target));
      run(hinted, {&a, &b, &d});
      CHECK(c.values == d.values);
      // cp.async has no hint, which a remark says; nothing else changes.
      bool copiesAsync = false;
      for (const Variant &variant : hinted.variants)
        copiesAsync |= count(variant.ptx, "cp.async.c") > 0;
      auto hints = std::ranges::count(hinted.remarks, "hint-without-effect", &Remark::id);
      CHECK((hints > 0) == copiesAsync);
      CHECK(hinted.remarks.size() - size_t(hints) ==
            compiled(product(Eviction::normal, Eviction::normal, Eviction::normal), compilingFor(target))
                .remarks.size());
    }
}

TEST_CASE("policies are made once for each role, and for nobody without hints", "[eviction]") {
  Artifact plain = compiled(product(Eviction::normal, Eviction::normal, Eviction::normal));
  for (const Variant &variant : plain.variants) {
    CHECK(count(variant.ptx, "createpolicy") == 0);
    CHECK(count(variant.ptx, "cache_hint") == 0);
  }
  Artifact hinted = compiled(product(Eviction::first, Eviction::last, Eviction::first));
  const std::string &ptx = hinted.variants.front().ptx;
  CHECK(count(ptx, "createpolicy.fractional.L2::evict_first") == 2); // one of each role
  CHECK(count(ptx, "createpolicy.fractional.L2::evict_last") == 1);
  CHECK(count(ptx, "cp.async.bulk.tensor.2d.shared::cluster.global") ==
        count(ptx, "cp.async.bulk.tensor.2d.shared::cluster.global.tile."
                   "mbarrier::complete_tx::bytes.L2::cache_hint"));
}

TEST_CASE("copies of every kind with hints", "[eviction]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {i8, f16, f32, f64}) {
      CAPTURE(target, toString(type));
      constexpr int64_t rows = 37, columns = 45;
      Artifact artifact =
          compiled(Program::trace("copies",
                                  [&](Scope &k) {
                                    Index m = k.dim("m"), n = k.dim("n");
                                    Global Rows = k.input("Rows", i32, {m}), X = k.input("X", type, {m, n});
                                    Global Y = k.output("Y", type, {m, n}), Z = k.output("Z", type, {m, n});
                                    auto [i, j] = k.grid(ceilDiv(m, 16), ceilDiv(n, 32));
                                    Shared tile = k.shared("tile", type, {16, 32});
                                    Fragment row = k.fragment(i32, {16, 1}), x = k.fragment(type, {16, 32});
                                    copy(X.tile({i * 16, j * 32}, {16, 32}).evict(Eviction::last), tile);
                                    copy(tile, Y.tile({i * 16, j * 32}, {16, 32}).evict(Eviction::first));
                                    copy(Rows.tile({i * 16}, {16}).evict(Eviction::last), row);
                                    copy(X.tile({row.toIndex(), j * 32}, {16, 32}).evict(Eviction::last), x);
                                    copy(x, Z.tile({i * 16, j * 32}, {16, 32}).evict(Eviction::first));
                                  }),
                   compilingFor(target));
      CHECK(count(artifact.variants.back().ptx, "ld.global.L2::cache_hint") > 0);
      CHECK(count(artifact.variants.back().ptx, "st.global.L2::cache_hint") > 0);
      Memory index = Memory::filled(i32, {rows}, 0), x = numbers(type, {rows, columns}, 0),
             y = Memory::filled(type, {rows, columns}, 99), z = y;
      for (int64_t row = 0; row < rows; ++row)
        index.at({row}) = double((row * 5 + 3) % rows);
      run(artifact, {&index, &x, &y, &z});
      CHECK(y.values == x.values);
      int64_t wrong = 0;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          wrong += z.at({row, column}) != x.at({(row * 5 + 3) % rows, column});
      CHECK(wrong == 0);
    }
}

TEST_CASE("the TMA loads parts of a row with a hint", "[eviction]") {
  Artifact artifact = compiled(Program::trace("parts", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}, {.alignment = 16}), Y = k.output("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 512));
    Shared x = k.shared("x", f32, {128}, {.slots = 2});
    Channel loaded = k.channel("r", {.slots = 2});
    k.roles([&, block = block] {
      k.role("load", {.warps = 1}, [&] {
        k.loop(4, [&](Index i) {
          loaded.put([&](const Slot &at) {
            copy(X.tile({block * 512 + i * 128}, {128}).evict(Eviction::first), x.slot(at));
          });
        });
      });
      k.role("double", {.warps = 4}, [&] {
        k.loop(4, [&](Index i) {
          Fragment part = k.fragment(f32, {128});
          Slot at = loaded.get();
          copy(x.slot(at), part);
          loaded.release();
          copy(part * 2, Y.tile({block * 512 + i * 128}, {128}));
        });
      });
    });
  }));
  CHECK_THAT(artifact.variants.front().ptx,
             Catch::Contains("cp.async.bulk.tensor.1d.shared::cluster.global.tile."
                             "mbarrier::complete_tx::bytes.L2::cache_hint ["));
  for (int64_t n : {1, 515, 1029}) { // parts that end within a tile, and others outside
    Memory x = numbers(f32, {n}, 3), y = Memory::filled(f32, {n}, 99);
    run(artifact, {&x, &y});
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i)
      wrong += y.at({i}) != 2 * x.at({i});
    CHECK(wrong == 0);
  }
}

TEST_CASE("an atomic operation says that its hint does nothing", "[eviction]") {
  Artifact artifact = compiled(Program::trace("sums", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.inout("Y", f32, {64});
    auto [block] = k.grid(ceilDiv(n, 64));
    Fragment x = k.fragment(f32, {64});
    copy(X.tile({block * 64}, {64}).evict(Eviction::first), x);
    atomicAdd(x, Y.tile({0}, {64}).evict(Eviction::last));
  }));
  REQUIRE(artifact.remarks.size() == 1);
  CHECK(artifact.remarks[0].id == "hint-without-effect");
  CHECK(artifact.remarks[0].message ==
        "hint 'evict last' of the slice of 'Y' has no effect because an atomic "
        "operation has no policy for L2");
  constexpr int64_t n = 150;
  Memory x = numbers(f32, {n}, 0), y = Memory::filled(f32, {64}, 1);
  run(artifact, {&x, &y});
  for (int64_t i = 0; i < 64; ++i) {
    double sum = 1;
    for (int64_t at = i; at < n; at += 64)
      sum += x.at({at});
    CHECK(y.at({i}) == sum);
  }
}
