// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the GEMM.
#include "kernels/KernelList.h"
#include "kernels/gemm/Describe.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <numeric>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = {
      {"m", "rows of A and C", Kind::size, "4096", 0, maxExtent},
      {"n", "columns of C", Kind::size, "4096", 0, maxExtent},
      {"k", "columns of A", Kind::size, "4096", 0, maxExtent},
      {.name = "batch",
       .description = "products, of tensors with a first axis for them; auto: one, of tensors without it",
       .kind = Kind::integer,
       .fallback = "auto",
       .least = 0,
       .most = maxExtent},
  };
  std::vector<Parameter> config = parametersOf(GemmConfig());
  all.insert(all.end(), config.begin(), config.end());
  all.push_back({.name = "dtype_b",
                 .description = "type of B where it is another one than A's: of e4m3 and e5m2",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "e4m3", "e5m2"}});
  all.push_back({.name = "sum",
                 .description = "what sums parts of k: a second launch, or the blocks that computed them, a "
                                "cluster, through each other's shared memory",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "launch", "cluster"}});
  all.push_back({.name = "share",
                 .description = "what the blocks of a cluster share: b (they take rows) or a (columns)",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "a", "b"}});
  all.push_back({.name = "swap",
                 .description =
                     "whether products have B on the left, so that a tile of C has any multiple of 8 "
                     "rows, and 64, 128 or 192 columns",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "no", "yes"}});
  all.push_back({.name = "store_role",
                 .description = "whether a role of its own stores tiles of C",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "no", "yes"}});
  all.push_back({.name = "unaligned",
                 .description =
                     "tensors whose rows are known not to be multiples of 16 bytes, but of elements; "
                     "auto: multiples of 2, 4 or 8 as contiguous tensors of the given sizes have them, which "
                     "the program then asks of the tensors it gets",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "none", "a", "b", "c", "ab", "ac", "bc", "abc"}});
  all.push_back(
      {.name = "repack",
       .description =
           "whether a launch before copies operands with unaligned rows to aligned ones, which the TMA can "
           "copy; has no effect on operands with aligned rows",
       .kind = Kind::choice,
       .fallback = "auto",
       .choices = {"auto", "no", "yes"}});
  return all;
}

/// What keeps a cluster from summing the parts; empty if nothing does.
std::string clusterSumConflict(const Parameters &values) {
  std::optional<int64_t> split = values.integer("split");
  int64_t parts = split.value_or(1);
  if (parts != 2 && parts != 4 && parts != 8)
    return fmt::format(
        "expected split = 2, 4 or 8 with sum=cluster because so many blocks of a cluster share "
        "the rows of each tile, but got split={}",
        split ? std::to_string(parts) : "auto");
  if (std::optional<int64_t> rows = values.integer("bm"); rows && *rows % (swizzleRows * parts) != 0)
    return fmt::format(
        "expected bm to be a multiple of {} with sum=cluster and split = {} because each block "
        "sums whole groups of {} rows, but got bm = {}",
        swizzleRows * parts, parts, swizzleRows, *rows);
  if (values.integer("cluster").value_or(1) > 1)
    return fmt::format("expected cluster = 1 with sum=cluster because the parts of k are the cluster's "
                       "blocks, which share no loads, but got cluster = {}",
                       *values.integer("cluster"));
  if (values.choice("store_role") == "yes")
    return "expected store_role=no with sum=cluster because each block stores only its share of a tile, but "
           "got store_role=yes";
  return {};
}

/// What the product is, without how it is done.
GemmConfig problemOf(const Parameters &values) {
  GemmConfig problem;
  read(values, problem);
  if (values.choice("dtype_b") != "auto")
    problem.dtypeOfB = values.element("dtype_b");
  problem.isBatched = values.integer("batch").has_value();
  return problem;
}

GemmExtents extentsOf(const Parameters &values) {
  return {values.size("m"), values.size("n"), values.size("k"), values.integer("batch").value_or(1)};
}

/// `auto`: those of contiguous tensors.
GemmAlignment alignmentOf(const Parameters &values) {
  GemmConfig problem = problemOf(values);
  std::string_view given = values.choice("unaligned");
  auto isNamed = [&](char tensor) { return given != "none" && given.find(tensor) != std::string_view::npos; };
  auto ofElements = [&](char tensor, ElementType element) {
    return isNamed(tensor) ? bytesOf(element, 1) : GemmAlignment::ofTma;
  };
  if (given != "auto")
    return {.a = ofElements('a', problem.dtype),
            .b = ofElements('b', problem.dtype),
            .c = ofElements('c', problem.out)};
  auto [m, n, k, batch] = extentsOf(values);
  auto ofRows = [&](int64_t rows, int64_t columns, ElementType element) {
    return rows * batch > 1 ? std::gcd(bytesOf(element, columns), GemmAlignment::ofTma)
                            : GemmAlignment::ofTma;
  };
  return {.a = problem.aRunsAlongK() ? ofRows(m, k, problem.dtype) : ofRows(k, m, problem.dtype),
          .b = problem.bRunsAlongK() ? ofRows(n, k, problem.dtype) : ofRows(k, n, problem.dtype),
          .c = ofRows(m, n, problem.out)};
}

/// Of random elements of A and B: with it C does not overflow while k is at most 16384.
double largestFactor(const GemmConfig &problem) {
  if (problem.dtype != ElementType::i8)
    return 1;
  return problem.out == ElementType::e4m3 ? 1 : problem.out == ElementType::f16 ? 16 : 127;
}

double activated(GemmActivation activation, double x) {
  switch (activation) {
  case GemmActivation::none:
    return x;
  case GemmActivation::relu:
    return std::max(x, 0.0);
  case GemmActivation::gelu:
    return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2;
  case GemmActivation::silu:
    return x / (1 + std::exp(-x));
  }
  return x;
}

/// Of sums of k products, relative to their size. The matrix units cut off below the last place of f32 at
/// every 16 of k, and of floats of 8 bits below 13 fractional bits of the largest term at every 32, each term
/// and the sum before: with few of k that is more than one place; of factors of f32 they cut off all but 10
/// fractional bits.
double sumError(ElementType dtype, double k) {
  if (dtype == ElementType::i8)
    return 1e-6; // of the epilogue alone
  if (isFloat(dtype) && sizeInBytes(dtype) == 1)
    return 1e-6 + (k / 32 + 6) * std::ldexp(1.0, -13);
  return 1e-6 + k / 16 * std::ldexp(1.0, -23) + (dtype == ElementType::f32 ? std::ldexp(1.0, -8) : 0);
}

class GemmKernel final : public Kernel {
public:
  GemmKernel()
      : Kernel("gemm",
               "C[m,n] = A B with sums in f32, or in i32 of i8, scales, bias, activation and residual",
               allParameters()) {}

  /// All rows, as far as registers hold their sums; where a cluster sums parts, whole groups for each block.
  static int64_t rowsOfSwapped(const Parameters &values) {
    constexpr int64_t most = 128, step = 8;
    int64_t parts = values.choice("sum") == "cluster" ? values.integer("split").value_or(1) : 1;
    return alignTo(std::clamp<int64_t>(extentsOf(values).m, 1, most), step * parts);
  }

  static GemmConfig config(const Parameters &values, const Target &target) {
    auto isGiven = [&](auto... names) { return (values.integer(names) || ...); };
    std::string_view swap = values.choice("swap");
    // A swapped tile fits no other options.
    bool mayBeSwapped = swap != "no" && !isGiven("bm", "bn", "cluster") &&
                        values.choice("store_role") != "yes" &&
                        !(isGiven("split") && values.choice("sum") == "cluster");
    GemmConfig config = chooseGemmConfig(extentsOf(values), problemOf(values), target, alignmentOf(values),
                                         mayBeSwapped ? LeftFactor::any : LeftFactor::a);
    const bool isTurned = swap == "yes" && !config.swapped; // against the choice
    if (isTurned) {
      config.swapped = true;
      config.bm = rowsOfSwapped(values);
      config.bn = leastProductRows;
    }
    read(values, config); // what is given
    if (std::string_view repack = values.choice("repack"); repack != "auto" && target.tma.available)
      for (GemmRows *rows : {&config.rowsOfA, &config.rowsOfB})
        if (*rows != GemmRows::any)
          *rows = repack == "yes" ? GemmRows::repacked : GemmRows::unaligned;
    if (values.choice("store_role") == "yes") // `auto`: no, until it is measured
      config.storeRole = true;
    // A longer step belongs to the tile that it was chosen with.
    if (!isGiven("bk") && isGiven("bm", "bn", "stages"))
      config.bk = gemmStep(config.dtype);
    const bool isDynamic = config.tiles == dsl::TileScheduling::dynamic;
    bool fitsCluster = !isGiven("split", "bm", "cluster") && !config.storeRole && !isDynamic;
    if (values.choice("sum") == "cluster")
      config.sum = GemmSum::cluster;
    else if (values.choice("sum") == "launch" || !fitsCluster)
      config.sum = GemmSum::launch;
    // Blocks share what the TMA loads, for the tile that they were chosen with.
    const bool hasThreadsCopy =
        config.rowsOfA == GemmRows::unaligned || config.rowsOfB == GemmRows::unaligned;
    if (!isGiven("cluster") &&
        (hasThreadsCopy || isTurned || isDynamic || isGiven("split", "bm", "bn", "bk", "stages")))
      config.cluster = 1;
    if (!values.integer("stages"))
      fitGemmStages(config, target);
    if (values.choice("share") != "auto")
      config.clusterAxis = values.choice("share") == "a" ? dsl::ClusterAxis::columns : dsl::ClusterAxis::rows;
    return config;
  }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return gemmProgram(config(values, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    auto [m, n, k, batch] = extentsOf(values);
    GemmConfig problem = problemOf(values);
    double most = largestFactor(problem);
    auto images = [&, batch = batch](std::vector<int64_t> shape) {
      if (problem.isBatched)
        shape.insert(shape.begin(), batch);
      return shape;
    };
    auto factor = [&, k = k](std::string name, ElementType element, int64_t count, bool runsAlongK) {
      return TensorSpec{.name = std::move(name),
                        .element = element,
                        .shape = images(runsAlongK ? std::vector{count, k} : std::vector{k, count}),
                        .low = -most,
                        .high = isInteger(problem.dtype) ? most + 1 : most}; // which integers do not reach
    };
    std::vector<TensorSpec> all = {factor("A", problem.dtype, m, problem.aRunsAlongK()),
                                   factor("B", problem.elementOfB(), n, problem.bRunsAlongK())};
    for (auto [name, count] : {std::pair("ScaleA", m), {"ScaleB", n}})
      if (problem.scales != GemmScales::none)
        all.push_back({.name = name,
                       .shape = problem.scales == GemmScales::row ? images({count}) : std::vector<int64_t>{1},
                       .low = 0.25,
                       .high = 1});
    if (problem.bias != GemmBias::none)
      all.push_back({.name = "Bias", .shape = {n}});
    if (problem.residual == GemmResidual::tensor)
      all.push_back({"Residual", problem.out, Access::input, images({m, n})});
    bool isInPlace = problem.residual == GemmResidual::inPlace;
    all.push_back({"C", problem.out, isInPlace ? Access::inout : Access::output, images({m, n})});
    return all;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return [=](size_t, std::span<const int64_t> elements) {
      auto [m, n, k, batch] = extentsOf(values);
      GemmConfig problem = problemOf(values);
      std::vector<double> c = referenceGemm(problem.layout, m, n, k, inputs[0], inputs[1], elements);
      size_t next = 2;
      auto take = [&](bool isThere) { return isThere ? &inputs[next++] : nullptr; };
      const std::vector<double> *scaleA = take(problem.scales != GemmScales::none),
                                *scaleB = take(problem.scales != GemmScales::none),
                                *bias = take(problem.bias != GemmBias::none),
                                *residual = take(problem.residual != GemmResidual::none);
      for (size_t i = 0; i != elements.size(); ++i) {
        int64_t element = elements[i];
        int64_t row = element / n, column = element % n, image = row / m;
        if (scaleA) {
          bool isOne = problem.scales == GemmScales::tensor;
          c[i] *= (*scaleA)[size_t(isOne ? 0 : row)] * (*scaleB)[size_t(isOne ? 0 : image * n + column)];
        }
        if (bias)
          c[i] += (*bias)[size_t(column)];
        c[i] = activated(problem.activation, c[i]);
        if (residual)
          c[i] += (*residual)[size_t(element)];
      }
      return c;
    };
  }

  Tolerance tolerance(const Parameters &values, size_t) const override {
    GemmConfig problem = problemOf(values);
    double k = double(values.size("k")),
           ofOut = problem.out == ElementType::i32 ? 0 : roundingError(problem.out);
    // Elements of C are of the size sqrt(k) / 3 for factors with the variance 1/3; scales are up to 1.
    double size = std::sqrt(k) / 3 * largestFactor(problem) * largestFactor(problem);
    return {.limit = ofOut + sumError(problem.dtype, k),
            .floor = std::max(size, problem.hasEpilogue() ? 1 : 1e-3)};
  }

  std::string conflictOn(const Target &target, const Parameters &values) const override {
    if (values.choice("tiles") == "static" || target.launchControl)
      return {};
    return fmt::format(
        "expected tiles=static because {} has no cluster launch control, which begins with sm_100, but "
        "got tiles=dynamic",
        target.name);
  }

  std::string conflict(const Parameters &values) const override {
    GemmConfig problem = problemOf(values);
    bool isShared = values.integer("cluster").value_or(1) > 1;
    if (problem.isBatched && isShared && values.choice("share") != "a")
      return "expected cluster = 1 with batch, or share=a, because blocks of two images share no tiles of B";
    if (std::string text = gemmConflict(problem); !text.empty())
      return text;
    if (int64_t multiple = multipleOfColumns({.out = values.element("out"), .storeRole = true});
        values.choice("store_role") == "yes" && values.size("n") % multiple != 0)
      return fmt::format(
          "expected n to be a multiple of {} with store_role=yes because the TMA stores so many "
          "elements at least, but got n = {}",
          multiple, values.size("n"));
    if (values.choice("sum") == "cluster")
      if (std::string text = clusterSumConflict(values); !text.empty())
        return text;
    if (values.choice("tiles") == "dynamic") {
      if (isShared)
        return fmt::format(
            "expected cluster = 1 with tiles=dynamic because a block takes one tile at a time, but got "
            "cluster = {}",
            *values.integer("cluster"));
      if (values.choice("sum") == "cluster")
        return "expected sum=launch with tiles=dynamic because a block takes one tile at a time, but got "
               "sum=cluster";
    }
    if (!values.isDefault("share") && !isShared)
      return fmt::format("expected share with a cluster of 2 blocks and more, but got cluster = {}",
                         values.isDefault("cluster") ? "auto" : "1");
    return {};
  }

  double flops(const Parameters &values) const override {
    auto [m, n, k, batch] = extentsOf(values);
    return 2 * double(batch) * double(m) * double(n) * double(k);
  }

  Definitions emulatorSizes() const override { return {{"m", "512"}, {"n", "512"}, {"k", "256"}}; }

  std::vector<Definitions> suite() const override {
    auto shape = [](const char *m, const char *n, const char *k) {
      return Definitions{{"m", m}, {"n", n}, {"k", k}};
    };
    return {shape("8192", "8192", "8192"),  shape("4096", "4096", "4096"),  shape("2048", "2048", "2048"),
            shape("16384", "4096", "4096"), shape("4096", "16384", "4096"), shape("512", "8192", "8192"),
            shape("128", "4096", "16384"),  shape("64", "8192", "8192")};
  }
};

} // namespace

const Kernel &gemmKernel() {
  static const GemmKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
