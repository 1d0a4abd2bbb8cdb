// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments and operands of mma.sync and wgmma against the emulator, whose maps are written from the PTX ISA
/// and share nothing with ours: operands are placed by our maps, the emulator computes, and the results must
/// be where our maps say.
#include "dialects/layout/StockLayouts.h"
#include "runtime/target/MmaAtoms.h"
#include "test/unit/layout/EmulatedOperands.h"

using namespace tlc;
using namespace tlc::test;
using emu::MatrixElement;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {

/// With a single 1 in one factor and a binary digit of k everywhere in the other, the result says at which
/// row (column) and at which k the 1 is.
void requireFragments(const emu::MmaSync &form) {
  INFO("m" << form.m << "n8k" << form.k << " of " << emu::toString(form.a) << " to "
           << emu::toString(form.accumulator));
  REQUIRE(emu::mmaSyncRegisters(form));
  int bits = bitsOf(form.a), sumBits = bitsOf(form.accumulator);
  LayoutMap a = mmaSyncA(form.m, form.k, bits), b = mmaSyncB(form.k, bits), d = mmaSyncAccumulator(form.m);
  for (const LayoutMap &map : {a, b, d})
    REQUIRE(map.problem() == "");
  REQUIRE(a.extent(0) * 32 == form.m * form.k);
  REQUIRE(b.extent(0) * 32 == form.k * 8);
  REQUIRE(d.extent(0) * 32 == form.m * 8);

  bool same = true;
  auto probe = [&](const LayoutMap &probed, const LayoutMap &other, bool isA) {
    size_t kOfProbed = isA ? 1 : 0, kOfOther = isA ? 0 : 1;
    for (int digit = -1; digit < 0 || int64_t(1) << digit < int64_t(form.k); ++digit) {
      auto digitOf = [&](int64_t k) { return digit < 0 ? 1 : int(k >> digit & 1); };
      WarpRegisters filled;
      forEachInput(other, [&](const Coordinates &at) {
        filled.set(bits, at[0], at[1], codeOf(form.b, digitOf(other(at)[kOfOther])));
      });
      forEachInput(probed, [&](const Coordinates &at) {
        WarpRegisters one, zero, sums;
        one.set(bits, at[0], at[1], codeOf(form.a, 1));
        emu::mmaSync(form, isA ? one.words : filled.words, isA ? filled.words : one.words, zero.words,
                     sums.words);
        Coordinates place = probed(at);
        forEachInput(d, [&](const Coordinates &sum) {
          int64_t line = d(sum)[isA ? 0 : 1];
          int64_t expected = line == place[isA ? 0 : 1] ? digitOf(place[kOfProbed]) : 0;
          same &= valueOf(form.accumulator, sums.get(sumBits, sum[0], sum[1])) == expected;
        });
      });
    }
  };
  probe(a, b, true);
  REQUIRE(same);
  probe(b, a, false);
  REQUIRE(same);
}

} // namespace

TEST_CASE("fragments of mma.sync are the emulator's", "[layout][instruction][unit]") {
  using enum MatrixElement;
  std::vector<emu::MmaSync> forms;
  auto add = [&](unsigned m, unsigned k, MatrixElement element, MatrixElement accumulator) {
    forms.push_back({.m = m, .n = 8, .k = k, .a = element, .b = element, .accumulator = accumulator});
  };
  for (unsigned k : {8, 16}) {
    add(16, k, f16, f32);
    add(16, k, f16, f16);
    add(16, k, bf16, f32);
  }
  for (unsigned k : {4, 8})
    add(16, k, tf32, f32);
  for (unsigned k : {16, 32}) {
    add(16, k, e4m3, f32);
    add(16, k, e5m2, f16);
    add(16, k, s8, s32);
    add(16, 2 * k, u4, s32);
  }
  add(8, 16, u8, s32);
  add(8, 32, s4, s32);
  add(8, 128, b1, s32);
  add(8, 4, f64, f64);
  for (unsigned k : {4, 8, 16})
    add(16, k, f64, f64);
  for (const emu::MmaSync &form : forms)
    requireFragments(form);
  // The table of targets has no others.
  for (const MmaAtom &atom : allMmaAtoms())
    if (atom.kind == MmaKind::mmaSync)
      REQUIRE(std::any_of(forms.begin(), forms.end(), [&](const emu::MmaSync &form) {
        return form.m == atom.m && form.k == atom.k && bitsOf(form.a) == int(tlc::bitsOf(atom.a)) &&
               bitsOf(form.accumulator) == int(tlc::bitsOf(atom.accumulator));
      }));
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

namespace {

/// A factor's tile in shared memory, [mn, k] or [k, mn], and its descriptor.
struct SharedFactor {
  SharedLayout layout;
  int kAxis;
  Majorness majorness = Majorness::k;
  uint64_t descriptor = 0;

  SharedFactor(const SharedLayout &layout, int kAxis, const Matrix &matrix, MatrixElement element,
               int64_t start, std::span<std::byte> memory)
      : layout(layout), kAxis(kAxis) {
    Result<WgmmaOperand> operand = wgmmaOperand(layout, kAxis);
    REQUIRE(operand);
    majorness = operand->majorness;
    descriptor = emu::MatrixDescriptor{.start = uint32_t(start),
                                       .leading = uint32_t(operand->leadingByteOffset),
                                       .stride = uint32_t(operand->strideByteOffset),
                                       .swizzle = layout.swizzle()}
                     .encode();
    for (int64_t row = 0; row < matrix.rows; ++row)
      for (int64_t k = 0; k < matrix.columns; ++k) {
        std::vector<int64_t> at = kAxis == 1 ? std::vector{row, k} : std::vector{k, row};
        setBits(memory, start * 8 + layout.map()(at).front(), layout.elementBits(),
                codeOf(element, matrix.at(row, k)));
      }
  }
};

struct WgmmaCase {
  MatrixElement element, accumulator;
  int64_t n;
  Swizzle swizzle;
  bool transposeA = false, transposeB = false, aInRegisters = false;
  RowOrder order = {};
};

void requireProduct(const WgmmaCase &c, std::mt19937 &random) {
  int bits = bitsOf(c.element);
  int64_t depth = matrixDepthBytes * 8 / bits, span = swizzleSpan(c.swizzle) * 8 / bits;
  INFO("n " << c.n << " of " << emu::toString(c.element) << ", swizzle " << toString(c.swizzle)
            << c.transposeA << c.transposeB << c.aInRegisters);
  // The instruction's share of k; the tiles are as wide as panels want.
  Matrix a(wgmmaRows, depth, random), b(c.n, depth, random);
  auto layoutOf = [&](int64_t mn, bool transposed) {
    Shape shape = transposed ? Shape{depth, alignTo(mn, span)} : Shape{mn, alignTo(depth, span)};
    return *SharedLayout::swizzled(shape, bits, 1, c.swizzle).withOrder(c.order);
  };
  std::vector<std::byte> memory(size_t(1) << 17);
  emu::Wgmma form{.n = unsigned(c.n), .a = c.element, .b = c.element, .accumulator = c.accumulator};
  SharedFactor right(layoutOf(c.n, c.transposeB), c.transposeB ? 0 : 1, b, c.element, 1 << 16, memory);
  form.majorB = c.transposeB ? emu::Major::mn : emu::Major::k;
  std::array<WarpRegisters, 4> left, sums;
  emu::WgmmaOperandA operandA;
  if (c.aInRegisters) {
    FragmentLayout layout = wgmmaOperandA(wgmmaRows, depth, bits, {1, 1}, c.order);
    forEachLocation(layout, [&](const HardwareLocation &at) {
      Coordinates element = layout.coordinatesOf(at);
      left[size_t(at.warp)].set(bits, at.reg, at.lane, codeOf(c.element, a.at(element[0], element[1])));
    });
    operandA = emu::WarpgroupRegisters{left[0].words, left[1].words, left[2].words, left[3].words};
  } else {
    operandA = SharedFactor(layoutOf(wgmmaRows, c.transposeA), c.transposeA ? 0 : 1, a, c.element, 0, memory)
                   .descriptor;
    form.majorA = c.transposeA ? emu::Major::mn : emu::Major::k;
  }
  REQUIRE(emu::wgmmaAccumulatorRegisters(form));
  REQUIRE(emu::wgmma(form, memory, operandA, right.descriptor, emu::ScaleD::zero,
                     {sums[0].words, sums[1].words, sums[2].words, sums[3].words}));
  FragmentLayout layout = wgmmaAccumulator(wgmmaRows, c.n, {1, 1});
  bool same = true;
  forEachLocation(layout, [&](const HardwareLocation &at) {
    Coordinates element = layout.coordinatesOf(at);
    same &= valueOf(c.accumulator, sums[size_t(at.warp)].get(bitsOf(c.accumulator), at.reg, at.lane)) ==
            product(a, b, element[0], element[1]);
  });
  REQUIRE(same);
}

} // namespace

TEST_CASE("metadata of a sparse wgmma lies as the emulator reads it", "[layout][instruction][unit]") {
  std::mt19937 random(Catch::rngSeed());
  constexpr unsigned pairs[] = {4, 8, 12, 9, 13, 14};
  for (MatrixElement element : {MatrixElement::bf16, MatrixElement::e4m3})
    for (int64_t steps : {1, 2, 3, 4}) {
      int bits = bitsOf(element);
      INFO(emu::toString(element) << ", steps " << steps);
      int64_t bytes = steps * metadataBytesOfStep(bits), depth = 8 * bytes / steps;
      std::vector<unsigned> places(size_t(wgmmaRows * 2 * bytes)); // of each row's groups
      for (unsigned &pair : places)
        pair = pairs[random() % 6];
      FragmentLayout layout = wgmmaMetadata(wgmmaRows, bytes, bits, {1, 1});
      std::array<WarpRegisters, 4> metadata;
      forEachLocation(layout, [&](const HardwareLocation &at) {
        Coordinates place = layout.coordinatesOf(at);
        size_t group = size_t(2 * (place[0] * bytes + place[1]));
        metadata[size_t(at.warp)].set(8, at.reg, at.lane, places[group] | places[group + 1] << 4);
      });
      for (int64_t step = 0; step < steps; ++step) {
        // Every element that is stored is 1, and of B those of one k are, so that a sum says whether A has
        // it.
        int64_t k = int64_t(random() % uint64_t(depth)), stepsOfWord = stepsOfMetadataWord(bytes, bits);
        Matrix left(wgmmaRows, depth / 2, random), right(8, depth, random);
        std::ranges::fill(left.values, 1);
        for (int64_t at = 0; at < 8 * depth; ++at)
          right.values[size_t(at)] = at % depth == k;
        std::vector<std::byte> memory(size_t(1) << 17);
        auto descriptorOf = [&](const Matrix &matrix, int64_t start) {
          int64_t span = swizzleSpan(Swizzle::bytes128) * 8 / bits;
          SharedLayout panel = SharedLayout::swizzled({matrix.rows, span}, bits, 1, Swizzle::bytes128);
          return SharedFactor(panel, 1, matrix, element, start, memory).descriptor;
        };
        emu::Wgmma form{.n = 8, .a = element, .b = element, .isSparse = true};
        form.selector = unsigned(step % stepsOfWord);
        emu::WarpgroupRegisters words;
        for (size_t warp = 0; warp < 4; ++warp)
          words[warp] = std::span(metadata[warp].words).subspan(size_t(step / stepsOfWord * 32), 32);
        uint64_t ofLeft = descriptorOf(left, 0), ofRight = descriptorOf(right, 1 << 16);
        std::array<WarpRegisters, 4> sums;
        REQUIRE(emu::wgmma(form, memory, ofLeft, ofRight, emu::ScaleD::zero,
                           {sums[0].words, sums[1].words, sums[2].words, sums[3].words}, words));
        FragmentLayout accumulator = wgmmaAccumulator(wgmmaRows, 8, {1, 1});
        bool same = true;
        forEachLocation(accumulator, [&](const HardwareLocation &at) {
          int64_t row = accumulator.coordinatesOf(at)[0], place = k % 4;
          unsigned pair = places[size_t(row * 2 * bytes + (step * depth + k) / 4)];
          bool isStored = place == (pair & 3) || place == pair >> 2;
          same &= valueOf(MatrixElement::f32, sums[size_t(at.warp)].get(32, at.reg, at.lane)) == isStored;
        });
        REQUIRE(same);
      }
    }
}

TEST_CASE("operands of wgmma are the emulator's", "[layout][instruction][unit]") {
  using enum MatrixElement;
  std::mt19937 random(Catch::rngSeed());
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    for (bool aInRegisters : {false, true}) {
      for (int64_t n : {8, 64, 176, 256})
        requireProduct({f16, f32, n, swizzle, false, false, aInRegisters}, random);
      requireProduct({f16, f16, 48, swizzle, false, false, aInRegisters}, random);
      requireProduct({tf32, f32, 40, swizzle, false, false, aInRegisters}, random);
      requireProduct({s8, s32, 96, swizzle, false, false, aInRegisters}, random);
      requireProduct({e4m3, f32, 72, swizzle, false, false, aInRegisters}, random);
      requireProduct({e4m3, f32, 72, swizzle, false, false, aInRegisters, interleavedRows()}, random);
      requireProduct({bf16, f32, 64, swizzle, false, true, aInRegisters}, random);
    }
    requireProduct({bf16, f32, 128, swizzle, true, true}, random);
    requireProduct({f16, f32, 24, swizzle, true, false}, random);
  }
}
