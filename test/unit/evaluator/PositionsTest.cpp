// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quotients of negative positions, and loops near the ends of what positions can be: the evaluator and the
/// compiled program compute what C++ does.
#include "test/unit/evaluator/Emulated.h"

#include <array>
#include <cmath>

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;
using Traced = std::function<void(Scope &)>;

namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max(), least = std::numeric_limits<int32_t>::min();

/// The last tensor after the program.
void checkBoth(const Arguments &arguments, const Traced &body, const Numbers &expected) {
  CHECK(exactValues(run(arguments, body)) == expected);
  CHECK(values(compiled(arguments, body)) == expected);
}

Tensor positions(const std::vector<int64_t> &numbers) {
  return given(i32, {int64_t(numbers.size())}, Numbers(numbers.begin(), numbers.end()));
}

std::vector<int64_t> between(int64_t first, int64_t last, int64_t step = 1) {
  std::vector<int64_t> numbers;
  for (int64_t number = first; number <= last; number += step)
    numbers.push_back(number);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

Numbers quotients(const std::vector<int64_t> &dividends, const std::vector<int64_t> &divisors) {
  Numbers numbers;
  for (int64_t a : dividends)
    for (int64_t b : divisors)
      numbers.insert(numbers.end(), {double(a / b), double(a % b), std::ceil(double(a) / double(b))});
  return numbers;
}

void storeQuotients(Scope &k, const Global &Y, const Index &row, const Index &place, const Index &a,
                    const Index &b) {
  Index results[] = {a / b, a % b, ceilDiv(a, b)};
  for (int i = 0; i < 3; ++i)
    copy(k.fragment(i32, {1, 1}) + results[i].to(i32), Y.tile({row, place * 3 + i}, {1, 1}));
}

Arguments quotientArguments(const std::vector<int64_t> &dividends, const std::vector<int64_t> &divisors) {
  return {{positions(dividends), positions(divisors),
           unwritten(i32, {int64_t(dividends.size()), int64_t(divisors.size()) * 3})},
          {}};
}

/// Y = the quotients of the numbers A; `divide` stores those of one of them.
Traced quotientsOf(const std::function<void(Scope &, const Global &, const Global &, const Index &,
                                            const Index &)> &divide) {
  return [=](Scope &k) {
    Index dividends = k.dim("dividends"), divisors = k.dim("divisors");
    Global A = k.input("A", i32, {dividends}), B = k.input("B", i32, {divisors}),
           Y = k.output("Y", i32, {dividends, divisors * 3});
    auto [block] = k.grid(dividends);
    divide(k, B, Y, block, A.read({block}));
  };
}

} // namespace

TEST_CASE("negative positions are divided by constants", "[evaluator][unit][positions]") {
  std::vector<int64_t> divisors = between(1, 65), dividends = between(-130, 130, 5);
  for (int64_t end : {most, least, most - 1, least + 1, most - 62, least + 62, int64_t(-1), int64_t(1)})
    dividends.push_back(end);
  divisors.insert(divisors.end(), {128, 1 << 20, 1 << 30, most, -2, -3, -64});
  checkBoth(quotientArguments(dividends, divisors),
            quotientsOf([&](auto &k, auto &, auto &Y, auto &row, auto &a) {
              for (size_t i = 0; i < divisors.size(); ++i)
                storeQuotients(k, Y, row, int64_t(i), a, divisors[i]);
            }),
            quotients(dividends, divisors));
}

TEST_CASE("negative positions are divided by numbers from memory", "[evaluator][unit][positions]") {
  std::vector<int64_t> divisors = between(1, 65, 2), dividends = between(-130, 130, 20);
  divisors.insert(divisors.end(), {2, 64, most, -2, -3, -64, least});
  dividends.insert(dividends.end(), {most, least, -1, 1});
  checkBoth(
      quotientArguments(dividends, divisors), quotientsOf([&](auto &k, auto &B, auto &Y, auto &row, auto &a) {
        k.loop(int64_t(divisors.size()), [&](Index j) { storeQuotients(k, Y, row, j, a, B.read({j})); });
      }),
      quotients(dividends, divisors));
}

TEST_CASE("positions of a launch are divided by its sizes", "[evaluator][unit][positions]") {
  const int64_t size = GENERATE(1, 2, 3, 7, 64, 65);
  std::vector<int64_t> dividends = between(-130, 130);
  Arguments arguments{{positions(std::vector<int64_t>(size_t(size), 0)), unwritten(i32, {261, 3})}, {}};
  checkBoth(
      arguments,
      [](Scope &k) {
        Index n = k.dim("n"), rows = k.dim("rows");
        k.input("X", i32, {n});
        Global Y = k.output("Y", i32, {rows, 3});
        auto [block] = k.grid(rows);
        storeQuotients(k, Y, block, 0, block - (rows - 131), n);
      },
      quotients(dividends, {size}));
}

TEST_CASE("a quotient by 0 is some number, and the kernel continues", "[evaluator][unit][positions]") {
  Numbers expected;
  for (int64_t i = 0; i < 9; ++i) {
    Numbers ofPosition = i == 0 ? Numbers{7, 7, 7} : quotients({100}, {i});
    expected.insert(expected.end(), ofPosition.begin(), ofPosition.end());
  }
  for (bool isUnrolled : {false, true})
    checkBoth(
        {{unwritten(i32, {9, 3})}, {}},
        [&](Scope &k) {
          Index n = k.dim("n");
          Global Y = k.output("Y", i32, {n, 3});
          k.loop(isUnrolled ? Index(9) : n, [&](Index i) {
            Index results[] = {100 / i, 100 % i, ceilDiv(100, i)};
            for (int kind = 0; kind < 3; ++kind)
              copy(k.fragment(i32, {1, 1}) + where(i > 0, results[kind], 7).to(i32),
                   Y.tile({i, kind}, {1, 1}));
          });
        },
        expected);
}

TEST_CASE("launchers compute quotients as kernels do", "[evaluator][unit][positions]") {
  const int64_t size = GENERATE(1, 37, 99, 100, 101, 164, 165, 300);
  auto up = [&](int64_t a, int64_t b) { return int64_t(std::ceil(double(a) / double(b))); };
  auto none = [](int64_t count) { return std::max<int64_t>(count, 0); };
  Tensor x = positions(std::vector<int64_t>(size_t(size), 0));
  auto blocks = [&](const std::function<void(Scope &, Index, const Global &)> &body, double expected) {
    checkBoth({{x, given(i32, {1}, {0})}, {}},
              [&](Scope &k) {
                Index n = k.dim("n");
                k.input("X", i32, {n});
                body(k, n, k.inout("Count", i32, {1}));
              },
              {expected});
  };
  auto count = [](Scope &k, const Global &Count) {
    atomicAdd(k.fragment(i32, {1}, 1), Count.tile({0}, {1}));
  };
  blocks(
      [&](Scope &k, Index n, const Global &Count) {
        k.grid(ceilDiv(n - 100, 64), (n - 300) / 7 + 40);
        count(k, Count);
      },
      double(none(up(size - 100, 64)) * none((size - 300) / 7 + 40)));
  blocks(
      [&](Scope &k, Index n, const Global &Count) {
        k.persistent({ceilDiv(n - 100, 64), n - 99}, {}, [&](Index, Index) { count(k, Count); });
      },
      double(none(up(size - 100, 64)) * none(size - 99)));
  checkBoth(
      {{x, unwritten(i32, {up(size - 100, 64) + 2 + (size - 100) % 7 + 6})}, {}},
      [&](Scope &k) {
        Index n = k.dim("n"), extent = ceilDiv(n - 100, 64) + 2 + (n - 100) % 7 + 6;
        k.input("X", i32, {n});
        Global Y = k.output("Y", i32, {extent});
        auto [i] = k.grid(extent);
        copy(k.fragment(i32, {1}, 3), Y.tile({i}, {1}));
      },
      Numbers(size_t(up(size - 100, 64) + 2 + (size - 100) % 7 + 6), 3));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

struct Bounds {
  int64_t from, to, step;
};

const std::vector<Bounds> bounds = {
    {most - 7, most, 1},
    {most - 7, most, 3},
    {most - 7, most, 7},
    {most - 7, most, 9},
    {most - 1, most, most},
    {0, most, 1 << 30},
    {1, most, most - 1},
    {5, most, 2000000000},
    {least, least + 7, 1},
    {least, least + 7, 3},
    {least, most, 1 << 30},
    {least, most, most},
    {least, 0, most},
    {-3, most, most - 5},
    {-9, 9, 4},
    {most, least, 1},
    {most, most, 5},
    {3, -3, 2},
    {0, 10, 3},
    {most, 5, 2},
    {least, least, 1},
};
/// Their step does not matter.
const std::vector<Bounds> emptyBounds = {{5, 5, 0}, {7, 3, -1}, {most, least, least}};

/// How many positions the loops have, and what these are together, each less the first.
Numbers iterations(const std::vector<Bounds> &loops) {
  Numbers numbers;
  for (Bounds loop : loops) {
    double count = 0, last = -1;
    for (int64_t i = loop.from; i < loop.to; i += loop.step) {
      ++count;
      last = double(i);
    }
    numbers.insert(numbers.end(), {count, last});
  }
  return numbers;
}

enum class Form : uint8_t { loop, loopWhile, pipelined };

/// The loop's number of positions and the last one to row `row` of Y; a pipelined loop copies the first from
/// X, in which each element is 1.
void countPositions(Scope &k, Form form, const Range &range, const Global &X, const Global &Y,
                    const Index &row) {
  Fragment count = k.fragment(i32, {1, 1}), last = k.fragment(i32, {1, 1}, -1);
  Shared x = k.shared("x", i32, {4});
  auto body = [&](const Index &i) {
    if (form != Form::pipelined)
      count += 1;
    last = k.fragment(i32, {1, 1}) + i.to(i32);
  };
  if (form == Form::loop)
    k.loop(range, body);
  else if (form == Form::loopWhile)
    k.loopWhile(range, [&](const Index &i) -> Predicate {
      body(i);
      return i <= most;
    });
  else
    k.pipelined(range, {.stages = 4}, [&](const Index &i) {
      Fragment ones = k.fragment(i32, {4});
      copy(X.tile({max(min(i, 4), 0) * 4}, {4}), x);
      copy(x, ones);
      count += reshape(reduce(Reduction::max, ones, 0), {1, 1});
      body(i);
    });
  copy(count, Y.tile({row, 0}, {1, 1}));
  copy(last, Y.tile({row, 1}, {1, 1}));
}

Arguments loopArguments(const std::vector<Bounds> &loops) {
  Numbers numbers;
  for (Bounds loop : loops)
    numbers.insert(numbers.end(), {double(loop.from), double(loop.to), double(loop.step)});
  auto rows = int64_t(loops.size());
  return {{given(i32, {rows, 3}, numbers), given(i32, {32}, Numbers(32, 1)), unwritten(i32, {rows, 2})}, {}};
}

/// Each row of R is a loop, which `make` makes a range of.
Traced loopsOf(Form form, const std::function<Range(const Global &, const Index &)> &make) {
  return [=](Scope &k) {
    Index rows = k.dim("rows");
    Global R = k.input("R", i32, {rows, 3}), X = k.input("X", i32, {32}), Y = k.output("Y", i32, {rows, 2});
    auto [row] = k.grid(rows);
    countPositions(k, form, make(R, row), X, Y, row);
  };
}

Range readRange(const Global &R, const Index &row) {
  return {R.read({row, 0}), R.read({row, 1}), R.read({row, 2})};
}

} // namespace

TEST_CASE("loops with bounds from memory end at the ends of what positions can be",
          "[evaluator][unit][positions]") {
  const Form form = GENERATE(Form::loop, Form::loopWhile, Form::pipelined);
  std::vector<Bounds> all = bounds;
  all.insert(all.end(), emptyBounds.begin(), emptyBounds.end());
  checkBoth(loopArguments(all), loopsOf(form, readRange), iterations(all));
}

TEST_CASE("loops with constant bounds end at the ends of what positions can be",
          "[evaluator][unit][positions]") {
  const Form form = GENERATE(Form::loop, Form::loopWhile, Form::pipelined);
  checkBoth(
      loopArguments(bounds),
      [&](Scope &k) {
        Index rows = k.dim("rows");
        k.input("R", i32, {rows, 3});
        Global X = k.input("X", i32, {32}), Y = k.output("Y", i32, {rows, 2});
        for (size_t row = 0; row < bounds.size(); ++row)
          countPositions(k, form, {bounds[row].from, bounds[row].to, bounds[row].step}, X, Y, int64_t(row));
      },
      iterations(bounds));
}

TEST_CASE("loops that begin at a position of the grid end at the ends of what positions can be",
          "[evaluator][unit][positions]") {
  const Form form = GENERATE(Form::loop, Form::loopWhile, Form::pipelined);
  const int64_t step = GENERATE(0, 1, 3, 1 << 29, 1 << 30, most); // 0: from memory
  std::vector<Bounds> loops;
  for (int64_t row = 0; row < 6; ++row)
    loops.push_back(
        {row, step == 1 || step == 3 ? row * 3 - 4 : std::array{most, least, int64_t(-1)}[size_t(row % 3)],
         step == 0 ? (1 << 29) + row : step});
  checkBoth(loopArguments(loops),
            loopsOf(form,
                    [&](const Global &R, const Index &row) -> Range {
                      return {row, R.read({row, 1}), step == 0 ? R.read({row, 2}) : Index(step)};
                    }),
            iterations(loops));
}

TEST_CASE("a step below 1 is reported where its loop has a position", "[evaluator][unit][positions]") {
  const int64_t step = GENERATE(0, -3, least);
  const Form form = GENERATE(Form::loop, Form::loopWhile, Form::pipelined);
  std::string message = "expected a step of at least 1, but got " + std::to_string(step);
  Arguments arguments = loopArguments({{0, 4, step}});
  CHECK(errorOf(arguments, loopsOf(form, readRange)) == message);
  Result<Tensor> result = tryCompiled(arguments, loopsOf(form, readRange));
  REQUIRE(!result);
  CHECK_THAT(result.error().message, Catch::Contains("PositionsTest.cpp:") && Catch::Contains(message));
  CompileOptions options;
  options.optimizations.reports = false;
  result = tryCompiled(arguments, loopsOf(form, readRange), options);
  REQUIRE(result);
  CHECK(values(*result) == Numbers{0, -1});
}
