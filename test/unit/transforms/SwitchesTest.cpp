// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each optimisation against its off-switch: whatever is on, a program computes the same. Every program here
/// runs on the emulator, which also sees races, missing fences and waits that never end.
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::test;

namespace {

/// All on, each one off, and everything off.
std::vector<std::pair<std::string, Optimizations>> switches() {
  std::vector<std::pair<std::string, Optimizations>> sets = {{"all", {}}};
  Optimizations none;
  for (const OptimizationSwitch &each : optimizationSwitches()) {
    Optimizations one;
    one.*each.member = none.*each.member = false;
    sets.emplace_back("no " + std::string(each.name), one);
  }
  sets.emplace_back("none", none);
  return sets;
}

/// Runs the program with each set of switches on fresh copies of the tensors; `check` sees what came out.
void runWithEach(const std::string &module, const std::vector<HostTensor> &tensors,
                 const std::function<void(const std::vector<HostTensor> &)> &check) {
  for (const auto &[name, optimizations] : switches()) {
    INFO("with " << name);
    CompileOptions options;
    options.optimizations = optimizations;
    std::vector<HostTensor> copies = tensors;
    std::vector<HostTensor *> arguments;
    for (HostTensor &copy : copies)
      arguments.push_back(&copy);
    runKernels(module, arguments, options);
    check(copies);
  }
}

/// sum over k of a[i][k] * b[j][k]
double rowsProduct(const HostTensor &a, int64_t i, const HostTensor &b, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < a.shape[1]; ++k)
    sum += a.values[size_t(i * a.shape[1] + k)] * b.values[size_t(j * b.shape[1] + k)];
  return sum;
}

/// Exactly, or, of 16 bits, rounded.
void requireProduct(const HostTensor &a, const HostTensor &b, const HostTensor &c) {
  double error = c.element == ElementType::bf16 ? 1.0 / 256 : 0;
  int64_t wrong = 0;
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      double expected = rowsProduct(a, i, b, j), got = c.values[size_t(i * c.shape[1] + j)];
      wrong += !(std::abs(got - expected) <= error * std::abs(expected));
    }
  REQUIRE(wrong == 0);
}

/// C = A B', tiles of 128 x 64 x 64; $policy and $stages vary, $cluster blocks share the columns' factor, and
/// $convert makes the f32 %sum the %result of type $type.
const std::string gemm = R"mlir(
tile.kernel @gemm(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n", multiple_of = 8>},
    %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 2]>},
    %B: !tile.global<?x?xbf16> {program.argument = #program.tensor<"B", input, dims[1, 2]>},
    %C: !tile.global<?x?x$type> {program.argument = #program.tensor<"C", output, dims[0, 1]>}) attributes {launch = #program.launch<cluster = $cluster>, store_role} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %rows = arith.ceildivui %m, %c128 : index
  %columns = arith.ceildivui %n, %c64 : index
  %steps = arith.ceildivui %k, %c64 : index
  tile.persistent (%i, %j) in (%rows, %columns) group(2) {
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c64 : index
    %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
    %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
    %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
    %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
    %acc = tile.variable %zero "acc" : !tile.variable<tensor<128x64xf32>>
    scf.for %step = %c0 to %steps step %c1 {
      %at = arith.muli %step, %c64 : index
      %aTile = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %aTile, %a : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %bTile = tile.slice %B[%column, %at] : !tile.global<?x?xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %bTile, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %old = tile.read %acc : !tile.variable<tensor<128x64xf32>>
      %new = tile.gemm %a, %bt, %old policy $policy : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
      tile.write %new, %acc : !tile.variable<tensor<128x64xf32>>
    } {tile.pipeline = #tile.pipeline<stages = $stages>}
    %sum = tile.read %acc : !tile.variable<tensor<128x64xf32>>
    $convert
    %cTile = tile.slice %C[%row, %column] : !tile.global<?x?x$type> -> !tile.slice<128x64x$type>
    tile.store %result, %cTile : tensor<128x64x$type>, !tile.slice<128x64x$type>
  }
  tile.return
}
)mlir";

std::string gemmOf(ElementType result, const std::string &policy, const std::string &stages,
                   const std::string &cluster) {
  bool rounded = result == ElementType::bf16;
  return substitute(
      gemm, {{"$policy", policy},
             {"$stages", stages},
             {"$cluster", cluster},
             {"$convert", rounded ? "%result = tile.convert %sum : tensor<128x64xf32> to tensor<128x64xbf16>"
                                  : "%one = arith.constant dense<1.0> : tensor<128x64xf32>\n"
                                    "    %result = arith.mulf %sum, %one : tensor<128x64xf32>"},
             {"$type", rounded ? "bf16" : "f32"}});
}

} // namespace

TEST_CASE("a product is the same with each optimisation on or off", "[transforms][run]") {
  std::mt19937 random(Catch::rngSeed());
  ElementType type = GENERATE(ElementType::f32, ElementType::bf16);
  // Sizes, stages, and the policy for f32; bf16 has the other one.
  auto [m, n, k, stages, forFloat] = GENERATE(table<int64_t, int64_t, int64_t, std::string, std::string>({
      {200, 72, 200, "3", "full_row"}, // edges, several rounds and tiles
      {128, 64, 64, "2", "full_col"},  // one iteration
      {136, 64, 128, "1", "full_row"}, // one slot
      {72, 136, 520, "8", "full_col"}, // more stages than fit the loop's first rounds
  }));
  const std::string forRounded = forFloat == "full_row" ? "full_col" : "full_row";
  const std::string policy = type == ElementType::f32 ? forFloat : forRounded;
  INFO(policy << " " << m << "x" << n << "x" << k << " in " << stages << " stages");
  HostTensor a = randomTensor(ElementType::bf16, {m, k}, random),
             b = randomTensor(ElementType::bf16, {n, k}, random);
  runWithEach(gemmOf(type, policy, stages, "1"), {a, b, poisoned(type, {m, n})},
              [](const auto &tensors) { requireProduct(tensors[0], tensors[1], tensors[2]); });
}

TEST_CASE("a cluster that shares tiles computes the same", "[transforms][run]") {
  std::mt19937 random(Catch::rngSeed());
  int64_t m = GENERATE(256, 300), n = 72, k = 200;
  HostTensor a = randomTensor(ElementType::bf16, {m, k}, random),
             b = randomTensor(ElementType::bf16, {n, k}, random);
  runWithEach(gemmOf(ElementType::bf16, "full_row", "2", "2"), {a, b, poisoned(ElementType::bf16, {m, n})},
              [](const auto &tensors) { requireProduct(tensors[0], tensors[1], tensors[2]); });
}

namespace {
/// Two sums that go round the loop side by side. `S` says by its extent how many iterations there are, and
/// one more.
const std::string twoChains = R"mlir(
tile.kernel @chains(%n: index {program.argument = #program.dimension<"n">}, %k: index {program.argument = #program.dimension<"k">},
    %S: !tile.global<?xf32> {program.argument = #program.tensor<"S", input, dims[0]>},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 1]>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 1]>},
    %C: !tile.global<64x64xf32> {program.argument = #program.tensor<"C", output, dims[-1, -1]>},
    %D: !tile.global<64x64xf32> {program.argument = #program.tensor<"D", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %end = arith.subi %n, %c1 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %at = tile.transpose %a : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %x = tile.variable %zero "x" : !tile.variable<tensor<64x64xf32>>
  %y = tile.variable %zero "y" : !tile.variable<tensor<64x64xf32>>
  scf.for %i = %c0 to %end step %c1 {
    %column = arith.muli %i, %c64 : index
    %aTile = tile.slice %A[%c0, %column] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %aTile, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %x0 = tile.read %x : !tile.variable<tensor<64x64xf32>>
    %x1 = tile.gemm %a, %at, %x0 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    tile.write %x1, %x : !tile.variable<tensor<64x64xf32>>
    %bTile = tile.slice %B[%c0, %column] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
    tile.copy %bTile, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
    %y0 = tile.read %y : !tile.variable<tensor<64x64xf32>>
    %y1 = tile.gemm %b, %bt, %y0 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
    tile.write %y1, %y : !tile.variable<tensor<64x64xf32>>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %x2 = tile.read %x : !tile.variable<tensor<64x64xf32>>
  %c = tile.slice %C[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %x2, %c : tensor<64x64xf32>, !tile.slice<64x64xf32>
  %y2 = tile.read %y : !tile.variable<tensor<64x64xf32>>
  %d = tile.slice %D[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %y2, %d : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
)mlir";
} // namespace

TEST_CASE("two sums in one loop, with no iteration and more", "[transforms][run]") {
  std::mt19937 random(Catch::rngSeed());
  int64_t iterations = GENERATE(0, 1, 2, 5);
  INFO(iterations << " iterations");
  HostTensor a = randomTensor(ElementType::bf16, {64, 64 * std::max<int64_t>(1, iterations)}, random);
  HostTensor b = randomTensor(ElementType::bf16, a.shape, random);
  runWithEach(twoChains,
              {poisoned(ElementType::f32, {iterations + 1}), a, b, poisoned(ElementType::f32, {64, 64}),
               poisoned(ElementType::f32, {64, 64})},
              [&](const auto &tensors) {
                HostTensor none = a;
                none.values.assign(none.values.size(), 0);
                requireProduct(iterations ? a : none, a, tensors[3]);
                requireProduct(iterations ? b : none, b, tensors[4]);
              });
}

namespace {
/// D = sum of floor(A_i B_i' / 8) A_i over two of each three tiles of 64 columns: a branch with copies, a
/// factor that goes through shared memory, and products that depend on one another.
const std::string throughShared = R"mlir(
tile.kernel @through(%k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<64x?xbf16> {program.argument = #program.tensor<"A", input, dims[-1, 0]>},
    %B: !tile.global<64x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 0]>},
    %D: !tile.global<64x64xf32> {program.argument = #program.tensor<"D", output, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %steps = arith.ceildivui %k, %c64 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  %bt = tile.transpose %b : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
  %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
  %sum = tile.variable %zero "sum" : !tile.variable<tensor<64x64xf32>>
  scf.for %i = %c0 to %steps step %c1 {
    %rest = arith.remui %i, %c3 : index
    %taken = arith.cmpi ne, %rest, %c1 : index
    scf.if %taken {
      %column = arith.muli %i, %c64 : index
      %aTile = tile.slice %A[%c0, %column] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %aTile, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %bTile = tile.slice %B[%c0, %column] : !tile.global<64x?xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %bTile, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %s = tile.gemm %a, %bt, %zero : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<64x64xf32>
      %scale = tile.splat %eighth : f32 -> tensor<64x64xf32>
      %scaled = arith.mulf %s, %scale : tensor<64x64xf32>
      %floor = math.floor %scaled : tensor<64x64xf32>
      %h = tile.convert %floor : tensor<64x64xf32> to tensor<64x64xbf16>
      tile.store %h, %p : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
      %old = tile.read %sum : !tile.variable<tensor<64x64xf32>>
      %new = tile.gemm %p, %a, %old : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
      tile.write %new, %sum : !tile.variable<tensor<64x64xf32>>
    }
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %result = tile.read %sum : !tile.variable<tensor<64x64xf32>>
  %d = tile.slice %D[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
  tile.store %result, %d : tensor<64x64xf32>, !tile.slice<64x64xf32>
  tile.return
}
)mlir";
} // namespace

TEST_CASE("a factor that goes through shared memory, in a branch", "[transforms][run]") {
  std::mt19937 random(Catch::rngSeed());
  int64_t steps = GENERATE(1, 2, 4);
  INFO(steps << " steps");
  HostTensor a = randomTensor(ElementType::bf16, {64, 64 * steps}, random);
  HostTensor b = randomTensor(ElementType::bf16, a.shape, random);
  std::vector<double> expected(64 * 64, 0);
  for (int64_t step = 0; step < steps; ++step) {
    if (step % 3 == 1)
      continue;
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t j = 0; j < 64; ++j) {
        double p = 0;
        for (int64_t k = 0; k < 64; ++k)
          p += a.at(i, 64 * step + k) * b.at(j, 64 * step + k);
        p = std::floor(p / 8); // at most 128: exact in 16 bits
        for (int64_t k = 0; k < 64; ++k)
          expected[size_t(i * 64 + k)] += p * a.at(j, 64 * step + k);
      }
  }
  runWithEach(throughShared, {a, b, poisoned(ElementType::f32, {64, 64})},
              [&](const auto &tensors) { REQUIRE(tensors[2].values == expected); });
}

namespace {
/// Attention with one head: softmax(Q K') V, keys in tiles of 64.
const std::string attention = R"mlir(
tile.kernel @attention(%s: index {program.argument = #program.dimension<"s">}, %t: index {program.argument = #program.dimension<"t">},
    %Q: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Q", input, dims[0, -1]>},
    %K: !tile.global<?x64xbf16> {program.argument = #program.tensor<"K", input, dims[1, -1]>},
    %V: !tile.global<?x64xbf16> {program.argument = #program.tensor<"V", input, dims[1, -1]>},
    %O: !tile.global<?x64xbf16> {program.argument = #program.tensor<"O", output, dims[0, -1]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.03125 : f32
  %rows = arith.ceildivui %s, %c128 : index
  %steps = arith.ceildivui %t, %c64 : index
  tile.persistent (%i) in (%rows) {
    %row = arith.muli %i, %c128 : index
    %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
    %k = tile.alloc_shared "k" : !tile.shared<64x64xbf16>
    %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
    %kt = tile.transpose %k : !tile.shared<64x64xbf16> -> !tile.shared<64x64xbf16, transposed>
    %qTile = tile.slice %Q[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<128x64xbf16>
    tile.copy %qTile, %q : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
    %zero = tile.splat %f0 : f32 -> tensor<128x64xf32>
    %start = tile.splat %low : f32 -> tensor<128x1xf32>
    %none = tile.splat %f0 : f32 -> tensor<128x1xf32>
    %o = tile.variable %zero "o" : !tile.variable<tensor<128x64xf32>>
    %max = tile.variable %start "max" : !tile.variable<tensor<128x1xf32>>
    %sum = tile.variable %none "sum" : !tile.variable<tensor<128x1xf32>>
    scf.for %j = %c0 to %steps step %c1 {
      %key = arith.muli %j, %c64 : index
      %kTile = tile.slice %K[%key, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %kTile, %k : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %vTile = tile.slice %V[%key, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
      tile.copy %vTile, %v : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
      %scores = tile.gemm %q, %kt, %zero : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16, transposed>, tensor<128x64xf32>
      %factor = tile.splat %scale : f32 -> tensor<128x64xf32>
      %scaled = arith.mulf %scores, %factor : tensor<128x64xf32>
      %in = tile.coordinates 1 : tensor<128x64xindex>
      %from = tile.splat %key : index -> tensor<128x64xindex>
      %at = arith.addi %in, %from : tensor<128x64xindex>
      %end = tile.splat %t : index -> tensor<128x64xindex>
      %inside = arith.cmpi ult, %at, %end : tensor<128x64xindex>
      %masked0 = tile.splat %low : f32 -> tensor<128x64xf32>
      %masked = arith.select %inside, %scaled, %masked0 : tensor<128x64xi1>, tensor<128x64xf32>
      %before = tile.read %max : !tile.variable<tensor<128x1xf32>>
      %here = tile.reduce max %masked axis(1) : tensor<128x64xf32> -> tensor<128x1xf32>
      %now = arith.maximumf %before, %here : tensor<128x1xf32>
      tile.write %now, %max : !tile.variable<tensor<128x1xf32>>
      %nowAll = tile.broadcast %now : tensor<128x1xf32> -> tensor<128x64xf32>
      %less = arith.subf %masked, %nowAll : tensor<128x64xf32>
      %p = math.exp2 %less : tensor<128x64xf32>
      %change = arith.subf %before, %now : tensor<128x1xf32>
      %fix = math.exp2 %change : tensor<128x1xf32>
      %sum0 = tile.read %sum : !tile.variable<tensor<128x1xf32>>
      %sum1 = arith.mulf %sum0, %fix : tensor<128x1xf32>
      %part = tile.reduce sum %p axis(1) : tensor<128x64xf32> -> tensor<128x1xf32>
      %sum2 = arith.addf %sum1, %part : tensor<128x1xf32>
      tile.write %sum2, %sum : !tile.variable<tensor<128x1xf32>>
      %fixAll = tile.broadcast %fix : tensor<128x1xf32> -> tensor<128x64xf32>
      %o0 = tile.read %o : !tile.variable<tensor<128x64xf32>>
      %o1 = arith.mulf %o0, %fixAll : tensor<128x64xf32>
      %h = tile.convert %p : tensor<128x64xf32> to tensor<128x64xbf16>
      %o2 = tile.gemm %h, %v, %o1 : tensor<128x64xbf16>, !tile.shared<64x64xbf16>, tensor<128x64xf32>
      tile.write %o2, %o : !tile.variable<tensor<128x64xf32>>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %total = tile.read %sum : !tile.variable<tensor<128x1xf32>>
    %totalAll = tile.broadcast %total : tensor<128x1xf32> -> tensor<128x64xf32>
    %o3 = tile.read %o : !tile.variable<tensor<128x64xf32>>
    %o4 = arith.divf %o3, %totalAll : tensor<128x64xf32>
    %rounded = tile.convert %o4 : tensor<128x64xf32> to tensor<128x64xbf16>
    %oTile = tile.slice %O[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<128x64xbf16>
    tile.store %rounded, %oTile : tensor<128x64xbf16>, !tile.slice<128x64xbf16>
  }
  tile.return
}
)mlir";
} // namespace

TEST_CASE("attention is the same with each optimisation on or off", "[transforms][run]") {
  std::mt19937 random(Catch::rngSeed());
  int64_t s = 200, t = GENERATE(64, 150);
  HostTensor q = randomTensor(ElementType::bf16, {s, 64}, random),
             k = randomTensor(ElementType::bf16, {t, 64}, random),
             v = randomTensor(ElementType::bf16, {t, 64}, random);
  std::vector<double> expected;
  for (int64_t i = 0; i < s; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (int64_t j = 0; j < t; ++j) {
      weights.push_back(std::exp2(rowsProduct(q, i, k, j) / 32));
      total += weights.back();
    }
    for (int64_t d = 0; d < 64; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < t; ++j)
        sum += weights[size_t(j)] * v.at(j, d);
      expected.push_back(sum / total);
    }
  }
  runWithEach(attention, {q, k, v, poisoned(ElementType::bf16, {s, 64})}, [&](const auto &tensors) {
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(tensors[3].values[i] - expected[i]));
    REQUIRE(worst < 0.03); // values up to 4, weights and result rounded to 8 bits
  });
}
