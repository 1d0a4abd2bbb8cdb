// SPDX-License-Identifier: Apache-2.0
/// \file
/// ldmatrix, stmatrix, movmatrix between shared rows of 16 bytes and fragments.
/// Of 16-bit elements lane l holds 2 (l % 4) and 2 (l % 4) + 1 of row l / 4, of
/// 8 bits 4 (l % 4) to 4 (l % 4) + 3, and of row l / 4 + 8 in a second register.
#include "runtime/emulator/math/Mma.h"
#include "runtime/target/Hardware.h"

#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace tlc::emulator {
namespace {

constexpr unsigned lanes = lanesPerWarp, rowBytes = matrixRowBytes;

using Matrix = uint16_t[8][8];

uint32_t fragmentOf(const Matrix &matrix, unsigned lane, Transpose transpose) {
  const unsigned group = lane / 4, pair = 2 * (lane % 4);
  const uint32_t low = transpose == Transpose::no ? matrix[group][pair] : matrix[pair][group];
  const uint32_t high = transpose == Transpose::no ? matrix[group][pair + 1] : matrix[pair + 1][group];
  return high << 16 | low;
}

void setFragment(Matrix &matrix, unsigned lane, Transpose transpose, uint32_t word) {
  const unsigned group = lane / 4, pair = 2 * (lane % 4);
  (transpose == Transpose::no ? matrix[group][pair] : matrix[pair][group]) = uint16_t(word);
  (transpose == Transpose::no ? matrix[group][pair + 1] : matrix[pair + 1][group]) = uint16_t(word >> 16);
}

Result<void> checkRows(std::string_view name, const MatrixMove &move, size_t sharedBytes,
                       LaneAddresses addresses) {
  assert(move.addresses() <= lanes && "checked when the instruction was decoded");
  for (unsigned lane = 0; lane < move.addresses(); ++lane) {
    const uint32_t address = addresses[lane];
    if (address % rowBytes != 0)
      return Error{ErrorKind::execution,
                   fmt::format("{}: lane {}'s row address {:#x} is not a multiple of {}", name, lane, address,
                               rowBytes)};
    if (uint64_t(address) + rowBytes > sharedBytes)
      return Error{
          ErrorKind::execution,
          fmt::format("{}: lane {}'s row of {} bytes at {:#x} ends beyond the block's {} bytes of shared "
                      "memory",
                      name, lane, rowBytes, address, sharedBytes)};
  }
  return {};
}

/// Byte-sized elements of up to 16 rows, as they stand in shared memory.
using ByteMatrix = uint8_t[16][rowBytes];

/// Spreads 16 packed elements over the bytes of the row.
void unpackRow(MoveElement element, uint8_t (&row)[rowBytes]) {
  if (element == MoveElement::b8)
    return;
  const unsigned bits = element == MoveElement::b6 ? 6 : 4;
  unsigned __int128 packed;
  std::memcpy(&packed, row, rowBytes);
  for (unsigned i = 0; i < rowBytes; ++i)
    row[i] = uint8_t(packed >> i * bits) & ((1u << bits) - 1);
}

void loadBytes(const MatrixMove &move, const ByteMatrix &matrix, std::span<uint32_t> d) {
  for (unsigned half = 0; half < move.rows / 8; ++half)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      uint32_t word = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4 + 8 * half, column = lane % 4 * 4 + i;
        const uint8_t byte = move.transpose == Transpose::yes ? matrix[column][row] : matrix[row][column];
        word |= uint32_t(byte) << 8 * i;
      }
      d[half * lanes + lane] = word;
    }
}

/// 16 x 8 elements, each column a shared row; a lane holds two neighbours of two rows.
void storeBytes(std::span<const uint32_t> source, ByteMatrix &matrix) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      matrix[lane % 4 * 2 + i % 2][lane / 4 + i / 2 * 8] = uint8_t(source[lane] >> 8 * i);
}

} // namespace

Result<void> ldmatrix(const MatrixMove &move, std::span<const std::byte> shared, LaneAddresses addresses,
                      std::span<uint32_t> d) {
  if (Result<void> rows = checkRows("ldmatrix", move, shared.size(), addresses); !rows)
    return rows;
  for (unsigned i = 0; i < move.matrices; ++i) {
    if (move.element != MoveElement::b16) {
      ByteMatrix matrix;
      for (unsigned row = 0; row < move.rows; ++row) {
        std::memcpy(matrix[row], shared.data() + addresses[move.rows * i + row], rowBytes);
        unpackRow(move.element, matrix[row]);
      }
      loadBytes(move, matrix, d.subspan(i * move.rows / 8 * lanes));
      continue;
    }
    Matrix matrix;
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(matrix[row], shared.data() + addresses[8 * i + row], rowBytes);
    for (unsigned lane = 0; lane < lanes; ++lane)
      d[i * lanes + lane] = fragmentOf(matrix, lane, move.transpose);
  }
  return {};
}

Result<void> stmatrix(const MatrixMove &move, std::span<std::byte> shared, LaneAddresses addresses,
                      std::span<const uint32_t> source) {
  if (Result<void> rows = checkRows("stmatrix", move, shared.size(), addresses); !rows)
    return rows;
  for (unsigned i = 0; i < move.matrices; ++i) {
    const std::span<const uint32_t> words = source.subspan(i * lanes, lanes);
    Matrix matrix;
    ByteMatrix bytes;
    if (move.element == MoveElement::b8)
      storeBytes(words, bytes);
    else
      for (unsigned lane = 0; lane < lanes; ++lane)
        setFragment(matrix, lane, move.transpose, words[lane]);
    for (unsigned row = 0; row < 8; ++row) {
      const void *from = matrix[row];
      if (move.element == MoveElement::b8)
        from = bytes[row];
      std::memcpy(shared.data() + addresses[8 * i + row], from, rowBytes);
    }
  }
  return {};
}

void movmatrix(std::span<const uint32_t, 32> source, std::span<uint32_t, 32> d) {
  Matrix matrix;
  for (unsigned lane = 0; lane < lanes; ++lane)
    setFragment(matrix, lane, Transpose::no, source[lane]);
  for (unsigned lane = 0; lane < lanes; ++lane)
    d[lane] = fragmentOf(matrix, lane, Transpose::yes);
}

} // namespace tlc::emulator
