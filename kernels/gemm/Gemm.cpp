// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the GEMM: plain, with split sums, and with roles by hand.
#include "kernels/gemm/Gemm.h"

#include "runtime/target/Hardware.h"

#include <algorithm>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// The arguments, and the tiles of them that a step needs.
struct Operands {
  Operands(Scope &k, const GemmConfig &config, TensorFacts facts = {})
      : config(config), m(k.dim("m")), n(k.dim("n", {.multipleOf = multipleOfColumns(config)})),
        depth(k.dim("k")), A(k.input("A", config.dtype, {m, depth}, facts)),
        B(k.input("B", config.dtype, isTn() ? std::vector{n, depth} : std::vector{depth, n}, facts)),
        C(k.output("C", config.out, {m, n})) {}

  bool isTn() const { return config.layout == GemmLayout::tn; }
  Shape shapeOfA() const { return {config.bm, config.bk}; }
  Shape shapeOfB() const { return isTn() ? Shape{config.bn, config.bk} : Shape{config.bk, config.bn}; }
  Slice tileOfA(Index i, Index step, Loc loc = Loc::current()) const {
    return A.tile({i * config.bm, step * config.bk}, shapeOfA(), loc);
  }
  Slice tileOfB(Index j, Index step, Loc loc = Loc::current()) const {
    Index column = j * config.bn, row = step * config.bk;
    return B.tile(isTn() ? std::vector{column, row} : std::vector{row, column}, shapeOfB(), loc);
  }
  Slice tileOfC(Index i, Index j, Loc loc = Loc::current()) const {
    return C.tile({i * config.bm, j * config.bn}, {config.bm, config.bn}, loc);
  }
  /// The right factor as k x n.
  Shared asFactor(const Shared &b, Loc loc = Loc::current()) const { return isTn() ? b.t(loc) : b; }

  Index rows() const { return ceilDiv(m, config.bm); }
  Index columns() const { return ceilDiv(n, config.bn); }
  Index steps() const { return ceilDiv(depth, config.bk); }

  const GemmConfig &config;
  Index m, n, depth;
  Global A, B, C;
};

/// Tile (i, j) of the product, summed over `steps` steps from `first`.
Fragment product(Scope &k, const Operands &p, Index i, Index j, Index first, Index steps) {
  const GemmConfig &c = p.config;
  Shared a = k.shared("a", c.dtype, p.shapeOfA()); // bm x bk
  Shared b = k.shared("b", c.dtype, p.shapeOfB()); // bn x bk, or bk x bn
  Fragment acc = k.fragment(f32, {c.bm, c.bn}).named("acc");
  k.pipelined(steps, {.stages = c.stages}, [&](Index s) {
    copy(p.tileOfA(i, first + s), a);
    copy(p.tileOfB(j, first + s), b);
    gemm(a, p.asFactor(b), acc, c.policy);
  });
  return acc;
}

void plainGemm(Scope &k, const GemmConfig &c) {
  Operands p(k, c);
  k.cluster(c.cluster);
  if (c.storeRole)
    k.storeRole();
  k.persistent({p.rows(), p.columns()}, {.group = c.group, .cluster = c.clusterAxis}, [&](Index i, Index j) {
    Fragment acc = product(k, p, i, j, 0, p.steps());
    copy(acc.to(c.out), p.tileOfC(i, j));
  });
}

/// Blocks sum parts of k into a workspace; a second launch adds them up, in the same order every time.
void splitGemm(Scope &k, const GemmConfig &c) {
  Operands p(k, c);
  Global partial = k.workspace("partial", f32, {c.split, p.m, p.n});
  k.launch("gemm_partial", [&] {
    k.cluster(c.cluster);
    if (c.storeRole)
      k.storeRole();
    k.persistent({p.rows(), p.columns(), c.split}, {.group = c.group, .cluster = c.clusterAxis},
                 [&](Index i, Index j, Index part) {
                   Index each = ceilDiv(p.steps(), c.split), first = part * each;
                   Fragment acc = product(k, p, i, j, first, max(min(each, p.steps() - first), 0));
                   copy(acc, partial.tile({part, i * c.bm, j * c.bn}, {1, c.bm, c.bn}));
                 });
  });
  k.launch("gemm_combine", [&] {
    constexpr int64_t rows = 8, columns = 256; // 16 elements of a thread
    k.warps(4);
    Index across = ceilDiv(p.n, columns);
    auto [block] = k.grid(ceilDiv(p.m, rows) * across);
    Index row = block / across * rows, column = block % across * columns;
    Fragment sum = k.fragment(f32, {rows, columns}).named("sum"), part = k.fragment(f32, {rows, columns});
    for (int64_t s = 0; s < c.split; ++s) {
      copy(partial.tile({s, row, column}, {1, rows, columns}), part);
      sum += part;
    }
    copy(sum.to(c.out), p.C.tile({row, column}, {rows, columns}));
  });
}

/// Tiles in groups of rows, down before across, as the persistent loop walks them.
std::array<Index, 2> tilePosition(const Operands &p, Index tile) {
  Index inGroup = tile % (p.config.group * p.columns());
  Index firstRow = tile / (p.config.group * p.columns()) * p.config.group;
  Index rows = min(p.rows() - firstRow, p.config.group);
  return {firstRow + inGroup % rows, inGroup / rows};
}

void explicitGemm(Scope &k, const GemmConfig &c) {
  Operands p(k, c, {.alignment = 16}); // the load role issues TMA copies only
  int64_t warpgroups = std::max<int64_t>(1, c.bm / wgmmaRows);
  Index tiles = p.rows() * p.columns();
  auto [block] = k.grid(min(tiles, k.multiprocessors()));
  Index steps = p.steps(), blocks = k.blocks();

  Shared a = k.shared("a", c.dtype, p.shapeOfA(), {.slots = c.stages});
  Shared b = k.shared("b", c.dtype, p.shapeOfB(), {.slots = c.stages});
  Ring ring = k.ring("ab", {.slots = c.stages, .producers = 1, .consumers = warpgroups});
  RoleOptions load{.warps = 4}, math{.warps = warpsPerWarpgroup * warpgroups};
  if (warpgroups == 1) { // which the compiler gives no more than it has
    load.registers = 40;
    math.registers = 232;
  }
  k.roles([&] {
    k.role("load", load, [&] {
      Cursor at = ring.cursor();
      k.loop({block, tiles, blocks}, [&](Index tile) {
        auto [i, j] = tilePosition(p, tile);
        k.loop(steps, [&](Index s) {
          ring.acquire(at);
          ring.expect(at, a.slotBytes() + b.slotBytes());
          copy(p.tileOfA(i, s), a.slot(at), ring.full(at));
          copy(p.tileOfB(j, s), b.slot(at), ring.full(at));
          at.advance();
        });
      });
    });
    k.role("math", math, [&] {
      Cursor at = ring.cursor(), done = ring.cursor();
      // A single slot is refilled only when its product is over.
      int64_t inFlight = c.stages > 1 ? 1 : 0;
      k.loop({block, tiles, blocks}, [&](Index tile) {
        auto [i, j] = tilePosition(p, tile);
        Fragment acc = k.fragment(f32, {c.bm, c.bn}).named("acc");
        k.loop(steps, [&](Index s) {
          ring.wait(at);
          gemmAsync(a.slot(at), p.asFactor(b.slot(at)), acc);
          at.advance();
          gemmWait(acc, inFlight); // the product before this one
          k.when(s >= inFlight, [&] {
            ring.release(done);
            done.advance();
          });
        });
        gemmWait(acc);
        k.when(inFlight > 0 && steps > 0, [&] {
          ring.release(done);
          done.advance();
        });
        copy(acc.to(c.out), p.tileOfC(i, j).disjoint("a block has a tile once"));
      });
    });
  });
}

} // namespace

Program gemmProgram(const GemmConfig &config, const TraceOptions &options) {
  return Program::trace("gemm", options, [&](Scope &k) {
    if (config.form == GemmForm::explicitRoles)
      explicitGemm(k, config);
    else if (config.split > 1)
      splitGemm(k, config);
    else
      plainGemm(k, config);
  });
}

} // namespace tlc::kernels
