// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a block may take of its multiprocessor: shared memory, registers by role,
/// columns of tensor memory. Heuristics ask before there is a program, passes while
/// they change it, and the plan of shared memory when every object gets its place:
/// all of them count here, and therefore alike.
#pragma once

#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <initializer_list>
#include <optional>
#include <span>

namespace tlc {

/// What `setmaxnreg` gives to the threads of a role's warps.
struct RoleRegisters {
  int64_t warps = 0;
  int64_t registers = 0; ///< of each thread
};

/// What becomes a buffer in shared memory, or each of its slots.
struct SharedBytes {
  int64_t bytes = 0;
  int64_t alignment = swizzleAlignment; ///< of its first byte

  /// A tile as the TMA and matrix units like it best: with the widest swizzle whose span its rows fill.
  static SharedBytes tile(int64_t rows, int64_t rowBytes);
};

class BlockBudget {
public:
  /// `residents` blocks share a multiprocessor.
  explicit BlockBudget(const Target &target, int64_t residents = 1);

  //===--------------------------------------------------------------------===//
  // Shared memory. Objects lie one after the other, in the order of the calls.
  //===--------------------------------------------------------------------===//

  /// Returns the offset of the first slot. Each slot is aligned.
  int64_t addBuffer(SharedBytes slot, int64_t slots = 1);
  /// The mbarriers of a ring: two for each slot.
  int64_t addRing(int64_t slots);
  int64_t addBarrier();
  /// A response of cluster launch control, with the mbarrier that it arrives at.
  int64_t addCancelResponse();
  /// Memory for what comes later than the question: scratch of reductions and of exchanges between threads.
  void reserveScratch();

  /// What one slot of a ring with these buffers takes, its mbarriers included.
  static int64_t slotBytes(std::span<const SharedBytes> buffers);
  static int64_t slotBytes(std::initializer_list<SharedBytes> buffers);
  /// How many such slots fit beside what has been added; 0 if not even one does.
  int64_t slotsThatFit(int64_t slotBytes) const;

  int64_t sharedLimit() const { return limit; }
  int64_t sharedUsed() const { return used; }
  int64_t sharedFree() const { return limit - used; } ///< negative if it does not fit
  bool fits() const { return used <= limit && columnsReserved() <= columnLimit(); }

  //===--------------------------------------------------------------------===//
  // Registers
  //===--------------------------------------------------------------------===//

  /// What each thread of a block of so many warps starts with.
  int64_t registersAtLaunch(int64_t warps) const;
  /// Whether roles may set these: all warps of the block together have no more than at its launch, and
  /// whoever asks for more would wait forever.
  bool fits(std::span<const RoleRegisters> roles) const;
  /// The most that each thread of the other warps of a block of so many can get once the warps of `set` have
  /// theirs: nothing if the target does not move registers, or if too few are left.
  std::optional<int64_t> registersBeside(std::span<const RoleRegisters> set, int64_t allWarps) const;

  /// More than this a role does not get: the rest is used by nobody.
  static constexpr int64_t mostRoleRegisters = 240;

  //===--------------------------------------------------------------------===//
  // Tensor memory
  //===--------------------------------------------------------------------===//

  /// Takes columns of tensor memory and returns the first of them.
  int64_t addColumns(int64_t count);
  /// What the block reserves for them, all at once: a power of two, or 0 for none.
  int64_t columnsReserved() const;
  /// The most that it may reserve.
  int64_t columnLimit() const;

private:
  int64_t place(int64_t bytes, int64_t alignment);

  Target target;
  int64_t residents;
  int64_t limit;
  int64_t used = 0;
  int64_t columns = 0;
};

} // namespace tlc
