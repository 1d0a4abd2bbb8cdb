// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grids, loops, branches of both kinds, and what may not decide them.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

TEST_CASE("every block of a grid runs the program", "[evaluator][unit]") {
  Tensor y = run({{unwritten(i32, {2, 3})}, {}}, [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global Y = k.output("Y", i32, {rows, columns});
    auto [column, row] = k.grid(columns, rows);
    copy(k.fragment(i32, {1, 1}) + (row * 100 + column * 10 + k.blocks()).to(i32),
         Y.tile({row, column}, {1, 1}));
  });
  CHECK(exactValues(y) == Numbers{3, 13, 23, 103, 113, 123});
}

TEST_CASE("persistent tiles are all visited, by clusters in part", "[evaluator][unit]") {
  auto visits = [](int64_t cluster, ClusterAxis axis, int64_t multiprocessors) {
    Options options;
    options.multiprocessors = multiprocessors;
    return exactValues(run(
        {{given(i32, {3, 5}, Numbers(15, 0))}, {}},
        [&](Scope &k) {
          Index rows = k.dim("rows"), columns = k.dim("columns");
          Global Y = k.inout("Y", i32, {rows, columns});
          k.cluster(cluster);
          k.persistent({rows, columns}, {.cluster = axis}, [&](Index i, Index j) {
            atomicAdd(k.fragment(i32, {1, 1}, 1), Y.tile({i, j}, {1, 1}));
          });
        },
        options));
  };
  CHECK(visits(1, ClusterAxis::rows, 4) == Numbers(15, 1));
  CHECK(visits(2, ClusterAxis::rows, 4) == Numbers(15, 1));
  CHECK(visits(2, ClusterAxis::columns, 132) == Numbers(15, 1));
}

TEST_CASE("a persistent grid has as many blocks as are resident at once", "[evaluator][unit]") {
  auto blocks = [](int64_t residents) {
    Options options;
    options.multiprocessors = 2;
    return exactValues(run(
        {{given(i32, {5}, Numbers(5, 0))}, {}},
        [&](Scope &k) {
          Index n = k.dim("n");
          Global Y = k.inout("Y", i32, {n});
          k.residents(residents);
          k.persistent({n}, {},
                       [&](Index i) { copy(k.fragment(i32, {1}) + k.blocks().to(i32), Y.tile({i}, {1})); });
        },
        options));
  };
  CHECK(blocks(1) == Numbers(5, 2));
  CHECK(blocks(2) == Numbers(5, 4));
  CHECK(blocks(3) == Numbers(5, 5));
}

TEST_CASE("loops run from, by steps, below", "[evaluator][unit]") {
  Tensor y = run({{unwritten(i32, {4})}, {}}, [](Scope &k) {
    Index n = k.dim("n");
    Global Y = k.output("Y", i32, {n});
    Fragment sum = k.fragment(i32, {1}), none = k.fragment(i32, {1}), nested = k.fragment(i32, {1});
    k.loop({1, n * 2, 3}, [&](Index i) { sum += i.to(i32); }); // 1 + 4 + 7
    k.loop({n, 2}, [&](Index) { none += 1; });
    k.pipelined(n, {.stages = 2}, [&](Index i) { k.loop(i, [&](Index) { nested += 1; }); });
    copy(sum, Y.tile({0}, {1}));
    copy(none, Y.tile({1}, {1}));
    copy(nested, Y.tile({2}, {1}));
    k.when(n > 3, [&] { copy(sum, Y.tile({3}, {1})); }, [&] { copy(none, Y.tile({3}, {1})); });
  });
  CHECK(exactValues(y) == Numbers{12, 0, 6, 12});
}

TEST_CASE("a loop goes on while its body says so, to the end of its range", "[evaluator][unit]") {
  auto rounds = [](Range range, int64_t limit) {
    return exactValues(run({{unwritten(i32, {2})}, {}}, [&](Scope &k) {
      Global Y = k.output("Y", i32, {2});
      Fragment count = k.fragment(i32, {1}), last = k.fragment(i32, {1}, -1);
      Shared at = k.shared("at", i32, {1});
      k.loopWhile(range, [&](Index i) -> Predicate {
        count += 1;
        last = k.fragment(i32, {1}) + i.to(i32);
        copy(count, at);
        return at.read({0}) < limit;
      });
      copy(count, Y.tile({0}, {1}));
      copy(last, Y.tile({1}, {1}));
    }));
  };
  CHECK(rounds(5, 3) == Numbers{3, 2});
  CHECK(rounds(5, 0) == Numbers{1, 0});
  CHECK(rounds(5, 9) == Numbers{5, 4});
  CHECK(rounds({3, 3}, 9) == Numbers{0, -1});
  CHECK(rounds({2, 9, 3}, 2) == Numbers{2, 5});
  CHECK(rounds(1'000'000'000, 7) == Numbers{7, 6}); // what is left takes no time
}

TEST_CASE("a loop's condition must be certain", "[evaluator][unit]") {
  CHECK(errorOf({{unwritten(f32, {1})}, {}},
                [](Scope &k) {
                  Global Y = k.output("Y", f32, {1});
                  Shared at = k.shared("at", i32, {1});
                  Fragment y = k.fragment(f32, {1}, 1e20);
                  k.loopWhile(3, [&](Index) -> Predicate {
                    copy(y.to(i32), at); // beyond the integers
                    return at.read({0}) < 7;
                  });
                  copy(y, Y.tile({0}, {1}));
                }) ==
        "a branch depends on a number that is not certain: on one that the language leaves open, such as a "
        "quotient by 0, or on a comparison of inexact numbers");
}

TEST_CASE("a branch of warps covers both outcomes where its condition does not hold", "[evaluator][unit]") {
  auto halved = [](const Numbers &numbers, bool onlyWhereItHolds) {
    return run({{given(f32, {4, 1}, numbers)}, {}}, [&](Scope &k) {
      Global X = k.inout("X", f32, {4, 1});
      Fragment x = k.fragment(f32, {4, 1});
      copy(X.tile({0, 0}, {4, 1}), x);
      k.whenAny(x > 1, [&] { x = onlyWhereItHolds ? where(x > 1, x / 2, x) : x / 2; });
      copy(x, X.tile({0, 0}, {4, 1}));
    });
  };
  CHECK(exactValues(halved({4, 1, 2, 0.5}, true)) == Numbers{2, 1, 1, 0.5});
  CHECK(exactValues(halved({1, 1, 0.25, 0.5}, false)) == Numbers{1, 1, 0.25, 0.5}); // no warp
  CHECK(exactValues(halved({4, 8, 2, 16}, false)) == Numbers{2, 4, 1, 8});          // every warp
  Tensor mixed = halved({4, 1, 2, 0.5}, false);
  CHECK(mixed.elements[0].bound == 0);
  CHECK(mixed.elements[1].value == 0.5);
  CHECK(mixed.elements[1].bound == 0.5);
  CHECK(mixed.elements[3].bound == 0.25);
}

TEST_CASE("what a row decides holds for all its elements", "[evaluator][unit]") {
  Tensor y = run({{given(f32, {2, 2}, {4, 1, 1, 1}), unwritten(f32, {2, 2})}, {}}, [](Scope &k) {
    Global X = k.input("X", f32, {2, 2}), Y = k.output("Y", f32, {2, 2});
    Fragment x = k.fragment(f32, {2, 2});
    copy(X.tile({0, 0}, {2, 2}), x);
    FragmentValue largest = rowMax(x);
    k.whenAny(largest > 2, [&] { x = x * 2; });
    copy(x, Y.tile({0, 0}, {2, 2}));
  });
  CHECK(y.elements[0].bound == 0);
  CHECK(y.elements[1].value == 2);
  CHECK(y.elements[1].bound == 0);
  CHECK(y.elements[2].bound == 1);
}

TEST_CASE("what is open may not decide a branch or a position", "[evaluator][unit]") {
  std::string_view rest =
      " depends on a number that is not certain: on one that the language leaves open, such as a "
      "quotient by 0, or on a comparison of inexact numbers";
  Arguments arguments{{given(i32, {1}, {0}), unwritten(f32, {1})}, {}};
  auto program = [](const std::function<void(Scope &, const Index &, const Global &)> &body) {
    return [body](Scope &k) {
      Global X = k.input("X", i32, {1}), Y = k.output("Y", f32, {1});
      body(k, 5 / X.read({0}), Y);
    };
  };
  CHECK(errorOf(arguments, program([](Scope &k, const Index &open, const Global &Y) {
                  k.when(open > 2, [&] { copy(k.fragment(f32, {1}), Y.tile({0}, {1})); });
                })) == "a branch" + std::string(rest));
  CHECK(errorOf(arguments, program([](Scope &k, const Index &open, const Global &Y) {
                  copy(k.fragment(f32, {1}), Y.tile({open}, {1}));
                })) == "a position in 'Y'" + std::string(rest));
  // Nobody asks for it.
  CHECK(exactValues(run(arguments, program([](Scope &k, const Index &, const Global &Y) {
                          copy(k.fragment(f32, {1}, 3), Y.tile({0}, {1}));
                        }))) == Numbers{3});
}

TEST_CASE("a comparison of inexact numbers may not decide a branch", "[evaluator][unit]") {
  Arguments arguments{{unwritten(f32, {1})}, {elementOf(f32, 3)}};
  CHECK(errorOf(arguments, [](Scope &k) {
          Global Y = k.output("Y", f32, {1});
          Scalar a = k.scalar("a", f32), third = 1 / a;
          k.when(third * a >= 1, [&] { copy(k.fragment(f32, {1}), Y.tile({0}, {1})); });
        }).starts_with("a branch depends on a number that is not certain"));
  Arguments positions{{given(f32, {1}, {0.75}), given(f32, {2}, {1, 2}), unwritten(f32, {1})}, {}};
  const std::string message = errorOf(positions, [](Scope &k) {
    Global X = k.input("X", f32, {1}), T = k.input("T", f32, {2}), Y = k.output("Y", f32, {1});
    Fragment x = k.fragment(f32, {1}), y = k.fragment(f32, {1});
    copy(X.tile({0}, {1}), x);
    FragmentValue at = where(x / 3 * 3 <= x, k.fragment(i32, {1}, 1), 0);
    copy(T.tile({at.toIndex()}, {1}), y);
    copy(y, Y.tile({0}, {1}));
  });
  CHECK(message.starts_with("a position in 'T' depends on a number that is not certain"));
  CHECK(message.find("ControlTest.cpp:") != std::string::npos);
  CHECK(message.find(": note: compares numbers that lie within each other's bounds: ") != std::string::npos);
  CHECK_THAT(message, Catch::EndsWith(") and 0.75 (bound 0)"));
}

TEST_CASE("a program that does not end is stopped", "[evaluator][unit]") {
  Arguments arguments{{unwritten(f32, {1})}, {}};
  Options options;
  options.maximumSteps = 1000;
  Result<Report> report = tryProgram(
      arguments,
      [](Scope &k) {
        Global Y = k.output("Y", f32, {1});
        Fragment y = k.fragment(f32, {1});
        k.loop(1000000, [&](Index) { y += 1; });
        copy(y, Y.tile({0}, {1}));
      },
      options);
  REQUIRE(!report);
  CHECK(report.error().message.ends_with(
      "expected a program of at most 1000 operations, but it has not ended yet"));
}

TEST_CASE("arguments that do not fit the program are refused", "[evaluator][unit]") {
  auto body = [](Scope &k) {
    Index n = k.dim("n", {.multipleOf = 2, .most = 6});
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
    copy(X.tile({0}, {4}), Y.tile({0}, {4}));
  };
  auto complaint = [&](Arguments arguments) {
    Result<Report> report = tryProgram(arguments, body);
    REQUIRE(!report);
    return report.error().message;
  };
  CHECK(complaint({{unwritten(f32, {4})}, {}}) == "expected 2 tensors and 0 numbers, but got 1 and 0");
  CHECK(complaint({{unwritten(f32, {4}), unwritten(f32, {2})}, {}}) ==
        "expected 'Y' to have 4 elements along axis 0, but it has 2");
  CHECK(complaint({{unwritten(f32, {3}), unwritten(f32, {3})}, {}}) ==
        "expected dimension 'n' to be a multiple of 2, but it is 3");
  CHECK(complaint({{unwritten(f32, {8}), unwritten(f32, {8})}, {}}) ==
        "expected dimension 'n' to be from 0 to 6, but it is 8");
  CHECK(complaint({{unwritten(f16, {4}), unwritten(f32, {4})}, {}}) ==
        "expected tensor 'X' to have the program's element type and number of axes, and an element for each "
        "position");
}
