// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of every instruction, operand layout and division among warps, run on the emulator.
#include "dialects/layout/StockLayouts.h"
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
/// C += A * B, where A is given as [m, k] or, transposed, as [k, m], and B as [k, n] or [n, k].
struct Product {
  std::string atom = "wgmma", element = "bf16", sums = "f32";
  std::string elementB = ""; ///< if it is another than A's
  int64_t m = 64, n = 32, k = 32;
  int64_t warps = 4;
  FragmentLayout acc;
  SharedLayout a, b; ///< of the tiles as they are stored
  bool transposeA = false, transposeB = false;
  std::optional<FragmentLayout> aRegisters;
};

std::string extents(const std::vector<int64_t> &shape) {
  return std::to_string(shape[0]) + "x" + std::to_string(shape[1]);
}

std::string elementOfB(const Product &p) { return p.elementB.empty() ? p.element : p.elementB; }

ElementType elementNamed(const std::string &type) {
  return type == "f8E4M3FN" ? ElementType::e4m3 : type == "ui8" ? ElementType::u8 : *parseElementType(type);
}

std::string kernelFor(const Product &p) {
  std::string aView = p.transposeA ? "%at" : "%a", bView = p.transposeB ? "%bt" : "%b";
  std::string aType = p.transposeA ? transposedShared(p.a, p.element) : shared(p.a, p.element);
  std::string bType = p.transposeB ? transposedShared(p.b, elementOfB(p)) : shared(p.b, elementOfB(p));
  int64_t bOffset = (p.a.totalBytes() + 1023) / 1024 * 1024;
  std::string views;
  if (p.transposeA)
    views += "  %at = tile.transpose %a : " + shared(p.a, p.element) + " -> " + aType + "\n";
  if (p.transposeB)
    views += "  %bt = tile.transpose %b : " + shared(p.b, elementOfB(p)) + " -> " + bType + "\n";
  if (p.aRegisters) {
    std::string registers = fragment({p.m, p.k}, p.element, *p.aRegisters);
    views += "  %ar = tile.load " + aView + " : " + aType + " -> " + registers + "\n";
    aView = "%ar";
    aType = registers;
  }
  return substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(
    %A: !tile.global<$asx$e> {program.argument = #program.tensor<"A", input, dims[-1, -1]>},
    %B: !tile.global<$bsx$f> {program.argument = #program.tensor<"B", input, dims[-1, -1]>},
    %C: !tile.global<$csx$sums> {program.argument = #program.tensor<"C", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = $warps, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" at 0 : $aBuffer
  %b = tile.alloc_shared "b" at $offset : $bBuffer
  %sa = tile.slice %A[%c0, %c0] : !tile.global<$asx$e> -> !tile.slice<$asx$e>
  tile.copy %sa, %a atom simt : !tile.slice<$asx$e>, $aBuffer
  %sb = tile.slice %B[%c0, %c0] : !tile.global<$bsx$f> -> !tile.slice<$bsx$f>
  tile.copy %sb, %b atom simt : !tile.slice<$bsx$f>, $bBuffer
  tile.proxy_fence
  tile.sync
$views
  %sc = tile.slice %C[%c0, %c0] : !tile.global<$csx$sums> -> !tile.slice<$csx$sums>
  %old = tile.load %sc : !tile.slice<$csx$sums> -> $acc
  %new = tile.gemm $aView, $bView, %old atom $atom : $aType, $bType, $acc
  tile.sync
  tile.store %new, %sc atom simt : $acc, !tile.slice<$csx$sums>
  tile.return
}
})",
      {{"$e", p.element},
       {"$f", elementOfB(p)},
       {"$sums", p.sums},
       {"$views", views},
       {"$warps", std::to_string(p.warps)},
       {"$offset", std::to_string(bOffset)},
       {"$asx", extents(p.a.shape()) + "x"},
       {"$bsx", extents(p.b.shape()) + "x"},
       {"$csx", extents({p.m, p.n}) + "x"},
       {"$aBuffer", shared(p.a, p.element)},
       {"$bBuffer", shared(p.b, elementOfB(p))},
       {"$aView", aView},
       {"$bView", bView},
       {"$aType", aType},
       {"$bType", bType},
       {"$atom", p.atom},
       {"$acc", fragment({p.m, p.n}, p.sums, p.acc)}});
}

void check(const Product &p, std::mt19937 &random) {
  HostTensor a = randomTensor(elementNamed(p.element), p.a.shape(), random);
  HostTensor b = randomTensor(elementNamed(elementOfB(p)), p.b.shape(), random);
  HostTensor c = randomTensor(elementNamed(p.sums), {p.m, p.n}, random);
  std::vector<double> expected = c.values;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t l = 0; l < p.k; ++l)
        expected[size_t(i * p.n + j)] +=
            (p.transposeA ? a.at(l, i) : a.at(i, l)) * (p.transposeB ? b.at(j, l) : b.at(l, j));
  runKernels(kernelFor(p), {&a, &b, &c});
  CHECK(c.values == expected);
}

SharedLayout tile(int64_t rows, int64_t columns, bool transpose, Swizzle swizzle) {
  Shape shape = transpose ? Shape{columns, rows} : Shape{rows, columns};
  return SharedLayout::swizzled(shape, 16, 1, swizzle);
}
} // namespace

TEST_CASE("wgmma reads both factors in every swizzle, K-major and MN-major") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32, Swizzle::none})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        INFO("swizzle " << toString(swizzle) << (transposeA ? ", A transposed" : "")
                        << (transposeB ? ", B transposed" : ""));
        Product p;
        p.element = transposeA ? "f16" : "bf16";
        p.m = 128;
        p.n = 64;
        p.k = 128;
        p.acc = wgmmaAccumulator(p.m, p.n, {1, 1});
        p.a = tile(p.m, p.k, transposeA, swizzle);
        p.b = tile(p.k, p.n, transposeB, swizzle);
        p.transposeA = transposeA;
        p.transposeB = transposeB;
        check(p, random);
      }
}

TEST_CASE("warpgroups share a product along rows, columns or both") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (WarpGrid grid : {WarpGrid{2, 1}, WarpGrid{1, 2}, WarpGrid{2, 2}, WarpGrid{3, 1}})
    for (bool transpose : {false, true}) {
      INFO(grid.alongM << " x " << grid.alongN << (transpose ? ", transposed" : ""));
      Product p;
      p.m = 128 * grid.alongM;
      p.n = 64 * grid.alongN;
      p.k = 64;
      p.warps = 4 * grid.alongM * grid.alongN;
      p.acc = wgmmaAccumulator(p.m, p.n, grid);
      p.a = tile(p.m, p.k, transpose, Swizzle::bytes128);
      p.b = tile(p.k, p.n, transpose, Swizzle::bytes128);
      p.transposeA = p.transposeB = transpose;
      check(p, random);
    }
}

TEST_CASE("wgmma takes its left factor from registers") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{2, 1}, WarpGrid{1, 2}}) {
    Product p;
    p.m = 128;
    p.n = 48 * grid.alongN;
    p.k = 48;
    p.warps = 4 * grid.alongM * grid.alongN;
    p.acc = wgmmaAccumulator(p.m, p.n, grid);
    p.a = tile(p.m, p.k, false, Swizzle::bytes32);
    p.b = tile(p.k, p.n, false, Swizzle::bytes32);
    p.aRegisters = wgmmaOperandA(p.m, p.k, 16, grid);
    check(p, random);
  }
}

TEST_CASE("wgmma multiplies floats of 8 bits along rows, in either order") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (const RowOrder &order : {RowOrder(), interleavedRows()})
    for (bool fromRegisters : {false, true})
      for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32, Swizzle::none}) {
        INFO("swizzle " << toString(swizzle) << (order.empty() ? "" : ", interleaved")
                        << (fromRegisters ? ", from registers" : ""));
        WarpGrid grid = {2, 1};
        Product p;
        p.element = "f8E4M3FN";
        p.m = 128;
        p.n = 40;
        p.k = 128;
        p.warps = 8;
        p.acc = wgmmaAccumulator(p.m, p.n, grid);
        p.a = *SharedLayout::swizzled({p.m, p.k}, 8, 1, swizzle).withOrder(order);
        p.b = *SharedLayout::swizzled({p.n, p.k}, 8, 1, swizzle).withOrder(order);
        p.transposeB = true;
        if (fromRegisters)
          p.aRegisters = wgmmaOperandA(p.m, p.k, 8, grid, order);
        check(p, random);
      }
}

TEST_CASE("wgmma multiplies integers along rows, in either order") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (const RowOrder &order : {RowOrder(), interleavedRows()})
    for (bool fromRegisters : {false, true})
      for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32, Swizzle::none}) {
        INFO("swizzle " << toString(swizzle) << (order.empty() ? "" : ", interleaved")
                        << (fromRegisters ? ", from registers" : ""));
        WarpGrid grid = {2, 1};
        Product p;
        p.element = fromRegisters ? "ui8" : "i8";
        p.elementB = swizzle == Swizzle::bytes64 ? "ui8" : "i8";
        p.sums = "i32";
        p.m = 128;
        p.n = 48;
        p.k = 128;
        p.warps = 8;
        p.acc = wgmmaAccumulator(p.m, p.n, grid);
        p.a = *SharedLayout::swizzled({p.m, p.k}, 8, 1, swizzle).withOrder(order);
        p.b = *SharedLayout::swizzled({p.n, p.k}, 8, 1, swizzle).withOrder(order);
        p.transposeB = true;
        if (fromRegisters)
          p.aRegisters = wgmmaOperandA(p.m, p.k, 8, grid, order);
        check(p, random);
      }
}

TEST_CASE("mma.sync multiplies integers in plain, padded and swizzled memory") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{2, 2}})
    for (int variant = 0; variant < 4; ++variant)
      for (bool alongRows : {true, false}) {
        INFO(grid.alongM << " x " << grid.alongN << ", variant " << variant
                         << (alongRows ? ", along rows" : ", across"));
        Product p;
        p.atom = "mma_sync";
        p.element = variant % 2 ? "ui8" : "i8";
        p.elementB = alongRows ? "i8" : "ui8";
        p.sums = "i32";
        p.m = 32 * grid.alongM;
        p.n = 16 * grid.alongN;
        p.k = 64;
        p.warps = grid.alongM * grid.alongN;
        p.acc = mmaAccumulator(p.m, p.n, grid);
        auto layout = [&](Shape shape) {
          switch (variant) {
          case 0:
            return SharedLayout::plain(shape, 8, 1);
          case 1:
            return SharedLayout::plain(shape, 8, 1, 16);
          case 2: // rows that ldmatrix cannot address
            return SharedLayout::plain(shape, 8, 1, 4);
          default:
            return SharedLayout::preferred(shape, 8, 1);
          }
        };
        p.a = layout(alongRows ? Shape{p.m, p.k} : Shape{p.k, p.m});
        p.b = layout(alongRows ? Shape{p.n, p.k} : Shape{p.k, p.n});
        p.transposeA = !alongRows;
        p.transposeB = alongRows;
        check(p, random);
        p.aRegisters = mmaOperandA(p.m, p.k, 8, grid);
        check(p, random);
      }
}

TEST_CASE("f32 is multiplied along rows as tf32") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (bool isOfWarpgroup : {true, false})
    for (bool fromRegisters : {false, true})
      for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32, Swizzle::none}) {
        INFO("swizzle " << toString(swizzle) << (isOfWarpgroup ? ", wgmma" : ", mma.sync")
                        << (fromRegisters ? ", from registers" : ""));
        WarpGrid grid = {2, 1};
        Product p;
        p.atom = isOfWarpgroup ? "wgmma" : "mma_sync";
        p.element = "f32";
        p.m = 128;
        p.n = 40;
        p.k = 64;
        p.warps = isOfWarpgroup ? 8 : 2;
        p.acc = isOfWarpgroup ? wgmmaAccumulator(p.m, p.n, grid) : mmaAccumulator(p.m, p.n, grid);
        p.a = SharedLayout::swizzled({p.m, p.k}, 32, 1, swizzle);
        p.b = SharedLayout::swizzled({p.n, p.k}, 32, 1, swizzle);
        p.transposeB = true;
        if (fromRegisters)
          p.aRegisters = isOfWarpgroup ? wgmmaOperandA(p.m, p.k, 32, grid) : mmaOperandA(p.m, p.k, 32, grid);
        check(p, random);
      }
}

TEST_CASE("factors in different orders are no product of wgmma") {
  Product p;
  p.element = "f8E4M3FN";
  p.acc = wgmmaAccumulator(p.m, p.n, {1, 1});
  p.a = SharedLayout::swizzled({p.m, p.k}, 8, 1, Swizzle::bytes32);
  p.b = *SharedLayout::swizzled({p.n, p.k}, 8, 1, Swizzle::bytes32).withOrder(interleavedRows());
  p.transposeB = true;
  CHECK_THAT(compileErrors(kernelFor(p)),
             Catch::Contains("expected factors with one order of elements along the reduced axis"));
  p.aRegisters = wgmmaOperandA(p.m, p.k, 8, {1, 1});
  CHECK_THAT(compileErrors(kernelFor(p)),
             Catch::Contains("expected the left factor's registers in the layout"));
}

TEST_CASE("mma.sync multiplies tiles in plain, padded and swizzled memory") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{2, 2}, WarpGrid{1, 3}})
    for (int variant = 0; variant < 4; ++variant)
      for (bool transpose : {false, true}) {
        INFO(grid.alongM << " x " << grid.alongN << ", variant " << variant
                         << (transpose ? ", transposed" : ""));
        Product p;
        p.atom = "mma_sync";
        p.element = transpose ? "f16" : "bf16";
        p.m = 32 * grid.alongM;
        p.n = 16 * grid.alongN;
        p.k = 64;
        p.warps = grid.alongM * grid.alongN;
        p.acc = mmaAccumulator(p.m, p.n, grid);
        auto layout = [&](int64_t rows, int64_t columns) {
          Shape shape = transpose ? Shape{columns, rows} : Shape{rows, columns};
          switch (variant) {
          case 0:
            return SharedLayout::plain(shape, 16, 1);
          case 1:
            return SharedLayout::plain(shape, 16, 1, 16);
          case 2: // rows that ldmatrix cannot address
            return SharedLayout::plain(shape, 16, 1, 2);
          default:
            return SharedLayout::preferred(shape, 16, 1);
          }
        };
        p.a = layout(p.m, p.k);
        p.b = layout(p.k, p.n);
        p.transposeA = p.transposeB = transpose;
        check(p, random);
        p.aRegisters = mmaOperandA(p.m, p.k, 16, grid);
        check(p, random);
      }
}

TEST_CASE("mma.sync multiplies tiles that are no multiple of its own") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Product p;
  p.atom = "mma_sync";
  p.m = 40;
  p.n = 20;
  p.k = 32;
  p.acc = mmaAccumulator(p.m, p.n, {2, 2});
  p.a = SharedLayout::plain({p.m, p.k}, 16, 1);
  p.b = SharedLayout::plain({p.k, p.n}, 16, 1);
  check(p, random);
}

TEST_CASE("floats of 8 bits are multiplied one by one where no instruction fits") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Product p;
  p.atom = "fma";
  p.element = "f8E4M3FN";
  p.m = 20;
  p.n = 24;
  p.k = 10;
  p.acc = defaultLayout({p.m, p.n}, 32, 4);
  p.a = SharedLayout::plain({p.m, p.k}, 8, 1);
  p.b = SharedLayout::plain({p.k, p.n}, 8, 1);
  check(p, random);
}

TEST_CASE("integers are multiplied one by one where no instruction fits") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Product p;
  p.atom = "fma";
  p.element = "ui8";
  p.elementB = "i8";
  p.sums = "i32";
  p.m = 20;
  p.n = 24;
  p.k = 10;
  p.acc = defaultLayout({p.m, p.n}, 32, 4);
  p.a = SharedLayout::plain({p.m, p.k}, 8, 1);
  p.b = SharedLayout::plain({p.k, p.n}, 8, 1);
  check(p, random);
}

TEST_CASE("without an instruction that fits, elements are multiplied one by one") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (bool transpose : {false, true})
    for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32}) {
      Product p;
      p.atom = "fma";
      p.m = 16;
      p.n = 16;
      p.k = 16;
      p.acc = blockedLayout({p.m, p.n}, 32, 4, 1);
      p.a = tile(p.m, p.k, transpose, swizzle);
      p.b = tile(p.k, p.n, transpose, swizzle);
      p.transposeA = p.transposeB = transpose;
      check(p, random);
    }
  Product odd;
  odd.atom = "fma";
  odd.m = 5;
  odd.n = 7;
  odd.k = 3;
  odd.acc = blockedLayout({odd.m, odd.n}, 32, 4, 1);
  odd.a = SharedLayout::plain({odd.m, odd.k}, 16, 1);
  odd.b = SharedLayout::plain({odd.k, odd.n}, 16, 1);
  check(odd, random);
}
