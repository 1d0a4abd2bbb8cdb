// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the instruction groups decode with. A group lists its instructions in a
/// `DecodeEntry` table; each entry's function takes the modifiers it knows and
/// emits an `Instruction`. The first mistake is kept as the error, so decode
/// functions read straight through. What they leave untaken is unknown.
#pragma once

#include "runtime/emulator/exec/decode/ConstantPool.h"
#include "runtime/emulator/exec/decode/KernelLayout.h"
#include "runtime/target/CodeTarget.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>

namespace tlc::emulator {

class Decoder;

struct DecodeEntry {
  std::string_view name;
  void (*decode)(Decoder &);
};

/// A decoded address operand: base register or constant, plus an offset.
struct AddressOperand {
  Slot base; ///< 4 or 8 bytes
  int64_t offset = 0;
};

/// Reads a special register into 32 lanes: `slots[0]`, of `bytes` each.
struct SpecialRegister {
  Eval eval = nullptr;
  unsigned bytes = 4;
  bool isGridWorkspace = false;  ///< half of the address that a cooperative launch gives
  bool isReservedShared = false; ///< tells where the system has shared memory
  bool isTime = false;
};

class Decoder {
public:
  Decoder(Program &program, Kernel &kernel, KernelLayout &layout);

  // --- a function, statement by statement -------------------------------------
  void begin(FunctionLayout &function);
  Result<void> decode(const Statement &next);
  /// Emits what stands for no statement of the text.
  void emitFor(const Statement &of, Eval eval, Slot slot, int64_t immediate);
  /// All of the function is decoded; all functions are.
  void resolveJumps();
  void resolveCalls();

  // --- the current statement -------------------------------------------------
  const Statement &at() const { return *statement; }
  size_t operandCount() const { return statement->operands.size(); }
  const Operand &operand(size_t i);
  void expectOperands(size_t least, size_t most);
  void expectOperands(size_t count) { expectOperands(count, count); }

  /// Takes a modifier if it is there.
  bool take(std::string_view modifier);
  /// Takes whichever of these are there.
  void ignore(std::initializer_list<std::string_view> modifiers);
  /// Takes the first modifier left that the table names.
  template <class T> std::optional<T> takeOneOf(std::initializer_list<std::pair<std::string_view, T>> table) {
    for (size_t i = 0; i < left.size(); ++i)
      for (const auto &[name, value] : table)
        if (left[i] == name) {
          left.erase(left.begin() + i);
          return value;
        }
    return std::nullopt;
  }
  /// Takes the first modifier left that is a type; an error if there is none.
  Type type();
  std::optional<Type> typeIfAny();
  /// Takes .global, .shared::cluster ...
  Space space();
  /// The modifiers not taken yet.
  const std::vector<std::string_view> &remaining() const { return left; }

  template <class... A> void fail(fmt::format_string<A...> format, A &&...arguments) {
    failText(fmt::format(format, std::forward<A>(arguments)...));
  }
  /// The target of the module.
  const CodeTarget &codeTarget() const { return code; }
  /// Fails if the target lacks the instruction, or its form with this operand (`missingInstruction`).
  bool checkTarget(std::string_view operand = {});
  bool failed() const { return bool(error); }

  // --- operands ----------------------------------------------------------------
  /// A source of exactly the type's size: register, constant, address of a
  /// variable, special register, negated predicate.
  Slot in(const Operand &operand, Type type);
  Slot in(size_t i, Type type) { return in(operand(i), type); }
  /// A destination of exactly the type's size, or a sink.
  Slot out(const Operand &operand, Type type);
  Slot out(size_t i, Type type) { return out(operand(i), type); }
  /// Source or destination that may be wider than the type, as for ld, st, cvt.
  Slot inWide(const Operand &operand, Type type);
  Slot outWide(const Operand &operand, Type type);
  /// The register after `|`, or a sink.
  Slot second(const Operand &operand, Type type);
  /// A constant operand's value; an error if it is a register.
  int64_t immediate(const Operand &operand);
  int64_t immediate(size_t i) { return immediate(operand(i)); }
  /// The memory operand [..]; its base is `elements[0]`.
  AddressOperand address(const Operand &operand);
  AddressOperand address(size_t i) { return address(operand(i)); }
  /// Elements of a vector operand, or the operand itself.
  std::span<const Operand> elements(const Operand &operand) const;

  Slot constant(uint64_t bits, unsigned bytes) { return constants.value(bits, bytes); }
  /// A register of its own for an intermediate value.
  Slot temporary(unsigned bytes) { return places.newRegister(bytes, current->frame.get()); }
  /// The value of a special register goes to the slot.
  void emitSpecial(const SpecialRegister &special, Slot to);
  /// The predicate that holds the carry of add.cc and its kin.
  Slot carryFlag();
  /// Bytes of an operand's register; 0 for predicates, nothing for others.
  std::optional<unsigned> registerBytes(const Operand &operand) const;

  // --- result ------------------------------------------------------------------
  Instruction &emit(Eval eval, std::initializer_list<Slot> slots, int64_t immediate = 0) {
    return emit(eval, std::span(slots.begin(), slots.size()), immediate);
  }
  Instruction &emit(Eval eval, std::span<const Slot> slots, int64_t immediate = 0);
  template <class P> Instruction &emitWith(Eval eval, std::span<const Slot> slots, P payload) {
    auto owned = std::make_shared<const P>(std::move(payload));
    Instruction &instruction = emit(eval, slots);
    instruction.payload = static_cast<const void *>(owned.get());
    kernel.payloads.push_back(std::move(owned));
    return instruction;
  }
  template <class P> Instruction &emitWith(Eval eval, std::initializer_list<Slot> slots, P payload) {
    return emitWith(eval, std::span(slots.begin(), slots.size()), std::move(payload));
  }

  /// Notes an access of threads, of so many bytes and aligned to them.
  void accesses(Space space, unsigned bytes) {
    if (space == Space::shared || space == Space::sharedCluster || space == Space::generic)
      kernel.sharedGranule = std::min(kernel.sharedGranule, bytes);
    if (space == Space::global || space == Space::generic)
      kernel.globalGranule = std::min(kernel.globalGranule, bytes);
  }

  // --- control flow ---------------------------------------------------------------
  /// Target of a label of the current function, filled in when all is decoded:
  /// the pc goes to `immediate` of the instruction emitted last.
  void jumpTo(size_t statement);
  /// pc of each label of a .branchtargets list.
  void branchTargets(std::string_view name, std::vector<uint32_t> &into);
  /// The current function.
  const FunctionLayout &function() const { return *current; }
  KernelLayout &layout() const { return places; }
  /// Its plans get their pcs when all is decoded.
  void addCall(std::shared_ptr<Call> call) { calls.push_back(std::move(call)); }

  Program &program;
  Kernel &kernel;

private:
  struct Jump {
    size_t instruction, statement;
  };
  struct TargetList {
    std::vector<uint32_t> *into;
    const BranchTargets *targets;
  };

  void failText(std::string message);
  void decodeStatement();
  Slot registerSlot(uint32_t reg) const { return current->registers[reg]; }
  Slot checkSize(Slot slot, unsigned bytes, const Operand &operand);
  Slot sink(unsigned bytes);
  uint64_t constantBits(const Operand &operand, Type type);

  KernelLayout &places;
  ConstantPool constants;
  CodeTarget code; ///< of the module
  std::unordered_map<std::string_view, void (*)(Decoder &)> table;
  FunctionLayout *current = nullptr;
  const Statement *statement = nullptr;
  std::vector<std::string_view> left;
  std::string_view fullName;
  std::optional<Error> error;
  std::optional<Slot> sinkSlot, carrySlot;
  std::vector<Jump> jumps;
  std::vector<TargetList> targetLists;
  std::vector<std::shared_ptr<Call>> calls;
};

/// not.pred, which a source `!p` needs too.
Step evalNotPredicate(Warp &warp, uint32_t active, const Instruction &instruction);

// The instruction groups.
std::span<const DecodeEntry> integerInstructions();
std::span<const DecodeEntry> bitInstructions();
std::span<const DecodeEntry> floatInstructions();
std::span<const DecodeEntry> floatChoiceInstructions();
std::span<const DecodeEntry> compareInstructions();
std::span<const DecodeEntry> moveInstructions();
std::span<const DecodeEntry> convertInstructions();
std::span<const DecodeEntry> memoryInstructions();
std::span<const DecodeEntry> atomicInstructions();
std::span<const DecodeEntry> multimemInstructions();
std::span<const DecodeEntry> controlInstructions();
std::span<const DecodeEntry> videoInstructions();
std::span<const DecodeEntry> warpInstructions();
std::span<const DecodeEntry> barrierInstructions();
std::span<const DecodeEntry> mbarrierInstructions();
std::span<const DecodeEntry> fenceInstructions();
std::span<const DecodeEntry> asyncInstructions();
std::span<const DecodeEntry> launchControlInstructions();
std::span<const DecodeEntry> matrixInstructions();
std::span<const DecodeEntry> mmaInstructions();
std::span<const DecodeEntry> wmmaInstructions();
std::span<const DecodeEntry> tensorInstructions();

std::optional<SpecialRegister> findSpecialRegister(std::string_view name);

} // namespace tlc::emulator
