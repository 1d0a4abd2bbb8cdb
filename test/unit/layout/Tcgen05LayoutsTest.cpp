// SPDX-License-Identifier: Apache-2.0
/// \file
/// Moves of tensor memory and operands of tcgen05.mma against the emulator, whose maps are written from the
/// PTX ISA and share nothing with ours: operands are placed by our maps, the emulator computes, and the
/// results must be where our maps say.
#include "runtime/target/MmaAtoms.h"
#include "test/unit/layout/EmulatedOperands.h"

using namespace tlc;
using namespace tlc::test;
using emu::MatrixElement;

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

namespace {

/// Each half of each cell says which it is.
std::vector<uint32_t> numberedCells() {
  std::vector<uint32_t> cells(emu::tensorLanes * emu::tensorColumns);
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = uint32_t(i);
  return cells;
}

void requireMove(const TensorMemoryMove &ours, emu::TensorShape shape, int elementBits) {
  emu::TensorMove theirs{shape, unsigned(ours.repeat), ours.packs, uint32_t(ours.splitColumns)};
  INFO("shape " << int(shape) << " x" << ours.repeat << (ours.packs ? " packs" : "") << ", " << elementBits
                << " bits");
  LayoutMap map = tensorMemoryMove(ours, elementBits);
  REQUIRE(map.problem() == "");
  REQUIRE(map.extent(0) * elementBits == emu::registersOf(theirs) * 32);
  std::vector<uint32_t> cells = numberedCells();
  emu::TensorAddress address{32, 3};
  WarpRegisters loaded;
  emu::loadTensor(theirs, cells, address, loaded.words);
  bool same = true;
  forEachInput(map, [&](const Coordinates &at) {
    Coordinates place = map(at);
    uint32_t cell = cells[(address.lane + size_t(place[0])) * emu::tensorColumns + address.column +
                          size_t(place[1] / 32)];
    uint64_t element = cell >> place[1] % 32 & uint32_t((uint64_t(1) << elementBits) - 1);
    same &= loaded.get(elementBits, at[0], at[1]) == element;
  });
  REQUIRE(same);
  // And back: the same cells are written, the others are not.
  std::vector<uint32_t> stored(cells.size());
  emu::storeTensor(theirs, stored, address, loaded.words);
  std::vector<uint32_t> expected(cells.size());
  forEachInput(map, [&](const Coordinates &at) {
    Coordinates place = map(at);
    expected[(address.lane + size_t(place[0])) * emu::tensorColumns + address.column +
             size_t(place[1] / 32)] |= uint32_t(loaded.get(elementBits, at[0], at[1]) << place[1] % 32);
  });
  REQUIRE(stored == expected);
}

} // namespace

TEST_CASE("A thread needs 18 registers more than tcgen05.ld moves", "[layout][instruction][tcgen05][unit]") {
  CHECK(maxRepeat(TensorMemoryShape::lanes32x32b, 146) == 128);
  CHECK(maxRepeat(TensorMemoryShape::lanes32x32b, 145) == 64);
  CHECK(maxRepeat(TensorMemoryShape::lanes32x32b, 64) == 32);
  CHECK(maxRepeat(TensorMemoryShape::lanes16x256b, 128) == 16);
  CHECK(maxRepeat(TensorMemoryShape::lanes16x256b, 16) == 1);
}

TEST_CASE("tcgen05.ld and st of every shape are the emulator's", "[layout][instruction][tcgen05][unit]") {
  const std::pair<TensorMemoryShape, emu::TensorShape> shapes[] = {
      {TensorMemoryShape::lanes32x32b, emu::TensorShape::lanes32x32b},
      {TensorMemoryShape::lanes16x64b, emu::TensorShape::lanes16x64b},
      {TensorMemoryShape::lanes16x128b, emu::TensorShape::lanes16x128b},
      {TensorMemoryShape::lanes16x256b, emu::TensorShape::lanes16x256b},
      {TensorMemoryShape::lanes16x32bx2, emu::TensorShape::lanes16x32bx2}};
  for (auto [ours, theirs] : shapes) {
    int64_t most = maxRepeat(ours, /*registersAtLaunch=*/255);
    for (int64_t repeat = 1; repeat <= most; repeat *= 2) {
      int64_t split = ours == TensorMemoryShape::lanes16x32bx2 ? 256 : 0;
      for (int bits : {8, 16, 32})
        requireMove({ours, repeat, false, split}, theirs, bits);
      if (repeat < most) // more columns than there are
        requireMove({ours, repeat, true, split}, theirs, 16);
    }
    REQUIRE(emu::registersOf({theirs, unsigned(most)}) != 0);
    REQUIRE(emu::registersOf({theirs, unsigned(2 * most)}) == 0);
  }
}

//===----------------------------------------------------------------------===//
// tcgen05.mma
//===----------------------------------------------------------------------===//

namespace {

emu::TensorSwizzle tensorSwizzle(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return emu::TensorSwizzle::none;
  case Swizzle::bytes32:
    return emu::TensorSwizzle::bytes32;
  case Swizzle::bytes64:
    return emu::TensorSwizzle::bytes64;
  case Swizzle::bytes128:
    break;
  }
  return emu::TensorSwizzle::bytes128;
}

/// One block's memories.
struct Block {
  std::vector<std::byte> shared = std::vector<std::byte>(1 << 17);
  std::vector<uint32_t> cells = std::vector<uint32_t>(emu::tensorLanes * emu::tensorColumns, 0x7FC0);

  void setCells(int64_t lane, int64_t bit, int bits, uint64_t code) {
    setBits(std::as_writable_bytes(std::span(cells)), (lane * emu::tensorColumns) * 32 + bit, bits, code);
  }
};

/// Places rows [first, first + rows) of a K-major factor; gives its descriptor.
emu::TensorDescriptor place(const SharedLayout &layout, const Matrix &matrix, int64_t first,
                            MatrixElement element, int64_t start, Block &block) {
  for (int64_t row = 0; row < layout.shape()[0]; ++row)
    for (int64_t k = 0; k < matrix.columns; ++k)
      setBits(block.shared, start * 8 + layout.map()(std::vector{row, k}).front(), layout.elementBits(),
              codeOf(element, matrix.at(first + row, k)));
  bool plain = layout.swizzle() == Swizzle::none;
  return {.start = uint32_t(start),
          .leading = uint32_t(plain ? layout.panelPitch() : matrixRowBytes),
          .stride = uint32_t(swizzleRows * layout.rowPitch()),
          .swizzle = tensorSwizzle(layout.swizzle())};
}

constexpr int64_t accumulatorColumn = 64, factorColumn = 0, startOfB = 1 << 16;

struct Tcgen05Case {
  emu::TensorKind kind;
  MatrixElement element, accumulator;
  Tcgen05Accumulator d;
  Swizzle swizzle = Swizzle::bytes128;
  bool aInTensorMemory = false;
};

void requireProduct(const Tcgen05Case &c, std::mt19937 &random) {
  int bits = bitsOf(c.element);
  emu::TensorMma mma;
  mma.form = {.kind = c.kind,
              .form = c.d.weightStationary ? emu::TensorForm::weightStationary : emu::TensorForm::dense,
              .a = c.aInTensorMemory ? emu::TensorOperandA::tensorMemory : emu::TensorOperandA::shared,
              .ctaGroup = unsigned(c.d.blocks)};
  mma.m = unsigned(c.d.m);
  mma.n = unsigned(c.d.n);
  mma.a = mma.b = c.element;
  mma.accumulator = c.accumulator;
  int64_t depth = mma.depth(), span = swizzleSpan(c.swizzle) * 8 / bits;
  INFO("m " << c.d.m << " n " << c.d.n << " blocks " << c.d.blocks << " of " << emu::toString(c.element)
            << ", swizzle " << toString(c.swizzle) << (c.d.weightStationary ? " ws" : "")
            << (c.aInTensorMemory ? " A in tmem" : ""));
  Matrix a(c.d.m, depth, random), b(c.d.n, depth, random);
  int64_t rowsA = c.d.m / c.d.blocks, rowsB = c.d.n / c.d.blocks;
  LayoutMap d = tcgen05Accumulator(c.d);
  REQUIRE(d.problem() == "");

  std::vector<Block> blocks(size_t(c.d.blocks));
  emu::TensorMmaCall call;
  call.d = {0, uint32_t(accumulatorColumn)};
  call.tensorA = {0, uint32_t(factorColumn)};
  call.accumulate = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto layoutOf = [&](int64_t rows) {
      return SharedLayout::swizzled({rows, alignTo(depth, span)}, bits, 1, c.swizzle);
    };
    if (c.aInTensorMemory) {
      LayoutMap rows = tensorMemoryRows(tcgen05Rows, depth, bits);
      forEachInput(rows, [&](const Coordinates &at) {
        Coordinates cell = rows(at);
        blocks[i].setCells(cell[0], factorColumn * 32 + cell[1], bits, codeOf(c.element, a.at(at[0], at[1])));
      });
    } else {
      call.a = place(layoutOf(rowsA), a, int64_t(i) * rowsA, c.element, 0, blocks[i]);
    }
    call.b = place(layoutOf(rowsB), b, int64_t(i) * rowsB, c.element, startOfB, blocks[i]);
  }
  std::vector<emu::TensorBlock> memories;
  for (Block &block : blocks)
    memories.push_back({block.shared, block.cells});
  emu::tensorMma(mma, call, memories);
  bool same = true;
  int64_t outside = 0;
  forEachInput(d, [&](const Coordinates &at) {
    Coordinates cell = d(at);
    uint32_t word =
        blocks[size_t(cell[2])]
            .cells[size_t(cell[0]) * emu::tensorColumns + accumulatorColumn + size_t(cell[1] / 32)];
    outside += cell[1] / 32 >= mma.columnsD();
    same &= valueOf(c.accumulator, word) == product(a, b, at[0], at[1]);
  });
  REQUIRE(same);
  REQUIRE(outside == 0);
}

} // namespace

TEST_CASE("operands of tcgen05.mma are the emulator's", "[layout][instruction][tcgen05][unit]") {
  using enum MatrixElement;
  std::mt19937 random(Catch::rngSeed());
  std::vector<Tcgen05Accumulator> forms = {{128, 48, 1},      {64, 40, 1},        {256, 64, 2},
                                           {128, 96, 2},      {128, 64, 1, true}, {64, 128, 1, true},
                                           {32, 256, 1, true}};
  for (const Tcgen05Accumulator &d : forms) {
    for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
      requireProduct({emu::TensorKind::f16, f16, f32, d, swizzle}, random);
    requireProduct({emu::TensorKind::f16, bf16, f32, d}, random);
    requireProduct({emu::TensorKind::f16, f16, f16, d}, random);
    requireProduct({emu::TensorKind::tf32, tf32, f32, d}, random);
    requireProduct({emu::TensorKind::f8f6f4, e4m3, f32, d}, random);
    requireProduct({emu::TensorKind::i8, u8, s32, d}, random);
  }
  for (auto [kind, element, accumulator] :
       {std::tuple(emu::TensorKind::f16, bf16, f32), std::tuple(emu::TensorKind::f8f6f4, e4m3, f32),
        std::tuple(emu::TensorKind::tf32, tf32, f32)})
    requireProduct({kind, element, accumulator, {128, 64, 1}, Swizzle::bytes128, true}, random);
  // The table of targets has no others.
  for (const MmaAtom &atom : allMmaAtoms())
    if (atom.kind == MmaKind::tcgen05)
      REQUIRE(std::any_of(forms.begin(), forms.end(), [&](const Tcgen05Accumulator &d) {
        return !d.weightStationary && d.m == int64_t(atom.m) && d.blocks == int64_t(atom.blocks);
      }));
}

TEST_CASE("elements of 4 and 6 bits take 16 bytes for 16", "[layout][instruction][tcgen05][unit]") {
  std::mt19937 random(Catch::rngSeed());
  for (MatrixElement element : {MatrixElement::e2m1, MatrixElement::e3m2, MatrixElement::e2m3}) {
    INFO(emu::toString(element));
    emu::TensorMma mma;
    mma.form.kind = emu::TensorKind::f8f6f4;
    mma.a = mma.b = element;
    mma.m = 128;
    mma.n = 32;
    int64_t depth = mma.depth();
    LayoutMap row = spacedElements(depth, bitsOf(element));
    SharedLayout bytes = SharedLayout::swizzled({128, 128}, 8, 1, Swizzle::bytes128);
    Matrix a(mma.m, depth, random), b(mma.n, depth, random);
    Block block;
    for (auto [matrix, start] : {std::pair(&a, int64_t(0)), std::pair(&b, startOfB)})
      for (int64_t i = 0; i < matrix->rows; ++i)
        for (int64_t k = 0; k < depth; ++k) {
          int64_t bit = row(std::vector{k}).front();
          setBits(block.shared, (start + bytes.byteOffset({i, bit / 8})) * 8 + bit % 8, bitsOf(element),
                  codeOf(element, matrix->at(i, k)));
        }
    emu::TensorMmaCall call;
    call.a = {0, uint32_t(matrixRowBytes), uint32_t(8 * bytes.rowPitch()), emu::TensorSwizzle::bytes128};
    call.b = call.a;
    call.b.start = uint32_t(startOfB);
    call.d = {0, uint32_t(accumulatorColumn)};
    call.accumulate = false;
    std::vector<emu::TensorBlock> memories = {{block.shared, block.cells}};
    emu::tensorMma(mma, call, memories);
    bool same = true;
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < b.rows; ++j)
        same &= valueOf(MatrixElement::f32,
                        block.cells[size_t(i) * emu::tensorColumns + accumulatorColumn + size_t(j)]) ==
                product(a, b, i, j);
    REQUIRE(same);
  }
}

// tcgen05.cp brings factors from shared to tensor memory; the product reads them there.
TEST_CASE("scale factors and packed factors are the emulator's", "[layout][instruction][tcgen05][unit]") {
  std::mt19937 random(Catch::rngSeed());
  constexpr int64_t rows = 128, factors = 4, columnA = 0, columnB = 8;
  emu::TensorMma mma;
  mma.form = {.kind = emu::TensorKind::mxf4nvf4, .scales = unsigned(factors)};
  mma.a = mma.b = MatrixElement::e2m1;
  mma.m = mma.n = unsigned(rows);
  mma.scale = emu::ScaleElement::ue8m0;
  int64_t depth = mma.depth();
  REQUIRE(depth == 64);

  Block block;
  Matrix a(rows, depth, random), b(rows, depth, random), scalesA(rows, factors, random),
      scalesB(rows, factors, random);
  SharedLayout packed = SharedLayout::swizzled({rows, depth}, 4, 1, Swizzle::bytes32);
  emu::TensorMmaCall call;
  call.a = place(packed, a, 0, MatrixElement::e2m1, 0, block);
  call.b = place(packed, b, 0, MatrixElement::e2m1, startOfB, block);
  call.d = {0, uint32_t(accumulatorColumn)};
  call.accumulate = false;
  call.scalesA = uint32_t(columnA);
  call.scalesB = uint32_t(columnB);

  LayoutMap inShared = sharedScaleFactors(rows), inTensorMemory = tcgen05ScaleFactors(rows);
  REQUIRE(inShared.problem() == "");
  REQUIRE(inShared.size(0) == rows * factors * 8);
  constexpr int64_t startOfScales = 1 << 15;
  std::vector<emu::TensorBlock> memories = {{block.shared, block.cells}};
  for (auto [scales, column] : {std::pair(&scalesA, columnA), std::pair(&scalesB, columnB)}) {
    forEachInput(inShared, [&](const Coordinates &at) {
      setBits(block.shared, startOfScales * 8 + inShared(at).front(), 8,
              uint64_t(127 + scales->at(at[0], at[1])));
    });
    // 32 rows of 16 bytes are 4 core matrices.
    emu::TensorDescriptor descriptor{uint32_t(startOfScales), 0, uint32_t(matrixRows * matrixRowBytes),
                                     emu::TensorSwizzle::none};
    emu::copyToTensor({emu::TensorCopyShape::rows32x128b}, descriptor, memories[0], {0, uint32_t(column)});
    bool same = true;
    forEachInput(inTensorMemory, [&](const Coordinates &at) {
      Coordinates factor = inTensorMemory(at);
      uint32_t word = block.cells[size_t(at[0]) * emu::tensorColumns + size_t(column + at[1] / 32)];
      uint64_t code = uint64_t(127 + scales->at(factor[0], factor[1]));
      same &= (word >> at[1] % 32 & 1) == (code >> at[1] % 8 & 1);
    });
    REQUIRE(same);
  }
  emu::tensorMma(mma, call, memories);
  bool same = true;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      int64_t expected = 0;
      for (int64_t k = 0; k < depth; ++k) {
        int64_t part = k / (depth / factors);
        expected += (a.at(i, k) * b.at(j, k)) << (scalesA.at(i, part) + scalesB.at(j, part));
      }
      same &=
          valueOf(MatrixElement::f32,
                  block.cells[size_t(i) * emu::tensorColumns + accumulatorColumn + size_t(j)]) == expected;
    }
  REQUIRE(same);
}
