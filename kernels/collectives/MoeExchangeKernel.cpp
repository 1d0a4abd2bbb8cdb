// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the exchange between tokens and experts.
#include "kernels/KernelList.h"
#include "kernels/collectives/Describe.h"
#include "kernels/reference/MoeExchange.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace tlc::kernels {

namespace {

using Kind = Parameter::Kind;

/// A number below `limit` that looks like a random one, of number `i` of `rank`.
int64_t drawn(int64_t rank, int64_t i, int64_t limit) {
  auto bits = uint64_t(rank + 1) * 0x9e3779b97f4a7c15u + uint64_t(i) * 0xbf58476d1ce4e5b9u;
  for (int round = 0; round < 2; ++round)
    bits = (bits ^ (bits >> 31)) * 0x94d049bb133111ebu;
  return int64_t((bits >> 33) % uint64_t(limit));
}

/// One slot of 16.
bool isDropped(int64_t rank, int64_t slot) { return drawn(rank, 2 * slot, 16) == 0; }

class MoeExchangeKernel : public Kernel {
public:
  MoeExchangeKernel(std::string_view name, std::string_view summary, std::vector<Parameter> more)
      : Kernel(name, summary, [&] {
          std::vector<Parameter> parameters = {
              {"tokens", "tokens of each rank", Kind::size, "4096", 0, maxExtent},
              {"hidden", "length of a row", Kind::size, "4096", 0, maxExtent},
              {"capacity", "rows for experts that a rank has room for", Kind::size, "40960", 0, maxExtent},
              {"ranks", "devices that run it together", Kind::constant, "1", 1, maxRanks}};
          std::ranges::move(more, std::back_inserter(parameters));
          std::ranges::move(parametersOf(MoeExchangeConfig()), std::back_inserter(parameters));
          parameters.push_back(
              {.name = "aligned_rows",
               .description = "whether rows are known to be multiples of 16 bytes; auto: if hidden says so",
               .kind = Kind::choice,
               .fallback = "auto",
               .choices = {"auto", "no", "yes"}});
          return parameters;
        }()) {}

  int64_t ranks(const Parameters &values) const final { return values.constant("ranks"); }

  std::string conflict(const Parameters &values) const final {
    int64_t rows = values.size("tokens") * values.constant("topk") * ranks(values);
    if (rows > maxExtent)
      return fmt::format("expected at most {} rows of all ranks' tokens, but got {} = ranks * tokens * topk",
                         maxExtent, rows);
    return {};
  }

  double flops(const Parameters &values) const override {
    return double(ranks(values)) * double(values.size("tokens")) * double(values.constant("topk")) *
           double(values.size("hidden"));
  }

protected:
  static MoeExchangeConfig configOf(const Parameters &values) {
    MoeExchangeConfig config;
    read(values, config);
    int64_t unit = int64_t(TmaFacts().globalAlignment) / int64_t(sizeInBytes(config.dtype));
    std::string_view isAligned = values.choice("aligned_rows");
    if (isAligned == "yes" || (isAligned == "auto" && values.size("hidden") % unit == 0))
      config.multipleOfHidden = unit;
    return config;
  }
  static std::vector<int64_t> shapeOfRows(const Parameters &values) {
    return {values.size("capacity"), values.size("hidden")};
  }
  static std::vector<int64_t> shapeOfTokens(const Parameters &values) {
    return {values.size("tokens"), values.size("hidden")};
  }
  static std::vector<Definitions> suiteOf(const Definitions &more) {
    std::vector<Definitions> rows;
    for (const char *tokens : {"128", "4096", "16384"}) {
      rows.push_back({{"tokens", tokens}, {"hidden", "7168"}, {"capacity", "163840"}});
      rows.back().insert(more.begin(), more.end());
    }
    return rows;
  }
};

/// The experts of all ranks' tokens, and what a dispatch makes of them, when somebody asks.
class Routing {
public:
  Routing(const MoeExtents &extents, std::string_view routes) : e(extents), routes(routes) {}

  std::vector<double> experts(int64_t rank) const {
    std::vector<double> all;
    for (int64_t slot = 0; slot < e.tokens * e.topk; ++slot)
      all.push_back(double(expertOf(rank, slot)));
    return all;
  }
  /// That the rank gets.
  int64_t rowsOf(int64_t rank) {
    std::call_once(isKnown, [&] {
      std::vector<std::vector<double>> all;
      for (int64_t each = 0; each < e.ranks; ++each)
        all.push_back(experts(each));
      for (const std::vector<MoeRouting::Source> &each : referenceRouting(e, all).rows)
        rows.push_back(int64_t(each.size()));
    });
    return rows[size_t(rank)];
  }

private:
  int64_t expertOf(int64_t rank, int64_t slot) const {
    if (e.experts == 0 || isDropped(rank, slot)) {
      constexpr std::array<int64_t, 3> ofNone = {-1, std::numeric_limits<int32_t>::min(), maxExtent};
      return slot % 2 == 0 ? e.experts : ofNone[size_t(slot / 2) % ofNone.size()];
    }
    if (routes == "one")
      return e.experts - 1;
    const int64_t any = drawn(rank, 2 * slot + 1, e.experts);
    return routes == "even" ? any : any * drawn(rank, 3 * slot, e.experts) / e.experts / 2 * 2;
  }

  const MoeExtents e;
  const std::string routes;
  std::once_flag isKnown;
  std::vector<int64_t> rows;
};

class MoeDispatchKernel final : public MoeExchangeKernel {
public:
  MoeDispatchKernel()
      : MoeExchangeKernel("moe_dispatch",
                          "rows of X[tokens, hidden] sent to the ranks of their experts, expert by expert",
                          {{"experts", "experts of all ranks, divided in contiguous blocks", Kind::size, "64",
                            0, maxExtent},
                           {.name = "routes",
                            .description = "which experts tokens have: any, mostly those with low numbers, "
                                           "or one; 1 slot of 16 has none",
                            .kind = Kind::choice,
                            .fallback = "even",
                            .choices = {"even", "skewed", "one"}}}) {}

  dsl::Program build(const Parameters &values, const Target &,
                     const dsl::TraceOptions &options) const override {
    return moeDispatchProgram(configOf(values), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const MoeExtents e = extentsOf(values);
    auto routing = std::make_shared<Routing>(e, values.choice("routes"));
    ElementType dtype = values.element("dtype");
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < e.ranks; ++rank) {
      all.push_back({"X", dtype, Access::input, shapeOfTokens(values)});
      all.push_back({"Experts", ElementType::i32, Access::input, {e.tokens, e.topk}});
      all.back().derived = [=](std::span<const std::vector<double>>) { return routing->experts(rank); };
      all.push_back({"Rows", dtype, Access::output, shapeOfRows(values)});
      all.back().isPadding = [=](int64_t element) { return element >= routing->rowsOf(rank) * e.hidden; };
      all.push_back({"Ends", ElementType::i32, Access::output, {e.expertsOfRank()}});
      all.push_back({"Place", ElementType::i32, Access::output, {e.tokens, e.topk, 2}});
      all.push_back({"Counts", ElementType::i32, Access::output, {e.experts}});
    }
    return all;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    const MoeExtents e = extentsOf(values);
    std::vector<std::vector<double>> experts;
    for (int64_t rank = 0; rank < e.ranks; ++rank)
      experts.push_back(inputs[size_t(2 * rank + 1)]);
    auto routing = std::make_shared<MoeRouting>(referenceRouting(e, experts));
    return [=, hidden = e.hidden](size_t output, std::span<const int64_t> elements) {
      const size_t rank = output / 4;
      std::vector<double> expected;
      for (int64_t element : elements) {
        if (output % 4 == 0) {
          const std::vector<MoeRouting::Source> &rows = routing->rows[rank];
          const auto row = size_t(element / hidden);
          expected.push_back(
              row < rows.size()
                  ? inputs[size_t(2 * rows[row].rank)][size_t(rows[row].token * hidden + element % hidden)]
                  : std::numeric_limits<double>::quiet_NaN()); // stays as it is
          continue;
        }
        const std::vector<double> &numbers = output % 4 == 1   ? routing->ends[rank]
                                             : output % 4 == 2 ? routing->places[rank]
                                                               : routing->counts;
        expected.push_back(numbers[size_t(element)]);
      }
      return expected;
    };
  }

  Tolerance tolerance(const Parameters &, size_t) const override { return {.limit = 0, .floor = 1}; }

  Definitions emulatorSizes() const override {
    return {{"tokens", "50"}, {"hidden", "200"}, {"experts", "6"}, {"capacity", "500"}};
  }

  std::vector<Definitions> suite() const override { return suiteOf({{"experts", "256"}}); }

private:
  static MoeExtents extentsOf(const Parameters &values) {
    return {.tokens = values.size("tokens"),
            .hidden = values.size("hidden"),
            .experts = values.size("experts"),
            .topk = values.constant("topk"),
            .capacity = values.size("capacity"),
            .ranks = values.constant("ranks")};
  }
};

class MoeCombineKernel final : public MoeExchangeKernel {
public:
  MoeCombineKernel()
      : MoeExchangeKernel("moe_combine",
                          "Y[tokens, hidden] = weighted sums of the rows that experts on all ranks made",
                          {}) {}

  dsl::Program build(const Parameters &values, const Target &,
                     const dsl::TraceOptions &options) const override {
    return moeCombineProgram(configOf(values), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    const int64_t tokens = values.size("tokens"), topk = values.constant("topk");
    ElementType dtype = values.element("dtype");
    std::vector<TensorSpec> all;
    for (int64_t rank = 0; rank < ranks(values); ++rank) {
      all.push_back({"Rows", dtype, Access::input, shapeOfRows(values)});
      all.push_back({"Place", ElementType::i32, Access::input, {tokens, topk, 2}});
      all.back().derived = [=](std::span<const std::vector<double>>) { return placesOf(values, rank); };
      all.push_back({"Weights", ElementType::f32, Access::input, {tokens, topk}});
      all.back().derived = [=](std::span<const std::vector<double>>) { return weightsOf(values, rank); };
      all.push_back({"Y", dtype, Access::output, shapeOfTokens(values)});
    }
    return all;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    const MoeExtents extents = {.tokens = values.size("tokens"),
                                .hidden = values.size("hidden"),
                                .experts = 0,
                                .topk = values.constant("topk"),
                                .capacity = values.size("capacity"),
                                .ranks = ranks(values)};
    std::vector<std::vector<double>> rows;
    for (int64_t rank = 0; rank < extents.ranks; ++rank)
      rows.push_back(inputs[size_t(3 * rank)]);
    return [=](size_t output, std::span<const int64_t> elements) {
      return referenceCombine(extents, rows, inputs[3 * output + 1], inputs[3 * output + 2], elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t) const override {
    constexpr double sums = 1e-5; // of at most 32 products below 1, in f32
    return {.limit = roundingError(values.element("dtype")) + sums, .floor = 1};
  }

  double flops(const Parameters &values) const override { return 2 * MoeExchangeKernel::flops(values); }

  Definitions emulatorSizes() const override {
    return {{"tokens", "50"}, {"hidden", "200"}, {"capacity", "300"}};
  }

  std::vector<Definitions> suite() const override { return suiteOf({}); }

private:
  /// Any rows of any ranks, and none for one of 16.
  static std::vector<double> placesOf(const Parameters &values, int64_t rank) {
    const int64_t ranks = values.constant("ranks"), capacity = values.size("capacity");
    std::vector<double> places;
    for (int64_t slot = 0; slot < values.size("tokens") * values.constant("topk"); ++slot) {
      bool hasNoRow = capacity == 0 || isDropped(rank, slot);
      places.push_back(hasNoRow ? -1 : double(drawn(rank, 2 * slot + 1, ranks)));
      places.push_back(hasNoRow ? -1 : double(drawn(rank, 3 * slot, capacity)));
    }
    return places;
  }
  /// Numbers below 1; those of dropped slots do not count.
  static std::vector<double> weightsOf(const Parameters &values, int64_t rank) {
    const std::vector<double> places = placesOf(values, rank);
    std::vector<double> weights;
    for (size_t slot = 0; 2 * slot < places.size(); ++slot)
      weights.push_back(places[2 * slot] < 0 ? std::numeric_limits<double>::quiet_NaN()
                                             : double(drawn(rank, int64_t(5 * slot), 4096)) / 4096);
    return weights;
  }
};

} // namespace

const Kernel &moeDispatchKernel() {
  static const MoeDispatchKernel kernel;
  return kernel;
}

const Kernel &moeCombineKernel() {
  static const MoeCombineKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
