// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements that share bytes: copied every way there is, at odd numbers of rows, without a change to bytes
/// outside; and products of weights that are unpacked.
#include "kernels/harness/ElementBits.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr ElementType packedTypes[] = {ElementType::i4, ElementType::u4, ElementType::e2m1};

/// Every code in some order.
void fillCodes(Memory &memory, unsigned seed) {
  std::mt19937 random(seed);
  for (double &value : memory.values)
    value = kernels::decodeElement(memory.element, random() % 16);
}

/// How tiles go from X to Y.
enum class Way { fragment, shared, sharedFragment, transposed, pipelined };
constexpr Way ways[] = {Way::fragment, Way::shared, Way::sharedFragment, Way::transposed, Way::pipelined};

constexpr int64_t tileRows = 16, tileColumns = 64;

Program copies(Way way, ElementType element, int64_t alignment, int64_t shift) {
  return Program::trace("copies", [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", element, {rows, columns}, {.alignment = alignment});
    Global Y = k.inout("Y", element, {rows, columns}, {.alignment = alignment});
    auto [i] = k.grid(ceilDiv(rows, tileRows));
    auto box = [&](const Global &tensor, const Index &j) {
      return tensor.tile({i * tileRows, j * tileColumns + shift}, {tileRows, tileColumns});
    };
    Shared tile = k.shared("tile", element, {tileRows, tileColumns});
    auto each = [&](const Index &j) {
      Fragment x = k.fragment(element, {tileRows, tileColumns});
      switch (way) {
      case Way::fragment:
        copy(box(X, j), x);
        copy(x, box(Y, j));
        break;
      case Way::shared:
        copy(box(X, j), tile);
        copy(tile, box(Y, j));
        break;
      case Way::pipelined:
      case Way::sharedFragment:
        copy(box(X, j), tile);
        copy(tile, x);
        copy(x, box(Y, j));
        break;
      case Way::transposed: { // there and back, through the other order of bytes
        Shared other = k.shared("other", element, {tileColumns, tileRows});
        Fragment seen = k.fragment(element, {tileColumns, tileRows});
        copy(box(X, j), tile);
        copy(tile.t(), seen);
        copy(seen, other);
        copy(other.t(), x);
        copy(x, box(Y, j));
        break;
      }
      }
    };
    if (way == Way::pipelined)
      k.pipelined(ceilDiv(columns, tileColumns), {.stages = 3}, each);
    else
      k.loop(ceilDiv(columns, tileColumns), each);
  });
}

} // namespace

TEST_CASE("elements that share bytes are copied, and bytes outside keep theirs", "[packed]") {
  for (ElementType element : packedTypes)
    for (Way way : ways)
      for (const char *target : {"sm_90a", "sm_80"})
        for (int64_t alignment : {1, 16})
          for (int64_t shift : {0, 2}) {
            if (element != ElementType::i4 && (shift != 0 || alignment == 1)) // as i4 is
              continue;
            CAPTURE(toString(element), int(way), target, alignment, shift);
            int64_t rows = 19, columns = alignment == 16 ? 160 : 86, padding = alignment == 16 ? 32 : 6;
            CompileOptions options;
            options.target = target;
            Artifact artifact = compiled(copies(way, element, alignment, shift), options);
            Memory x = Memory::filled(element, {rows, columns}, 0, padding), y = x;
            fillCodes(x, 1);
            fillCodes(y, 2);
            Memory expected = y;
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = shift; j < columns; ++j)
                expected.at({i, j}) = x.at({i, j});
            run(artifact, {&x, &y});
            int64_t wrong = 0;
            for (size_t i = 0; i < y.values.size(); ++i)
              wrong += y.values[i] != expected.values[i];
            CHECK(wrong == 0);
          }
}

TEST_CASE("slices of elements that share bytes have limits and fill values", "[packed]") {
  constexpr int64_t rows = 5, columns = 30, width = 32;
  for (ElementType element : packedTypes)
    for (int64_t axis : {0, 1})
      for (bool isShared : {false, true}) {
        CAPTURE(toString(element), axis, isShared);
        Program program = Program::trace("limits", [&](Scope &k) {
          Index half = k.dim("half");
          k.input("L", i32, {half});
          Global X = k.input("X", element, {rows, columns});
          Global Y = k.inout("Y", element, {rows, columns}), Z = k.output("Z", element, {8, width});
          Index limit = axis == 1 ? half * 2 : half;
          Slice from = X.tile({0, 0}, {8, width}).limited(axis, limit).fill(2);
          Slice to = Y.tile({0, 0}, {8, width}).limited(axis, limit);
          Fragment x = k.fragment(element, {8, width});
          if (isShared) {
            Shared tile = k.shared("tile", element, {8, width});
            copy(from, tile);
            copy(tile, to);
            copy(tile, x);
          } else {
            copy(from, x);
            copy(x, to);
          }
          copy(x, Z.tile({0, 0}, {8, width}));
        });
        Artifact artifact = compiled(std::move(program));
        constexpr int64_t half = 3;
        Memory l = Memory::filled(ElementType::i32, {half}, 0);
        Memory x = Memory::filled(element, {rows, columns}, 0), y = x;
        Memory z = Memory::filled(element, {8, width}, 1);
        fillCodes(x, 3);
        fillCodes(y, 4);
        Memory expected = y;
        const int64_t end = axis == 1 ? 2 * half : half;
        auto isIn = [&](int64_t i, int64_t j) {
          return i < rows && j < columns && (axis == 1 ? j : i) < end;
        };
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            if (isIn(i, j))
              expected.at({i, j}) = x.at({i, j});
        run(artifact, {&l, &x, &y, &z});
        CHECK(y.values == expected.values);
        for (int64_t i = 0; i < 8; ++i)
          for (int64_t j = 0; j < width; ++j)
            if (double wanted = isIn(i, j) ? x.at({i, j}) : 2; z.at({i, j}) != wanted)
              FAIL("[" << i << ", " << j << "]: " << z.at({i, j}) << ", not " << wanted);
      }
}

namespace {
constexpr int64_t group = 32; ///< weights with a scale in common

/// C = A (W scaled)T. The scales are numbers, or the exponents of powers of two less 127 (e8m0).
Program weighted(ElementType weights, ElementType scales, bool isPipelined) {
  return Program::trace("weighted", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k"), groups = k.dim("groups");
    Global A = k.input("A", bf16, {m, depth}), W = k.input("W", weights, {n, depth});
    Global S = k.input("S", scales, {n, groups}), C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared a = k.shared("a", bf16, {64, group}), packed = k.shared("packed", weights, {64, group});
    Shared w = k.shared("w", bf16, {64, group});
    Fragment acc = k.fragment(f32, {64, 64});
    auto step = [&](const Index &s) {
      copy(A.tile({i * 64, s * group}, {64, group}), a);
      copy(W.tile({j * 64, s * group}, {64, group}), packed);
      Fragment code = k.fragment(weights, {64, group}), scale = k.fragment(scales, {64, 1});
      copy(packed, code);
      copy(S.tile({j * 64, s}, {64, 1}), scale);
      Fragment factor = scale.to(f32);
      if (scales == u8)
        factor = exp2(factor - 127);
      copy((code.to(f32) * factor).to(bf16), w);
      gemm(a, w.t(), acc);
    };
    if (isPipelined)
      k.pipelined(ceilDiv(depth, group), {.stages = 3}, step);
    else
      k.loop(ceilDiv(depth, group), step);
    copy(acc, C.tile({i * 64, j * 64}, {64, 64}));
  });
}
} // namespace

TEST_CASE("products of packed weights, scaled by groups", "[packed]") {
  constexpr int64_t m = 67, n = 133, depth = 150, groups = (depth + group - 1) / group;
  struct Case {
    ElementType weights, scales;
    int64_t padding; ///< 10: rows of weights are a multiple of 16 bytes apart
  };
  for (auto [weights, scales, padding] :
       {Case{ElementType::i4, ElementType::f32, 10}, Case{ElementType::i4, ElementType::f32, 0},
        Case{ElementType::u4, ElementType::f32, 10}, Case{ElementType::e2m1, ElementType::u8, 10}})
    for (const char *target : {"sm_90a", "sm_80"})
      for (bool isPipelined : {false, true}) {
        CAPTURE(toString(weights), padding, target, isPipelined);
        CompileOptions options;
        options.target = target;
        Artifact artifact = compiled(weighted(weights, scales, isPipelined), options);
        Memory a = Memory::filled(ElementType::bf16, {m, depth}, 0, padding),
               w = Memory::filled(weights, {n, depth}, 0, padding);
        Memory s = Memory::filled(scales, {n, groups}, 0),
               c = Memory::filled(ElementType::f32, {m, n}, notANumber);
        std::mt19937 random(5);
        for (double &value : a.values)
          value = double(int(random() % 17) - 8) / 8;
        fillCodes(w, 6);
        for (double &value : s.values)
          value = scales == ElementType::u8 ? double(120 + random() % 10) : double(1 + random() % 8) / 16;
        Memory scaled = Memory::filled(ElementType::bf16, {n, depth}, 0);
        for (int64_t j = 0; j < n; ++j)
          for (int64_t d = 0; d < depth; ++d) {
            double scale = s.at({j, d / group});
            double value = w.at({j, d}) * (scales == ElementType::u8 ? std::exp2(scale - 127) : scale);
            scaled.at({j, d}) =
                kernels::decodeElement(ElementType::bf16, kernels::encodeElement(ElementType::bf16, value));
          }
        run(artifact, {&a, &w, &s, &c});
        double worst = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (int64_t d = 0; d < depth; ++d) {
              double term = a.at({i, d}) * scaled.at({j, d});
              sum += term;
              size += std::abs(term);
            }
            worst = std::max(worst, std::abs(c.at({i, j}) - sum) / (size + 1e-6));
          }
        CHECK(worst < 1e-5);
      }
}
