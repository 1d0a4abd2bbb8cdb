// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last accesses to each part of a block's shared memory: a line of 16
/// bytes is one part as long as accesses cover it whole, as those of copies and
/// products do, and the program's granules once some access does not.
#pragma once

#include "runtime/emulator/check/Clock.h"
#include "runtime/emulator/exec/Memory.h"

#include <optional>

namespace tlc::emulator {

/// An access as the shadow remembers it.
struct Record {
  uint32_t number = 0; ///< of the column; 0: no access
  Column column = 0;
  uint32_t pc = 0;
  uint16_t warp = 0; ///< in the cluster
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  bool strong = false; ///< does not race with other strong accesses
};

/// Why an access is wrong.
enum class Wrong : uint8_t {
  nothing,
  unordered, ///< nothing orders it with another
  unfenced,  ///< ordered, but no proxy fence on the way
  unwritten, ///< the read has no write before it
};
struct Conflict {
  Wrong wrong = Wrong::nothing;
  Record before; ///< not of `unwritten`
  uint32_t address = 0;
};

class Shadow {
public:
  /// `granule` divides 16; accesses are multiples of it, and aligned to it.
  Shadow(uint32_t bytes, uint32_t granule)
      : granule(granule), lines(bytes / lineBytes + 1), pieces(lines.size()) {}
  /// [address, end) is accessed by `access` at a point that knows `known`.
  /// Adds what is wrong with that, each earlier instruction once.
  void access(uint32_t address, uint32_t end, const Record &access, const Knowledge &known,
              std::vector<Conflict> &conflicts);

  /// As if nothing had ever been in [address, end).
  void forget(uint32_t address, uint32_t end);

private:
  /// A write and the reads since that nothing orders with each other.
  struct Cell {
    Record write, read;
    uint32_t moreReads = 0; ///< index into `lists`; 0: none
  };
  static constexpr uint32_t lineBytes = 16;
  std::vector<Cell> &split(uint32_t line);
  Conflict access(Cell &cell, const Record &access, const Knowledge &known);
  void addRead(Cell &cell, const Record &read, const Clock &seen);
  Conflict checkReads(const Cell &cell, const Record &access, const Knowledge &known) const;
  void clearReads(Cell &cell);
  uint32_t newList();

  uint32_t granule;
  std::vector<Cell> lines;
  std::vector<std::vector<Cell>> pieces; ///< of each line; empty: it is one
  std::vector<std::vector<Record>> lists{1};
  std::vector<uint32_t> freeLists;
};

} // namespace tlc::emulator
