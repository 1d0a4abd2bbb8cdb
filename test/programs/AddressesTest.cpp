// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors whose addresses, extents and strides the device reads.
#include "runtime/support/Math.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// Rows of whole 16 bytes, or of any number of elements, with numbers of their positions; 77 after each row.
Memory matrix(ElementType type, int64_t rows, int64_t columns, int64_t padding, int64_t first) {
  Memory memory = Memory::filled(type, {rows, columns}, 77, padding);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      memory.at({i, j}) = double((i * 7 + j * 3 + first) % 11);
  return memory;
}

Memory integers(std::vector<double> values) {
  const auto count = int64_t(values.size());
  return {i32, {count}, {1}, std::move(values)};
}

std::vector<Memory *> addressesOf(std::vector<Memory> &tensors) {
  std::vector<Memory *> addresses;
  for (Memory &tensor : tensors)
    addresses.push_back(&tensor);
  return addresses;
}

/// Y[g] = X[g], through shared memory and fragments, for every g; Sizes holds rows, columns and both strides.
Program copies(ElementType type, int64_t alignment) {
  return Program::trace("copies", [=](Scope &k) {
    Index groups = k.dim("groups");
    MemberFacts facts = {.alignment = alignment};
    Addresses X = k.addresses("X", type, groups, facts);
    facts.use = TensorUse::output;
    Addresses Y = k.addresses("Y", type, groups, facts), Z = k.addresses("Z", type, groups, facts);
    Global Sizes = k.input("Sizes", i32, {groups, 4});
    auto [g] = k.grid(groups);
    Index rows = Sizes.read({g, 0}), columns = Sizes.read({g, 1});
    Global x = X.of(g, {rows, columns}, {Sizes.read({g, 2})}),
           y = Y.of(g, {rows, columns}, {Sizes.read({g, 3})}),
           z = Z.of(g, {rows, columns}, {Sizes.read({g, 3})});
    Shared tile = k.shared("tile", type, {16, 32});
    k.loop(ceilDiv(rows, 16), [&](Index i) {
      k.loop(ceilDiv(columns, 32), [&](Index j) {
        Fragment part = k.fragment(type, {16, 32});
        copy(x.tile({i * 16, j * 32}, {16, 32}), tile);
        copy(tile, y.tile({i * 16, j * 32}, {16, 32}));
        copy(x.tile({i * 16, j * 32}, {16, 32}), part);
        copy(part, z.tile({i * 16, j * 32}, {16, 32}));
      });
    });
  });
}

} // namespace

TEST_CASE("members of any extents are copied", "[addresses]") {
  for (std::string target : {"sm_90a", "sm_80"})
    for (ElementType type : {u8, bf16, f32, f64})
      for (int64_t alignment : {0, 16}) {
        CAPTURE(target, toString(type), alignment);
        Artifact artifact = compiled(copies(type, alignment), compilingFor(target));
        const int64_t unit = alignment == 0 ? 1 : elementsOf(type, 16);
        std::vector<Memory> x, y;
        std::vector<double> sizes;
        for (auto [rows, columns] :
             {std::pair<int64_t, int64_t>{37, 45}, {1, 32}, {0, 3}, {16, 1}, {33, 70}}) {
          const int64_t padding = alignTo(columns, unit) - columns, more = padding + unit;
          x.push_back(matrix(type, std::max<int64_t>(rows, 1), columns, padding, 1));
          y.push_back(Memory::filled(type, {std::max<int64_t>(rows, 1), columns}, 77, more));
          for (int64_t size : {rows, columns, columns + padding, columns + more})
            sizes.push_back(double(size));
        }
        std::vector<Memory> z = y;
        Memory addressesOfX = Memory::table(addressesOf(x)), addressesOfY = Memory::table(addressesOf(y)),
               addressesOfZ = Memory::table(addressesOf(z)),
               all = Memory{i32, {int64_t(x.size()), 4}, {4, 1}, sizes};
        run(artifact, {&addressesOfX, &addressesOfY, &addressesOfZ, &all});
        for (size_t g = 0; g < x.size(); ++g) {
          CAPTURE(g);
          const int64_t rows = int64_t(sizes[4 * g]), columns = x[g].shape[1];
          int64_t wrong = 0, kept = 0;
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              wrong += y[g].at({i, j}) != x[g].at({i, j});
              wrong += z[g].at({i, j}) != x[g].at({i, j});
            }
          CHECK(wrong == 0);
          for (const Memory *written : {&y[g], &z[g]})
            kept += std::ranges::count(written->values, 77.0);
          CHECK(kept == 2 * (int64_t(y[g].values.size()) - rows * columns));
        }
      }
}

TEST_CASE("a product of each group is pipelined", "[addresses]") {
  constexpr int64_t n = 40, depth = 72;
  const std::vector<int64_t> rows = {70, 1, 129};
  for (std::string target : {"sm_90a", "sm_80"}) {
    CAPTURE(target);
    Artifact artifact = compiled(
        Program::trace("products",
                       [&](Scope &k) {
                         Index groups = k.dim("groups"), most = k.dim("most");
                         Addresses A = k.addresses("A", bf16, groups, {.alignment = 16}),
                                   B = k.addresses("B", bf16, groups, {.alignment = 16}),
                                   C = k.addresses("C", f32, groups, {.use = TensorUse::output});
                         Global Rows = k.input("Rows", i32, {groups}), Most = k.input("Most", i32, {most});
                         auto [g, i] = k.grid(groups, ceilDiv(most, 64));
                         Global a = A.of(g, {Rows.read({g}), depth}, {depth}),
                                b = B.of(g, {n, depth}, {depth}), c = C.of(g, {Rows.read({g}), n}, {n});
                         Shared left = k.shared("left", bf16, {64, 32}),
                                right = k.shared("right", bf16, {n, 32});
                         Fragment acc = k.fragment(f32, {64, n});
                         k.pipelined(ceilDiv(depth, 32), {.stages = 3}, [&, i = i](Index s) {
                           copy(a.tile({i * 64, s * 32}, {64, 32}), left);
                           copy(b.tile({0, s * 32}, {n, 32}), right);
                           gemm(left, right.t(), acc);
                         });
                         copy(acc, c.tile({i * 64, 0}, {64, n}));
                       }),
        compilingFor(target));
    auto tells = [&](std::string_view text) {
      return std::ranges::any_of(artifact.remarks, [&](const Remark &remark) {
        return remark.message.find(text) != std::string::npos;
      });
    };
    CHECK((target == "sm_80" || tells("the addresses of 'A' are known on the device only")));
    CHECK(artifact.variants.front().ptx.find("cp.async.cg.shared.global") != std::string::npos);
    std::vector<Memory> a, b, c;
    for (int64_t count : rows) {
      a.push_back(matrix(bf16, count, depth, 0, count));
      b.push_back(matrix(bf16, n, depth, 0, 2 * count));
      c.push_back(Memory::filled(f32, {count, n}, 77));
    }
    Memory ofA = Memory::table(addressesOf(a)), ofB = Memory::table(addressesOf(b)),
           ofC = Memory::table(addressesOf(c)), counts = integers({70, 1, 129}),
           most = integers(std::vector<double>(129, 0));
    run(artifact, {&ofA, &ofB, &ofC, &counts, &most});
    int64_t wrong = 0;
    for (size_t g = 0; g < rows.size(); ++g)
      for (int64_t i = 0; i < rows[g]; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t at = 0; at < depth; ++at)
            sum += a[g].at({i, at}) * b[g].at({j, at});
          wrong += c[g].at({i, j}) != sum;
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("two members may be one tensor", "[addresses]") {
  constexpr int64_t n = 24;
  Artifact artifact = compiled(Program::trace("sums", [&](Scope &k) {
    Index groups = k.dim("groups");
    Addresses X = k.addresses("X", f32, groups, {.use = TensorUse::inout});
    k.warps(4);
    k.loop(groups, [&](Index g) {
      // Other threads have the elements of the transposed tile.
      Shared tile = k.shared("tile", f32, {n, n});
      Global x = X.of(g, {n, n}, {n});
      copy(x.tile({0, 0}, {n, n}), tile);
      Fragment turned = k.fragment(f32, {n, n});
      copy(tile.t(), turned);
      copy(turned + 1, x.tile({0, 0}, {n, n}));
    });
  }));
  Memory x = matrix(f32, n, n, 0, 3), before = x, other = matrix(f32, n, n, 0, 5), otherBefore = other;
  Memory addresses = Memory::table({&x, &x, &other, &x});
  run(artifact, {&addresses});
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      wrong += x.at({i, j}) != before.at({j, i}) + 3;
      wrong += other.at({i, j}) != otherBefore.at({j, i}) + 1;
    }
  CHECK(wrong == 0);
}

TEST_CASE("rows by position, sums, limits and single elements of members", "[addresses]") {
  constexpr int64_t m = 37, n = 45;
  Artifact artifact = compiled(Program::trace("sums", [&](Scope &k) {
    Index groups = k.dim("groups");
    Addresses Rows = k.addresses("Rows", i32, groups, {.axes = 1}), X = k.addresses("X", f32, groups),
              Y = k.addresses("Y", f32, groups, {.use = TensorUse::inout});
    auto [g, i, j] = k.grid(groups, ceilDiv(m, 16), ceilDiv(n, 32));
    Global rows = Rows.of(g, {m}, {}), x = X.of(g, {m, n}, {n + 1}), y = Y.of(g, {m, n}, {n});
    Fragment row = k.fragment(i32, {16, 1}), part = k.fragment(f32, {16, 32});
    copy(rows.tile({i * 16}, {16}).fill(-1), row);
    copy(x.tile({row.toIndex(), j * 32}, {16, 32}).limited(1, rows.read({2})), part);
    atomicAdd(part, y.tile({row.toIndex(), j * 32}, {16, 32}));
  }));
  std::vector<Memory> rows, x, y;
  for (int64_t g = 0; g < 2; ++g) {
    rows.push_back(integers({}));
    for (int64_t i = 0; i < m; ++i)
      rows.back().values.push_back(double((i * 5 + 30 + g) % m)); // and 3 or 4 as the third one
    rows.back().shape = {m};
    x.push_back(matrix(f32, m, n, 1, g));
    y.push_back(matrix(f32, m, n, 0, 9));
  }
  std::vector<Memory> before = y;
  Memory ofRows = Memory::table(addressesOf(rows)), ofX = Memory::table(addressesOf(x)),
         ofY = Memory::table(addressesOf(y));
  run(artifact, {&ofRows, &ofX, &ofY});
  int64_t wrong = 0;
  for (size_t g = 0; g < 2; ++g)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        wrong +=
            y[g].at({i, j}) != before[g].at({i, j}) + (j < int64_t(rows[g].values[2]) ? x[g].at({i, j}) : 0);
  CHECK(wrong == 0);
}
