// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the GEMM: plain, with split sums, and with roles by hand.
#include "kernels/gemm/Gemm.h"

#include "runtime/target/Hardware.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// A factor in tiles: of its tensor, or of a copy with rows that the TMA can copy.
class Factor {
public:
  Factor(Scope &k, std::string_view name, const Index &rows, const Index &columns, Shape tile,
         const GemmConfig &config, GemmRows alignment, TensorFacts facts)
      : k(k), name(name), element(config.dtype), rows(rows), columns(columns), tileShape(std::move(tile)),
        tensor(k.input(name, config.dtype, {rows, columns}, facts)) {
    if (alignment == GemmRows::repacked)
      repacked = k.workspace(this->name + "_repacked", config.dtype, {rows, columns}, {.alignment = 16});
  }

  const Shape &shape() const { return tileShape; }
  bool isRepacked() const { return repacked.has_value(); }
  /// The tile in that row and column of tiles.
  Slice tile(const Index &row, const Index &column, Loc loc = Loc::current()) const {
    return (repacked ? *repacked : tensor).tile({row * tileShape[0], column * tileShape[1]}, tileShape, loc);
  }

  /// How many blocks repack it, and what block `n` of them does.
  Index parts() const { return ceilDiv(rows, partRows) * ceilDiv(columns, partColumns); }
  void repackPart(const Index &n) const {
    Index across = ceilDiv(columns, partColumns), row = n / across * partRows,
          column = n % across * partColumns;
    auto partOf = [&](const Global &matrix) { return matrix.tile({row, column}, {partRows, partColumns}); };
    Fragment part = k.fragment(element, {partRows, partColumns});
    copy(partOf(tensor), part);
    copy(part, partOf(*repacked));
  }

private:
  static constexpr int64_t partRows = 64, partColumns = 64;

  Scope &k;
  std::string name;
  ElementType element;
  Index rows, columns;
  Shape tileShape;
  Global tensor;
  std::optional<Global> repacked;
};

/// The arguments, and the tiles of them that a step needs.
struct Operands {
  Operands(Scope &k, const GemmConfig &config, TensorFacts facts = {})
      : k(k), config(config), m(k.dim("m")), n(k.dim("n", {.multipleOf = multipleOfColumns(config)})),
        depth(k.dim("k")), A(k, "A", m, depth, {config.bm, config.bk}, config, config.rowsOfA,
                             factsOf(config.rowsOfA, config.alignmentOfA, facts)),
        B(k, "B", isTn() ? n : depth, isTn() ? depth : n,
          isTn() ? Shape{config.bn, config.bk} : Shape{config.bk, config.bn}, config, config.rowsOfB,
          factsOf(config.rowsOfB, config.alignmentOfB, facts)),
        C(k.output("C", config.out, {m, n}, factsOf(config.rowsOfC, bytesOf(config.out, 1), {}))) {}

  bool isTn() const { return config.layout == GemmLayout::tn; }
  Slice tileOfA(Index i, Index step, Loc loc = Loc::current()) const { return A.tile(i, step, loc); }
  Slice tileOfB(Index j, Index step, Loc loc = Loc::current()) const {
    return isTn() ? B.tile(j, step, loc) : B.tile(step, j, loc);
  }
  Slice tileOfC(Index i, Index j, Loc loc = Loc::current()) const {
    return C.tile({i * config.bm, j * config.bn}, {config.bm, config.bn}, loc);
  }
  /// The right factor as k x n.
  Shared asFactor(const Shared &b, Loc loc = Loc::current()) const { return isTn() ? b.t(loc) : b; }

  bool areRepacked() const { return A.isRepacked() || B.isRepacked(); }
  /// The launch before, if there is one.
  void repack() const {
    if (!areRepacked())
      return;
    k.launch("gemm_repack", [&] {
      k.warps(4);
      Index ofA = A.isRepacked() ? A.parts() : Index(0), ofB = B.isRepacked() ? B.parts() : Index(0);
      auto [block] = k.grid(ofA + ofB);
      if (A.isRepacked())
        k.when(block < ofA, [&] { A.repackPart(block); });
      if (B.isRepacked())
        k.when(block >= ofA, [&] { B.repackPart(block - ofA); });
    });
  }

  Index rows() const { return ceilDiv(m, config.bm); }
  Index columns() const { return ceilDiv(n, config.bn); }
  Index steps() const { return ceilDiv(depth, config.bk); }

  Scope &k;
  const GemmConfig &config;
  Index m, n, depth;
  Factor A, B;
  Global C;

private:
  /// Rows that are known to be unaligned do not keep the others from the variant for aligned ones.
  static TensorFacts factsOf(GemmRows rows, int64_t alignment, TensorFacts others) {
    return rows == GemmRows::any ? others : TensorFacts{.alignment = alignment};
  }
};

/// Tile (i, j) of the product, summed over `steps` steps from `first`.
Fragment product(Scope &k, const Operands &p, Index i, Index j, Index first, Index steps) {
  const GemmConfig &c = p.config;
  Shared a = k.shared("a", c.dtype, p.A.shape()); // bm x bk
  Shared b = k.shared("b", c.dtype, p.B.shape()); // bn x bk, or bk x bn
  Fragment acc = k.fragment(f32, {c.bm, c.bn}).named("acc");
  k.pipelined(steps, {.stages = c.stages}, [&](Index s) {
    copy(p.tileOfA(i, first + s), a);
    copy(p.tileOfB(j, first + s), b);
    gemm(a, p.asFactor(b), acc, c.policy);
  });
  return acc;
}

void plainGemm(Scope &k, const Operands &p) {
  const GemmConfig &c = p.config;
  k.cluster(c.cluster);
  if (c.storeRole)
    k.storeRole();
  k.persistent({p.rows(), p.columns()}, {.group = c.group, .cluster = c.clusterAxis}, [&](Index i, Index j) {
    Fragment acc = product(k, p, i, j, 0, p.steps());
    copy(acc.to(c.out), p.tileOfC(i, j));
  });
}

/// Blocks sum parts of k into a workspace; a second launch adds them up, in the same order every time.
void splitGemm(Scope &k, const Operands &p) {
  const GemmConfig &c = p.config;
  Global partial = k.workspace("partial", f32, {c.split, p.m, p.n}, {.alignment = 16});
  p.repack();
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

  Shared a = k.shared("a", c.dtype, p.A.shape(), {.slots = c.stages});
  Shared b = k.shared("b", c.dtype, p.B.shape(), {.slots = c.stages});
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
      return explicitGemm(k, config);
    Operands p(k, config);
    if (config.split > 1)
      return splitGemm(k, p);
    if (!p.areRepacked())
      return plainGemm(k, p);
    p.repack();
    k.launch("gemm", [&] { plainGemm(k, p); });
  });
}

} // namespace tlc::kernels
