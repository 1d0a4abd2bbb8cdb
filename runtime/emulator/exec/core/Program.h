// SPDX-License-Identifier: Apache-2.0
/// \file
/// A decoded program. Every instruction of every entry is decoded once, when
/// the module is loaded: its function to evaluate, and its operands as slots of
/// the warp's register file or of the entry's constants.
#pragma once

#include "runtime/emulator/exec/core/Heap.h"
#include "runtime/emulator/ptx/Module.h"
#include "runtime/emulator/report/NamedTensor.h"
#include "runtime/support/FreeDeleter.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::emulator {

struct Warp;
struct Instruction;

/// Where text goes that a kernel prints, one call of vprintf at a time.
using Print = std::function<void(std::string_view)>;

/// What an instruction did to the group of lanes that ran it.
enum class Step : uint8_t {
  next,  ///< done; the group continues after it
  moved, ///< the warp's groups changed (branch, call, exit): pick one again
  wait,  ///< the group has its `Wait` set
  fault, ///< a finding says why
};

/// The address space an instruction names; `generic` when it names none.
enum class Space : uint8_t { generic, global, shared, sharedCluster, local, constant, parameter };

/// Evaluates an instruction for the lanes in `active`, which is not empty.
using Eval = Step (*)(Warp &warp, uint32_t active, const Instruction &instruction);

/// An operand: 32 lanes, contiguous, of `bytes` each, in the register file or
/// among the constants. A predicate is one 32-bit word, a bit per lane, and has
/// `bytes` 0. 16 bytes are two runs of 32 8-byte lanes.
struct Slot {
  uint32_t offset = 0;
  uint8_t bytes = 0;
  bool constant = false;
  bool written = false; ///< the instruction's result
};

inline constexpr uint32_t noGuard = ~0u;
/// Registers begin at multiples of this.
inline constexpr uint32_t registerGranule = 32;

/// What an instruction makes of operands that nothing has written.
enum class Flow : uint8_t {
  use,     ///< they are an address, a value that is stored, or decide something
  address, ///< the first one is an address, the others are moved to memory
  any,     ///< its results count as not written where one operand is not
  bits,    ///< where all registers are not, or none of its bits comes from others
  places,  ///< each bit of the result is one of the first operand, or none; the others say which
  parts,   ///< where all operands are not: the result is put together, or taken apart
  select,  ///< as the operand that a predicate chooses; slots: result, two values, predicate
  lanes,   ///< the instruction says itself, of which lanes' operands
  ends,    ///< its results count as written
};

struct Instruction {
  Eval eval = nullptr;
  const Slot *slots = nullptr;   ///< as many as `eval` expects
  uint16_t slotCount = 0;        ///< that `eval` reads or writes at once
  const void *payload = nullptr; ///< what else `eval` needs, of a type that it knows
  int64_t immediate = 0;
  uint32_t guard = noGuard; ///< offset of the predicate
  bool guardNegated = false;
  Flow flow = Flow::use;
  uint32_t location = 0; ///< index into `Module::locations`
  uint32_t line = 0;     ///< of the PTX text
  std::string_view name; ///< "ld.global.b32"

  template <class T> const T &payloadAs() const { return *static_cast<const T *>(payload); }
};

/// Addresses of shared memory start here, as on hardware, where the system
/// keeps what lies below. Also makes address 0 invalid.
inline constexpr uint32_t sharedBase = 1024;
/// A shared::cluster address of block rank r is (r + 2) << 24 | address in that
/// block; without a rank it means the block itself. As on hardware, an address
/// without its bit 24 is one of the even block of a pair.
inline constexpr unsigned sharedRankShift = 24;
inline constexpr uint64_t sharedWindow(uint32_t rank) { return uint64_t(rank + 2) << sharedRankShift; }
/// The rank that an address names, or `own`; addresses that are none have ranks beyond every cluster.
inline constexpr uint64_t sharedRank(uint64_t address, uint32_t own) {
  const uint64_t window = address >> sharedRankShift;
  return window == 0 ? own : window - 2;
}
inline constexpr uint32_t localBase = 16;
/// Parameters of a .func live in local memory; their .param addresses say so.
inline constexpr uint64_t functionParameterFlag = uint64_t(1) << 31;

/// Windows of the generic address space, in the top byte; global memory has 0.
enum class Window : uint8_t { global = 0, multicast = 1, shared = 2, local = 3, parameter = 4, code = 5 };
inline constexpr unsigned windowShift = 56;
inline constexpr uint64_t windowBase(Window window) { return uint64_t(window) << windowShift; }
/// Of a `MulticastRange`, by its number in a launch: no memory of the host is there.
inline constexpr uint64_t multicastAddress(uint64_t number) {
  return windowBase(Window::multicast) + (number << 40);
}

/// Instructions that a jump backwards repeats, both included.
struct Loop {
  uint32_t first = 0, last = 0;
};

/// A register of the program, and where the register file has it.
struct RegisterName {
  uint32_t offset = 0;
  std::string_view name;
};

/// An entry with all functions that it calls, ready to run.
struct Kernel {
  std::string name;
  const Function *function = nullptr;
  std::vector<Instruction> code;
  std::vector<Loop> loops;
  uint32_t start = 0; ///< pc of the entry's first instruction
  std::vector<std::byte> constants;
  /// Of these, addresses of shared variables, which name the block's rank where clusters have several.
  std::vector<Slot> sharedAddresses;
  uint32_t registerBytes = 0; ///< of a warp
  uint32_t localBytes = 0;    ///< of a thread, `localBase` included
  uint32_t parameterBytes = 0;
  std::vector<uint32_t> parameterOffsets; ///< of each parameter of the entry
  uint32_t sharedStart = sharedBase;      ///< 0 where the program uses what the system reserves
  uint32_t staticSharedEnd = sharedBase;  ///< dynamic shared memory follows, aligned
  uint32_t dynamicSharedStart = sharedBase;
  /// The smallest access to shared memory; all are multiples of it, and aligned.
  uint32_t sharedGranule = 16;
  uint32_t globalGranule = 16;             ///< the same of global memory
  std::vector<RegisterName> registerNames; ///< by offset
  bool usesSetmaxnreg = false;
  bool readsGridWorkspace = false; ///< which only cooperative launches give
  bool readsTime = false;          ///< %globaltimer
  bool sharesRegisters = false;    ///< with wgmma or tcgen05.ld, which take their time
  unsigned ctaGroup = 0;           ///< of its tcgen05 instructions; 0: it has none
  uint32_t ctaGroupLine = 0;       ///< where it was first named
  std::vector<std::unique_ptr<Slot[]>> slotPool;
  std::vector<std::shared_ptr<const void>> payloads;
  std::vector<std::unique_ptr<std::string>> names;
};

class WrittenBytes;

/// Memory of a device: [address, address + bytes).
struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  int device = 0;                    ///< whose it is
  bool reachable = true;             ///< by the kernels of the launch
  WrittenBytes *written = nullptr;   ///< null: all of it counts as written
  uint64_t toMemory = 0;             ///< added to an address of a tensor (`tensorAddress`) gives the memory's
  uint64_t inWritten = 0;            ///< where the range begins in `written`
  const ElementRuns *runs = nullptr; ///< what may be accessed of it; null: all

  /// Where memory of the range is in `written`, and the reverse.
  uint64_t offsetOf(uint64_t memory) const { return memory - toMemory - address + inWritten; }
  uint64_t memoryAt(uint64_t offset) const { return offset - inWritten + address + toMemory; }
  bool holds(uint64_t first, uint64_t count) const {
    const uint64_t offset = first - address; // count beyond 2^64 too
    return offset <= bytes && bytes - offset >= count && (!runs || runs->bytesFrom(offset) >= count);
  }
  std::byte *at(uint64_t place) const { return reinterpret_cast<std::byte *>(place + toMemory); }
};

/// The same place in the memory of several devices, by one address, for multimem instructions alone.
struct MulticastRange {
  uint64_t address = 0; ///< where no other memory is
  uint64_t bytes = 0;
  std::vector<uint64_t> members = {}; ///< where it begins on each device
};

/// A loaded module: its kernels and the storage of its .global and .const
/// variables, which launches share.
struct Program {
  Module module;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  struct Storage {
    const Variable *variable = nullptr;
    std::unique_ptr<void, FreeDeleter> memory;
    uint64_t address = 0; ///< aligned, inside `memory`
  };
  std::map<std::string, Storage, std::less<>> storage;
  std::unique_ptr<Heap> heap;      ///< null: nothing calls malloc or free
  std::vector<MemoryRange> ranges; ///< of `storage` and `heap`
};

/// Parses and decodes. An unknown instruction, modifier, type or name is an
/// Error that names it and its PTX line.
Result<std::shared_ptr<const Program>> loadProgram(std::string_view ptx);

} // namespace tlc::emulator
