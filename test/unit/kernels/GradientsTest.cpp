// SPDX-License-Identifier: Apache-2.0
/// \file
/// The reference gradients of attention are the differences of its reference results.
#include "kernels/reference/AttentionGradients.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

using namespace tlc;
using namespace tlc::kernels;

namespace {

std::vector<int64_t> allOf(const std::vector<double> &tensor) {
  std::vector<int64_t> elements(tensor.size());
  std::iota(elements.begin(), elements.end(), 0);
  return elements;
}

/// A call, and the number of which gradients are taken: the sum of O's elements times those of dO.
struct Call {
  AttentionShape shape;
  std::vector<double> q, k, v, dO, sink = {};

  double value() const {
    std::vector<double> o = referenceAttention(shape, q, k, v, sink, allOf(dO));
    return std::inner_product(o.begin(), o.end(), dO.begin(), 0.0);
  }
};

void checkGradient(Call &call, std::vector<double> Call::*tensor, const std::vector<double> &gradient) {
  constexpr double step = 1e-5;
  std::vector<double> &values = call.*tensor;
  REQUIRE(gradient.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double kept = values[i];
    values[i] = kept + step;
    double above = call.value();
    values[i] = kept - step;
    double below = call.value();
    values[i] = kept;
    INFO("element " << i);
    REQUIRE(gradient[i] == Approx((above - below) / (2 * step)).epsilon(1e-6).margin(1e-8));
  }
}

void check(const AttentionProblem &problem, std::vector<SequenceRows> sequences, int64_t queryRows,
           int64_t keyRows, int64_t h, int64_t hkv) {
  std::mt19937_64 random(7);
  auto tensor = [&](int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
    return values;
  };
  Call call{.shape = {.problem = problem, .sequences = std::move(sequences), .h = h, .hkv = hkv},
            .q = tensor(queryRows * h * problem.d),
            .k = tensor(keyRows * hkv * problem.d),
            .v = tensor(keyRows * hkv * problem.dv),
            .dO = tensor(queryRows * h * problem.dv)};
  if (problem.sink == AttentionSink::perHead)
    call.sink = tensor(h);
  AttentionGradients gradients(call.shape, {call.q, call.k, call.v, call.dO, call.sink});
  checkGradient(call, &Call::q, gradients.ofQueries(allOf(call.q)));
  checkGradient(call, &Call::k, gradients.ofKeys(allOf(call.k)));
  checkGradient(call, &Call::v, gradients.ofValues(allOf(call.v)));
  if (!call.sink.empty())
    checkGradient(call, &Call::sink, gradients.ofSinks(allOf(call.sink)));
}

} // namespace

TEST_CASE("gradients of attention are differences of its results", "[kernels][attention]") {
  const std::vector<SequenceRows> two = {{.firstQuery = 0, .queries = 5, .firstKey = 0, .keys = 7},
                                         {.firstQuery = 5, .queries = 3, .firstKey = 7, .keys = 2}};
  check({.d = 4, .dv = 6}, two, 8, 9, 2, 1);
  check({.d = 4, .dv = 3, .mask = {.causal = CausalAlignment::right}, .scale = 1.5}, two, 8, 9, 1, 1);
  check({.d = 3, .dv = 4, .mask = {.causal = CausalAlignment::left, .windowLeft = 1}, .softCap = 0.8}, two, 8,
        9, 4, 2);
  check({.d = 5, .dv = 2, .mask = {.windowRight = 1}, .sink = AttentionSink::perHead}, two, 8, 9, 4, 2);
  check({.d = 2, .dv = 2, .mask = {.blockCausal = 2}, .softCap = 2, .sink = AttentionSink::perHead},
        {{.queries = 8, .keys = 8}}, 8, 8, 2, 2);
}

TEST_CASE("gradients are 0 for rows of no sequence, and where nothing is seen", "[kernels][attention]") {
  // Rows 2 and 3 are padding, of which nothing is read; without keys queries see nothing.
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  AttentionShape shape{.problem = {.d = 1, .dv = 1}, .sequences = {{.queries = 2, .keys = 2}}};
  const std::vector<double> rows = {1, 2, none, none};
  AttentionGradients padded(shape, {rows, rows, rows, rows});
  for (const std::vector<double> &gradient :
       {padded.ofQueries(allOf(rows)), padded.ofKeys(allOf(rows)), padded.ofValues(allOf(rows))}) {
    CHECK(std::isfinite(gradient[1]));
    CHECK(gradient[2] == 0);
    CHECK(gradient[3] == 0);
  }
  shape.sequences = {{.queries = 4, .keys = 0}};
  const std::vector<double> four(4, 1), no;
  CHECK(AttentionGradients(shape, {four, no, no, four}).ofQueries(allOf(four)) ==
        std::vector<double>{0, 0, 0, 0});
  shape.sequences = {{.queries = 0, .keys = 4}};
  CHECK(AttentionGradients(shape, {no, four, four, no}).ofKeys(allOf(four)) ==
        std::vector<double>{0, 0, 0, 0});
}
