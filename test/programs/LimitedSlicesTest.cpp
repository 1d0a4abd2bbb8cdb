// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slices with a limit: what lies beyond it is NaN and reads as 0, and is not written, whichever
/// instructions copy.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t rows = 150, columns = 64, tileRows = 64;

/// Where the limited axis is among the axes of a tensor of rows of 64 elements.
struct Case {
  std::vector<int64_t> shape;
  int64_t axis;
};
const std::vector<Case> cases = {{{rows, columns}, 0},
                                 {{2, rows, columns}, 1},
                                 {{rows, 3, columns}, 0},
                                 {{2, rows, 3, columns}, 1},
                                 {{2, 3, rows, columns}, 2}};

/// The limit and the position of the first tile come as the extents of tensors that nobody reads, less this
/// much, so that they may be negative.
constexpr int64_t bias = 1000;

struct Arguments {
  Index limit, first;
  Global X, Y, Z;
};

/// X, and as outputs Y with the limit and Z, tiles one after the other, without.
Arguments declare(Scope &k, const Case &c, ElementType element, int64_t alignment) {
  Arguments a;
  Index limit = k.dim("limit"), first = k.dim("first");
  k.input("L", i32, {limit});
  k.input("F", i32, {first});
  a.limit = limit - bias;
  a.first = first - bias;
  std::vector<Index> shape;
  for (size_t axis = 0; axis < c.shape.size(); ++axis)
    shape.push_back(int64_t(axis) == c.axis ? k.dim("rows") : Index(c.shape[axis]));
  a.X = k.input("X", element, shape, {.alignment = alignment});
  a.Y = k.inout("Y", element, shape, {.alignment = alignment});
  a.Z = k.output("Z", element, {k.dim("tiles"), Index(tileRows), Index(columns)}, {.alignment = alignment});
  return a;
}

/// The box of block `tile`: in the last of batches and heads.
Slice boxOf(const Global &tensor, const Case &c, const Arguments &a, const Index &tile) {
  std::vector<Index> origin;
  dsl::Shape extents;
  for (size_t axis = 0; axis < c.shape.size(); ++axis) {
    bool isLimited = int64_t(axis) == c.axis, isLast = axis + 1 == c.shape.size();
    origin.push_back(isLimited ? a.first + tile * tileRows : Index(isLast ? 0 : c.shape[axis] - 1));
    extents.push_back(isLimited ? tileRows : isLast ? columns : 1);
  }
  return tensor.tile(origin, extents).limited(c.axis, a.limit);
}

constexpr int64_t tiles = 4;

/// Loaded and stored by the TMA alone.
Program throughShared(const Case &c, ElementType element) {
  return Program::trace("through_shared", [&](Scope &k) {
    Arguments a = declare(k, c, element, 16);
    k.require(Requirement::tma);
    auto [block] = k.grid(1);
    (void)block;
    Shared x = k.shared("x", element, {tileRows, columns}, {.slots = 2});
    Channel loaded = k.channel("x", {.slots = 2});
    k.roles([&] {
      k.role("load", {.warps = 1}, [&] {
        k.loop(tiles, [&](Index tile) {
          loaded.put([&](const Slot &at) { copy(boxOf(a.X, c, a, tile), x.slot(at)); });
        });
      });
      k.role("store", {.warps = 1}, [&] {
        k.loop(tiles, [&](Index tile) {
          Slot at = loaded.get();
          copy(x.slot(at), boxOf(a.Y, c, a, tile));
          copy(x.slot(at), a.Z.tile({tile, 0, 0}, {1, tileRows, columns}));
          loaded.release();
        });
      });
    });
  });
}

/// Loaded and stored by the threads, from registers.
Program throughRegisters(const Case &c, ElementType element) {
  return Program::trace("through_registers", [&](Scope &k) {
    Arguments a = declare(k, c, element, 1);
    auto [tile] = k.grid(tiles);
    Fragment x = k.fragment(element, {tileRows, columns});
    copy(boxOf(a.X, c, a, tile), x);
    copy(x, boxOf(a.Y, c, a, tile));
    copy(x, a.Z.tile({tile, 0, 0}, {1, tileRows, columns}));
  });
}

/// Loaded to shared memory and stored from there by the threads.
Program throughSharedByThreads(const Case &c, ElementType element) {
  return Program::trace("through_shared_by_threads", [&](Scope &k) {
    Arguments a = declare(k, c, element, 1);
    auto [tile] = k.grid(tiles);
    Shared x = k.shared("x", element, {tileRows, columns});
    copy(boxOf(a.X, c, a, tile), x);
    copy(x, boxOf(a.Y, c, a, tile));
    copy(x, a.Z.tile({tile, 0, 0}, {1, tileRows, columns}));
  });
}

/// Runs with the limit and compares each element of Y and Z.
void check(const Artifact &artifact, const Case &c, ElementType element, int64_t limit, int64_t first,
           std::mt19937 &random) {
  INFO("limit " << limit << ", first row " << first);
  Memory l = Memory::filled(ElementType::i32, {limit + bias}, 0),
         f = Memory::filled(ElementType::i32, {first + bias}, 0);
  Memory x = Memory::filled(element, c.shape, notANumber, 8), y = Memory::filled(element, c.shape, -77, 8);
  Memory z = Memory::filled(element, {tiles, tileRows, columns}, notANumber);
  int64_t end = std::min(limit, rows);
  std::vector<int64_t> position;
  for (int64_t extent : c.shape)
    position.push_back(extent - 1);
  auto at = [&](int64_t row, int64_t column) {
    position[size_t(c.axis)] = row;
    position.back() = column;
    return position;
  };
  std::uniform_int_distribution<int> values(-100, 100);
  for (int64_t row = 0; row < end; ++row)
    for (int64_t column = 0; column < columns; ++column)
      x.at(at(row, column)) = values(random);
  Memory expected = y;
  std::vector<double> expectedTiles;
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t row = 0; row < tileRows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t begin = first + tile * tileRows, from = begin + row;
        bool inside = begin >= 0 && from < end;
        expectedTiles.push_back(inside ? x.at(at(from, column)) : 0);
        if (inside)
          expected.at(at(from, column)) = x.at(at(from, column));
      }
  run(artifact, {&l, &f, &x, &y, &z});
  CHECK(y.values == expected.values);
  CHECK(z.values == expectedTiles);
}

void checkLimits(const Artifact &artifact, const Case &c, ElementType element) {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (int64_t limit : {int64_t(0), int64_t(1), int64_t(77), rows - 1, rows, rows + 50, int64_t(-3)})
    check(artifact, c, element, limit, 0, random);
  check(artifact, c, element, 101, 37, random);  // limit inside a tile that begins anywhere
  check(artifact, c, element, 101, 640, random); // beyond everything
  check(artifact, c, element, 101, -70, random); // before the tensor
}

//===----------------------------------------------------------------------===//
// Where the compiler makes the roles
//===----------------------------------------------------------------------===//

/// C = A Bᵀ of the first rows of A and of B: those of C follow A's, its columns are 0 where B has no row.
Program limitedGemm(int64_t cluster) {
  return Program::trace("limited_gemm", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8}), depth = k.dim("k", {.multipleOf = 8});
    Index aRows = k.dim("a_rows"), bRows = k.dim("b_rows");
    k.input("L", i32, {aRows});
    k.input("M", i32, {bRows});
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.inout("C", bf16, {m, n});
    if (cluster > 1)
      k.cluster(cluster);
    k.persistent({ceilDiv(m, 128), ceilDiv(n, 128)}, {.group = 4}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {128, 64});
      Fragment acc = k.fragment(f32, {128, 128}).named("acc");
      k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
        copy(A.tile({i * 128, s * 64}, {128, 64}).limited(0, aRows), a);
        copy(B.tile({j * 128, s * 64}, {128, 64}).limited(0, bRows), b);
        gemm(a, b.t(), acc);
      });
      copy(acc.to(bf16), C.tile({i * 128, j * 128}, {128, 128}).limited(0, aRows));
    });
  });
}

void checkGemm(const Artifact &artifact, int64_t aRows, int64_t bRows, std::mt19937 &random) {
  INFO("rows of A " << aRows << ", of B " << bRows);
  constexpr int64_t m = 300, n = 264, depth = 136;
  Memory l = Memory::filled(ElementType::i32, {aRows}, 0), lb = Memory::filled(ElementType::i32, {bRows}, 0);
  Memory a = Memory::filled(ElementType::bf16, {m, depth}, notANumber);
  Memory b = Memory::filled(ElementType::bf16, {n, depth}, notANumber);
  Memory c = Memory::filled(ElementType::bf16, {m, n}, -77);
  std::uniform_int_distribution<int> values(-1, 1); // sums are exact
  std::fill_n(a.values.begin(), std::min(aRows, m) * depth, 0);
  std::fill_n(b.values.begin(), std::min(bRows, n) * depth, 0);
  for (Memory *factor : {&a, &b})
    for (double &value : factor->values)
      if (value == 0)
        value = values(random);
  Memory expected = c;
  for (int64_t i = 0; i < std::min(aRows, m); ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t s = 0; s < depth && j < bRows; ++s)
        sum += a.at({i, s}) * b.at({j, s});
      expected.at({i, j}) = sum;
    }
  run(artifact, {&l, &lb, &a, &b, &c});
  CHECK(c.values == expected.values);
}

//===----------------------------------------------------------------------===//
// Sequences packed one after the other
//===----------------------------------------------------------------------===//

/// Y[b] = Xᵀ X of the rows of sequence b: roles and rings are the compiler's.
Program packedProducts() {
  return Program::trace("packed_products", [](Scope &k) {
    Index count = k.dim("rows"), sequences = k.dim("sequences");
    Global Ends = k.input("ends", i32, {sequences}), X = k.input("X", bf16, {count, 64});
    Global Y = k.output("Y", f32, {sequences, 64, 64});
    k.require(Requirement::warpSpecialized);
    auto [b] = k.grid(sequences);
    Index begin = Ends.read({b - 1}), end = Ends.read({b});
    Shared x = k.shared("x", bf16, {64, 64});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc");
    k.pipelined(ceilDiv(max(end - begin, 0), 64), {.stages = 3}, [&](Index j) {
      copy(X.tile({begin + j * 64, 0}, {64, 64}).limited(0, end), x);
      gemm(x.t(), x, acc);
    });
    copy(acc, Y.tile({b, 0, 0}, {1, 64, 64}));
  });
}

/// Y[b] has the rows of sequence b; what is beyond them is not written. The role that loads reads where they
/// are and hands the limit of each tile on.
Program packedCopy() {
  return Program::trace("packed_copy", [](Scope &k) {
    Index count = k.dim("rows"), sequences = k.dim("sequences"), longest = k.dim("longest");
    Global Ends = k.input("ends", i32, {sequences});
    Global X = k.input("X", f16, {count, 3, 64}, {.alignment = 16});
    Global Y = k.inout("Y", f16, {sequences, longest, 64}, {.alignment = 16});
    k.require(Requirement::tma);
    auto [b] = k.grid(sequences);
    Index position = b;
    Shared x = k.shared("x", f16, {32, 64}, {.slots = 2});
    Channel loaded = k.channel("x", {.slots = 2});
    k.roles([&] {
      k.role("load", {.warps = 1}, [&] {
        Index begin = Ends.read({position - 1}), end = Ends.read({position});
        k.loop(ceilDiv(end - begin, 32), [&](Index j) {
          loaded.put([&](const Slot &at) {
            copy(X.tile({begin + j * 32, 1, 0}, {32, 1, 64}).limited(0, end), x.slot(at));
          });
        });
      });
      k.role("store", {.warps = 1}, [&] {
        Index length = Ends.read({position}) - Ends.read({position - 1});
        k.loop(ceilDiv(length, 32), [&](Index j) {
          Slot at = loaded.get();
          copy(x.slot(at), Y.tile({position, j * 32, 0}, {1, 32, 64}).limited(1, length));
          loaded.release();
        });
      });
    });
  });
}

const std::vector<int64_t> sequenceEnds = {0, 5, 5, 133, 134, 200, 264};
constexpr int64_t packedRows = 270;

Memory endsOf(const std::vector<int64_t> &ends) {
  Memory memory = Memory::filled(ElementType::i32, {int64_t(ends.size())}, 0);
  memory.values.assign(ends.begin(), ends.end());
  return memory;
}

} // namespace

TEST_CASE("limited slices in specialised products", "[limited]") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  struct Way {
    const char *name;
    Optimizations optimizations;
    int64_t cluster;
    bool hasMap;
  };
  for (const Way &way :
       {Way{"all optimisations", {}, 1, true}, Way{"clusters", {}, 2, true},
        Way{"no TMA", {.tma = false}, 1, false}, Way{"stores at once", {.deferredStores = false}, 1, true}}) {
    INFO(way.name);
    CompileOptions options;
    options.optimizations = way.optimizations;
    Artifact artifact = compiled(limitedGemm(way.cluster), options);
    CHECK(hasLimitedMap(artifact) == way.hasMap);
    for (auto [aRows, bRows] :
         {std::pair<int64_t, int64_t>(300, 264), {1, 200}, {0, 0}, {131, 131}, {400, 1}})
      checkGemm(artifact, aRows, bRows, random);
  }
}

TEST_CASE("limited slices through the TMA", "[limited]") {
  for (const Case &c : cases)
    for (ElementType element : {ElementType::f16, ElementType::f32}) {
      INFO(c.shape.size() << " axes, limited along " << c.axis << ", " << toString(element));
      Artifact artifact = compiled(throughShared(c, element));
      CHECK(hasLimitedMap(artifact));
      checkLimits(artifact, c, element);
    }
}

TEST_CASE("limited slices by ordinary loads and stores", "[limited]") {
  for (const Case &c : cases)
    for (ElementType element : {ElementType::f16, ElementType::f32}) {
      INFO(c.shape.size() << " axes, limited along " << c.axis << ", " << toString(element));
      checkLimits(compiled(throughRegisters(c, element)), c, element);
      checkLimits(compiled(throughSharedByThreads(c, element)), c, element);
    }
}

TEST_CASE("sequences whose places are read from a tensor", "[limited]") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  const auto sequences = int64_t(sequenceEnds.size());
  Memory ends = endsOf(sequenceEnds);
  SECTION("products in roles that the compiler makes") {
    Artifact artifact = compiled(packedProducts());
    CHECK(hasLimitedMap(artifact));
    Memory x = Memory::filled(ElementType::bf16, {packedRows, 64}, notANumber);
    std::uniform_int_distribution<int> values(-1, 1); // sums are exact
    std::generate_n(x.values.begin(), sequenceEnds.back() * 64, [&] { return values(random); });
    Memory y = Memory::filled(ElementType::f32, {sequences, 64, 64}, notANumber), expected = y;
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t i = 0; i < 64; ++i)
        for (int64_t j = 0; j < 64; ++j) {
          double sum = 0;
          for (int64_t row = b ? sequenceEnds[size_t(b - 1)] : 0; row < sequenceEnds[size_t(b)]; ++row)
            sum += x.at({row, i}) * x.at({row, j});
          expected.at({b, i, j}) = sum;
        }
    run(artifact, {&ends, &x, &y});
    CHECK(y.values == expected.values);
  }
  SECTION("copies in roles by hand") {
    Artifact artifact = compiled(packedCopy());
    CHECK(hasLimitedMap(artifact));
    Memory x = Memory::filled(ElementType::f16, {packedRows, 3, 64}, notANumber);
    Memory y = Memory::filled(ElementType::f16, {sequences, 130, 64}, -77), expected = y;
    std::uniform_int_distribution<int> values(-100, 100);
    for (int64_t b = 0, row = 0; b < sequences; ++b)
      for (int64_t first = row; row < sequenceEnds[size_t(b)]; ++row)
        for (int64_t column = 0; column < 64; ++column)
          expected.at({b, row - first, column}) = x.at({row, 1, column}) = values(random);
    run(artifact, {&ends, &x, &y});
    CHECK(y.values == expected.values);
  }
}
