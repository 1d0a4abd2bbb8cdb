// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions and products.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

namespace {
Tensor reduced(ElementType type, Reduction kind, int64_t axis, const Numbers &numbers) {
  std::vector<int64_t> extents = axis == 0 ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{2, 1};
  return run({{given(type, {2, 3}, numbers), unwritten(type, extents)}, {}}, [&](Scope &k) {
    Global X = k.input("X", type, {2, 3}), Y = k.output("Y", type, {extents[0], extents[1]});
    Fragment x = k.fragment(type, {2, 3});
    copy(X.tile({0, 0}, {2, 3}), x);
    copy(reduce(kind, x, axis), Y.tile({0, 0}, extents));
  });
}

Tensor scanned(ElementType type, Reduction kind, int64_t axis, Direction direction, const Numbers &numbers) {
  return run({{given(type, {2, 3}, numbers), unwritten(type, {2, 3})}, {}}, [&](Scope &k) {
    Global X = k.input("X", type, {2, 3}), Y = k.output("Y", type, {2, 3});
    Fragment x = k.fragment(type, {2, 3});
    copy(X.tile({0, 0}, {2, 3}), x);
    copy(cumulative(kind, x, axis, direction), Y.tile({0, 0}, {2, 3}));
  });
}

/// acc + A B of one tile of 2 x depth and depth x 2, both of one number.
Element product(ElementType type, int64_t depth, double a, double b, double acc) {
  Tensor y = run({{unwritten(f32, {2, 2})}, {}}, [&](Scope &k) {
    Global Y = k.output("Y", f32, {2, 2});
    Shared left = k.shared("left", type, {2, depth}), right = k.shared("right", type, {depth, 2});
    fill(left, a);
    fill(right, b);
    Fragment sum = k.fragment(f32, {2, 2}, acc);
    gemm(left, right, sum);
    copy(sum, Y.tile({0, 0}, {2, 2}));
  });
  return y.elements[3];
}
} // namespace

TEST_CASE("reductions along either axis", "[evaluator][unit]") {
  Numbers x = {1, 5, 3, -2, 0, 9};
  CHECK(exactValues(reduced(f32, Reduction::sum, 1, x)) == Numbers{9, 7});
  CHECK(exactValues(reduced(f32, Reduction::max, 0, x)) == Numbers{1, 5, 9});
  CHECK(exactValues(reduced(i32, Reduction::min, -1, x)) == Numbers{1, -2});
  CHECK(exactValues(reduced(i8, Reduction::sum, 0, {100, 1, 1, 100, 2, 2})) == Numbers{-56, 3, 3});
  double notANumber = std::nan("");
  CHECK(exactValues(reduced(f32, Reduction::max, 1, {notANumber, 2, 3, -inf, notANumber, -5})) ==
        Numbers{3, -5});
  Tensor open = reduced(f16, Reduction::sum, 1, {2048, 1, 1, 1, 1, 1});
  CHECK(open.elements[0].value == 2050);
  CHECK(open.elements[0].bound >= 2); // 2048 + 1 is 2048
  CHECK(open.elements[1].bound == 0);
}

TEST_CASE("products of all elements along an axis", "[evaluator][unit]") {
  CHECK(exactValues(reduced(f32, Reduction::product, 1, {1, 5, 3, -2, 0, 9})) == Numbers{15, 0});
  CHECK(exactValues(reduced(i8, Reduction::product, 1, {16, 16, 1, 3, 50, 1})) == Numbers{0, -106});
  Tensor open = reduced(f16, Reduction::product, 1, {1.5, 1.0009765625, 1.0009765625, 2, 3, 5});
  CHECK(open.elements[0].bound > 0);
  CHECK(open.elements[0].bound < 0.01);
  CHECK(open.elements[1].bound == 0);
  // Two of the factors overflow, all three do not.
  CHECK(std::isinf(reduced(f16, Reduction::product, 1, {300, 300, 0.01, 1, 1, 1}).elements[0].bound));
  // Two of them lose bits.
  CHECK(std::isinf(reduced(f16, Reduction::product, 1, {0.001, 0.001, 1000, 1, 1, 1}).elements[0].bound));
}

TEST_CASE("bits, NaN and integers without a sign along an axis", "[evaluator][unit]") {
  CHECK(exactValues(reduced(i32, Reduction::bitAnd, 1, {7, 6, 14, -1, 3, 9})) == Numbers{6, 1});
  CHECK(exactValues(reduced(i8, Reduction::bitOr, 1, {1, 6, 8, -128, 3, 0})) == Numbers{15, -125});
  CHECK(exactValues(reduced(u32, Reduction::bitXor, 1, {1, 6, 4294967295, 1, 1, 0})) ==
        Numbers{4294967288, 0});
  CHECK(exactValues(reduced(u32, Reduction::max, 1, {1, 6, 4294967295, 1, 1, 0})) == Numbers{4294967295, 1});
  CHECK(exactValues(reduced(u8, Reduction::min, 1, {100, 6, 255, 200, 129, 128})) == Numbers{6, 128});
  CHECK(exactValues(reduced(u8, Reduction::sum, 1, {100, 6, 255, 200, 129, 128})) == Numbers{105, 201});
  CHECK(std::isnan(reduced(f32, Reduction::maxOrNaN, 1, {1, NAN, 3, 1, 2, 3}).elements[0].value));
  CHECK(exactValues(scanned(u8, Reduction::max, 1, Direction::forward, {100, 200, 6, 1, 129, 128})) ==
        Numbers{100, 200, 200, 1, 129, 129});
}

TEST_CASE("an element of a scan has what comes before it, itself included", "[evaluator][unit]") {
  Numbers x = {1, 5, 3, -2, 0, 9};
  CHECK(exactValues(scanned(f32, Reduction::sum, 1, Direction::forward, x)) == Numbers{1, 6, 9, -2, -2, 7});
  CHECK(exactValues(scanned(i32, Reduction::sum, -1, Direction::backward, x)) == Numbers{9, 8, 3, 7, 9, 9});
  CHECK(exactValues(scanned(f32, Reduction::max, 0, Direction::forward, x)) == Numbers{1, 5, 3, 1, 5, 9});
  CHECK(exactValues(scanned(f32, Reduction::min, 0, Direction::backward, x)) == Numbers{-2, 0, 3, -2, 0, 9});
  CHECK(exactValues(scanned(f32, Reduction::product, 1, Direction::forward, x)) ==
        Numbers{1, 5, 15, -2, 0, 0});
  CHECK(exactValues(scanned(i8, Reduction::sum, 1, Direction::forward, {100, 100, 1, 1, 1, 1})) ==
        Numbers{100, -56, -55, 1, 2, 3});
  Tensor open = scanned(f16, Reduction::sum, 1, Direction::forward, {2048, 1, 1, 1, 1, 1});
  CHECK(open.elements[0].bound == 0);
  CHECK(open.elements[2].bound >= 2);
}

TEST_CASE("products of small integers are exact", "[evaluator][unit]") {
  Tensor c = run({{given(bf16, {2, 3}, {1, 2, 3, 4, 5, 6}), given(bf16, {2, 3}, {1, 0, -1, 2, 1, 0}),
                   unwritten(f32, {2, 2})},
                  {}},
                 [](Scope &k) {
                   Global A = k.input("A", bf16, {2, 3}), B = k.input("B", bf16, {2, 3});
                   Global C = k.output("C", f32, {2, 2});
                   Shared a = k.shared("a", bf16, {2, 3}), b = k.shared("b", bf16, {2, 3});
                   copy(A.tile({0, 0}, {2, 3}), a);
                   copy(B.tile({0, 0}, {2, 3}), b);
                   Fragment acc = k.fragment(f32, {2, 2}, 100), left = k.fragment(bf16, {2, 3});
                   gemm(a, b.t(), acc);
                   copy(a, left);
                   gemm(left + 1, b.t(), acc);
                   copy(acc, C.tile({0, 0}, {2, 2}));
                 });
  // A Bᵀ = [-2 4; -2 13], and (A + 1) Bᵀ = [-2 7; -2 16]
  CHECK(exactValues(c) == Numbers{96, 111, 96, 129});
}

TEST_CASE("factors of f32 are exact as far as tf32 has their bits", "[evaluator][unit]") {
  constexpr double whole = 1 + 0x1p-10, cut = whole + 0x1p-11;
  Tensor c =
      run({{given(f32, {2, 2}, {whole, 2, cut, 2}), given(f32, {1, 2}, {3, -1}), unwritten(f32, {2, 1})}, {}},
          [](Scope &k) {
            Global A = k.input("A", f32, {2, 2}), B = k.input("B", f32, {1, 2});
            Global C = k.output("C", f32, {2, 1});
            Shared a = k.shared("a", f32, {2, 2}), b = k.shared("b", f32, {1, 2});
            copy(A.tile({0, 0}, {2, 2}), a);
            copy(B.tile({0, 0}, {1, 2}), b);
            Fragment acc = k.fragment(f32, {2, 1});
            gemm(a, b.t(), acc);
            copy(acc, C.tile({0, 0}, {2, 1}));
          });
  CHECK(c.elements[0].bound == 0);
  CHECK(c.elements[0].value == 3 * whole - 2);
  // The low 13 bits may be ignored, or not.
  CHECK(std::abs(c.elements[1].value - (3 * whole - 2)) <= c.elements[1].bound);
  CHECK(std::abs(c.elements[1].value - (3 * cut - 2)) <= c.elements[1].bound);
  CHECK(c.elements[1].bound < 0x1p-9);
}

TEST_CASE("a factor of f32 with a bound may be cut below the normal numbers, too", "[evaluator][unit]") {
  constexpr double x = 0x1p-136 - 0x1p-149, y = 0x1p100; // x has nothing but the low 13 bits
  Tensor a = given(f32, {1, 1}, {x});
  a.elements[0].bound = 0x1p-149;
  Tensor c = run({{a, given(f32, {1, 1}, {y}), unwritten(f32, {1, 1})}, {}}, [](Scope &k) {
    Global A = k.input("A", f32, {1, 1}), B = k.input("B", f32, {1, 1}), C = k.output("C", f32, {1, 1});
    Shared a = k.shared("a", f32, {1, 1}), b = k.shared("b", f32, {1, 1});
    copy(A.tile({0, 0}, {1, 1}), a);
    copy(B.tile({0, 0}, {1, 1}), b);
    Fragment acc = k.fragment(f32, {1, 1});
    gemm(a, b.t(), acc);
    copy(acc, C.tile({0, 0}, {1, 1}));
  });
  CHECK(c.elements[0].value == x * y);
  CHECK(c.elements[0].bound >= x * y); // it may be 0
  CHECK(c.elements[0].bound < 2 * x * y);
}

TEST_CASE("products of integers wrap around in 32 bits", "[evaluator][unit]") {
  Tensor c = run({{given(u8, {2, 3}, {255, 2, 3, 4, 5, 200}), given(i8, {2, 3}, {1, 0, -1, -128, 127, 0}),
                   given(i32, {2, 2}, {1, 2, 3, 2147483640.0}), unwritten(i32, {2, 2})},
                  {}},
                 [](Scope &k) {
                   Global A = k.input("A", u8, {2, 3}), B = k.input("B", i8, {2, 3});
                   Global Start = k.input("Start", i32, {2, 2}), C = k.output("C", i32, {2, 2});
                   Shared a = k.shared("a", u8, {2, 3}), b = k.shared("b", i8, {2, 3});
                   copy(A.tile({0, 0}, {2, 3}), a);
                   copy(B.tile({0, 0}, {2, 3}), b);
                   Fragment acc = k.fragment(i32, {2, 2});
                   copy(Start.tile({0, 0}, {2, 2}), acc);
                   gemm(a, b.t(), acc);
                   gemm(a, b.t(), acc);
                   copy(acc, C.tile({0, 0}, {2, 2}));
                 });
  // A Bᵀ = [252 -32386; -196 123]
  CHECK(exactValues(c) == Numbers{505, -64770, -389, -2147483410.0});
}

TEST_CASE("products that need more bits have a bound by their magnitudes", "[evaluator][unit]") {
  CHECK(product(bf16, 16, 1, 1, 1 << 20).bound == 0);
  Element large = product(bf16, 16, 1, 1, 1 << 25);
  CHECK(large.value == (1 << 25) + 16);
  CHECK(large.bound >= 16);
  CHECK(large.bound <= 256);
  // e4m3 adds with 13 bits after the point of the largest term.
  CHECK(product(e4m3, 32, 1, 1, 8000).bound == 0);
  Element bytes = product(e4m3, 32, 1, 1, 1 << 15);
  CHECK(bytes.value == (1 << 15) + 32);
  CHECK(bytes.bound >= 32);
}

TEST_CASE("infinities and NaN go through products", "[evaluator][unit]") {
  CHECK(product(bf16, 4, inf, 1, 0).value == inf);
  CHECK(product(bf16, 4, inf, 1, 0).bound == 0);
  CHECK(std::isnan(product(bf16, 4, inf, 0, 0).value));
  CHECK(std::isnan(product(bf16, 4, inf, 1, -inf).value));
  CHECK(product(bf16, 4, NAN, 1, 0).bound == 0);
  CHECK(product(f32, 4, inf, 1, 0).bound == 0);
  CHECK(std::isinf(product(f32, 4, NAN, 1, 0).bound)); // as tf32 it may be an infinity
}

namespace {
/// A row of a sparse product: of 8 columns of A four are stored, of f32 two of four. B is [k, 1].
void multiplySparse(Scope &k, ElementType type, int64_t stored, int64_t depth) {
  Global A = k.input("A", type, {1, stored}), E = k.input("E", u8, {1, 1}),
         B = k.input("B", type, {depth, 1}), C = k.output("C", f32, {1, 1});
  Shared a = k.shared("a", type, {1, stored}), b = k.shared("b", type, {depth, 1});
  Fragment metadata = k.fragment(u8, {1, 1}), sum = k.fragment(f32, {1, 1}, 5);
  copy(A.tile({0, 0}, {1, stored}), a);
  copy(E.tile({0, 0}, {1, 1}), metadata);
  copy(B.tile({0, 0}, {depth, 1}), b);
  gemm(Sparse{a, metadata}, b, sum);
  copy(sum, C.tile({0, 0}, {1, 1}));
}

Arguments ofFour(double metadata, const Numbers &b) {
  return {{given(f16, {1, 4}, {1, 10, 100, 1000}), given(u8, {1, 1}, {metadata}), given(f16, {8, 1}, b),
           unwritten(f32, {1, 1})},
          {}};
}
Arguments ofTwo(double metadata) {
  return {{given(f32, {1, 2}, {1, 10}), given(u8, {1, 1}, {metadata}), given(f32, {4, 1}, {2, 3, 4, 5}),
           unwritten(f32, {1, 1})},
          {}};
}
} // namespace

TEST_CASE("what a sparse factor stores is multiplied, and nothing else is", "[evaluator][unit]") {
  auto four = [](Scope &k) { multiplySparse(k, f16, 4, 8); };
  // Places 1 and 3, then 0 and 2.
  CHECK(exactValues(run(ofFour(0x8D, {1, 2, 3, 4, 5, 6, 7, 8}), four)) == Numbers{5 + 2 + 40 + 500 + 7000});
  CHECK(exactValues(run(ofFour(0x8D, {inf, 2, inf, 4, 5, -inf, 7, std::nan("")}), four)) ==
        Numbers{5 + 2 + 40 + 500 + 7000});
  CHECK(exactValues(run(ofTwo(0x4E), [](Scope &k) { multiplySparse(k, f32, 2, 4); })) == Numbers{5 + 3 + 40});
}

TEST_CASE("metadata of a sparse factor has two places in increasing order", "[evaluator][unit]") {
  CHECK(errorOf(ofFour(0x14, {1, 2, 3, 4, 5, 6, 7, 8}), [](Scope &k) { multiplySparse(k, f16, 4, 8); }) ==
        "expected metadata that has two places, the smaller one first, but byte 0 of row 0 has the bits 1 "
        "for a group");
  CHECK(errorOf(ofTwo(0x84), [](Scope &k) { multiplySparse(k, f32, 2, 4); }) ==
        "expected metadata that has two places, the smaller one first, but byte 0 of row 0 has the bits 8 "
        "for a group of f32");
}
