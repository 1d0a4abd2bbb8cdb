// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments as variables, elementwise arithmetic, selection, reductions.
#include "test/docs/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [softmax]
Program softmax() {
  return Program::trace("softmax", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns}), Y = k.output("Y", f32, {rows, columns});
    auto [block] = k.grid(ceilDiv(rows, 4));
    Fragment x = k.fragment(f32, {4, 1024});
    copy(X.tile({block * 4, 0}, {4, 1024}).fill(-inf), x);
    FragmentValue p = exp(x - finiteOrZero(rowMax(x))); // 4 x 1024 minus 4 x 1
    copy(divideOrZero(p, rowSum(p)), Y.tile({block * 4, 0}, {4, 1024}));
  });
}
// [softmax]

// [cumulative]
/// Y: the sum of each row up to each element. Best: the largest element from there to the row's end.
Program cumulativeSums() {
  return Program::trace("cumulative_sums", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns}), Y = k.output("Y", f32, {rows, columns});
    Global Best = k.output("Best", f32, {rows, columns});
    auto [block] = k.grid(ceilDiv(rows, 4));
    Fragment before = k.fragment(f32, {4, 1});
    k.loop(ceilDiv(columns, 256), [&](Index j) {
      Fragment x = k.fragment(f32, {4, 256});
      copy(X.tile({block * 4, j * 256}, {4, 256}), x);
      copy(cumulative(Reduction::sum, x, -1) + before, Y.tile({block * 4, j * 256}, {4, 256}));
      before += rowSum(x); // of the tiles so far
    });
    Fragment x = k.fragment(f32, {4, 1024});
    copy(X.tile({block * 4, 0}, {4, 1024}).fill(-inf), x);
    copy(cumulative(Reduction::max, x, -1, Direction::backward), Best.tile({block * 4, 0}, {4, 1024}));
  });
}
// [cumulative]

// [dropout]
/// Keeps an element of X with a chance of 3/4. Which ones depends on the seed and their place, not on the
/// tiles.
Program dropout() {
  return Program::trace("dropout", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Scalar seed = k.scalar("seed", i32);
    Global X = k.inout("X", f32, {rows, columns});
    auto [i, j] = k.grid(ceilDiv(rows, 16), ceilDiv(columns, 64));
    Fragment x = k.fragment(f32, {16, 64});
    copy(X.tile({i * 16, j * 64}, {16, 64}), x);
    FragmentValue row = k.positions({16, 64}, 0) + (i * 16).to(i32);
    FragmentValue column = k.positions({16, 64}, 1) + (j * 64).to(i32);
    Fragment bits = (row * columns.to(i32) + column).to(u32) ^ seed.to(u32);
    for (uint32_t factor : {0x7feb352du, 0x846ca68bu}) { // a hash of 32 bits
      bits ^= bits >> 16;
      bits *= factor;
    }
    copy(where(bits >> 30 == 0, 0, x / 0.75), X.tile({i * 16, j * 64}, {16, 64}));
  });
}
// [dropout]

// [groups]
/// Words: X as numbers of 8 bits, four to a word. Scale: what they are times, one for each 128 of a row.
Program quantizeGroups() {
  return Program::trace("quantize_groups", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns}),
           Words = k.output("Words", u32, {rows, ceilDiv(columns, 4)});
    Global Scale = k.output("Scale", f32, {rows, ceilDiv(columns, 128)});
    auto [i, j] = k.grid(ceilDiv(rows, 4), ceilDiv(columns, 1024));
    Fragment x = k.fragment(f32, {4, 1024});
    copy(X.tile({i * 4, j * 1024}, {4, 1024}), x);
    FragmentValue groups = reshape(x, {4, 8, 128});
    FragmentValue scale = max(rowMax(abs(groups)) / 127, 1e-30); // 4 x 8 x 1
    FragmentValue codes = reshape(round(groups / scale), {4, 1024}).to(i8);
    copy(bitcast(codes, u32), Words.tile({i * 4, j * 256}, {4, 256}));
    copy(reshape(scale, {4, 8}), Scale.tile({i * 4, j * 8}, {4, 8}));
  });
}
// [groups]

// [largest]
/// The `count` largest elements of each row of at most 256, and where they are. NaN marks those that are
/// taken.
Program largest(int64_t count) {
  return Program::trace("largest", [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns});
    Global Values = k.output("Values", f32, {rows, count}), At = k.output("At", i32, {rows, count});
    auto [block] = k.grid(ceilDiv(rows, 4));
    Fragment x = k.fragment(f32, {4, 256});
    copy(X.tile({block * 4, 0}, {4, 256}).fill(NAN), x);
    for (int64_t i = 0; i < count; ++i) {
      FragmentValue at = argMax(x); // 4 x 1
      copy(rowMax(x), Values.tile({block * 4, i}, {4, 1}));
      copy(at, At.tile({block * 4, i}, {4, 1}));
      x = where(k.positions({4, 256}, 1) == at, NAN, x);
    }
  });
}
// [largest]

// [skip]
/// Numbers above 1/4 are halved until none is. A warp that has no such number skips the arithmetic.
Program halved() {
  return Program::trace("halved", [](Scope &k) {
    Index rows = k.dim("rows");
    Global X = k.inout("X", f32, {rows, 128});
    auto [block] = k.grid(ceilDiv(rows, 16));
    Fragment x = k.fragment(f32, {16, 128});
    copy(X.tile({block * 16, 0}, {16, 128}), x);
    k.loop(2, [&](Index) { k.whenAny(x > 0.25, [&] { x = where(x > 0.25, x / 2, x); }); });
    copy(x, X.tile({block * 16, 0}, {16, 128}));
  });
}
// [skip]

// [moments]
/// Sum and largest element of each row of any length.
Program moments() {
  return Program::trace("moments", [](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns});
    Global Sum = k.output("Sum", f32, {rows}), Largest = k.output("Largest", f32, {rows});
    auto [block] = k.grid(ceilDiv(rows, 8));
    Fragment sum = k.fragment(f32, {8, 1}), largest = k.fragment(f32, {8, 1}, -inf);
    k.loop(ceilDiv(columns, 256), [&](Index j) {
      Fragment x = k.fragment(f32, {8, 256});
      Slice tile = X.tile({block * 8, j * 256}, {8, 256});
      copy(tile, x); // 0 outside, which a sum does not mind
      sum += rowSum(x);
      copy(tile.fill(-inf), x);
      largest = max(largest, rowMax(x));
    });
    copy(sum, Sum.tile({block * 8}, {8}));
    copy(largest, Largest.tile({block * 8}, {8}));
  });
}
// [moments]

// [values]
/// Y = (X + 1) - X, element by element: 1.
Program values() {
  return Program::trace("values", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 512));
    Fragment x = k.fragment(f32, {512}); // a variable
    copy(X.tile({block * 512}, {512}), x);
    Fragment old = x;           // another variable, with the value of this moment
    FragmentValue next = x + 1; // a value: never changes
    x = next;                   // stores
    copy(x - old, Y.tile({block * 512}, {512}));
  });
}
// [values]

// [rotary]
/// Turns pairs of elements, half a row apart, by an angle that grows with the row: rotary position embedding.
Program rotary() {
  return Program::trace("rotary", [](Scope &k) {
    Index rows = k.dim("rows");
    Global X = k.inout("X", bf16, {rows, 128});
    auto [block] = k.grid(ceilDiv(rows, 16));
    Fragment x = k.fragment(bf16, {16, 64}), y = k.fragment(bf16, {16, 64});
    copy(X.tile({block * 16, 0}, {16, 64}), x);
    copy(X.tile({block * 16, 64}, {16, 64}), y);
    FragmentValue position = (k.positions({16, 1}, 0) + (block * 16).to(i32)).to(f32);
    FragmentValue frequency = pow(10000, k.positions({1, 64}, 1).to(f32) / -64);
    FragmentValue angle = position * frequency, sine = sin(angle), cosine = cos(angle);
    copy((x.to(f32) * cosine - y.to(f32) * sine).to(bf16), X.tile({block * 16, 0}, {16, 64}));
    copy((y.to(f32) * cosine + x.to(f32) * sine).to(bf16), X.tile({block * 16, 64}, {16, 64}));
  });
}
// [rotary]

// [triangle]
/// The lower triangle of X, and zeros above it.
Program triangle() {
  return Program::trace("triangle", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", bf16, {n, n}), Y = k.output("Y", bf16, {n, n});
    auto [i, j] = k.grid(ceilDiv(n, 64), ceilDiv(n, 64));
    Fragment x = k.fragment(bf16, {64, 64});
    copy(X.tile({i * 64, j * 64}, {64, 64}), x);
    FragmentValue kept =
        where([&](Index row, Index column) { return i * 64 + row >= j * 64 + column; }, x.to(f32), 0);
    copy(kept.to(bf16), Y.tile({i * 64, j * 64}, {64, 64}));
  });
}
// [triangle]

// [clip]
/// Elements outside [low, high] become the nearer bound, and NaN becomes 0.
Program clip() {
  return Program::trace("clip", [](Scope &k) {
    Index n = k.dim("n");
    Scalar low = k.scalar("low", f32), high = k.scalar("high", f32);
    Global X = k.inout("X", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 1024));
    Fragment x = k.fragment(f32, {1024});
    copy(X.tile({block * 1024}, {1024}), x);
    FragmentValue clean = where(x == x, x, 0);
    copy(min(max(clean, low), high), X.tile({block * 1024}, {1024}));
  });
}
// [clip]

} // namespace

TEST_CASE("softmax of rows that fit a block", "[docs]") {
  int64_t columns = GENERATE(1, 300, 1024);
  Run run(softmax(), {{"rows", 6}, {"columns", columns}});
  const Array &x = run.before("X");
  checkMatrix(run.after("Y"), 1e-5, [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x(i, c));
    return std::exp(x(i, j)) / sum;
  });
}

TEST_CASE("sums and maxima in a loop", "[docs]") {
  int64_t columns = GENERATE(1, 700);
  Run run(moments(), {{"rows", 11}, {"columns", columns}});
  const Array &x = run.before("X");
  checkVector(run.after("Sum"), 1e-5, [&](int64_t i) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += x(i, c);
    return sum;
  });
  checkVector(run.after("Largest"), 0, [&](int64_t i) {
    auto row = x.values.begin() + i * columns;
    return *std::max_element(row, row + columns);
  });
}

TEST_CASE("cumulative sums and maxima", "[docs]") {
  int64_t columns = GENERATE(1, 255, 700);
  Run run(cumulativeSums(), {{"rows", 7}, {"columns", columns}});
  const Array &x = run.before("X");
  checkMatrix(run.after("Y"), 1e-4, [&](int64_t i, int64_t j) {
    auto row = x.values.begin() + i * columns;
    return std::accumulate(row, row + j + 1, 0.0);
  });
  checkMatrix(run.after("Best"), 0, [&](int64_t i, int64_t j) {
    auto row = x.values.begin() + i * columns;
    return *std::max_element(row + j, row + columns);
  });
}

TEST_CASE("variables and values", "[docs]") {
  Run run(values(), {{"n", 700}});
  checkVector(run.after("Y"), 1e-6, [](int64_t) { return 1; });
}

TEST_CASE("pairs of elements are turned", "[docs]") {
  Run run(rotary(), {{"rows", 37}});
  checkMatrix(run.after("X"), 4e-3, [&](int64_t i, int64_t j) {
    double angle = double(i) * std::pow(10000, -double(j % 64) / 64);
    double x = run.before("X")(i, j % 64), y = run.before("X")(i, j % 64 + 64);
    return j < 64 ? x * std::cos(angle) - y * std::sin(angle) : y * std::cos(angle) + x * std::sin(angle);
  });
}

TEST_CASE("where by position", "[docs]") {
  Run run(triangle(), {{"n", 100}});
  checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) { return i >= j ? run.before("X")(i, j) : 0; });
}

TEST_CASE("min, max and where by value", "[docs]") {
  Run run(clip(), {{"n", 1500}}, {number(-0.25f), number(0.5f)});
  checkVector(run.after("X"), 0, [&](int64_t i) { return std::clamp(run.before("X")(i), -0.25, 0.5); });
}

TEST_CASE("random bits by position", "[docs]") {
  int64_t columns = GENERATE(1, 64, 101);
  auto seed = uint32_t(-77);
  Run run(dropout(), {{"rows", 37}, {"columns", columns}}, {{ElementType::i32, seed}});
  int64_t kept = 0;
  checkMatrix(run.after("X"), 1e-6, [&](int64_t i, int64_t j) {
    uint32_t bits = uint32_t(i * columns + j) ^ seed;
    for (uint32_t factor : {0x7feb352du, 0x846ca68bu})
      bits = (bits ^ bits >> 16) * factor;
    kept += bits >> 30 != 0;
    return bits >> 30 == 0 ? 0 : run.before("X")(i, j) / 0.75;
  });
  if (columns > 60)
    CHECK(std::abs(double(kept) / double(37 * columns) - 0.75) < 0.05);
}

TEST_CASE("other extents, and bits as wider elements", "[docs]") {
  int64_t columns = GENERATE(4, 132, 1300);
  Run run(quantizeGroups(), {{"rows", 5}, {"columns", columns}});
  const Array &x = run.before("X"), &words = run.after("Words"), &scale = run.after("Scale");
  checkMatrix(scale, 1e-6, [&](int64_t i, int64_t g) {
    double most = 0;
    for (int64_t j = g * 128; j < std::min(columns, (g + 1) * 128); ++j)
      most = std::max(most, std::abs(x(i, j)));
    return most / 127;
  });
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      auto code = int8_t(uint32_t(words(i, j / 4)) >> j % 4 * 8);
      CHECK(std::abs(code * scale(i, j / 128) - x(i, j)) <= 0.501 * scale(i, j / 128));
    }
}

TEST_CASE("the largest elements and their places", "[docs]") {
  int64_t columns = GENERATE(4, 33, 256);
  Run run(largest(4), {{"rows", 7}, {"columns", columns}});
  std::vector<std::vector<int64_t>> order(7);
  for (int64_t i = 0; i < 7; ++i) {
    order[size_t(i)].resize(size_t(columns));
    std::iota(order[size_t(i)].begin(), order[size_t(i)].end(), 0);
    std::sort(order[size_t(i)].begin(), order[size_t(i)].end(), [&](int64_t a, int64_t b) {
      double x = run.before("X")(i, a), y = run.before("X")(i, b);
      return x != y ? x > y : a < b;
    });
  }
  auto place = [&](int64_t i, int64_t n) { return order[size_t(i)][size_t(n)]; };
  checkMatrix(run.after("At"), 0, [&](int64_t i, int64_t n) { return double(place(i, n)); });
  checkMatrix(run.after("Values"), 0, [&](int64_t i, int64_t n) { return run.before("X")(i, place(i, n)); });
}

TEST_CASE("a warp skips what changes none of its elements", "[docs]") {
  Run run(halved(), {{"rows", 40}});
  checkMatrix(run.after("X"), 1e-6, [&](int64_t i, int64_t j) {
    double x = run.before("X")(i, j);
    for (int step = 0; step != 2; ++step)
      x = x > 0.25 ? x / 2 : x;
    return x;
  });
}
