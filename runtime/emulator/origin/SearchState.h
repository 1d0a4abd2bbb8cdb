// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a search asks of the next run.
#pragma once

#include "runtime/emulator/exec/core/State.h"
#include "runtime/emulator/origin/OriginSearch.h"

namespace tlc::emulator {

/// A thread of a run. Runs of a search differ in addresses alone.
struct ThreadPlace {
  size_t launch = 0; ///< in the run
  uint32_t cluster = 0, rank = 0;
  unsigned warp = 0, lane = 0;
};

/// Bytes in memory, before a moment of the run.
struct MemoryPlace {
  std::optional<TensorBytes> global = {}; ///< else in shared memory
  size_t launch = 0;                      ///< of shared memory, like the next three
  uint32_t cluster = 0, rank = 0;
  uint32_t address = 0;
  unsigned bytes = 0;
  uint64_t before = 0;
};

/// The value of an operand of an instruction, when a lane runs it.
struct OperandPlace {
  ThreadPlace thread;
  uint64_t moment = 0;
  uint32_t pc = 0;
  unsigned slot = 0;
  std::optional<unsigned> half = {}; ///< of a register of two values, the one that is asked for
};

/// The last write to a place, as far as a run has come.
struct LastWrite {
  FindingSite site = {};
  std::string text = {};                    ///< "copies a box"
  std::optional<uint64_t> bits = {};        ///< that are written
  std::optional<OperandPlace> operand = {}; ///< what it writes, where that is a register
  std::optional<MemoryPlace> copied = {};   ///< where it copies from
};

struct WriterQuestion {
  MemoryPlace place;
  size_t reader = 0;                    ///< step
  std::optional<uint64_t> address = {}; ///< in global memory of the present launch
  std::optional<LastWrite> last = {};
};

/// An instruction that a lane has executed, with the values of its operands before.
struct Executed {
  uint64_t moment = 0;
  uint32_t pc = 0;
  size_t values = 0;                  ///< index of the first one
  std::vector<uint32_t> results = {}; ///< registers of a product that ends later
};

struct OperandQuestion {
  OperandPlace place;
  size_t reader = 0;
  std::vector<Executed> log = {};
  std::vector<uint64_t> values = {};
  bool isWhole = true; ///< nothing of the log had to be dropped
};

class OriginState {
public:
  OriginState(TensorBytes element, size_t mostSteps) : element(std::move(element)), mostSteps(mostSteps) {}

  /// The number of the step; nothing if there are enough.
  std::optional<size_t> add(OriginStep step);
  /// Adds that an instruction reads a tensor, and asks for the last write to the same bytes.
  void askAfterRead(MemoryPlace place, const FindingSite &site, size_t reader, std::string text = "reads",
                    std::optional<uint64_t> bits = {});
  bool isFull() const { return steps.size() >= mostSteps; }

  TensorBytes element;
  size_t mostSteps;
  std::vector<OriginStep> steps;
  std::vector<WriterQuestion> writers; ///< of the next run, or of the present one
  std::vector<OperandQuestion> operands;
  std::vector<WriterQuestion> nextWriters; ///< found while a run is under way
  std::vector<OperandQuestion> nextOperands;
  uint64_t now = 0;    ///< moment of the run
  size_t launches = 0; ///< that have begun
};

inline bool hasPart(std::string_view instruction, std::string_view part) {
  return instruction.find(part) != std::string_view::npos;
}
/// "3.25 (f32)", by the last type in an instruction's name that its result has.
std::string valueText(std::string_view instruction, uint64_t bits);
/// Bytes of an element that a load or store moves.
unsigned elementBytesOf(std::string_view instruction);
/// The tensor at an address of the memory.
std::optional<TensorBytes> tensorAt(const Grid &grid, uint64_t address, unsigned bytes);
/// An address that a kernel uses, in the memory.
uint64_t inMemory(const Grid &grid, uint64_t address);

/// Adds steps for the question, and asks for what they load.
void explain(OriginState &state, const OperandQuestion &question, const Block &block);

} // namespace tlc::emulator
