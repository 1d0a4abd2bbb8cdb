// SPDX-License-Identifier: Apache-2.0
/// \file
/// wgmma against a plain product. Operands are laid into shared memory element
/// by element through byte formulas and pattern tables of the test's own.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator_math/Support.h"

#include <chrono>
#include <cmath>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using E = MatrixElement;

namespace {

constexpr size_t sharedBytes = 200 * 1024;
constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128};

unsigned spanOf(Swizzle swizzle) { return swizzle == Swizzle::none ? 16 : 16u << unsigned(swizzle); }

/// Where byte `x` of the contiguous direction and index `y` of the other one lie.
uint32_t offsetOf(const MatrixDescriptor &d, Major major, unsigned element, unsigned row, unsigned k) {
  const unsigned w = spanOf(d.swizzle);
  if (major == Major::k) {
    const unsigned x = k * element;
    if (d.swizzle == Swizzle::none)
      return row / 8 * d.stride + row % 8 * 16 + x / 16 * d.leading + x % 16;
    return row / 8 * d.stride + row % 8 * w + x;
  }
  const unsigned x = row * element;
  if (d.swizzle == Swizzle::none)
    return x / 16 * d.stride + x % 16 + k / 8 * d.leading + k % 8 * 16;
  return x / w * d.leading + x % w + k / 8 * d.stride + k % 8 * w;
}

/// A packed descriptor for an operand of `rows` rows at `start`; `depth` counts if they are contiguous.
MatrixDescriptor describe(Swizzle swizzle, Major major, unsigned rows, uint32_t start, unsigned depth = 16) {
  const unsigned w = spanOf(swizzle);
  MatrixDescriptor d{.start = start, .swizzle = swizzle};
  if (major == Major::k) {
    d.leading = swizzle == Swizzle::none ? rows * 16 : 16; // ignored when swizzled
    d.stride = 8 * w;
  } else if (swizzle == Swizzle::none) {
    d.stride = 128;
    d.leading = rows / 8 * 128;
  } else {
    d.stride = 8 * w;
    d.leading = depth * w;
  }
  return d;
}

std::set<uint64_t> place(std::vector<std::byte> &shared, const MatrixDescriptor &d, Major major, E element,
                         const Matrix &matrix) {
  std::set<uint64_t> touched;
  const unsigned bytes = bytesOf(element);
  for (unsigned row = 0; row < matrix.rows; ++row)
    for (unsigned k = 0; k < matrix.columns; ++k) {
      const uint32_t bits = bitsOf(element, matrix(row, k));
      const uint32_t at = swizzledByTable(d.swizzle, d.start + offsetOf(d, major, bytes, row, k));
      std::memcpy(&shared[at], &bits, bytes);
      for (unsigned i = 0; i < bytes; ++i)
        touched.insert(at + i);
    }
  return touched;
}

struct Accumulator {
  std::array<std::vector<uint32_t>, 4> words;
  std::array<std::span<uint32_t>, 4> spans;
  explicit Accumulator(unsigned registers) {
    for (unsigned warp = 0; warp < 4; ++warp) {
      words[warp].assign(registers * 32, 0x7FC07FC0); // NaN in either format, garbage as an integer
      spans[warp] = words[warp];
    }
  }
  /// Element i of thread t holds row 16 (t / 32) + t % 32 / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (t % 4) +
  /// i % 2.
  template <class Visit> static void visit(unsigned n, Visit visit) {
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned i = 0; i < n / 2; ++i)
        visit(t, i, 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2);
  }
  void set(E element, unsigned t, unsigned i, uint32_t bits) {
    uint32_t &word = words[t / 32][(element == E::f16 ? i / 2 : i) * 32 + t % 32];
    word = element == E::f16 ? (i % 2 ? (word & 0xFFFF) | bits << 16 : (word & 0xFFFF0000) | bits) : bits;
  }
  uint32_t get(E element, unsigned t, unsigned i) const {
    const uint32_t word = words[t / 32][(element == E::f16 ? i / 2 : i) * 32 + t % 32];
    return element == E::f16 ? word >> (i % 2 * 16) & 0xFFFF : word;
  }
};

enum class Source { shared, registers };

void checkAgainstProduct(Wgmma instruction, Swizzle swizzleA, Swizzle swizzleB, Source sourceA,
                         ScaleD scaleD) {
  Random random;
  INFO("seed " << random.seed << ", n " << instruction.n << ", " << toString(instruction.a) << " "
               << toString(instruction.b) << " " << toString(instruction.accumulator) << ", swizzles "
               << int(swizzleA) << " " << int(swizzleB) << ", majors " << int(instruction.majorA) << " "
               << int(instruction.majorB) << ", source " << int(sourceA));
  const auto registers = wgmmaAccumulatorRegisters(instruction);
  REQUIRE(registers);
  const unsigned depth = wgmmaDepth(instruction);
  Matrix a = Matrix::small(64, depth, instruction.a, random);
  Metadata metadata;
  const Matrix stored = instruction.isSparse ? metadata.prune(instruction, a, random) : a;
  const Matrix b = Matrix::small(instruction.n, depth, instruction.b, random);
  const Matrix c = Matrix::small(64, instruction.n, E::s32, random);

  std::vector<std::byte> shared(sharedBytes);
  for (std::byte &byte : shared)
    byte = std::byte(0xFF); // NaN or -1 in every type: what is read in error shows
  const MatrixDescriptor descriptorA =
      describe(swizzleA, instruction.majorA, 64, 1024 * random.integer(0, 40));
  const MatrixDescriptor descriptorB =
      describe(swizzleB, instruction.majorB, instruction.n, 1024 * random.integer(80, 100), depth);
  const std::set<uint64_t> bytesB = place(shared, descriptorB, instruction.majorB, instruction.b, b);

  WgmmaOperandA operandA;
  std::array<std::vector<uint32_t>, 4> fragments;
  std::vector<ByteRange> ranges;
  if (sourceA == Source::shared) {
    operandA = descriptorA.encode();
    const std::set<uint64_t> bytesA = place(shared, descriptorA, instruction.majorA, instruction.a, stored);
    wgmmaRanges(instruction, WgmmaOperand::a, descriptorA.encode(), ranges);
    CHECK(bytesIn(ranges) == bytesA);
    ranges.clear();
  } else {
    const unsigned bytes = bytesOf(instruction.a), pack = 4 / bytes;
    WarpgroupRegisters spans;
    for (unsigned warp = 0; warp < 4; ++warp) {
      fragments[warp].assign(4 * 32, 0);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4 * pack; ++i) {
          const unsigned r = i / pack, row = 16 * warp + lane / 4 + (r % 2 ? 8 : 0);
          const unsigned k = lane % 4 * pack + i % pack + (r / 2 ? 4 * pack : 0);
          fragments[warp][r * 32 + lane] |= bitsOf(instruction.a, stored(row, k)) << (i % pack * 8 * bytes);
        }
      spans[warp] = fragments[warp];
    }
    operandA = spans;
  }
  wgmmaRanges(instruction, WgmmaOperand::b, descriptorB.encode(), ranges);
  CHECK(bytesIn(ranges) == bytesB);

  Accumulator d(*registers);
  if (scaleD == ScaleD::one)
    Accumulator::visit(instruction.n, [&](unsigned t, unsigned i, unsigned row, unsigned column) {
      d.set(instruction.accumulator, t, i, bitsOf(instruction.accumulator, c(row, column)));
    });
  REQUIRE(wgmma(instruction, shared, operandA, descriptorB.encode(), scaleD, d.spans, metadata.spans()));
  Accumulator::visit(instruction.n, [&](unsigned t, unsigned i, unsigned row, unsigned column) {
    const double expected = instruction.scaleA * instruction.scaleB * product(a, b, row, column) +
                            (scaleD == ScaleD::one ? c(row, column) : 0.0);
    if (d.get(instruction.accumulator, t, i) != bitsOf(instruction.accumulator, expected))
      FAIL("row " << row << ", column " << column << ": bits " << d.get(instruction.accumulator, t, i)
                  << " instead of " << expected);
  });
}

} // namespace

TEST_CASE("wgmma reads K-major operands through every pair of swizzles") {
  for (Swizzle a : swizzles)
    for (Swizzle b : swizzles) {
      checkAgainstProduct({.n = 64}, a, b, Source::shared, ScaleD::one);
      checkAgainstProduct({.n = 72, .a = E::f16, .b = E::f16}, a, b, Source::shared, ScaleD::zero);
      checkAgainstProduct({.n = 8, .a = E::tf32, .b = E::tf32}, a, b, Source::shared, ScaleD::one);
      checkAgainstProduct({.n = 40, .a = E::e4m3, .b = E::e5m2}, a, b, Source::shared, ScaleD::one);
      checkAgainstProduct({.n = 48, .a = E::s8, .b = E::u8, .accumulator = E::s32}, a, b, Source::shared,
                          ScaleD::one);
    }
}

TEST_CASE("wgmma reads MN-major operands through every pair of swizzles") {
  for (Major majorA : {Major::k, Major::mn})
    for (Major majorB : {Major::k, Major::mn})
      for (Swizzle a : swizzles)
        for (Swizzle b : swizzles)
          for (unsigned n : {8u, 80u, 256u})
            checkAgainstProduct({.n = n, .a = E::f16, .b = E::f16, .majorA = majorA, .majorB = majorB}, a, b,
                                Source::shared, ScaleD::one);
}

TEST_CASE("wgmma has every n") {
  for (unsigned n = 8; n <= 256; n += 8) {
    checkAgainstProduct({.n = n}, Swizzle::bytes128, Swizzle::bytes128, Source::shared, ScaleD::one);
    checkAgainstProduct({.n = n, .majorB = Major::mn}, Swizzle::bytes128, Swizzle::bytes128,
                        Source::registers, ScaleD::one);
  }
}

TEST_CASE("wgmma takes A from registers in every type") {
  for (E element : {E::f16, E::bf16, E::tf32, E::e4m3, E::e5m2})
    checkAgainstProduct({.n = 96, .a = element, .b = element}, Swizzle::none, Swizzle::bytes64,
                        Source::registers, ScaleD::one);
  for (E element : {E::s8, E::u8})
    checkAgainstProduct({.n = 96, .a = element, .b = element, .accumulator = E::s32}, Swizzle::none,
                        Swizzle::bytes128, Source::registers, ScaleD::zero);
}

TEST_CASE("wgmma accumulates in f16 and applies the signs of its scales") {
  for (E element : {E::f16, E::e4m3, E::e5m2})
    for (ScaleD scaleD : {ScaleD::zero, ScaleD::one})
      checkAgainstProduct({.n = 64, .a = element, .b = element, .accumulator = E::f16}, Swizzle::bytes128,
                          Swizzle::bytes128, Source::shared, scaleD);
  for (int scaleA : {1, -1})
    for (int scaleB : {1, -1})
      for (Source source : {Source::shared, Source::registers})
        checkAgainstProduct({.n = 32, .scaleA = scaleA, .scaleB = scaleB}, Swizzle::bytes64, Swizzle::bytes32,
                            source, ScaleD::one);
}

TEST_CASE("wgmma multiplies what a sparse A stores") {
  for (unsigned selector : {0u, 1u})
    for (Source source : {Source::shared, Source::registers})
      for (Swizzle b : {Swizzle::none, Swizzle::bytes64, Swizzle::bytes128}) {
        for (E element : {E::f16, E::bf16, E::tf32})
          checkAgainstProduct({.n = 40, .a = element, .b = element, .isSparse = true, .selector = selector},
                              Swizzle::bytes32, b, source, ScaleD::one);
        checkAgainstProduct({.n = 24, .a = E::e4m3, .b = E::e5m2, .isSparse = true}, Swizzle::bytes128, b,
                            source, ScaleD::zero);
        checkAgainstProduct({.n = 32, .a = E::u8, .b = E::s8, .accumulator = E::s32, .isSparse = true},
                            Swizzle::bytes128, b, source, ScaleD::one);
        checkAgainstProduct({.n = 64,
                             .a = E::f16,
                             .b = E::f16,
                             .accumulator = E::f16,
                             .majorB = Major::mn,
                             .isSparse = true,
                             .selector = selector},
                            Swizzle::bytes128, b, source, ScaleD::one);
      }
  checkAgainstProduct({.n = 8, .majorA = Major::mn, .majorB = Major::mn, .isSparse = true}, Swizzle::bytes128,
                      Swizzle::bytes32, Source::shared, ScaleD::one);
}

TEST_CASE("metadata of a sparse A has two places in increasing order") {
  std::vector<std::byte> shared(65536);
  const uint64_t a = describe(Swizzle::bytes128, Major::k, 64, 0).encode();
  const uint64_t b = describe(Swizzle::bytes128, Major::k, 8, 32768).encode();
  const auto messageOf = [&](const Wgmma &instruction, unsigned row, unsigned group, uint32_t pair) {
    Metadata metadata;
    for (auto &words : metadata.words)
      words.fill(0x44444444);
    metadata.set(instruction, row, group, pair);
    Accumulator d(4);
    Result<void> result = wgmma(instruction, shared, a, b, ScaleD::zero, d.spans, metadata.spans());
    return result ? std::string() : result.error().message;
  };
  const Wgmma halves = {.n = 8, .isSparse = true, .selector = 1};
  for (uint32_t pair = 0; pair < 16; ++pair)
    CHECK(messageOf(halves, 63, 7, pair).empty() == ((pair & 3) < pair >> 2));
  CHECK(messageOf(halves, 63, 7, 0b0001) ==
        "wgmma: the metadata of row 63, group 7 is 0001, but needs two places, the smaller one lower");
  const Wgmma floats = {.n = 8, .a = E::tf32, .b = E::tf32, .isSparse = true};
  CHECK(messageOf(floats, 8, 0, 0b1100) ==
        "wgmma: the metadata of row 8, group 0 is 1100, but needs 0100 or 1110");
  const Wgmma bytes = {.n = 8, .a = E::e4m3, .b = E::e4m3, .isSparse = true};
  CHECK(messageOf(bytes, 1, 15, 0b1111) ==
        "wgmma: the metadata of row 1, group 15 is 1111, but needs two places, the smaller one lower");
}

TEST_CASE("wgmma multiplies what TMA loaded, with descriptors as compilers write them") {
  // A 64 x 64 and B 128 x 64, K-major; V 64 x 128 (k x n), N-major, in two panels of 64 columns.
  Random random;
  INFO("seed " << random.seed);
  const Matrix a = Matrix::small(64, 64, E::bf16, random), b = Matrix::small(128, 64, E::bf16, random);
  Matrix v(64, 128);
  for (unsigned k = 0; k < 64; ++k)
    for (unsigned n = 0; n < 128; ++n)
      v(k, n) = b(n, k);
  const auto store = [](const Matrix &matrix) {
    std::vector<uint16_t> elements;
    for (double value : matrix.values)
      elements.push_back(floatToBf16(float(value)));
    return elements;
  };
  const std::vector<uint16_t> globalA = store(a), globalB = store(b), globalV = store(v);
  const auto mapOf = [](const std::vector<uint16_t> &elements, const Matrix &matrix, uint32_t rows) {
    EmulatedTensorMap map{.globalAddress = uint64_t(elements.data()), .rank = 2};
    map.dims = {matrix.columns, matrix.rows};
    map.strides = {matrix.columns * 2};
    map.box = {64, rows};
    map.swizzle = Swizzle::bytes128;
    REQUIRE(checkTensorMap(map));
    return map;
  };
  std::vector<std::byte> shared(64 * 1024, std::byte(0xFF));
  constexpr uint32_t atA = 0, atB = 8192, atV = atB + 16384;
  const int32_t origin[] = {0, 0}, secondPanel[] = {64, 0};
  REQUIRE(loadBox(mapOf(globalA, a, 64), origin, shared, atA));
  REQUIRE(loadBox(mapOf(globalB, b, 128), origin, shared, atB));
  REQUIRE(loadBox(mapOf(globalV, v, 64), origin, shared, atV));
  REQUIRE(loadBox(mapOf(globalV, v, 64), secondPanel, shared, atV + 8192));

  const auto kMajor = [](uint64_t start) {
    return (start >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  };
  const auto mnMajor = [](uint64_t start) {
    return (start >> 4 & 0x3FFF) | 8192ull / 16 << 16 | 1024ull / 16 << 32 | 1ull << 62;
  };
  Accumulator fromB(64), fromV(64);
  for (unsigned step = 0; step < 4; ++step) {
    const ScaleD scaleD = step == 0 ? ScaleD::zero : ScaleD::one;
    REQUIRE(wgmma({.n = 128}, shared, kMajor(atA) + 2 * step, kMajor(atB) + 2 * step, scaleD, fromB.spans));
    REQUIRE(wgmma({.n = 128, .majorB = Major::mn}, shared, kMajor(atA) + 2 * step, mnMajor(atV) + 128 * step,
                  scaleD, fromV.spans));
  }
  Accumulator::visit(128, [&](unsigned t, unsigned i, unsigned row, unsigned column) {
    const uint32_t expected = std::bit_cast<uint32_t>(float(product(a, b, row, column)));
    if (fromB.get(E::f32, t, i) != expected || fromV.get(E::f32, t, i) != expected)
      FAIL("row " << row << ", column " << column);
  });
}

TEST_CASE("wgmma stays within the rounding of f32 on arbitrary values") {
  Random random;
  INFO("seed " << random.seed);
  Matrix a(64, 16), b(256, 16);
  for (Matrix *matrix : {&a, &b})
    for (double &value : matrix->values)
      value = toDouble(FloatFormat::f16, fromDouble(FloatFormat::f16, random.real(-4, 4)));
  std::vector<std::byte> shared(sharedBytes);
  const MatrixDescriptor atA = describe(Swizzle::bytes32, Major::k, 64, 0);
  const MatrixDescriptor atB = describe(Swizzle::bytes128, Major::k, 256, 65536);
  place(shared, atA, Major::k, E::f16, a);
  place(shared, atB, Major::k, E::f16, b);
  Accumulator d(128);
  REQUIRE(
      wgmma({.n = 256, .a = E::f16, .b = E::f16}, shared, atA.encode(), atB.encode(), ScaleD::zero, d.spans));
  Accumulator::visit(256, [&](unsigned t, unsigned i, unsigned row, unsigned column) {
    const double error = std::fabs(std::bit_cast<float>(d.get(E::f32, t, i)) - product(a, b, row, column));
    if (error > 16 * 16 * 16 * 0x1p-24)
      FAIL("row " << row << ", column " << column << ": error " << error);
  });
}

TEST_CASE("wgmma gives the canonical NaN and ignores the low bits of tf32") {
  std::vector<std::byte> shared(32768);
  const MatrixDescriptor atA = describe(Swizzle::none, Major::k, 64, 0),
                         atB = describe(Swizzle::none, Major::k, 8, 8192);
  for (unsigned i = 0; i < 4096; i += 4) {
    const uint32_t almostTwo = 0x3F801FFF; // 1.0 and bits that tf32 has not
    std::memcpy(&shared[i], &almostTwo, 4);
    std::memcpy(&shared[8192 + i], &almostTwo, 4);
  }
  Accumulator d(4);
  const Wgmma tf32{.n = 8, .a = E::tf32, .b = E::tf32};
  REQUIRE(wgmma(tf32, shared, atA.encode(), atB.encode(), ScaleD::zero, d.spans));
  CHECK(d.words[0][0] == std::bit_cast<uint32_t>(8.0f));
  d.words[3][5] = 0xFFC00001;
  REQUIRE(wgmma(tf32, shared, atA.encode(), atB.encode(), ScaleD::one, d.spans));
  CHECK(d.words[3][5] == 0x7FFFFFFF);
  CHECK(d.words[3][4] == std::bit_cast<uint32_t>(16.0f));
}

TEST_CASE("the base offset moves the first row of the swizzle pattern") {
  // Rows of the operand begin at line 3 of a 1024-byte pattern, yet are row 0 of their own.
  Random random;
  INFO("seed " << random.seed);
  const Matrix a = Matrix::small(64, 16, E::bf16, random), b = Matrix::small(8, 16, E::bf16, random);
  std::vector<std::byte> shared(32768);
  const MatrixDescriptor atA = describe(Swizzle::bytes128, Major::k, 64, 0);
  MatrixDescriptor atB = describe(Swizzle::bytes128, Major::k, 8, 16384);
  place(shared, atA, Major::k, E::bf16, a);
  place(shared, atB, Major::k, E::bf16, b);
  std::memmove(&shared[16384 + 3 * 128], &shared[16384], 1024);
  atB.start += 3 * 128;
  atB.baseOffset = 3;
  Accumulator d(4);
  REQUIRE(wgmma({.n = 8}, shared, atA.encode(), atB.encode(), ScaleD::zero, d.spans));
  Accumulator::visit(8, [&](unsigned t, unsigned i, unsigned row, unsigned column) {
    CHECK(d.get(E::f32, t, i) == std::bit_cast<uint32_t>(float(product(a, b, row, column))));
  });
}

TEST_CASE("matrix descriptors decode field by field") {
  const MatrixDescriptor expected{
      .start = 0x12340, .leading = 16, .stride = 1024, .baseOffset = 5, .swizzle = Swizzle::bytes128};
  CHECK(MatrixDescriptor::decode(0x1234ull | 1ull << 16 | 64ull << 32 | 5ull << 49 | 1ull << 62) == expected);
  CHECK(MatrixDescriptor::decode(2ull << 62).swizzle == Swizzle::bytes64);
  CHECK(MatrixDescriptor::decode(3ull << 62).swizzle == Swizzle::bytes32);
  CHECK(MatrixDescriptor::decode(0).swizzle == Swizzle::none);
  for (Swizzle swizzle : swizzles)
    CHECK(MatrixDescriptor::decode(describe(swizzle, Major::mn, 64, 4096).encode()) ==
          describe(swizzle, Major::mn, 64, 4096));
}

TEST_CASE("wgmma names the operand that leaves shared memory and changes nothing") {
  std::vector<std::byte> shared(8192);
  Accumulator d(32), before(32);
  const uint64_t inside = describe(Swizzle::bytes128, Major::k, 64, 0).encode();
  const uint64_t outside = describe(Swizzle::bytes128, Major::k, 64, 1024).encode();
  Result<void> result = wgmma({.n = 64}, shared, inside, outside, ScaleD::one, d.spans);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::execution);
  CHECK(result.error().message ==
        "wgmma: operand b of descriptor 0x4000004000010040 reads 16 bytes at 0x2000, "
        "beyond the block's 8192 bytes of shared memory");
  result = wgmma({.n = 64}, shared, outside, inside, ScaleD::one, d.spans);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("operand a") != std::string::npos);
  CHECK(d.words == before.words);
}

TEST_CASE("operands that are surely within a piece of shared memory are") {
  Random random;
  INFO("seed " << random.seed);
  unsigned sure = 0;
  for (unsigned times = 0; times < 2000; ++times) {
    const Wgmma instruction{.n = unsigned(random.integer(1, 32)) * 8,
                            .majorA = random.integer(0, 1) ? Major::mn : Major::k,
                            .majorB = random.integer(0, 1) ? Major::mn : Major::k};
    const MatrixDescriptor descriptor{.start = uint32_t(random.integer(0, 8000)) * 16,
                                      .leading = uint32_t(random.integer(0, 1000)) * 16,
                                      .stride = uint32_t(random.integer(0, 200)) * 16,
                                      .baseOffset = uint32_t(random.integer(0, 7)),
                                      .swizzle = swizzles[random.integer(0, 3)]};
    for (WgmmaOperand operand : {WgmmaOperand::a, WgmmaOperand::b}) {
      std::vector<ByteRange> ranges;
      wgmmaRanges(instruction, operand, descriptor.encode(), ranges);
      const uint64_t first = ranges.front().address, end = ranges.back().address + ranges.back().bytes;
      CHECK_FALSE(isSurelyWithin(instruction, operand, descriptor.encode(), uint32_t(first) + 16, 1 << 18));
      CHECK_FALSE(isSurelyWithin(instruction, operand, descriptor.encode(), 0, uint32_t(end) - 16));
      // A line of 128 bytes more is always enough, unless the address wraps around.
      const uint32_t begin = uint32_t(first) / 128 * 128;
      if (isSurelyWithin(instruction, operand, descriptor.encode(), begin, uint32_t(end) + 127))
        ++sure;
    }
  }
  CHECK(sure > 1000);
}

TEST_CASE("wgmma names what is wrong with an instruction") {
  const auto message = [](const Wgmma &instruction) {
    const auto registers = wgmmaAccumulatorRegisters(instruction);
    return registers ? std::string() : registers.error().message;
  };
  CHECK(message({.n = 12}) ==
        "wgmma m64n12k16 of bf16 and bf16 into f32: n must be a multiple of 8 from 8 to 256");
  CHECK(message({.n = 264}) != "");
  CHECK(message({.n = 40, .a = E::s8, .b = E::s8, .accumulator = E::s32}) ==
        "wgmma m64n40k32 of s8 and s8 into s32: n above 24 must be a multiple of 16 for 8-bit integers");
  CHECK(message({.a = E::bf16, .b = E::f16}) ==
        "wgmma m64n64k16 of bf16 and f16 into f32: there is no such combination of types");
  CHECK(message({.a = E::tf32, .b = E::tf32, .majorB = Major::mn}) ==
        "wgmma m64n64k8 of tf32 and tf32 into f32: only 16-bit operands can be transposed");
  CHECK(message({.scaleA = 2}) ==
        "wgmma m64n64k16 of bf16 and bf16 into f32: scales must be 1 or -1, but are 2 and 1");
  CHECK(*wgmmaAccumulatorRegisters({.n = 176}) == 88);
  CHECK(*wgmmaAccumulatorRegisters({.n = 176, .a = E::f16, .b = E::f16, .accumulator = E::f16}) == 44);
}

TEST_CASE("wgmma speed", "[.speed]") {
  std::vector<std::byte> shared(sharedBytes);
  for (Major major : {Major::k, Major::mn})
    for (unsigned n : {64u, 128u, 256u}) {
      const uint64_t a = describe(Swizzle::bytes128, Major::k, 64, 0).encode();
      const uint64_t b = describe(Swizzle::bytes128, major, n, 65536).encode();
      Accumulator d(n / 2);
      const Wgmma instruction{.n = n, .a = E::f16, .b = E::f16, .majorB = major};
      const auto start = std::chrono::steady_clock::now();
      constexpr int times = 3000;
      for (int i = 0; i < times; ++i)
        REQUIRE(wgmma(instruction, shared, a, b, i == 0 ? ScaleD::zero : ScaleD::one, d.spans));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      WARN("n " << n << (major == Major::k ? " K-major " : " MN-major ")
                << 2.0 * 64 * n * 16 * times / seconds.count() * 1e-9 << " GFLOP/s");
    }
}
