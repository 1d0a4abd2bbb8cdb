// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward with masks that are nobody's but the caller's.
#include "kernels/Tolerance.h"
#include "kernels/attention/backward/Backward.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

using Oracle = std::function<bool(int64_t batch, int64_t head, int64_t query, int64_t key)>;

constexpr int64_t batches = 2, heads = 2, d = 32;
constexpr ElementType element = ElementType::bf16;

double dot(Memory &a, std::vector<int64_t> placeInA, Memory &b, std::vector<int64_t> placeInB) {
  double sum = 0;
  for (placeInA.push_back(0), placeInB.push_back(0); placeInA.back() < d;
       ++placeInA.back(), ++placeInB.back())
    sum += a.at(placeInA) * b.at(placeInB);
  return sum;
}

/// Tensors of one head of K and V for all of Q's, and the gradients in double precision.
struct Problem {
  Problem(int64_t queries, int64_t keys, Oracle mask, uint64_t seed)
      : queries(queries), keys(keys), sees(std::move(mask)), q(random(seed, queries, heads)),
        k(random(seed + 1, keys, 1)), v(random(seed + 2, keys, 1)), o(zeros(queries, heads)),
        dO(random(seed + 3, queries, heads)),
        lse(Memory::filled(ElementType::f32, {batches, heads, queries}, 0)), dq(zeros(queries, heads)),
        dk(zeros(keys, 1)), dv(zeros(keys, 1)) {
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t query = 0; query < queries; ++query)
          addRow(batch, query, head);
  }

  int64_t queries, keys;
  Oracle sees;
  Memory q, k, v, o, dO, lse; ///< o and lse are rounded
  Memory dq, dk, dv;

private:
  static Memory zeros(int64_t rows, int64_t heads) {
    return Memory::filled(ElementType::f32, {batches, rows, heads, d}, 0);
  }
  static Memory random(uint64_t seed, int64_t rows, int64_t heads) {
    std::mt19937_64 numbers(seed);
    std::uniform_int_distribution<int> eighths(-8, 8); // exact in bf16
    Memory tensor = Memory::filled(element, {batches, rows, heads, d}, 0);
    for (double &value : tensor.values)
      value = eighths(numbers) / 8.0;
    return tensor;
  }

  /// O and LSE of a row, and what it adds to gradients.
  void addRow(int64_t batch, int64_t query, int64_t head) {
    const double scale = 1 / std::sqrt(double(d));
    std::vector<int64_t> seen;
    for (int64_t key = 0; key < keys; ++key)
      if (sees(batch, head, query, key))
        seen.push_back(key);
    std::vector<double> weights;
    double sum = 0, delta = 0;
    for (int64_t key : seen)
      sum += weights.emplace_back(std::exp(scale * dot(q, {batch, query, head}, k, {batch, key, 0})));
    lse.at({batch, head, query}) = std::log(sum);
    for (size_t n = 0; n < seen.size(); ++n) {
      weights[n] /= sum;
      delta += weights[n] * dot(dO, {batch, query, head}, v, {batch, seen[n], 0});
    }
    for (size_t n = 0; n < seen.size(); ++n) {
      int64_t key = seen[n];
      double weight = weights[n], ofWeight = dot(dO, {batch, query, head}, v, {batch, key, 0}),
             ofScore = scale * weight * (ofWeight - delta);
      for (int64_t i = 0; i < d; ++i) {
        o.at({batch, query, head, i}) += weight * v.at({batch, key, 0, i});
        dq.at({batch, query, head, i}) += ofScore * k.at({batch, key, 0, i});
        dk.at({batch, key, 0, i}) += ofScore * q.at({batch, query, head, i});
        dv.at({batch, key, 0, i}) += weight * dO.at({batch, query, head, i});
      }
    }
  }
};

void compare(const char *name, const Memory &actual, const Memory &expected, double floor) {
  const Tolerance tolerance{.limit = 8 * roundingError(element), .floor = floor};
  for (size_t i = 0; i < expected.values.size(); ++i) {
    INFO(name << ", element " << i << " is " << actual.values[i] << ", expected " << expected.values[i]);
    REQUIRE(errorOf(actual.values[i], expected.values[i], tolerance) <= tolerance.limit);
  }
}

/// A form with kinds of sums; without one, dQ is added atomically.
struct Way {
  AttentionForm form;
  std::optional<QuerySum> sum;
  std::optional<KeySum> keySum = {};
};
/// Each has every kind of sum and both forms, and both together have every pair of them.
const std::vector<Way> someWays = {{AttentionForm::explicitRoles, {}},
                                   {AttentionForm::plain, QuerySum::ownLaunch},
                                   {AttentionForm::explicitRoles, QuerySum::ordered}},
                       otherWays = {{AttentionForm::plain, {}},
                                    {AttentionForm::explicitRoles, QuerySum::ownLaunch},
                                    {AttentionForm::plain, QuerySum::ordered}},
                       allWays = {someWays[0],  someWays[1],  someWays[2],
                                  otherWays[0], otherWays[1], otherWays[2]};

/// In each of these ways; `inputs` are the tensors that the mask reads.
void check(Problem problem, const std::vector<Way> &ways, const MaskMaker &makeMask,
           std::vector<Memory> inputs = {}) {
  problem.o.element = element;
  Memory dq = Memory::filled(element, problem.dq.shape, notANumber),
         dk = Memory::filled(element, problem.dk.shape, notANumber), dv = dk;
  auto [form, sum, keySum] = GENERATE_COPY(from_range(ways));
  CAPTURE(int(form), sum.has_value(), sum.has_value() ? int(*sum) : 0);
  BackwardConfig config{.problem = {.dtype = element, .d = d, .dv = d}, .form = form};
  chooseSchedule(
      config, {.dq = sum, .dkv = keySum},
      {.sequences = batches, .queries = problem.queries, .keys = problem.keys, .heads = heads, .kvHeads = 1},
      *findTarget("sm_90a"));
  std::vector<Memory *> tensors = {&problem.q, &problem.k, &problem.v, &problem.o, &problem.dO, &problem.lse};
  for (Memory &input : inputs)
    tensors.push_back(&input);
  tensors.insert(tensors.end(), {&dq, &dk, &dv});
  run(compiled(backwardProgram(config, makeMask)), tensors);
  double ofProduct = std::sqrt(double(d)) / 3;
  compare("dq", dq, problem.dq, ofProduct / std::sqrt(double(d)));
  compare("dk", dk, problem.dk, ofProduct / std::sqrt(double(d)));
  compare("dv", dv, problem.dv, 1);
}
void check(const Problem &problem, const std::vector<Way> &ways, const Mask &mask) {
  check(problem, ways, [&](const MaskScope &) { return mask; });
}

void checkDocuments(const std::vector<Way> &ways) {
  constexpr int64_t rows = 203;
  const std::vector<int64_t> documents[batches] = {{0, 7, 70, 71, 198, rows}, {0, 129, rows}};
  auto beginOf = [&](int64_t batch, int64_t row) {
    return *std::prev(std::ranges::upper_bound(documents[batch], row));
  };
  auto endOf = [&](int64_t batch, int64_t row) { return *std::ranges::upper_bound(documents[batch], row); };
  auto numbers = [&](const auto &numberOf) {
    Memory tensor = Memory::filled(ElementType::i32, {batches, rows}, 0);
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t row = 0; row < rows; ++row)
        tensor.at({batch, row}) = double(numberOf(batch, row));
    return tensor;
  };
  check({rows, rows,
         [&](int64_t batch, int64_t, int64_t query, int64_t key) {
           return key <= query && key >= beginOf(batch, query);
         },
         Catch::rngSeed()},
        ways,
        [](const MaskScope &scope) {
          dsl::Global begins = scope.k.input("begins", dsl::i32, {scope.batches, scope.queries});
          dsl::Global ends = scope.k.input("ends", dsl::i32, {scope.batches, scope.queries});
          return Mask::derived(
              [=](const Sequence &s, auto query, auto key) {
                return key <= query && key >= lookUp(begins, ends, {s.batch, 0}, query);
              },
              RowOrder::lastFirst);
        },
        {numbers(beginOf), numbers(endOf)});
}

void checkDilatedWindow(const std::vector<Way> &ways) {
  // The last queries see no key.
  check({167, 101,
         [](int64_t, int64_t, int64_t query, int64_t key) {
           return key <= query && key >= query - 37 && (query - key) % 3 == 0;
         },
         Catch::rngSeed()},
        ways, Mask::derived([](const Sequence &, auto query, auto key) {
          return key <= query && key >= query - 37 && (query - key) % 3 == 0;
        }));
}

void checkPrefix(const std::vector<Way> &ways) {
  // No query sees the last keys.
  check({75, 301,
         [](int64_t, int64_t, int64_t query, int64_t key) {
           return key < 21 || (key <= query && key > query - 33);
         },
         Catch::rngSeed()},
        ways,
        Mask::derived([](const Sequence &, auto query,
                         auto key) { return key < 21 || (key <= query && key > query - 33); },
                      RowOrder::lastFirst));
}

/// Tiles of keys that one head sees, or the other, or none.
void checkHeads(const std::vector<Way> &ways) {
  check(
      {40, 420,
       [](int64_t, int64_t head, int64_t, int64_t key) { return key >= head * 260 && key < head * 260 + 40; },
       Catch::rngSeed()},
      ways, Mask::derived([](const Sequence &s, auto, auto key) {
        return key >= s.head * 260 && key < s.head * 260 + 40;
      }));
}

} // namespace

TEST_CASE("gradients within documents of a packed row", "[programs][attention]") { checkDocuments(someWays); }
TEST_CASE("gradients of a dilated window", "[programs][attention]") { checkDilatedWindow(otherWays); }
TEST_CASE("gradients of a prefix and a window", "[programs][attention]") { checkPrefix(someWays); }
TEST_CASE("gradients of heads that see other keys", "[programs][attention]") {
  checkHeads({{AttentionForm::explicitRoles, QuerySum::tma, KeySum::loop},
              {AttentionForm::explicitRoles, QuerySum::ordered, KeySum::loop}});
}

// Of tools/test.sh long.
TEST_CASE("gradients of documents, in all ways", "[.long]") { checkDocuments(allWays); }
TEST_CASE("gradients of a dilated window, in all ways", "[.long]") { checkDilatedWindow(allWays); }
TEST_CASE("gradients of a prefix and a window, in all ways", "[.long]") { checkPrefix(allWays); }
