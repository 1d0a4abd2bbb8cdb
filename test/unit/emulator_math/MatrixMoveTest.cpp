// SPDX-License-Identifier: Apache-2.0
/// \file
/// ldmatrix, stmatrix and movmatrix on matrices whose elements name themselves.
#include "test/unit/emulator_math/Support.h"

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

/// Rows of four 8x8 matrices scattered over 4 KB at random multiples of 16.
struct Rows {
  std::vector<std::byte> shared = std::vector<std::byte>(4096, std::byte(0xCD));
  std::array<uint32_t, 32> addresses;

  explicit Rows(Random &random) {
    std::vector<uint32_t> units(256);
    for (uint32_t i = 0; i < 256; ++i)
      units[i] = 16 * i;
    std::shuffle(units.begin(), units.end(), random.engine);
    std::copy_n(units.begin(), 32, addresses.begin());
  }
  uint16_t element(unsigned matrix, unsigned row, unsigned column) const {
    uint16_t value;
    std::memcpy(&value, &shared[addresses[8 * matrix + row] + 2 * column], 2);
    return value;
  }
};

uint16_t nameOf(unsigned matrix, unsigned row, unsigned column) {
  return uint16_t(matrix << 12 | row << 8 | column);
}

} // namespace

TEST_CASE("ldmatrix gives lane l two neighbours of row l / 4, or of column l / 4 transposed") {
  Random random;
  INFO("seed " << random.seed);
  Rows rows(random);
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column) {
        const uint16_t name = nameOf(matrix, row, column);
        std::memcpy(&rows.shared[rows.addresses[8 * matrix + row] + 2 * column], &name, 2);
      }
  for (unsigned matrices : {1u, 2u, 4u}) {
    std::vector<uint32_t> d(4 * 32, 0xDEADBEEF);
    REQUIRE(ldmatrix({.matrices = matrices}, rows.shared, rows.addresses, d));
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const uint32_t expected =
            nameOf(i, lane / 4, lane % 4 * 2 + 1) << 16 | nameOf(i, lane / 4, lane % 4 * 2);
        CHECK(d[i * 32 + lane] == (i < matrices ? expected : 0xDEADBEEF));
      }
    REQUIRE(ldmatrix({.matrices = matrices, .transpose = Transpose::yes}, rows.shared, rows.addresses, d));
    for (unsigned i = 0; i < matrices; ++i)
      for (unsigned lane = 0; lane < 32; ++lane)
        CHECK(d[i * 32 + lane] ==
              uint32_t(nameOf(i, lane % 4 * 2 + 1, lane / 4) << 16 | nameOf(i, lane % 4 * 2, lane / 4)));
  }
}

TEST_CASE("stmatrix is the inverse of ldmatrix and writes nothing else") {
  Random random;
  INFO("seed " << random.seed);
  for (Transpose transpose : {Transpose::no, Transpose::yes})
    for (unsigned matrices : {1u, 2u, 4u}) {
      Rows rows(random);
      std::vector<uint32_t> source(matrices * 32), d(matrices * 32);
      for (uint32_t &word : source)
        word = random.bits();
      REQUIRE(stmatrix({matrices, transpose}, rows.shared, rows.addresses, source));
      REQUIRE(ldmatrix({matrices, transpose}, rows.shared, rows.addresses, d));
      CHECK(d == source);
      const unsigned row = transpose == Transpose::no ? 1 : 2, column = transpose == Transpose::no ? 2 : 1;
      CHECK(rows.element(0, row, column) == uint16_t(source[5])); // lane 5: row 1, columns 2 and 3

      std::set<uint64_t> touched;
      for (unsigned row = 0; row < 8 * matrices; ++row)
        for (unsigned i = 0; i < 16; ++i)
          touched.insert(rows.addresses[row] + i);
      for (unsigned i = 0; i < rows.shared.size(); ++i)
        if (!touched.count(i) && rows.shared[i] != std::byte(0xCD))
          FAIL("byte " << i << " was written");
    }
}

TEST_CASE("ldmatrix spreads 16 elements of 8, 6 or 4 bits over bytes") {
  Random random;
  INFO("seed " << random.seed);
  struct Form {
    MoveElement element;
    unsigned bits, rows, matrices;
  };
  for (const Form form :
       {Form{MoveElement::b8, 8, 16, 1}, Form{MoveElement::b8, 8, 16, 2}, Form{MoveElement::b6, 6, 16, 2},
        Form{MoveElement::b4, 4, 16, 1}, Form{MoveElement::b6, 6, 8, 4}, Form{MoveElement::b4, 4, 8, 2}}) {
    Rows rows(random);
    std::vector<std::array<unsigned, 16>> elements(form.rows * form.matrices);
    for (size_t row = 0; row < elements.size(); ++row) {
      uint8_t bytes[16];
      for (uint8_t &byte : bytes)
        byte = uint8_t(random.bits()); // the padding too
      for (unsigned i = 0; i < 16; ++i) {
        elements[row][i] = random.bits() & ((1u << form.bits) - 1);
        for (unsigned bit = 0; bit < form.bits; ++bit) {
          const unsigned at = i * form.bits + bit;
          bytes[at / 8] =
              uint8_t((bytes[at / 8] & ~(1u << at % 8)) | (elements[row][i] >> bit & 1) << at % 8);
        }
      }
      std::memcpy(&rows.shared[rows.addresses[row]], bytes, 16);
    }
    const bool transposed = form.rows == 16;
    const MatrixMove move = {form.matrices, transposed ? Transpose::yes : Transpose::no, form.element,
                             form.rows};
    std::vector<uint32_t> d(move.registers() * 32);
    REQUIRE(ldmatrix(move, rows.shared, rows.addresses, d));
    for (unsigned r = 0; r < move.registers(); ++r)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i) {
          const unsigned matrix = transposed ? r / 2 : r, row = lane / 4 + (transposed ? r % 2 * 8 : 0),
                         column = lane % 4 * 4 + i;
          const auto &line = elements[matrix * form.rows + (transposed ? column : row)];
          INFO("bits " << form.bits << ", register " << r << ", lane " << lane << ", byte " << i);
          CHECK((d[r * 32 + lane] >> 8 * i & 0xFF) == line[transposed ? row : column]);
        }
  }
}

TEST_CASE("stmatrix writes columns of 16 bytes") {
  Random random;
  INFO("seed " << random.seed);
  for (unsigned matrices : {1u, 2u, 4u}) {
    Rows rows(random);
    std::vector<uint32_t> source(matrices * 32);
    for (uint32_t &word : source)
      word = random.bits();
    REQUIRE(stmatrix({matrices, Transpose::yes, MoveElement::b8}, rows.shared, rows.addresses, source));
    for (unsigned matrix = 0; matrix < matrices; ++matrix)
      for (unsigned row = 0; row < 16; ++row)
        for (unsigned column = 0; column < 8; ++column) {
          // Rows g and g + 8 of a lane's group, two neighbouring columns of each.
          const unsigned lane = row % 8 * 4 + column / 2, byte = row / 8 * 2 + column % 2;
          CHECK(unsigned(rows.shared[rows.addresses[8 * matrix + column] + row]) ==
                (source[matrix * 32 + lane] >> 8 * byte & 0xFF));
        }
  }
}

TEST_CASE("movmatrix transposes a fragment in place") {
  std::array<uint32_t, 32> fragment;
  for (unsigned lane = 0; lane < 32; ++lane)
    fragment[lane] =
        uint32_t(nameOf(0, lane / 4, lane % 4 * 2 + 1)) << 16 | nameOf(0, lane / 4, lane % 4 * 2);
  movmatrix(fragment, fragment);
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(fragment[lane] ==
          (uint32_t(nameOf(0, lane % 4 * 2 + 1, lane / 4)) << 16 | nameOf(0, lane % 4 * 2, lane / 4)));
}

TEST_CASE("matrix moves name the lane whose row is wrong") {
  Random random;
  Rows rows(random);
  std::vector<uint32_t> d(4 * 32, 0xDEADBEEF);
  rows.addresses[9] = 24;
  Result<void> result = ldmatrix({.matrices = 2}, rows.shared, rows.addresses, d);
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "ldmatrix: lane 9's row address 0x18 is not a multiple of 16");
  CHECK(d == std::vector<uint32_t>(4 * 32, 0xDEADBEEF));
  CHECK(ldmatrix({.matrices = 1}, rows.shared, rows.addresses, d)); // lane 9 is not used

  rows.addresses[9] = 4096;
  const std::vector<std::byte> before = rows.shared;
  result = stmatrix({.matrices = 4}, rows.shared, rows.addresses, d);
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "stmatrix: lane 9's row of 16 bytes at 0x1000 ends beyond the block's 4096 bytes of shared memory");
  CHECK(rows.shared == before);
}
