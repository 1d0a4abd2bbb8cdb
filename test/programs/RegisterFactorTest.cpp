// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pipelined loops whose products have a left factor that the iteration itself brings to registers: the next
/// iteration must not overwrite it while a product is in flight. Values are small integers, so that sums are
/// exact.
#include "kernels/library/Compile.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// What an iteration has: tiles of A (64 x 64, its rows are columns of the result) and of the weights, in
/// shared memory and from there in registers, and sums.
struct Iteration {
  Scope &k;
  const Shared &a, &b;
  Fragment &weights, &sum, &other;
  Slice from; ///< where the tile of weights comes from
};

struct Form {
  const char *name;
  ElementType weights;
  std::function<void(const Iteration &)> multiply;
  std::function<double(double)> factor; ///< of the result, by weight
  bool persistent = false;
  bool carries = false; ///< the tile of weights before multiplies a tile of A, too
};

void loadThroughShared(const Iteration &i) {
  copy(i.from, i.b);
  copy(i.b, i.weights);
}

double twice(double weight) { return 2 * weight; }
double once(double weight) { return weight; }
double negated(double weight) { return -weight; }

const std::vector<Form> forms = {
    {"bytes, scaled", i8,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm((i.weights.to(f32) * 2).to(bf16), i.a.t(), i.sum);
     },
     twice},
    {"scaled", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm((i.weights.to(f32) * 2).to(bf16), i.a.t(), i.sum);
     },
     twice},
    {"as they are", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(i.weights, i.a.t(), i.sum);
     },
     once},
    {"scaled, another policy", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm((i.weights.to(f32) * 2).to(bf16), i.a.t(), i.sum, WarpPolicy::square);
     },
     twice},
    {"in a fragment of the iteration", bf16,
     [](const Iteration &i) {
       Fragment own = i.k.fragment(bf16, {64, 64});
       copy(i.from, i.b);
       copy(i.b, own);
       gemm((own.to(f32) * 2).to(bf16), i.a.t(), i.sum);
     },
     twice},
    {"with other extents", bf16,
     [](const Iteration &i) {
       Fragment own = i.k.fragment(bf16, {16, 256});
       copy(i.from, i.b);
       copy(i.b.reshape({16, 256}), own);
       gemm(reshape(own, {64, 64}), i.a.t(), i.sum);
     },
     once},
    {"pairs in words", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(bitcast(bitcast(i.weights, u32) ^ 0x80008000u, bf16), i.a.t(), i.sum);
     },
     negated},
    {"from global memory", bf16,
     [](const Iteration &i) {
       copy(i.from, i.weights);
       gemm(i.weights, i.a.t(), i.sum);
     },
     once},
    {"one factor of two products", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(i.weights, i.a.t(), i.sum);
       gemm(i.weights, i.a.t(), i.other);
     },
     twice},
    {"two factors of one source", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(i.weights, i.a.t(), i.sum);
       gemm(max(i.weights.to(f32), 0).to(bf16), i.a.t(), i.other);
     },
     [](double weight) { return weight + std::max(weight, 0.); }},
    {"read again after the product", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(i.weights, i.a.t(), i.sum);
       Fragment negative = i.k.fragment(bf16, {64, 64});
       negative = (i.weights.to(f32) * -3).to(bf16);
       gemm(negative, i.a.t(), i.sum);
     },
     [](double weight) { return -2 * weight; }},
    {"carried from the iteration before", bf16,
     [](const Iteration &i) {
       gemm(i.weights, i.a.t(), i.sum); // nothing in the first iteration
       loadThroughShared(i);
       gemm(i.weights, i.a.t(), i.other);
     },
     once, false, true},
    {"equal to what was loaded, as LLVM finds", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(i.weights / 1, i.a.t(), i.sum);
     },
     once},
    {"a choice that is always the same", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       Fragment chosen = where([](Index row, Index column) { return row + column < 200; }, i.weights, 0);
       gemm(chosen, i.a.t(), i.sum);
     },
     once},
    {"a choice whose condition no number meets", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(where(abs(i.weights) == -1, i.weights + i.weights, i.weights), i.a.t(), i.sum);
     },
     once},
    {"the larger of two equal ones", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm(max(i.weights / 1, i.weights), i.a.t(), i.sum);
     },
     once},
    {"in a loop over tiles", bf16,
     [](const Iteration &i) {
       loadThroughShared(i);
       gemm((i.weights.to(f32) * 2).to(bf16), i.a.t(), i.sum);
     },
     twice, true},
};

Program program(const Form &form) {
  return Program::trace("register_factor", [&](Scope &k) {
    Index n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {n, depth}), B = k.input("B", form.weights, {64, depth});
    Global C = k.output("C", f32, {64, n});
    auto tile = [&](Index column) {
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", form.weights, {64, 64});
      Fragment sum = k.fragment(f32, {64, 64}), other = k.fragment(f32, {64, 64}),
               weights = k.fragment(form.weights, {64, 64});
      k.pipelined(ceilDiv(depth, 64), {.stages = 2}, [&](Index s) {
        copy(A.tile({column * 64, s * 64}, {64, 64}), a);
        form.multiply({k, a, b, weights, sum, other, B.tile({0, s * 64}, {64, 64})});
      });
      copy(sum + other, C.tile({0, column * 64}, {64, 64}));
    };
    if (form.persistent) {
      k.persistent({ceilDiv(n, 64)}, {}, tile);
    } else {
      auto [column] = k.grid(ceilDiv(n, 64));
      tile(column);
    }
  });
}

void check(const Artifact &artifact, const Form &form, int64_t depth) {
  constexpr int64_t n = 260; // more tiles than multiprocessors
  INFO("k = " << depth);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> values(-3, 3);
  Memory a = Memory::filled(bf16, {n, depth}, 0), b = Memory::filled(form.weights, {64, depth}, 0);
  Memory c = Memory::filled(f32, {64, n}, notANumber);
  for (double &value : a.values)
    value = values(random);
  for (double &value : b.values)
    value = values(random);
  run(artifact, {&a, &b, &c});
  int64_t wrong = 0;
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t at = 0; at < depth; ++at) {
        sum += form.factor(b.at({row, at})) * a.at({column, at});
        if (form.carries && at >= 64)
          sum += b.at({row, at - 64}) * a.at({column, at});
      }
      wrong += c.at({row, column}) != sum;
    }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("left factors made in the iteration that multiplies", "[register-factor]") {
  for (const Form &form : forms) {
    INFO(form.name);
    Artifact artifact = compiled(program(form));
    for (int64_t depth : {int64_t(0), int64_t(64), int64_t(328)})
      check(artifact, form, depth);
  }
}

TEST_CASE("by hand it is the author's mistake", "[register-factor]") {
  auto multiply = [](int64_t pending) {
    return Program::trace("by_hand", [=](Scope &k) {
      Index steps = k.dim("steps");
      Global C = k.output("C", f32, {steps, 64, 64});
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
      k.roles([&] {
        k.role("math", {.warps = 4}, [&] {
          Fragment sum = k.fragment(f32, {64, 64}), weights = k.fragment(bf16, {64, 64}, 1);
          copy(weights, a);
          copy(weights, b);
          k.loop(steps, [&](Index) {
            copy(b, weights);
            gemmAsync(weights, a.t(), sum);
            gemmWait(sum, pending);
          });
          gemmWait(sum);
          copy(sum, C.tile({0, 0, 0}, {1, 64, 64}));
        });
      });
    });
  };
  CHECK(compile(multiply(0)));
  Result<Artifact> refused = compile(multiply(1));
  REQUIRE_FALSE(refused);
  CHECK_THAT(
      refused.error().message,
      Catch::Contains("RegisterFactorTest.cpp:") &&
          Catch::Contains("expected gemmWait before the left factor changes because a product in flight "
                          "reads it from registers") &&
          Catch::Contains("the product is started here"));
}

TEST_CASE("by hand the next factor may be made while the product reads its own", "[register-factor]") {
  Artifact artifact = compiled(Program::trace("next_factor", [](Scope &k) {
    Index steps = k.dim("steps");
    k.input("unused", f32, {steps});
    Global C = k.output("C", f32, {64, 64});
    Shared a = k.shared("a", bf16, {64, 64});
    k.roles([&] {
      k.role("math", {.warps = 4}, [&] {
        Fragment sum = k.fragment(f32, {64, 64}), weights = k.fragment(bf16, {64, 64}, 1);
        copy(weights, a);
        k.loop(steps, [&](Index) {
          gemmAsync(weights, a.t(), sum);
          FragmentValue next = (weights.to(f32) + 1).to(bf16);
          gemmWait(sum);
          weights = next;
        });
        copy(sum, C.tile({0, 0}, {64, 64}));
      });
    });
  }));
  constexpr int64_t steps = 5;
  Memory unused = Memory::filled(f32, {steps}, 0), c = Memory::filled(f32, {64, 64}, notANumber);
  run(artifact, {&unused, &c});
  CHECK(std::ranges::count(c.values, 64. * (1 + 2 + 3 + 4 + 5)) == 64 * 64);
}

TEST_CASE("by hand a product that waits reads the factor of one in flight", "[register-factor]") {
  Artifact artifact = compiled(Program::trace("shared_factor", [](Scope &k) {
    Index steps = k.dim("steps");
    k.input("unused", f32, {steps});
    Global C = k.output("C", f32, {2, 64, 64});
    Shared a = k.shared("a", bf16, {64, 64});
    k.roles([&] {
      k.role("math", {.warps = 4}, [&] {
        Fragment sum = k.fragment(f32, {64, 64}), other = k.fragment(f32, {64, 64});
        Fragment weights = k.fragment(bf16, {64, 64}, 1);
        copy(weights, a);
        k.loop(steps, [&](Index) {
          gemmAsync(weights, a.t(), sum);
          gemm(weights, a.t(), other);
          weights = (weights.to(f32) + 1).to(bf16);
        });
        gemmWait(sum);
        copy(sum, C.tile({0, 0, 0}, {1, 64, 64}));
        copy(other, C.tile({1, 0, 0}, {1, 64, 64}));
      });
    });
  }));
  constexpr int64_t steps = 5;
  Memory unused = Memory::filled(f32, {steps}, 0), c = Memory::filled(f32, {2, 64, 64}, notANumber);
  run(artifact, {&unused, &c});
  CHECK(std::ranges::count(c.values, 64. * (1 + 2 + 3 + 4 + 5)) == 2 * 64 * 64);
}

TEST_CASE("sums made in the iteration that multiplies", "[register-factor]") {
  constexpr int64_t rows = 64, columns = 32, depth = 64;
  const Artifact artifact = compiled(Program::trace("made_sums", [&](Scope &k) {
    Index steps = k.dim("steps");
    Global A = k.input("A", bf16, {steps, rows, depth}), B = k.input("B", bf16, {steps, columns, depth});
    Global C = k.input("C", bf16, {columns, columns}), Y = k.output("Y", f32, {rows, columns});
    Fragment sum = k.fragment(f32, {rows, columns});
    k.pipelined(steps, {.stages = 2}, [&](Index step) {
      Shared a = k.shared("a", bf16, {rows, depth}), b = k.shared("b", bf16, {columns, depth});
      Shared c = k.shared("c", bf16, {columns, columns});
      copy(A.tile({step, 0, 0}, {1, rows, depth}), a);
      copy(B.tile({step, 0, 0}, {1, columns, depth}), b);
      copy(C.tile({0, 0}, {columns, columns}), c);
      Fragment scores = k.fragment(f32, {rows, columns});
      gemm(a, b.t(), scores);
      sum = scores + 2;
      gemm(sum.to(bf16), c.t(), sum);
    });
    copy(sum, Y.tile({0, 0}, {rows, columns}));
  }));
  std::mt19937 random(11);
  std::uniform_int_distribution<int> values(-1, 1);
  for (int64_t steps : {1, 2, 5}) {
    INFO("steps = " << steps);
    Memory a = Memory::filled(bf16, {steps, rows, depth}, 0),
           b = Memory::filled(bf16, {steps, columns, depth}, 0),
           c = Memory::filled(bf16, {columns, columns}, 0),
           y = Memory::filled(f32, {rows, columns}, notANumber);
    for (Memory *memory : {&a, &b, &c})
      for (double &value : memory->values)
        value = values(random);
    run(artifact, {&a, &b, &c, &y});
    int64_t wrong = 0;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<double> begin(columns, 2);
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t at = 0; at < depth; ++at)
          begin[size_t(column)] += a.at({steps - 1, row, at}) * b.at({steps - 1, column, at});
      for (int64_t column = 0; column < columns; ++column) {
        double sum = begin[size_t(column)];
        for (int64_t at = 0; at < columns; ++at)
          sum += begin[size_t(at)] * c.at({column, at});
        wrong += y.at({row, column}) != sum;
      }
    }
    CHECK(wrong == 0);
  }
}
