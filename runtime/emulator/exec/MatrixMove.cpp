// SPDX-License-Identifier: Apache-2.0
/// \file
/// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between
/// shared rows of 16 bytes and fragments in which lane l holds the elements
/// 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
#include "runtime/emulator/exec/Mma.h"

#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace tlc::emulator {
namespace {

constexpr unsigned lanes = 32, rowBytes = 16;

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

Result<void> checkRows(std::string_view name, unsigned matrices, size_t sharedBytes,
                       LaneAddresses addresses) {
  assert((matrices == 1 || matrices == 2 || matrices == 4) && "checked when the instruction was decoded");
  for (unsigned lane = 0; lane < 8 * matrices; ++lane) {
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

} // namespace

void matrixMoveRanges(unsigned matrices, LaneAddresses addresses, std::vector<ByteRange> &ranges) {
  for (unsigned lane = 0; lane < 8 * matrices; ++lane)
    appendRange(ranges, addresses[lane], rowBytes);
}

Result<void> ldmatrix(unsigned matrices, Transpose transpose, std::span<const std::byte> shared,
                      LaneAddresses addresses, std::span<uint32_t> d) {
  if (Result<void> rows = checkRows("ldmatrix", matrices, shared.size(), addresses); !rows)
    return rows;
  for (unsigned i = 0; i < matrices; ++i) {
    Matrix matrix;
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(matrix[row], shared.data() + addresses[8 * i + row], rowBytes);
    for (unsigned lane = 0; lane < lanes; ++lane)
      d[i * lanes + lane] = fragmentOf(matrix, lane, transpose);
  }
  return {};
}

Result<void> stmatrix(unsigned matrices, Transpose transpose, std::span<std::byte> shared,
                      LaneAddresses addresses, std::span<const uint32_t> source) {
  if (Result<void> rows = checkRows("stmatrix", matrices, shared.size(), addresses); !rows)
    return rows;
  for (unsigned i = 0; i < matrices; ++i) {
    Matrix matrix;
    for (unsigned lane = 0; lane < lanes; ++lane)
      setFragment(matrix, lane, transpose, source[i * lanes + lane]);
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(shared.data() + addresses[8 * i + row], matrix[row], rowBytes);
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
