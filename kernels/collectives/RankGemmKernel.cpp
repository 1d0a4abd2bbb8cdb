// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the GEMMs of several ranks.
#include "kernels/KernelList.h"
#include "kernels/collectives/Describe.h"
#include "kernels/collectives/RankGemm.h"
#include "kernels/reference/Reference.h"
#include "kernels/roles/MathRole.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <array>
#include <cmath>
#include <numeric>

namespace tlc::kernels {

namespace {

struct Extents {
  int64_t m, n, k, ranks;
};

class RankGemmKernel : public Kernel {
public:
  RankGemmKernel(std::string_view name, std::string_view summary, std::string rowsOfA,
                 std::span<const Parameter> more = {})
      : Kernel(name, summary, [&] {
          std::vector<Parameter> parameters = {
              {"m", std::move(rowsOfA), Parameter::Kind::size, "4096", 0, maxExtent},
              {"n", "columns of C on each rank", Parameter::Kind::size, "4096", 0, maxExtent},
              {"k", "columns of A on each rank", Parameter::Kind::size, "4096", 0, maxExtent},
              {"ranks", "devices that run it together", Parameter::Kind::constant, "1", 1, maxRanks}};
          for (Parameter &each : parametersOf(RankGemmConfig()))
            parameters.push_back(std::move(each));
          parameters.push_back({.name = "copy_rows",
                                .description = "whether rows of A and B are copied to where they begin at "
                                               "multiples of 16 bytes; auto: if k asks for it",
                                .kind = Parameter::Kind::choice,
                                .fallback = "auto",
                                .choices = {"auto", "no", "yes"}});
          parameters.insert(parameters.end(), more.begin(), more.end());
          return parameters;
        }()) {}

  int64_t ranks(const Parameters &values) const final { return values.constant("ranks"); }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const final {
    RankGemmConfig config;
    read(values, config);
    if (!values.integer("bm") && values.size("m") <= rowsOfMathWarpgroup)
      config.bm = rowsOfMathWarpgroup;
    if (!values.integer("bn"))
      config.bn = std::clamp(alignTo(values.size("n"), narrowestTile), narrowestTile, widestTile);
    std::string_view copies = values.choice("copy_rows");
    config.copiesRows =
        copies == "auto"
            ? values.size("k") * int64_t(sizeInBytes(config.dtype)) % int64_t(TmaFacts().globalAlignment) != 0
            : copies == "yes";
    config.multipleOfColumns = multipleOfColumns(values);
    config.carrier = carrier(values, config, target);
    if (!values.integer("bm") && !values.integer("bn"))
      narrow(config, values, target);
    config.parts = ranks(values) > 2 ? 4 : 2; // docs/performance/several-gpus.md
    config.piecesOfPart = ranks(values) > 2 ? 1 : 2;
    config.multiprocessors = target.multiprocessors;
    fit(config, values, target);
    return program(config, options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const final {
    Extents extents = extentsOf(values);
    ElementType dtype = values.element("dtype"), out = values.element("out");
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < extents.ranks; ++rank) {
      all.push_back({"A", dtype, Access::input, shapeOfA(extents)});
      all.push_back({"B", dtype, Access::input, {extents.n, extents.k}});
      all.push_back({"C", out, Access::output, shapeOfC(extents)});
    }
    return all;
  }

  Tolerance tolerance(const Parameters &values, size_t) const final {
    Extents extents = extentsOf(values);
    double products = double(extents.k) * double(extents.ranks);
    // Terms of other ranks are rounded, too. Those of factors with the variance 1/3 are of the size
    // sqrt(k) / 3.
    return {.limit = 2 * roundingError(values.element("out")) + 1e-6 + products / 16 * std::ldexp(1.0, -23),
            .floor = std::max(std::sqrt(products), 1e-3)};
  }

  Definitions emulatorSizes() const final { return {{"m", "256"}, {"n", "256"}, {"k", "128"}}; }

private:
  /// Tiles of half the rows and columns, where that is faster (docs/performance/several-gpus.md): they take
  /// longer together, but less time each, which counts where multiprocessors have one or none.
  void narrow(RankGemmConfig &config, const Parameters &values, const Target &target) const {
    constexpr int64_t columns = 128, shallow = 4096; // k
    RankGemmConfig narrow = config;
    narrow.bm = rowsOfMathWarpgroup;
    narrow.bn = std::min(config.bn, columns);
    narrow.carrier = carrier(values, narrow, target);
    const int64_t tiles = tilesOf(config, values), most = target.multiprocessors;
    const bool fillHalf = 2 * tiles <= most, fillOne = tiles <= most && values.size("k") <= shallow;
    if (tilesOf(narrow, values) <= most ||
        (narrow.carrier == Carrier::copyEngine && (fillHalf || fillOne || waitsForOthers(values))))
      config = narrow;
  }
  /// Of all products of a rank.
  int64_t tilesOf(const RankGemmConfig &config, const Parameters &values) const {
    return products(values) * ceilDiv(values.size("m"), config.bm) * ceilDiv(values.size("n"), config.bn);
  }

  /// Takes as many stages as there is room for, and a tile for which there is room for those that are given,
  /// or for enough.
  void fit(RankGemmConfig &config, const Parameters &values, const Target &target) const {
    constexpr int64_t enoughStages = 3;
    RankGemmConfig fitting = config;
    fitStages(fitting, budget(config, target));
    std::optional<int64_t> stages = values.integer("stages");
    if (!stages)
      config.stages = fitting.stages;
    if (stages.value_or(enoughStages) > fitting.stages && !values.integer("bn") &&
        config.bn > narrowestTile) {
      config.bn -= narrowestTile;
      fit(config, values, target);
    }
  }

protected:
  static constexpr int64_t narrowestTile = 64, widestTile = 256;

  static Extents extentsOf(const Parameters &values) {
    return {values.size("m"), values.size("n"), values.size("k"), values.constant("ranks")};
  }
  /// Elements of A Bᵀ, where A are the rows from `firstRow` on of a rank's.
  static std::vector<double> product(const Extents &extents, std::span<const double> a, int64_t firstRow,
                                     std::span<const double> b, std::span<const int64_t> elements) {
    return referenceGemm(GemmLayout::tn, extents.m, extents.n, extents.k,
                         a.subspan(size_t(firstRow * extents.k), size_t(extents.m * extents.k)), b, elements);
  }

  virtual dsl::Program program(const RankGemmConfig &config, const dsl::TraceOptions &options) const = 0;
  virtual std::vector<int64_t> shapeOfA(const Extents &extents) const = 0;
  virtual std::vector<int64_t> shapeOfC(const Extents &extents) const = 0;
  /// Whether transfers take longer than products by far, so that what counts is the last tile after them.
  virtual bool waitsForOthers(const Parameters &) const { return false; }
  /// Products of m x n that a rank computes.
  virtual int64_t products(const Parameters &values) const { return ranks(values); }
  /// What n is known to be a multiple of.
  virtual int64_t multipleOfColumns(const Parameters &) const { return 1; }
  /// Where it has been read but for what follows from it.
  virtual Carrier carrier(const Parameters &, const RankGemmConfig &, const Target &) const {
    return Carrier::roles;
  }
  virtual BlockBudget budget(const RankGemmConfig &config, const Target &target) const = 0;
};

class AllGatherGemmKernel final : public RankGemmKernel {
public:
  AllGatherGemmKernel()
      : RankGemmKernel("all_gather_gemm", "C[owner] = A(owner) B^T: products with the rows of A of all ranks",
                       "rows of A on each rank", std::array{gathers()}) {}

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return [=, extents = extentsOf(values)](size_t output, std::span<const int64_t> elements) {
      std::vector<double> c(elements.size());
      for (int64_t owner = 0; owner < extents.ranks; ++owner) {
        std::vector<int64_t> ofOwner;
        std::vector<size_t> places;
        for (size_t i = 0; i < elements.size(); ++i)
          if (elements[i] / (extents.m * extents.n) == owner) {
            ofOwner.push_back(elements[i] % (extents.m * extents.n));
            places.push_back(i);
          }
        std::vector<double> part =
            product(extents, inputs[size_t(2 * owner)], 0, inputs[2 * output + 1], ofOwner);
        for (size_t i = 0; i < places.size(); ++i)
          c[places[i]] = part[i];
      }
      return c;
    };
  }

  double flops(const Parameters &values) const override {
    auto [m, n, k, ranks] = extentsOf(values);
    return 2 * double(m) * double(n) * double(k) * double(ranks) * double(ranks);
  }

  std::vector<Definitions> suite() const override {
    return {{{"m", "4096"}, {"n", "4096"}, {"k", "8192"}},
            {{"m", "8192"}, {"n", "3584"}, {"k", "4096"}},
            {{"m", "2048"}, {"n", "6144"}, {"k", "49152"}}};
  }

private:
  static Parameter gathers() {
    return {.name = "gather",
            .description = "what moves rows to other ranks: roles of each block, or copy engines; "
                           "auto: copy engines, where a rank has at least 1 MB of rows for each other one",
            .kind = Parameter::Kind::choice,
            .fallback = "auto",
            .choices = {"auto", "roles", "copy_engine"}};
  }
  Carrier carrier(const Parameters &values, const RankGemmConfig &config, const Target &) const override {
    std::string_view choice = values.choice("gather");
    if (choice != "auto")
      return choice == "roles" ? Carrier::roles : Carrier::copyEngine;
    constexpr int64_t crossoverBytes = 1 << 20; // docs/performance/several-gpus.md
    int64_t least = crossoverBytes * std::max<int64_t>(ranks(values) - 1, 1),
            rowBytes = values.size("k") * int64_t(sizeInBytes(config.dtype));
    return values.size("m") >= ceilDiv(least, std::max<int64_t>(rowBytes, 1)) ? Carrier::copyEngine
                                                                              : Carrier::roles;
  }
  bool waitsForOthers(const Parameters &values) const override {
    constexpr int64_t columns = 512; // docs/performance/several-gpus.md
    return ranks(values) > 1 && values.size("n") <= columns;
  }
  BlockBudget budget(const RankGemmConfig &config, const Target &target) const override {
    return allGatherGemmBudget(config, target);
  }
  dsl::Program program(const RankGemmConfig &config, const dsl::TraceOptions &options) const override {
    return allGatherGemmProgram(config, options);
  }
  std::vector<int64_t> shapeOfA(const Extents &extents) const override { return {extents.m, extents.k}; }
  std::vector<int64_t> shapeOfC(const Extents &extents) const override {
    return {extents.ranks, extents.m, extents.n};
  }
};

/// Sums over ranks of A Bᵀ.
class GemmSumKernel : public RankGemmKernel {
public:
  GemmSumKernel(std::string_view name, std::string_view summary, std::string rowsOfA,
                std::vector<Parameter> more = {})
      : RankGemmKernel(name, summary, std::move(rowsOfA), [&] {
          more.insert(more.begin(), alignedC());
          return more;
        }()) {}

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const final {
    return [=, this, extents = extentsOf(values)](size_t output, std::span<const int64_t> elements) {
      std::vector<double> c(elements.size());
      for (int64_t rank = 0; rank < extents.ranks; ++rank) {
        std::vector<double> term =
            product(extents, inputs[size_t(2 * rank)], firstRow(extents, int64_t(output)),
                    inputs[size_t(2 * rank + 1)], elements);
        for (size_t i = 0; i < term.size(); ++i)
          c[i] += term[i];
      }
      return c;
    };
  }

private:
  static Parameter alignedC() {
    return {.name = "aligned_c",
            .description =
                "whether rows of C are known to be multiples of 16 bytes, so that the TMA sends tiles; "
                "auto: if n says so",
            .kind = Parameter::Kind::choice,
            .fallback = "auto",
            .choices = {"auto", "no", "yes"}};
  }
  int64_t multipleOfColumns(const Parameters &values) const final {
    int64_t unit = int64_t(TmaFacts().innerBoxGranularity) / int64_t(sizeInBytes(values.element("out")));
    std::string_view isAligned = values.choice("aligned_c");
    return isAligned == "yes" || (isAligned == "auto" && values.size("n") % unit == 0) ? unit : 1;
  }
  std::vector<int64_t> shapeOfC(const Extents &extents) const final { return {extents.m, extents.n}; }
  BlockBudget budget(const RankGemmConfig &config, const Target &target) const final {
    return gemmReduceBudget(config, target);
  }
  /// Of A, whose product is C on that rank.
  virtual int64_t firstRow(const Extents &, int64_t) const { return 0; }
};

class GemmReduceScatterKernel final : public GemmSumKernel {
public:
  GemmReduceScatterKernel()
      : GemmSumKernel("gemm_reduce_scatter", "C = the sum over ranks of A[rank] B^T, for each rank on it",
                      "rows of C on each rank", {scatters()}) {}

  double flops(const Parameters &values) const override {
    auto [m, n, k, ranks] = extentsOf(values);
    return 2 * double(m) * double(n) * double(k) * double(ranks) * double(ranks);
  }

  std::vector<Definitions> suite() const override {
    return {{{"m", "4096"}, {"n", "8192"}, {"k", "4096"}},
            {{"m", "8192"}, {"n", "7168"}, {"k", "2048"}},
            {{"m", "2048"}, {"n", "12288"}, {"k", "24576"}}};
  }

private:
  static Parameter scatters() {
    return {.name = "scatter",
            .description =
                "what moves terms to other ranks: roles of each block, or copy engines; auto: copy "
                "engines, where each multiprocessor has a tile of each rank, and for more than two "
                "ranks k is at least 2048",
            .kind = Parameter::Kind::choice,
            .fallback = "auto",
            .choices = {"auto", "roles", "copy_engine"}};
  }
  Carrier carrier(const Parameters &values, const RankGemmConfig &config,
                  const Target &target) const override {
    std::string_view choice = values.choice("scatter");
    if (choice != "auto")
      return choice == "roles" ? Carrier::roles : Carrier::copyEngine;
    constexpr int64_t leastDepth = 2048; // docs/performance/several-gpus.md
    const bool hidesTerms = ranks(values) <= 2 || values.size("k") >= leastDepth;
    const bool fillsRounds =
        ceilDiv(values.size("m"), config.bm) >=
        ceilDiv(target.multiprocessors, std::max<int64_t>(ceilDiv(values.size("n"), config.bn), 1));
    return hidesTerms && fillsRounds ? Carrier::copyEngine : Carrier::roles;
  }
  dsl::Program program(const RankGemmConfig &config, const dsl::TraceOptions &options) const override {
    return gemmReduceScatterProgram(config, options);
  }
  std::vector<int64_t> shapeOfA(const Extents &extents) const override {
    return {extents.ranks, extents.m, extents.k};
  }
  int64_t firstRow(const Extents &extents, int64_t rank) const override { return rank * extents.m; }
};

class GemmAllReduceKernel final : public GemmSumKernel {
public:
  GemmAllReduceKernel()
      : GemmSumKernel("gemm_all_reduce", "C = the sum over ranks of A B^T, on every rank",
                      "rows of A and C") {}

  double flops(const Parameters &values) const override {
    auto [m, n, k, ranks] = extentsOf(values);
    return 2 * double(m) * double(n) * double(k) * double(ranks);
  }

  std::vector<Definitions> suite() const override {
    return {{{"m", "8192"}, {"n", "8192"}, {"k", "4096"}}, {{"m", "256"}, {"n", "8192"}, {"k", "14336"}}};
  }

private:
  int64_t products(const Parameters &) const override { return 1; }
  dsl::Program program(const RankGemmConfig &config, const dsl::TraceOptions &options) const override {
    return gemmAllReduceProgram(config, options);
  }
  std::vector<int64_t> shapeOfA(const Extents &extents) const override { return {extents.m, extents.k}; }
};

} // namespace

const Kernel &allGatherGemmKernel() {
  static const AllGatherGemmKernel kernel;
  return kernel;
}

const Kernel &gemmReduceScatterKernel() {
  static const GemmReduceScatterKernel kernel;
  return kernel;
}

const Kernel &gemmAllReduceKernel() {
  static const GemmAllReduceKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
