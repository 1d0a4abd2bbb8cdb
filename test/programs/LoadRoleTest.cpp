// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that ask for a role that loads: what they compute is no asynchronous product, or several copies
/// fill the rows of one tile.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr const char *targets[] = {"sm_90a", "sm_100a", "sm_80"};

/// From -8 to 8, in steps of an eighth.
Memory numbers(ElementType element, std::vector<int64_t> shape, int64_t seed) {
  Memory memory = Memory::filled(element, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 37 + int64_t(i) / 7 * 11 + seed) % 129 - 64) / 8;
  return memory;
}

void ask(Scope &k, bool isRequired) {
  k.loadRole();
  if (!isRequired) // the target has no TMA
    return;
  k.require(Requirement::warpSpecialized);
  k.require(Requirement::tma);
}

/// Y = X. A block copies every so many-th tile.
Program copied(bool isRequired) {
  return Program::trace("copied", [=](Scope &k) {
    constexpr int64_t rows = 16, columns = 96;
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 4});
    Global X = k.input("X", f32, {m, n}, {.alignment = 16}),
           Y = k.output("Y", f32, {m, n}, {.alignment = 16});
    ask(k, isRequired);
    k.warps(1);
    auto [block, column] = k.grid(k.multiprocessors(), ceilDiv(n, columns));
    Shared tile = k.shared("tile", f32, {rows, columns});
    k.pipelined({block, ceilDiv(m, rows), k.blocks()}, {.stages = 3}, [&, column = column](Index i) {
      copy(X.tile({i * rows, column * columns}, {rows, columns}), tile);
      copy(tile, Y.tile({i * rows, column * columns}, {rows, columns}));
    });
  });
}

constexpr int64_t longest = 512;

/// Y = X / sqrt(mean(X^2)) W for rows of up to `longest` numbers.
Program normalised(bool isRequired) {
  return Program::trace("normalised", [=](Scope &k) {
    constexpr int64_t rows = 8;
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8});
    Global X = k.input("X", bf16, {m, n}, {.alignment = 16}), W = k.input("W", f32, {n});
    Global Y = k.output("Y", bf16, {m, n}, {.alignment = 16});
    ask(k, isRequired);
    auto [block] = k.grid(k.multiprocessors());
    Shared x = k.shared("x", bf16, {rows, longest});
    Fragment w = k.fragment(f32, {1, longest});
    copy(W.tile({0}, {longest}), w);
    k.pipelined({block, ceilDiv(m, rows), k.blocks()}, {.stages = 4}, [&](Index i) {
      copy(X.tile({i * rows, 0}, {rows, longest}), x);
      Fragment row = k.fragment(bf16, {rows, longest});
      copy(x, row);
      FragmentValue r = rsqrt(rowSum(row.to(f32) * row.to(f32)) / n.to(f32));
      copy((row.to(f32) * r * w).to(bf16), Y.tile({i * rows, 0}, {rows, longest}));
    });
  });
}

constexpr int64_t d = 64, page = 16, bn = 64, heads = 16;

/// Attention of `heads` queries of a sequence to its keys, which lie in pages that a table names.
Program paged(bool isRequired) {
  return Program::trace("paged", [=](Scope &k) {
    const double scale = std::numbers::log2e / std::sqrt(double(d));
    Index batches = k.dim("batches"), pages = k.dim("pages"), most = k.dim("most");
    constexpr TensorFacts aligned = {.alignment = 16};
    Global Q = k.input("Q", bf16, {batches, heads, d}, aligned), O = k.output("O", f32, {batches, heads, d});
    Global K = k.input("K", bf16, {pages, page, d}, aligned),
           V = k.input("V", bf16, {pages, page, d}, aligned);
    Global Table = k.input("Table", i32, {batches, most}), Lengths = k.input("Lengths", i32, {batches});
    ask(k, isRequired);
    auto [batch] = k.grid(batches);
    Index length = Lengths.read({batch});
    Shared q = k.shared("q", bf16, {heads, d}), weights = k.shared("weights", bf16, {bn, heads});
    Shared keys = k.shared("k", bf16, {bn, d}), values = k.shared("v", bf16, {bn, d});
    copy(Q.tile({batch, 0, 0}, {1, heads, d}), q);
    Fragment o = k.fragment(f32, {d, heads}).named("o");
    Fragment maximum = k.fragment(f32, {1, heads}, -inf), sum = k.fragment(f32, {1, heads});
    k.pipelined(ceilDiv(length, bn), {.stages = 3}, [&, batch = batch](Index i) {
      for (int64_t row = 0; row < bn; row += page) {
        Index first = i * bn + row, number = min(first, length - 1) / page;
        Index at = Table.read({batch, number}), end = max(length - first, 0);
        copy(K.tile({at, 0, 0}, {1, page, d}).limited(1, end), keys.rows(row, page));
        copy(V.tile({at, 0, 0}, {1, page, d}).limited(1, end), values.rows(row, page));
      }
      Fragment s = k.fragment(f32, {bn, heads}).named("s");
      gemm(keys, q.t(), s);
      s = where([&](Index key, Index) { return i * bn + key < length; }, s, -inf);
      Fragment next = max(maximum, reduce(Reduction::max, s, 0));
      FragmentValue p = exp2((s - next) * scale), rescale = exp2((maximum - next) * scale);
      sum = sum * rescale + reduce(Reduction::sum, p, 0);
      o = o * rescale;
      maximum = next;
      copy(p.to(bf16), weights);
      gemm(values.t(), weights, o);
    });
    Shared result = k.shared("result", f32, {d, heads});
    Fragment ofHeads = k.fragment(f32, {heads, d});
    copy(o * (1 / sum), result);
    copy(result.t(), ofHeads);
    copy(ofHeads, O.tile({batch, 0, 0}, {1, heads, d}));
  });
}

struct Sequences {
  std::vector<int64_t> lengths;
  Memory q, k, v, table, lengthsOf;
};

Sequences sequences(std::vector<int64_t> lengths) {
  const int64_t most = (*std::max_element(lengths.begin(), lengths.end()) + page - 1) / page;
  const auto batches = int64_t(lengths.size()), pages = batches * most + 3;
  Sequences all = {lengths,
                   numbers(bf16, {batches, heads, d}, 1),
                   numbers(bf16, {pages, page, d}, 2),
                   numbers(bf16, {pages, page, d}, 3),
                   Memory::filled(i32, {batches, most}, -1),
                   Memory::filled(i32, {batches}, 0)};
  for (int64_t b = 0; b < batches; ++b) {
    all.lengthsOf.at({b}) = double(lengths[size_t(b)]);
    for (int64_t i = 0; i < most; ++i)
      all.table.at({b, i}) = double(((b * most + i) * 7 + 1) % pages);
  }
  return all;
}

/// The largest difference of O to what doubles give.
double errorOf(Sequences &in, Memory &o) {
  double worst = 0;
  for (size_t b = 0; b < in.lengths.size(); ++b)
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<double> expected(d);
      double sum = 0;
      for (int64_t s = 0; s < in.lengths[b]; ++s) {
        const auto at = int64_t(in.table.at({int64_t(b), s / page}));
        double score = 0;
        for (int64_t l = 0; l < d; ++l)
          score += in.q.at({int64_t(b), h, l}) * in.k.at({at, s % page, l});
        const double weight = std::exp(score / std::sqrt(double(d)));
        sum += weight;
        for (int64_t l = 0; l < d; ++l)
          expected[size_t(l)] += weight * in.v.at({at, s % page, l});
      }
      for (int64_t l = 0; l < d; ++l)
        worst = std::max(worst, std::abs(o.at({int64_t(b), h, l}) - expected[size_t(l)] / sum));
    }
  return worst;
}

bool hasTma(std::string_view target) { return target != "sm_80"; }

} // namespace

TEST_CASE("a role loads for a copy", "[roles][load-role]") {
  for (const char *target : targets) {
    INFO(target);
    Artifact artifact = test::compiled(copied(hasTma(target)), test::compilingFor(target));
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 4}, {61, 100}, {160, 192}, {333, 44}}) {
      INFO(m << " x " << n);
      Memory x = numbers(f32, {m, n}, 5), y = Memory::filled(f32, {m, n}, test::notANumber);
      test::run(artifact, {&x, &y});
      CHECK(x.values == y.values);
    }
  }
}

TEST_CASE("a role loads for a norm", "[roles][load-role]") {
  for (const char *target : targets) {
    INFO(target);
    Artifact artifact = test::compiled(normalised(hasTma(target)), test::compilingFor(target));
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 8}, {99, 504}, {70, 512}}) {
      INFO(m << " x " << n);
      Memory x = numbers(bf16, {m, n}, 5), w = numbers(f32, {n}, 6),
             y = Memory::filled(bf16, {m, n}, test::notANumber);
      test::run(artifact, {&x, &w, &y});
      double worst = 0;
      for (int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += x.at({i, j}) * x.at({i, j});
        for (int64_t j = 0; j < n; ++j) {
          const double expected = x.at({i, j}) / std::sqrt(sum / double(n)) * w.at({j});
          worst = std::max(worst, std::abs(y.at({i, j}) - expected) / (std::abs(expected) + 1));
        }
      }
      CHECK(worst < 1.0 / 128); // of bf16
    }
  }
}

TEST_CASE("a role loads pages of 16 keys into the rows of one tile", "[roles][load-role]") {
  for (const char *target : targets) {
    INFO(target);
    Artifact artifact = test::compiled(paged(hasTma(target)), test::compilingFor(target));
    for (const std::vector<int64_t> &lengths :
         {std::vector<int64_t>{1}, {16, 65}, {200, 17, 64}, {127, 300}}) {
      Sequences in = sequences(lengths);
      Memory o = Memory::filled(f32, {int64_t(lengths.size()), heads, d}, test::notANumber);
      test::run(artifact, {&in.q, &o, &in.k, &in.v, &in.table, &in.lengthsOf});
      CHECK(errorOf(in, o) < 0.05); // of weights in bf16
    }
  }
}
