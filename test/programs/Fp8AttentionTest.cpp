// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward on e4m3 with scores that are hard on weights of 8 bits: no worse than twice a plain
/// implementation, which rounds each weight, 2^8 for a row's largest, and does all else exactly.
#include "kernels/attention/forward/Forward.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

constexpr int64_t queries = 140, keys = 700, d = 32;

/// The nearest number of e4m3, for one from 0 to 448.
double roundedToByte(double x) {
  if (x == 0)
    return 0;
  double unit = std::ldexp(1.0, std::max(std::ilogb(x), -6) - 3);
  return std::nearbyint(x / unit) * unit;
}

struct Scores {
  std::string name;
  double scale; ///< what scores, from -1 to 1, are multiplied by
  std::function<double(int64_t key, double random)> of;
};

void check(const Scores &scores) {
  AttentionForm form = GENERATE(AttentionForm::plain, AttentionForm::explicitRoles);
  ForwardConfig config{
      .problem = {.dtype = ElementType::e4m3, .d = d, .dv = d}, .form = form, .sum = OutputSum::perTile};
  chooseTiles(config, {.sq = queries, .sk = keys}, *findTarget("sm_90a"));
  config.bk = 64;
  uint64_t seed = Catch::rngSeed();
  INFO(scores.name << ", form " << int(form) << ", seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  Memory q = Memory::filled(ElementType::e4m3, {1, queries, 1, d}, 0);
  Memory k = Memory::filled(ElementType::e4m3, {1, keys, 1, d}, 0), v = k;
  // A score is made of two parts, the second one finer; signs of queries differ, so that maxima fall, too.
  for (int64_t query = 0; query < queries; ++query) {
    double sign = query % 3 == 2 ? -1 : 1;
    q.at({0, query, 0, 0}) = sign;
    q.at({0, query, 0, 1}) = sign / 16;
  }
  for (int64_t key = 0; key < keys; ++key) {
    double score = scores.of(key, number(random)), coarse = std::round(score * 8) / 8;
    k.at({0, key, 0, 0}) = coarse;
    k.at({0, key, 0, 1}) = std::round((score - coarse) * 128) / 8;
    for (int64_t i = 0; i < d; ++i) // half of the columns of one sign
      v.at({0, key, 0, i}) = std::round((i % 2 == 0 ? number(random) : std::abs(number(random))) * 8) / 8;
  }
  Memory ofQ = Memory::filled(ElementType::f32, {1, 1}, scores.scale * std::sqrt(double(d)));
  Memory ofK = Memory::filled(ElementType::f32, {1, 1}, 1),
         ofV = Memory::filled(ElementType::f32, {1, 1}, 0.5);
  Memory o = Memory::filled(ElementType::bf16, {1, queries, 1, d}, notANumber);
  Memory lse = Memory::filled(ElementType::f32, {1, 1, queries}, notANumber);
  Memory whole = Memory::filled(ElementType::e4m3, {1, 1, 1, keys, 128}, notANumber); // workspaces
  Memory last = Memory::filled(ElementType::e4m3, {1, 1, 1, 128, 128}, notANumber);
  std::vector<Memory *> tensors = {&q, &k, &v, &ofQ, &ofK, &ofV, &o, &lse};
  if (form == AttentionForm::explicitRoles)
    tensors.insert(tensors.end(), {&whole, &last});
  run(compiled(forwardProgram(config)), tensors);

  double error = 0, plainError = 0, size = 0;
  for (int64_t query = 0; query < queries; ++query) {
    std::vector<double> exponents;
    for (int64_t key = 0; key < keys; ++key)
      exponents.push_back(scores.scale * (q.at({0, query, 0, 0}) * k.at({0, key, 0, 0}) +
                                          q.at({0, query, 0, 1}) * k.at({0, key, 0, 1})));
    double top = *std::ranges::max_element(exponents), total = 0;
    std::vector<double> exact(size_t(d), 0.0), plain(size_t(d), 0.0);
    for (int64_t key = 0; key < keys; ++key) {
      double weight = std::exp(exponents[size_t(key)] - top), rounded = roundedToByte(weight * 256) / 256;
      total += weight;
      for (int64_t i = 0; i < d; ++i) {
        exact[size_t(i)] += weight * v.at({0, key, 0, i}) * 0.5;
        plain[size_t(i)] += rounded * v.at({0, key, 0, i}) * 0.5;
      }
    }
    double wanted = top + std::log(total);
    REQUIRE(std::abs(lse.at({0, 0, query}) - wanted) <= 1e-5 + 3e-7 * std::abs(top));
    for (int64_t i = 0; i < d; ++i) {
      double right = exact[size_t(i)] / total;
      error += std::pow(o.at({0, query, 0, i}) - right, 2);
      plainError += std::pow(plain[size_t(i)] / total - right, 2);
      size += right * right;
    }
  }
  // O is rounded to bf16, and the product of a tile is cut off after 13 bits of its sum.
  double cut = std::ldexp(1.0, -13) * double(config.bk);
  double limit = 2 * std::sqrt(plainError) + (std::ldexp(1.0, -9) + cut / 4) * std::sqrt(size);
  INFO("error " << std::sqrt(error) << ", of the plain form " << std::sqrt(plainError) << ", limit "
                << limit);
  CHECK(std::sqrt(error) <= limit);
}

double growing(int64_t key, double) { return 2.0 * double(key) / keys - 1; }

} // namespace

TEST_CASE("weights of 8 bits lose no more than twice what a plain form does", "[programs][attention]") {
  check({"all alike", 1, [](int64_t, double) { return 0.25; }});
  check({"usual", 4, [](int64_t, double r) { return r; }});
  check({"of 1e4", 1e4, [](int64_t, double r) { return r; }});
  check({"growing", 100, growing});
  check({"one key far above the rest", 40, [](int64_t key, double r) { return key == 650 ? 1 : r / 8; }});
}

// Of tools/test.sh long.
TEST_CASE("weights of 8 bits lose no more between these scores", "[.long]") {
  check({"small", 0.1, [](int64_t, double r) { return r; }});
  check({"large", 30, [](int64_t, double r) { return r; }});
  check({"growing slowly", 3, growing});
  check({"growing to 1e4", 1e4, growing});
  check({"one key above the rest", 9, [](int64_t key, double r) { return key == 3 ? 1 : r / 8; }});
}
