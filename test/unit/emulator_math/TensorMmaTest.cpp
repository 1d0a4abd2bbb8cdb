// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05.mma as a function: operands are placed in shared memory as tensor
/// copies would leave them, results looked up in tables of the layouts; values
/// are small enough for sums to be exact.
#include "runtime/emulator/math/TensorMma.h"

#include "runtime/emulator/math/Float.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace tlc;
using namespace tlc::emulator;
using Catch::Matchers::Contains;

namespace {

/// Codes of an element and what they mean.
struct Coded {
  uint32_t code;
  double value;
};
struct Element {
  std::string_view name;
  unsigned code;  ///< in the instruction descriptor
  unsigned bytes; ///< that one takes in shared memory, as a part of 16 where `bits` is below 8
  unsigned bits;
  unsigned shift; ///< of the bits in a byte of tensor memory
  std::vector<Coded> values;
  bool packed = false; ///< two in a byte, everywhere
};
const Element f16{"f16", 0, 2, 16, 0, {{0, 0}, {0x3C00, 1}, {0xC000, -2}, {0x3E00, 1.5}, {0x4200, 3}}},
    bf16{"bf16", 1, 2, 16, 0, {{0, 0}, {0x3F80, 1}, {0xC000, -2}, {0x3FC0, 1.5}, {0x4040, 3}}},
    tf32{"tf32", 2, 4,
         32,     0, {{0, 0}, {0x3F800FFF, 1}, {0xC0000000, -2}, {0x3FC00000, 1.5}, {0x40400000, 3}}},
    e4m3{"e4m3", 0, 1, 8, 0, {{0, 0}, {0x38, 1}, {0xC0, -2}, {0x3C, 1.5}, {0x44, 3}}},
    e5m2{"e5m2", 1, 1, 8, 0, {{0, 0}, {0x3C, 1}, {0xC0, -2}, {0x3E, 1.5}, {0x42, 3}}},
    e2m3{"e2m3", 3, 1, 6, 1, {{0, 0}, {0x08, 1}, {0x30, -2}, {0x0C, 1.5}, {0x14, 3}, {0x04, 0.5}}},
    e3m2{"e3m2", 4, 1, 6, 1, {{0, 0}, {0x0C, 1}, {0x30, -2}, {0x0E, 1.5}, {0x12, 3}, {0x08, 0.5}}},
    e2m1{"e2m1", 5, 1, 4, 2, {{0, 0}, {0x2, 1}, {0xC, -2}, {0x3, 1.5}, {0x5, 3}, {0x1, 0.5}}},
    packedE2m1{"packed e2m1", 1, 1, 4, 0, {{0, 0}, {0x2, 1}, {0xC, -2}, {0x3, 1.5}, {0x5, 3}}, true},
    u8{"u8", 0, 1, 8, 0, {{0, 0}, {1, 1}, {255, 255}, {7, 7}}},
    s8{"s8", 1, 1, 8, 0, {{0, 0}, {1, 1}, {0x80, -128}, {0xFF, -1}, {127, 127}}};

struct Accumulator {
  std::string_view name;
  unsigned code;
};
constexpr Accumulator toF16{"f16", 0}, toF32{"f32", 1}, toS32{"s32", 2};

enum class Order { k, mn };

struct Case {
  TensorMmaForm form;
  const Element *a, *b;
  Accumulator d;
  unsigned m, n;
  Order orderA = Order::k, orderB = Order::k;
  TensorSwizzle swizzle = TensorSwizzle::bytes128;
  unsigned lane = 0; ///< of D
  // Of block-scaled kinds.
  ScaleElement scale = ScaleElement::ue8m0;
  unsigned byteA = 0, byteB = 0;
};
const Element ue8m0{"ue8m0", 1, 1, 8, 0, {{126, 0.5}, {127, 1}, {128, 2}}},
    ue4m3{"ue4m3", 0, 1, 8, 0, {{0x30, 0.5}, {0x38, 1}, {0x3C, 1.5}, {0x40, 2}}};

unsigned depthOf(TensorKind kind) {
  return kind == TensorKind::tf32                                   ? 8
         : kind == TensorKind::f16                                  ? 16
         : kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4 ? 64
                                                                    : 32;
}

uint32_t descriptorOf(const Case &c) {
  const uint32_t common = c.a->code << 7 | c.b->code << 10 | unsigned(c.orderA == Order::mn) << 15 |
                          unsigned(c.orderB == Order::mn) << 16 | c.n >> 3 << 17 | c.m >> 4 << 24;
  return c.form.scales != 0
             ? common | c.byteB << 4 | unsigned(c.scale == ScaleElement::ue8m0) << 23 | c.byteA << 29
             : common | c.d.code << 4;
}

struct Matrix {
  unsigned rows, depth;
  std::vector<uint32_t> codes;
  std::vector<double> values;
  Matrix(const Element &element, unsigned rows, unsigned depth, std::mt19937 &random)
      : rows(rows), depth(depth) {
    for (unsigned i = 0; i < rows * depth; ++i) {
      const Coded &one = element.values[random() % element.values.size()];
      codes.push_back(one.code);
      values.push_back(one.value);
    }
  }
};

/// Shared memory as copies with this swizzle leave rows of `span` bytes, one after the other.
struct SharedTile {
  std::vector<std::byte> memory = std::vector<std::byte>(200 * 1024);

  static uint32_t mix(TensorSwizzle swizzle, uint32_t address) {
    const uint32_t row = address / 128;
    switch (swizzle) {
    case TensorSwizzle::none:
      return address;
    case TensorSwizzle::bytes32:
      return address ^ (row % 2) * 16;
    case TensorSwizzle::bytes64:
      return address ^ (row % 4) * 16;
    case TensorSwizzle::bytes128:
      return address ^ (row % 8) * 16;
    case TensorSwizzle::bytes128Atom32:
      return address ^ (row % 4) * 32;
    }
    return address;
  }
  void put(TensorSwizzle swizzle, uint32_t address, const Element &element, uint32_t code, unsigned bit = 0) {
    const uint32_t at = mix(swizzle, address);
    if (element.bits >= 8) {
      std::memcpy(&memory[at], &code, element.bytes);
      return;
    }
    uint16_t word;
    std::memcpy(&word, &memory[at], 2);
    word |= uint16_t(code << bit);
    std::memcpy(&memory[at], &word, 2);
  }
};

unsigned spanOf(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::none      ? 16
         : swizzle == TensorSwizzle::bytes32 ? 32
         : swizzle == TensorSwizzle::bytes64 ? 64
                                             : 128;
}

/// Places a matrix at `start` and gives its descriptor. A tile is 8 rows of the
/// span (4 for atoms of 32 bytes); tiles along the rows lie `far` apart.
TensorDescriptor place(SharedTile &shared, uint32_t start, const Matrix &matrix, const Element &element,
                       Order order, TensorSwizzle swizzle) {
  const unsigned span = spanOf(swizzle), group = swizzle == TensorSwizzle::bytes128Atom32 ? 4 : 8;
  const unsigned lines = order == Order::k ? matrix.rows : matrix.depth,
                 length = (order == Order::k ? matrix.depth : matrix.rows);
  // Bytes of a line: elements below 8 bits take a byte each on average, 16 in 16 bytes.
  const unsigned tileBytes = group * span, groups = (lines + group - 1) / group;
  const unsigned along = tileBytes * groups, across = tileBytes; // groups of lines follow each other
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned e = 0; e < length; ++e) {
      const unsigned x = element.packed ? e / 2 : e * element.bytes;
      const uint32_t offset = x / span * along + line / group * across + line % group * span;
      const size_t at = order == Order::k ? line * matrix.depth + e : e * matrix.depth + line;
      if (element.packed) {
        shared.put(swizzle, start + offset + x % span / 2 * 2, element, matrix.codes[at],
                   x % 2 * 8 + e % 2 * 4);
      } else if (element.bits >= 8) {
        shared.put(swizzle, start + offset + x % span, element, matrix.codes[at]);
      } else {
        const unsigned bit = e % 16 * element.bits;
        shared.put(swizzle, start + offset + x % span / 16 * 16 + bit / 8, element, matrix.codes[at],
                   bit % 8);
      }
    }
  TensorDescriptor descriptor;
  descriptor.start = start;
  descriptor.swizzle = swizzle;
  // The plain layout of transposed operands has its offsets the other way round.
  const bool swapped = order == Order::mn && swizzle == TensorSwizzle::none;
  descriptor.leading = swapped ? across : along;
  descriptor.stride = swapped ? along : across;
  return descriptor;
}

/// Where element (row, column) of a block's part of D is, by layout.
TensorAddress cellOfD(const Case &c, unsigned row, unsigned column) {
  const unsigned n = c.n;
  if (c.form.form == TensorForm::weightStationary) {
    if (c.m == 32)
      return {row + 32 * (column / (n / 4)), column % (n / 4)};
    if (c.m == 64)
      return {row + 64 * (column / (n / 2)), column % (n / 2)};
    return {row, column};
  }
  if (c.form.ctaGroup == 2 && c.m == 128)
    return {row + 64 * (column / (n / 2)), column % (n / 2)};
  if (c.form.ctaGroup == 1 && c.m == 64)
    return {32 * (row / 16) + row % 16 + c.lane, column};
  return {row, column};
}

double valueOf(const Accumulator &d, uint32_t word) {
  return d.code == 0   ? double(f16ToFloat(uint16_t(word)))
         : d.code == 1 ? double(std::bit_cast<float>(word))
                       : double(int32_t(word));
}

void check(const Case &c) {
  const auto seed = Catch::rngSeed();
  std::mt19937 random(seed);
  const unsigned depth = depthOf(c.form.kind), blocks = c.form.ctaGroup, rows = c.m / blocks,
                 part = c.n / blocks;
  const std::string name = fmt::format(
      "kind::{} {} x {} -> {}, cta_group {}, m {} n {}, {}{}, A {}-major, B {}-major, swizzle {}, seed {}",
      toString(c.form.kind), c.a->name, c.b->name, c.d.name, blocks, c.m, c.n,
      c.form.form == TensorForm::dense ? "dense" : "ws",
      c.form.a == TensorOperandA::shared ? "" : ", A in tensor memory", c.orderA == Order::k ? "K" : "MN",
      c.orderB == Order::k ? "K" : "MN", unsigned(c.swizzle), seed);
  INFO(name);
  const auto mma = TensorMma::decode(c.form, descriptorOf(c));
  INFO((mma ? "" : mma.error().message));
  REQUIRE(mma);
  const Matrix a(*c.a, c.m, depth, random), b(*c.b, c.n, depth, random);
  const auto part_ = [](const Matrix &all, unsigned first, unsigned count) {
    Matrix piece = all;
    piece.rows = count;
    piece.codes = {all.codes.begin() + first * all.depth, all.codes.begin() + (first + count) * all.depth};
    return piece;
  };
  TensorMmaCall call;
  std::array<SharedTile, 2> shared;
  std::array<std::vector<uint32_t>, 2> cells;
  std::array<TensorBlock, 2> memories;
  constexpr unsigned columnD = 16, columnA = 400, columnScalesA = 420, columnScalesB = 440;
  const Element &scale = c.scale == ScaleElement::ue8m0 ? ue8m0 : ue4m3;
  const Matrix scalesA(scale, c.m, c.form.scales, random), scalesB(scale, c.n, c.form.scales, random);
  call.d = {c.lane, columnD};
  call.tensorA = {c.lane, columnA};
  // Transposed tf32 takes the atoms of 32 bytes.
  const auto swizzleOf = [&](Order order) {
    return c.form.kind == TensorKind::tf32 && order == Order::mn ? TensorSwizzle::bytes128Atom32 : c.swizzle;
  };
  for (unsigned p = 0; p < blocks; ++p) {
    call.b = place(shared[p], 0x18000, part_(b, p * part, part), *c.b, c.orderB, swizzleOf(c.orderB));
    cells[p].assign(tensorLanes * tensorColumns, 0);
    const Matrix own = part_(a, p * rows, rows);
    if (c.form.a == TensorOperandA::shared) {
      call.a = place(shared[p], 0x400, own, *c.a, c.orderA, swizzleOf(c.orderA));
    } else {
      // Wherever a row of D lies, the row of A lies too.
      for (unsigned row = 0; row < rows; ++row)
        for (unsigned column = 0; column < c.n; ++column)
          for (unsigned k = 0; k < depth; ++k) {
            const unsigned lane = cellOfD(c, row, column).lane, byte = c.a->packed ? k / 2 : k * c.a->bytes;
            auto *to = reinterpret_cast<std::byte *>(&cells[p][lane * tensorColumns + columnA]) + byte;
            const uint32_t code = own.codes[row * depth + k] << c.a->shift;
            if (!c.a->packed)
              std::memcpy(to, &code, c.a->bytes);
            else
              *to = (*to & std::byte(k % 2 ? 0x0F : 0xF0)) | std::byte(code << k % 2 * 4);
          }
    }
    memories[p] = {shared[p].memory, cells[p]};
    // Factors: of row r in lane r % 32 of each quarter, in byte `byte` onwards of column r / 32.
    const auto put = [&](const Matrix &factors, unsigned first, unsigned count, uint32_t column,
                         unsigned byte) {
      for (unsigned r = 0; r < count; ++r)
        for (unsigned i = 0; i < factors.depth; ++i)
          for (unsigned quarter = 0; quarter < 4; ++quarter)
            cells[p][(32 * quarter + r % 32) * tensorColumns + column + r / 32] |=
                factors.codes[(first + r) * factors.depth + i] << 8 * (byte + i);
    };
    put(scalesA, p * rows, rows, columnScalesA, c.byteA);
    put(scalesB, 0, c.n, columnScalesB, c.byteB);
  }
  call.scalesA = columnScalesA, call.scalesB = columnScalesB;
  REQUIRE(checkOperand(*mma, WgmmaOperand::b, call.b));
  if (c.form.a == TensorOperandA::shared)
    REQUIRE(checkOperand(*mma, WgmmaOperand::a, call.a));
  // Twice: without the old values, then on top of them.
  std::vector<double> expected(c.m * c.n);
  unsigned wrong = 0, touched = 0;
  for (bool accumulate : {false, true}) {
    call.accumulate = accumulate;
    if (!accumulate)
      for (auto &block : cells)
        for (size_t i = 0; i < block.size(); ++i)
          if (i % tensorColumns < columnA)
            block[i] = 0xFFFFFFFF;
    tensorMma(*mma, call, std::span(memories.data(), blocks));
    for (unsigned row = 0; row < c.m; ++row)
      for (unsigned column = 0; column < c.n; ++column) {
        double sum = accumulate ? expected[row * c.n + column] : 0;
        for (unsigned k = 0; k < depth; ++k) {
          double product = a.values[row * depth + k] * b.values[column * depth + k];
          if (const unsigned scales = c.form.scales; scales != 0)
            product *= scalesA.values[row * scales + k * scales / depth] *
                       scalesB.values[column * scales + k * scales / depth];
          sum += product;
        }
        expected[row * c.n + column] = sum;
        const TensorAddress at = cellOfD(c, row % rows, column);
        wrong += valueOf(c.d, cells[row / rows][at.lane * tensorColumns + columnD + at.column]) != sum;
      }
  }
  CHECK(wrong == 0);
  for (unsigned p = 0; p < blocks; ++p)
    for (size_t i = 0; i < cells[p].size(); ++i)
      touched += i % tensorColumns < columnA && cells[p][i] != 0xFFFFFFFF;
  CHECK(touched == c.m * c.n);
}

constexpr TensorMmaForm form(TensorKind kind, unsigned ctaGroup = 1,
                             TensorOperandA a = TensorOperandA::shared,
                             TensorForm which = TensorForm::dense) {
  return {kind, which, a, ctaGroup};
}

} // namespace

TEST_CASE("tcgen05.mma: each kind and type") {
  check({form(TensorKind::f16), &bf16, &bf16, toF32, 128, 128});
  check({form(TensorKind::f16), &f16, &f16, toF32, 128, 24});
  check({form(TensorKind::f16), &f16, &f16, toF16, 128, 256});
  check({form(TensorKind::f16), &f16, &bf16, toF32, 64, 8});
  check({form(TensorKind::tf32), &tf32, &tf32, toF32, 128, 64});
  const Element *small[] = {&e4m3, &e5m2, &e2m3, &e3m2, &e2m1};
  for (const Element *a : small)
    for (const Element *b : small)
      check({form(TensorKind::f8f6f4), a, b, a == b ? toF16 : toF32, 128, 16});
  check({form(TensorKind::i8), &u8, &s8, toS32, 128, 48});
  check({form(TensorKind::i8), &s8, &u8, toS32, 64, 24});
}

TEST_CASE("tcgen05.mma: each layout of an operand in shared memory") {
  constexpr TensorSwizzle all[] = {TensorSwizzle::none, TensorSwizzle::bytes32, TensorSwizzle::bytes64,
                                   TensorSwizzle::bytes128};
  for (TensorSwizzle swizzle : all)
    for (Order a : {Order::k, Order::mn})
      for (Order b : {Order::k, Order::mn}) {
        check({form(TensorKind::f16), &bf16, &bf16, toF32, 128, 128, a, b, swizzle});
        check({form(TensorKind::f8f6f4), &e4m3, &e4m3, toF32, 128, 128, a, b, swizzle});
        check({form(TensorKind::i8), &s8, &s8, toS32, 128, 128, a, b, swizzle});
        check({form(TensorKind::tf32), &tf32, &tf32, toF32, 128, 64, a, b, swizzle});
      }
}

TEST_CASE("tcgen05.mma: each layout of the accumulator") {
  for (TensorOperandA a : {TensorOperandA::shared, TensorOperandA::tensorMemory}) {
    check({form(TensorKind::f16, 1, a), &f16, &f16, toF32, 128, 64});
    check({form(TensorKind::f16, 1, a), &f16, &f16, toF32, 64, 64});
    check({.form = form(TensorKind::f16, 1, a),
           .a = &f16,
           .b = &f16,
           .d = toF32,
           .m = 64,
           .n = 64,
           .lane = 16});
    check({form(TensorKind::f16, 2, a), &bf16, &bf16, toF32, 256, 128});
    check({form(TensorKind::f16, 2, a), &bf16, &bf16, toF32, 128, 96});
    for (unsigned m : {32u, 64u, 128u})
      for (unsigned n : {64u, 128u, 256u})
        check({form(TensorKind::f16, 1, a, TensorForm::weightStationary), &bf16, &bf16, toF32, m, n});
    for (const Element *element : {&e4m3, &e2m3, &e2m1})
      check({form(TensorKind::f8f6f4, 1, a), element, &e5m2, toF32, 128, 64});
    check({form(TensorKind::tf32, 2, a), &tf32, &tf32, toF32, 256, 64});
    check({form(TensorKind::i8, 2, a), &s8, &u8, toS32, 256, 32});
  }
}

TEST_CASE("tcgen05.mma: block-scaled kinds") {
  const auto scaled = [](TensorKind kind, unsigned scales, unsigned ctaGroup = 1,
                         TensorOperandA a = TensorOperandA::shared) {
    TensorMmaForm all = form(kind, ctaGroup, a);
    all.scales = scales;
    return all;
  };
  for (TensorOperandA place : {TensorOperandA::shared, TensorOperandA::tensorMemory})
    for (unsigned byte = 0; byte < 4; ++byte) {
      Case c{scaled(TensorKind::mxf8f6f4, 1, 1, place), &e4m3, &e2m1, toF32, 128, 72};
      c.byteA = byte, c.byteB = 3 - byte;
      check(c);
      c = {scaled(TensorKind::mxf4, 2, 1, place), &packedE2m1, &packedE2m1, toF32, 128, 128};
      c.byteA = byte / 2 * 2, c.byteB = 2 - c.byteA;
      check(c);
    }
  for (unsigned m : {128u, 256u}) {
    check({scaled(TensorKind::mxf8f6f4, 1, 2), &e5m2, &e3m2, toF32, m, 256});
    check({scaled(TensorKind::mxf4nvf4, 2, 2), &packedE2m1, &packedE2m1, toF32, m, 64});
  }
  Case c{scaled(TensorKind::mxf4nvf4, 4), &packedE2m1, &packedE2m1, toF32, 128, 256};
  check(c);
  c.scale = ScaleElement::ue4m3;
  check(c);
  c = {scaled(TensorKind::mxf8f6f4, 1), &e4m3, &e4m3, toF32, 128, 64, Order::mn, Order::mn};
  check(c);

  const auto message = [&](uint32_t bits, TensorMmaForm which) {
    const auto mma = TensorMma::decode(which, bits);
    return mma ? std::string() : mma.error().message;
  };
  const uint32_t good = 1 << 7 | 1 << 10 | 128 >> 3 << 17 | 1 << 23 | 8 << 24;
  CHECK(message(good, scaled(TensorKind::mxf4, 2)) == "");
  CHECK_THAT(message(good | 1 << 4, scaled(TensorKind::mxf4, 2)),
             Contains("field 'scale factor B id' (bits 4-5)") && Contains("takes 0 or 2"));
  CHECK_THAT(message(good | 2u << 29, scaled(TensorKind::mxf4nvf4, 4)),
             Contains("field 'scale factor A id' (bits 29-30)"));
  CHECK_THAT(message(good ^ 1 << 23, scaled(TensorKind::mxf4, 2)), Contains("field 'scale type' (bit 23)"));
  CHECK_THAT(message(good | 1u << 31, scaled(TensorKind::mxf4, 2)), Contains("field 'K size' (bit 31)"));
  CHECK_THAT(message(good | 1 << 15, scaled(TensorKind::mxf4, 2)), Contains("field 'transpose A' (bit 15)"));
  CHECK_THAT(message(good - (4 << 24), scaled(TensorKind::mxf4, 2)),
             Contains("an M of 128, and this one is 64"));

  const auto mma = TensorMma::decode(scaled(TensorKind::mxf4, 2), good);
  std::vector<uint32_t> cells(tensorLanes * tensorColumns, 5);
  CHECK(checkScales(*mma, WgmmaOperand::a, 8, cells));
  cells[70 * tensorColumns + 9] = 6;
  const auto differ = checkScales(*mma, WgmmaOperand::a, 8, cells);
  REQUIRE_FALSE(differ);
  CHECK_THAT(differ.error().message,
             Contains("the scale factors of A at column 9 of tensor memory differ between lanes 6 and 70"));
}

TEST_CASE("tcgen05.mma: negation, scale of D, lanes that stay") {
  std::vector<std::byte> shared(64 * 1024);
  const uint16_t two = 0x4000; // bf16
  for (size_t i = 0; i < shared.size(); i += 2)
    std::memcpy(&shared[i], &two, 2);
  std::vector<uint32_t> cells(tensorLanes * tensorColumns, std::bit_cast<uint32_t>(48.0f));
  const uint32_t bits = 0x8200490; // bf16 to f32, 128 x 128
  TensorMmaCall call;
  call.a = call.b = {1024, 16, 1024, TensorSwizzle::bytes128};
  call.scale = 4;
  call.disabledLanes = {1, 0, 0x80000000, 0};
  const std::array<TensorBlock, 1> blocks = {{{shared, cells}}};
  tensorMma(*TensorMma::decode({}, bits | 1 << 13), call, blocks);
  const auto at = [&](unsigned lane, unsigned column) {
    return std::bit_cast<float>(cells[lane * tensorColumns + column]);
  };
  CHECK(at(0, 0) == 48);
  CHECK(at(1, 0) == 3 - 64);
  CHECK(at(95, 127) == 48);
  CHECK(at(96, 127) == 3 - 64);
  CHECK(at(96, 128) == 48);
  call.disabledLanes = {};
  call.scale = 0;
  tensorMma(*TensorMma::decode({}, bits | 3 << 13), call, blocks);
  CHECK(at(1, 0) == 3);
  // Saturation of the integer form.
  std::fill(shared.begin(), shared.end(), std::byte(0x80));
  std::fill(cells.begin(), cells.end(), 0x7FFFFFFF - 5);
  const uint32_t integers = 2 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 8 << 24;
  tensorMma(*TensorMma::decode({.kind = TensorKind::i8}, integers), call, blocks);
  CHECK(cells[0] == 0x7FFFFFFFu - 5 + 32 * 128 * 128);
  std::fill(cells.begin(), cells.end(), 0x7FFFFFFF - 5);
  tensorMma(*TensorMma::decode({.kind = TensorKind::i8}, integers | 8), call, blocks);
  CHECK(cells[0] == 0x7FFFFFFF);
}
