// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain programs whose sums the compiler keeps in tensor memory: what their loops and epilogues do to them,
/// and orders of copies in which the role of products must not run ahead.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace tlc;
using namespace tlc::dsl;
using test::Memory;

namespace {

constexpr int64_t rows = 128, bk = 64;

/// Whole numbers, so that all sums are exact.
Memory numbers(std::vector<int64_t> shape, int64_t seed) {
  Memory memory = Memory::filled(bf16, std::move(shape), 0);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 7 + int64_t(i / 5) * 3 + seed) % 5 - 2);
  return memory;
}

/// Powers of two, one for each row.
Memory powers() {
  Memory memory = Memory::filled(f32, {rows, 1}, 1);
  for (int64_t i = 0; i < rows; ++i)
    memory.at({i, 0}) = i % 3 == 0 ? 2 : i % 3 == 1 ? 0.5 : -1;
  return memory;
}

Artifact compileForTcgen05(Program program) {
  CompileOptions options = test::compilingFor("sm_100a");
  return test::compiled(std::move(program), options);
}

struct Step {
  Scope &k;
  Index number;
  Fragment &sum, &ofRows;
  Shared a, b;

  void multiply() { gemm(a, b.t(), sum); }
};
using StepBody = std::function<void(Step)>;

/// C = what the steps make of zeros, each with 64 elements along k.
Program inSteps(int64_t n, const StepBody &body) {
  return Program::trace("in_steps", [=](Scope &k) {
    k.require(Requirement::tcgen05);
    Index depth = k.dim("k");
    Global A = k.input("A", bf16, {rows, depth}), B = k.input("B", bf16, {n, depth});
    Global R = k.input("R", f32, {rows, 1}), C = k.output("C", f32, {rows, n});
    auto [block] = k.grid(1);
    Shared a = k.shared("a", bf16, {rows, bk}), b = k.shared("b", bf16, {n, bk});
    Fragment sum = k.fragment(f32, {rows, n}), ofRows = k.fragment(f32, {rows, 1});
    copy(R.tile({0, 0}, {rows, 1}), ofRows);
    k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&](Index s) {
      copy(A.tile({0, s * bk}, {rows, bk}), a);
      copy(B.tile({0, s * bk}, {n, bk}), b);
      body({k, s, sum, ofRows, a, b});
    });
    copy(sum, C.tile({0, 0}, {rows, n}));
  });
}

/// The sum after step s, of what it was before, the product and the row's number.
using StepReference = std::function<double(double, int64_t, double, double)>;

void checkSteps(const StepBody &body, const StepReference &reference) {
  for (int64_t n : {64, 144})
    for (int64_t depth : {0, 64, 256}) {
      CAPTURE(n, depth);
      Memory a = numbers({rows, depth}, 1), b = numbers({n, depth}, 4), r = powers(),
             c = Memory::filled(f32, {rows, n}, test::notANumber);
      test::run(compileForTcgen05(inSteps(n, body)), {&a, &b, &r, &c});
      int64_t wrong = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double expected = 0;
          for (int64_t s = 0; s < depth / bk; ++s) {
            double product = 0;
            for (int64_t l = s * bk; l < (s + 1) * bk; ++l)
              product += a.at({i, l}) * b.at({j, l});
            expected = reference(expected, s, product, r.at({i, 0}));
          }
          double got = c.at({i, j});
          wrong += !(got == expected || (std::isnan(got) && std::isnan(expected)));
        }
      CHECK(wrong == 0);
    }
}

} // namespace

TEST_CASE("a loop changes a sum before the product", "[tensor-sums]") {
  SECTION("by a number of the row")
  checkSteps(
      [](Step step) {
        step.sum = step.sum * step.ofRows;
        step.multiply();
      },
      [](double sum, int64_t, double product, double row) { return sum * row + product; });
  SECTION("by what makes something of zeros")
  checkSteps(
      [](Step step) {
        step.sum = max(step.sum + 1.0, 3.0);
        step.multiply();
      },
      [](double sum, int64_t, double product, double) { return std::max(sum + 1, 3.0) + product; });
  SECTION("by infinities, in the first step, too")
  checkSteps(
      [](Step step) {
        step.sum = step.sum * (step.ofRows * std::numeric_limits<double>::infinity());
        step.multiply();
      },
      [](double sum, int64_t, double product, double row) {
        return sum * (row * std::numeric_limits<double>::infinity()) + product;
      });
  SECTION("in a branch")
  checkSteps(
      [](Step step) {
        step.k.when(step.number < 2, [&] { step.sum = step.sum + (step.ofRows * 2.0); });
        step.multiply();
      },
      [](double sum, int64_t s, double product, double row) {
        return (s < 2 ? sum + row * 2 : sum) + product;
      });
  SECTION("where a warp decides")
  checkSteps(
      [](Step step) {
        step.k.whenAny(step.ofRows < 0.0,
                       [&] { step.sum = where(step.ofRows < 0.0, step.sum * -1.0, step.sum); });
        step.multiply();
      },
      [](double sum, int64_t, double product, double row) { return (row < 0 ? -sum : sum) + product; });
}

TEST_CASE("a loop changes a sum after the product", "[tensor-sums]") {
  SECTION("by a number")
  checkSteps(
      [](Step step) {
        step.multiply();
        step.sum = step.sum * 0.5;
      },
      [](double sum, int64_t, double product, double) { return (sum + product) * 0.5; });
  SECTION("in a branch")
  checkSteps(
      [](Step step) {
        step.multiply();
        step.k.when(step.number == 1,
                    [&] { step.sum = step.k.fragment(f32, {rows, step.sum.shape()[1]}) + step.ofRows; });
      },
      [](double sum, int64_t s, double product, double row) { return s == 1 ? row : sum + product; });
}

TEST_CASE("long rows of a sum are stored after a branch", "[tensor-sums]") {
  constexpr int64_t n = 128;
  for (int kind : {0, 1, 2}) {
    CAPTURE(kind);
    Program program = Program::trace("epilogue", [=](Scope &k) {
      k.require(Requirement::tcgen05);
      Index depth = k.dim("k");
      Global A = k.input("A", bf16, {rows, depth}), B = k.input("B", bf16, {n, depth});
      Global R = k.input("R", f32, {rows, 1}), S = k.input("S", f32, {n}), C = k.output("C", f32, {rows, n});
      auto [block] = k.grid(1);
      Shared a = k.shared("a", bf16, {rows, bk}), b = k.shared("b", bf16, {n, bk});
      Fragment sum = k.fragment(f32, {rows, n}), r = k.fragment(f32, {rows, 1});
      k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&](Index s) {
        copy(A.tile({0, s * bk}, {rows, bk}), a);
        copy(B.tile({0, s * bk}, {n, bk}), b);
        gemm(a, b.t(), sum);
      });
      copy(R.tile({0, 0}, {rows, 1}), r);
      Fragment result(sum * r);
      k.when(depth > 64, [&] {
        Fragment s = k.fragment(f32, {1, n});
        if (kind != 1)
          copy(S.tile({depth - 128}, {n}), s);
        result = kind == 0 ? result + s : kind == 1 ? result * (r + 1.0) : result * (r + 1.0) + s;
      });
      copy(result, C.tile({0, 0}, {rows, n}));
    });
    const Artifact artifact = compileForTcgen05(std::move(program));
    for (int64_t depth : {64, 128}) {
      CAPTURE(depth);
      Memory a = numbers({rows, depth}, 1), b = numbers({n, depth}, 4), r = powers(),
             s = Memory::filled(f32, {n}, 0), c = Memory::filled(f32, {rows, n}, test::notANumber);
      for (int64_t j = 0; j < n; ++j)
        s.at({j}) = double(j);
      test::run(artifact, {&a, &b, &r, &s, &c});
      int64_t wrong = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0, row = r.at({i, 0});
          for (int64_t l = 0; l < depth; ++l)
            sum += a.at({i, l}) * b.at({j, l});
          double expected = sum * row;
          if (depth > 64)
            expected = (kind == 0 ? expected : expected * (row + 1)) + (kind == 1 ? 0 : double(j));
          wrong += c.at({i, j}) != expected;
        }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the role of products waits for what others fill first", "[tensor-sums]") {
  constexpr int64_t n = 192;
  struct Case {
    bool valuesFirst = false;
    int64_t stages = 2, parts = 1; ///< of the columns of the second factor, in a loop of their own
    bool computed = false;         ///< the left factor of the first product
  };
  for (const Case &c : {Case{}, Case{.valuesFirst = true, .stages = 1}, Case{.valuesFirst = true},
                        Case{.parts = 3}, Case{.computed = true}}) {
    CAPTURE(c.valuesFirst, c.stages, c.parts, c.computed);
    Program program = Program::trace("two_products", [=](Scope &k) {
      k.require(Requirement::tcgen05);
      Global Q = k.input("Q", bf16, {rows, 64}), K = k.input("K", bf16, {n, 64}),
             V = k.input("V", bf16, {n, 64 * c.parts}), R = k.output("R", f32, {n / 64, rows, 64 * c.parts});
      auto [block] = k.grid(1);
      Shared q = k.shared("q", bf16, {rows, 64}), keys = k.shared("keys", bf16, {64, 64}),
             values = k.shared("values", bf16, {64, 64}), h = k.shared("h", bf16, {rows, 64});
      if (!c.computed)
        copy(Q.tile({0, 0}, {rows, 64}), q);
      k.pipelined(n / 64, {.stages = c.stages}, [&](Index t) {
        if (c.valuesFirst)
          copy(V.tile({t * 64, 0}, {64, 64}), values);
        copy(K.tile({t * 64, 0}, {64, 64}), keys);
        Fragment s = k.fragment(f32, {rows, 64});
        if (c.computed) {
          Fragment x = k.fragment(bf16, {rows, 64});
          copy(Q.tile({0, 0}, {rows, 64}), x);
          gemm(Fragment((x.to(f32) * 2.0).to(bf16)), keys.t(), s);
        } else {
          gemm(q, keys.t(), s);
        }
        FragmentValue small = min(max(s, -4.0), 4.0).to(bf16);
        if (c.parts > 1) {
          copy(small, h);
          k.pipelined(c.parts, {.stages = 2}, [&](Index part) {
            copy(V.tile({t * 64, part * 64}, {64, 64}), values);
            Fragment r = k.fragment(f32, {rows, 64});
            gemm(h, values, r);
            copy(r, R.tile({t, 0, part * 64}, {1, rows, 64}));
          });
        } else {
          if (!c.valuesFirst)
            copy(V.tile({t * 64, 0}, {64, 64}), values);
          Fragment r = k.fragment(f32, {rows, 64});
          gemm(Fragment(small), values, r);
          copy(r, R.tile({t, 0, 0}, {1, rows, 64}));
        }
      });
    });
    Memory q = numbers({rows, 64}, 1), keys = numbers({n, 64}, 2), v = numbers({n, 64 * c.parts}, 3),
           r = Memory::filled(f32, {n / 64, rows, 64 * c.parts}, test::notANumber);
    test::run(compileForTcgen05(std::move(program)), {&q, &keys, &v, &r});
    int64_t wrong = 0;
    for (int64_t t = 0; t < n / 64; ++t)
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<double> weights(64);
        for (int64_t l = 0; l < 64; ++l) {
          double s = 0;
          for (int64_t e = 0; e < 64; ++e)
            s += q.at({i, e}) * keys.at({t * 64 + l, e}) * (c.computed ? 2 : 1);
          weights[size_t(l)] = std::clamp(s, -4.0, 4.0);
        }
        for (int64_t j = 0; j < 64 * c.parts; ++j) {
          double expected = 0;
          for (int64_t l = 0; l < 64; ++l)
            expected += weights[size_t(l)] * v.at({t * 64 + l, j});
          wrong += r.at({t, i, j}) != expected;
        }
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads read a factor that another role loads", "[tensor-sums]") {
  constexpr int64_t n = 64;
  for (bool inLoop : {false, true}) {
    CAPTURE(inLoop);
    const int64_t steps = inLoop ? 3 : 1;
    Program program = Program::trace("read_factor", [=](Scope &k) {
      k.require(Requirement::tcgen05);
      Global A = k.input("A", bf16, {rows, steps * bk}), B = k.input("B", bf16, {n, steps * bk}),
             C = k.output("C", f32, {rows, n}), R = k.output("R", f32, {rows, bk});
      auto [block] = k.grid(1);
      Shared a = k.shared("a", bf16, {rows, bk}), b = k.shared("b", bf16, {n, bk});
      Fragment c = k.fragment(f32, {rows, n}), r = k.fragment(f32, {rows, bk});
      auto step = [&](const Index &i) {
        copy(A.tile({0, i * bk}, {rows, bk}), a);
        copy(B.tile({0, i * bk}, {n, bk}), b);
        gemm(a, b.t(), c);
        Fragment x = k.fragment(bf16, {rows, bk});
        copy(a, x);
        r = r + x.to(f32);
      };
      if (inLoop)
        k.pipelined(steps, {.stages = 2}, step);
      else
        step(0);
      copy(c, C.tile({0, 0}, {rows, n}));
      copy(r, R.tile({0, 0}, {rows, bk}));
    });
    Memory a = numbers({rows, steps * bk}, 1), b = numbers({n, steps * bk}, 2),
           c = Memory::filled(f32, {rows, n}, test::notANumber),
           r = Memory::filled(f32, {rows, bk}, test::notANumber);
    test::run(compileForTcgen05(std::move(program)), {&a, &b, &c, &r});
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < steps * bk; ++l)
          sum += a.at({i, l}) * b.at({j, l});
        wrong += c.at({i, j}) != sum;
      }
      for (int64_t l = 0; l < bk; ++l) {
        double sum = 0;
        for (int64_t s = 0; s < steps; ++s)
          sum += a.at({i, s * bk + l});
        wrong += r.at({i, l}) != sum;
      }
    }
    CHECK(wrong == 0);
  }
}
