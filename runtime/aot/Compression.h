// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compression of bytes that are read once, as blocks of LZ4: PTX takes a third to a quarter, machine code
/// half. https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tlc::aot {

/// No block holds more bytes for each of its own.
inline constexpr uint64_t mostCompressed = 255;

/// Equal bytes give equal blocks. A block of what has no repetitions is longer than that.
std::vector<std::byte> compress(std::span<const std::byte> bytes);

/// Fills `bytes` from the block. False, with any bytes there, if the block is none of exactly that many.
bool decompress(std::span<const std::byte> block, std::span<std::byte> bytes);

} // namespace tlc::aot
