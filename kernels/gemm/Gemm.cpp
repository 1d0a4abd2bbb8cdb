// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of the GEMM: one pipelined loop, with sums of parts by a launch or a cluster.
#include "kernels/gemm/Gemm.h"

#include "kernels/gemm/Epilogue.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace tlc::kernels {

using namespace dsl;

namespace {

/// A factor in tiles: of its tensor, or of a copy with rows that the TMA can copy.
class Factor {
public:
  Factor(Scope &k, std::string_view name, const std::optional<Index> &batch, const Index &rows,
         const Index &columns, Shape tile, ElementType element, GemmRows alignment, TensorFacts facts)
      : k(k), element(element), batch(batch), rows(rows), columns(columns), tileShape(std::move(tile)),
        tensor(k.input(name, element, shapeOfMatrices(batch, rows, columns), facts), bool(batch)) {
    if (alignment == GemmRows::repacked)
      repacked.emplace(k.workspace(std::string(name) + "_repacked", element,
                                   shapeOfMatrices(batch, rows, columns), {.alignment = 16}),
                       bool(batch));
  }

  const Shape &shape() const { return tileShape; }
  bool isRepacked() const { return repacked.has_value(); }
  /// The tile in that row and column of tiles.
  Slice tile(const Index &image, const Index &row, const Index &column, Loc loc = Loc::current()) const {
    return (repacked ? *repacked : tensor)
        .tile(image, row * tileShape[0], column * tileShape[1], tileShape, loc);
  }

  /// How many blocks repack it, and what block `n` of them does.
  Index parts() const { return batch ? *batch * partsOfImage() : partsOfImage(); }
  void repackPart(const Index &n) const {
    Index image = batch ? n / partsOfImage() : Index(0), inImage = batch ? n % partsOfImage() : n;
    Index across = ceilDiv(columns, partColumns), row = inImage / across * partRows,
          column = inImage % across * partColumns;
    auto partOf = [&](const Matrices &all) { return all.tile(image, row, column, {partRows, partColumns}); };
    Fragment part = k.fragment(element, {partRows, partColumns});
    copy(partOf(tensor), part);
    copy(part, partOf(*repacked));
  }

private:
  static constexpr int64_t partRows = 64, partColumns = 64;

  Index partsOfImage() const { return ceilDiv(rows, partRows) * ceilDiv(columns, partColumns); }

  Scope &k;
  ElementType element;
  std::optional<Index> batch;
  Index rows, columns;
  Shape tileShape;
  Matrices tensor;
  std::optional<Matrices> repacked;
};

/// A tile of C: rows of tiles count over all images.
struct TilePosition {
  Index image, i, j;
};

/// The arguments, and the tiles of them that a step needs.
struct Operands {
  Operands(Scope &k, const GemmConfig &config)
      : k(k), config(config), m(k.dim("m")), n(k.dim("n", {.multipleOf = multipleOfColumns(config)})),
        depth(k.dim("k")), batch(config.isBatched ? std::optional(k.dim("batch")) : std::nullopt),
        A(factor("A", config.dtype, m, config.bm, config.aRunsAlongK(), config.rowsOfA,
                 factsOf(config.rowsOfA, config.alignmentOfA))),
        B(factor("B", config.elementOfB(), n, config.bn, config.bRunsAlongK(), config.rowsOfB,
                 factsOf(config.rowsOfB, config.alignmentOfB))),
        epilogue(k, config, batch, m, n, factsOf(config.rowsOfC, bytesOf(config.out, 1))) {}

  Slice tileOfA(const TilePosition &at, Index step, Loc loc = Loc::current()) const {
    return config.aRunsAlongK() ? A.tile(at.image, at.i, step, loc) : A.tile(at.image, step, at.i, loc);
  }
  Slice tileOfB(const TilePosition &at, Index step, Loc loc = Loc::current()) const {
    return config.bRunsAlongK() ? B.tile(at.image, at.j, step, loc) : B.tile(at.image, step, at.j, loc);
  }
  /// The factors as m x k and k x n.
  Shared left(const Shared &a, Loc loc = Loc::current()) const { return config.aRunsAlongK() ? a : a.t(loc); }
  Shared right(const Shared &b, Loc loc = Loc::current()) const {
    return config.bRunsAlongK() ? b.t(loc) : b;
  }

  /// Of a row of tiles, counted over all images, and a column of tiles.
  TilePosition position(const Index &row, const Index &column) const {
    return batch ? TilePosition{row / rows(), row % rows(), column} : TilePosition{0, row, column};
  }
  Index rowsOfAll() const { return batch ? *batch * rows() : rows(); }
  void store(const FragmentValue &sums, const TilePosition &at) const {
    epilogue.store(sums, at.image, at.i * config.bm, at.j * config.bn, {config.bm, config.bn});
  }

  Slice tileOfC(const TilePosition &at) const {
    return epilogue.tileOfC(at.image, at.i * config.bm, at.j * config.bn, {config.bm, config.bn});
  }

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
  std::optional<Index> batch;
  Factor A, B;
  Epilogue epilogue;

private:
  /// With `tile` of `count` rows or columns of C.
  Factor factor(std::string_view name, ElementType element, const Index &count, int64_t tile, bool runsAlongK,
                GemmRows alignment, TensorFacts facts) const {
    return runsAlongK ? Factor(k, name, batch, count, depth, {tile, config.bk}, element, alignment, facts)
                      : Factor(k, name, batch, depth, count, {config.bk, tile}, element, alignment, facts);
  }
  /// Rows that are known to be unaligned do not keep the others from the variant for aligned ones.
  static TensorFacts factsOf(GemmRows rows, int64_t alignment) {
    return rows == GemmRows::any ? TensorFacts{} : TensorFacts{.alignment = alignment};
  }
};

/// A tile of the product, or of the transposed one, summed over `steps` steps from `first`.
Fragment product(Scope &k, const Operands &p, const TilePosition &at, Index first, Index steps) {
  const GemmConfig &c = p.config;
  Shared a = k.shared("a", c.dtype, p.A.shape());        // bm x bk, or bk x bm
  Shared b = k.shared("b", c.elementOfB(), p.B.shape()); // bn x bk, or bk x bn
  Fragment acc = k.fragment(c.sumType(), {c.productRows(), c.productColumns()}).named("acc");
  k.pipelined(steps, {.stages = c.stages}, [&](Index s) {
    copy(p.tileOfA(at, first + s), a);
    copy(p.tileOfB(at, first + s), b);
    if (c.swapped)
      gemm(p.right(b).t(), p.left(a).t(), acc, c.policy);
    else
      gemm(p.left(a), p.right(b), acc, c.policy);
  });
  return acc;
}

/// A transposed product as a tile of C: it turns in shared memory.
Shared turnedTile(Scope &k, const GemmConfig &c, const Fragment &product) {
  Shared turned = k.shared("turned", c.turnedType(), {c.bm, c.bn});
  if (c.turnedType() == c.sumType())
    copy(product, turned.t());
  else
    copy(product.to(c.turnedType()), turned.t());
  return turned;
}

/// A product as a tile of C.
FragmentValue asTileOfC(Scope &k, const GemmConfig &c, const Fragment &product) {
  if (!c.swapped)
    return product;
  Shared turned = turnedTile(k, c, product);
  Fragment tile = k.fragment(c.turnedType(), {c.bm, c.bn});
  copy(turned, tile);
  return tile;
}

void storeTile(Scope &k, const Operands &p, const Fragment &product, const TilePosition &at) {
  if (p.config.isStoredTurned())
    copy(turnedTile(k, p.config, product), p.tileOfC(at));
  else
    p.store(asTileOfC(k, p.config, product), at);
}

void plainGemm(Scope &k, const Operands &p) {
  const GemmConfig &c = p.config;
  k.cluster(c.cluster);
  k.residents(c.residents);
  if (c.storeRole)
    k.storeRole();
  k.persistent({p.rowsOfAll(), p.columns()},
               {.group = c.group, .cluster = c.clusterAxis, .scheduling = c.tiles}, [&](Index row, Index j) {
                 TilePosition at = p.position(row, j);
                 storeTile(k, p, product(k, p, at, 0, p.steps()), at);
               });
}

/// Blocks sum parts of k into a workspace; a second launch adds them up, in the same order every time.
void splitGemm(Scope &k, const Operands &p) {
  const GemmConfig &c = p.config;
  std::vector<Index> shape = shapeOfMatrices(p.batch, p.m, p.n);
  shape.insert(shape.begin(), Index(c.split));
  Global partial = k.workspace("partial", c.sumType(), shape, {.alignment = 16});
  auto partOf = [&](const Index &part, const Index &image, const Index &row, const Index &column,
                    int64_t rows, int64_t columns) {
    return p.batch ? partial.tile({part, image, row, column}, {1, 1, rows, columns})
                   : partial.tile({part, row, column}, {1, rows, columns});
  };
  p.repack();
  k.launch("gemm_partial", [&] {
    k.cluster(c.cluster);
    k.residents(c.residents);
    if (c.storeRole)
      k.storeRole();
    k.persistent({p.rowsOfAll(), p.columns(), c.split},
                 {.group = c.group, .cluster = c.clusterAxis, .scheduling = c.tiles},
                 [&](Index row, Index j, Index part) {
                   TilePosition at = p.position(row, j);
                   Index each = ceilDiv(p.steps(), c.split), first = part * each;
                   Fragment acc = product(k, p, at, first, max(min(each, p.steps() - first), 0));
                   copy(asTileOfC(k, c, acc), partOf(part, at.image, at.i * c.bm, at.j * c.bn, c.bm, c.bn));
                 });
  });
  k.launch("gemm_combine", [&] {
    constexpr int64_t rows = 8, columns = 256; // 16 elements of a thread
    k.warps(4);
    Index across = ceilDiv(p.n, columns), ofImage = ceilDiv(p.m, rows) * across;
    auto [block] = k.grid(p.batch ? *p.batch * ofImage : ofImage);
    Index image = p.batch ? block / ofImage : Index(0), inImage = p.batch ? block % ofImage : block;
    Index row = inImage / across * rows, column = inImage % across * columns;
    Fragment sum = k.fragment(c.sumType(), {rows, columns}).named("sum"),
             part = k.fragment(c.sumType(), {rows, columns});
    for (int64_t s = 0; s < c.split; ++s) {
      copy(partOf(s, image, row, column, rows, columns), part);
      sum += part;
    }
    p.epilogue.store(sum, image, row, column, {rows, columns});
  });
}

/// The blocks of a cluster compute the parts of k of one tile. Each then sums its share of the tile's rows,
/// by reading all blocks' shared memory in an order that is the same every time.
void clusterGemm(Scope &k, const Operands &p) {
  const GemmConfig &c = p.config;
  int64_t rows = c.bm / c.split;
  k.cluster(c.split);
  Index part = k.blockRank(), firstRow = part * rows;
  k.persistent({p.rowsOfAll() * c.split, p.columns()}, {.group = c.group * c.split}, [&](Index row, Index j) {
    TilePosition at = p.position(row / c.split, j);
    Index each = ceilDiv(p.steps(), c.split), first = part * each;
    Shared partial = k.shared("partial", c.sumType(), {c.bm, c.bn});
    copy(product(k, p, at, first, max(min(each, p.steps() - first), 0)), c.swapped ? partial.t() : partial);
    k.when(at.i * c.bm + firstRow < p.m, [&] {
      Fragment sum = k.fragment(c.sumType(), {rows, c.bn}).named("sum"),
               other = k.fragment(c.sumType(), {rows, c.bn});
      // Each begins with its own, so that they do not all read one block at once.
      for (int64_t i = 0; i < c.split; ++i) {
        copy(partial.of((part + i) % c.split).rows(firstRow, rows), other);
        sum += other;
      }
      p.epilogue.store(sum, at.image, at.i * c.bm + firstRow, at.j * c.bn, {rows, c.bn});
    });
  });
}

} // namespace

std::string gemmConflict(const GemmConfig &problem) {
  auto text = [](auto value) { return toString(value); };
  if (size_t bytes = sizeInBytes(problem.dtype); bytes != 2 && problem.layout != GemmLayout::tn)
    return fmt::format(
        "expected layout=tn, with rows of A and B along k, because matrix units read factors of "
        "{} bits along k only, but got dtype={} with another layout",
        8 * bytes, text(problem.dtype));
  auto isFloat8 = [](ElementType type) { return isFloat(type) && sizeInBytes(type) == 1; };
  if (ElementType other = problem.elementOfB();
      other != problem.dtype && !(isFloat8(problem.dtype) && isFloat8(other)))
    return fmt::format("expected factors of one type, or each of e4m3 or e5m2, but A has {} and B has {}",
                       text(problem.dtype), text(other));
  if (problem.out == ElementType::i32 && (problem.dtype != ElementType::i8 || problem.hasEpilogue()))
    return fmt::format("expected out=i32 with dtype=i8 and sums as they are, but got dtype={}{}",
                       text(problem.dtype),
                       problem.hasEpilogue() ? " and scales, bias, activation or residual" : "");
  return {};
}

Program gemmProgram(const GemmConfig &config, const TraceOptions &options) {
  return Program::trace("gemm", options, [&](Scope &k) {
    Operands p(k, config);
    if (config.split > 1 && config.sum == GemmSum::launch)
      return splitGemm(k, p);
    auto gemm = config.split > 1 ? clusterGemm : plainGemm;
    if (!p.areRepacked())
      return gemm(k, p);
    p.repack();
    k.launch("gemm", [&] { gemm(k, p); });
  });
}

} // namespace tlc::kernels
