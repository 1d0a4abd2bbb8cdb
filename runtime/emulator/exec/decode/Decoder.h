// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the instruction groups decode with. A group lists its instructions in a
/// `DecodeEntry` table; each entry's function takes the modifiers it knows and
/// emits an `Instruction`. The first mistake is kept as the error, so decode
/// functions read straight through. What they leave untaken is unknown.
#pragma once

#include "runtime/emulator/exec/core/Program.h"
#include "runtime/target/CodeTarget.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>

namespace tlc::emulator {

class Decoder;
struct Call;
struct CallPlan;
struct Frame;

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
};

class Decoder {
public:
  Decoder(Program &program, Kernel &kernel) : program(program), kernel(kernel) {}

  /// Lays out memory and decodes the entry and what it calls.
  Result<void> run(const Function &entry);

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
  /// The register behind `|`, or a sink.
  Slot second(const Operand &operand, Type type);
  /// A constant operand's value; an error if it is a register.
  int64_t immediate(const Operand &operand);
  int64_t immediate(size_t i) { return immediate(operand(i)); }
  /// The memory operand [..]; its base is `elements[0]`.
  AddressOperand address(const Operand &operand);
  AddressOperand address(size_t i) { return address(operand(i)); }
  /// Elements of a vector operand, or the operand itself.
  std::span<const Operand> elements(const Operand &operand) const;

  Slot constant(uint64_t bits, unsigned bytes);
  /// A register of its own for an intermediate value.
  Slot temporary(unsigned bytes);
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
    instruction.payload = owned.get();
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

  // --- control flow (Control.cpp) ------------------------------------------------
  /// Target of a label of the current function, filled in when all is decoded:
  /// the pc goes to `immediate` of the instruction emitted last.
  void jumpTo(size_t statement);
  struct Callee {
    const Function *function = nullptr;
    uint32_t pc = 0;
    Slot returnAddress;
  };
  const Callee &currentFunction() const { return *current; }
  /// pc of each label of a .branchtargets list.
  void branchTargets(std::string_view name, std::vector<uint32_t> &into);
  void decodeCall();
  void emitReturn();
  /// Where the next frame of the thread's stack goes, 8 bytes.
  Slot stackPointer();
  uint32_t nextPc() const { return uint32_t(kernel.code.size()); }

  Program &program;
  Kernel &kernel;

private:
  struct Address {
    StateSpace space = StateSpace::global;
    uint64_t value = 0;
    uint32_t bytes = 0;
    bool inFrame = false; ///< `value` is an offset into the function's frame
  };
  struct FunctionState {
    Callee callee;
    std::shared_ptr<Frame> frame; ///< null: it is active once in a thread at most
    std::vector<Slot> registers;
    std::map<std::string, Address, std::less<>> variables;
    std::vector<uint32_t> statementPcs;
  };
  struct Jump {
    size_t instruction, statement;
  };

  void failText(std::string message);
  // Calls (CallDecode.cpp).
  /// What the entry may call, callees before their callers, the entry last.
  Result<void> collect(const Function &entry, std::vector<const Function *> &order);
  std::vector<const Function *> calleesOf(const Function &function) const;
  /// Gives frames to the functions that may be active more than once.
  void findRecursion(std::span<const Function *const> order);
  std::optional<CallPlan> planCall(const Function &callee);
  void emitCall(std::vector<CallPlan> plans, bool indirect);
  void decodeBuiltin(std::string_view name);
  std::vector<Address> parameterAddresses(const std::vector<std::string> &names);
  Result<void> layoutShared(std::span<const Function *const> functions);
  void layoutFunction(const Function &function);
  Result<void> decodeFunction(const Function &function);
  void decodeStatement();
  std::optional<Address> findVariable(std::string_view name) const;
  uint32_t allocateRegister(unsigned bytes);
  Slot registerSlot(uint32_t reg) const { return state->registers[reg]; }
  Slot newConstant(uint64_t bits, unsigned bytes);
  /// The address of a shared variable as a value.
  Slot sharedAddress(uint64_t value, unsigned bytes);
  Slot checkSize(Slot slot, unsigned bytes, const Operand &operand);
  Slot sink(unsigned bytes);
  uint64_t constantBits(const Operand &operand, Type type);

  std::unordered_map<std::string_view, void (*)(Decoder &)> table;
  CodeTarget code; ///< of the module
  std::map<const Function *, FunctionState> functions;
  std::map<std::string, Address, std::less<>> sharedVariables;
  FunctionState *state = nullptr;
  const Callee *current = nullptr;
  const Statement *statement = nullptr;
  std::vector<std::string_view> left;
  std::string_view fullName;
  std::optional<Error> error;
  std::map<std::pair<uint64_t, unsigned>, Slot> constants, sharedAddresses;
  std::vector<Jump> jumps;
  struct TargetList {
    std::vector<uint32_t> *into;
    const BranchTargets *targets;
  };
  std::vector<TargetList> targetLists;
  std::optional<Slot> sinkSlot, carrySlot, stackSlot, returnedFrameSlot;
  std::vector<std::shared_ptr<Call>> calls;
  bool usesStack = false;
  Frame *frameBeingDecoded = nullptr;
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
std::span<const DecodeEntry> controlInstructions();
std::span<const DecodeEntry> videoInstructions();
std::span<const DecodeEntry> warpInstructions();
std::span<const DecodeEntry> barrierInstructions();
std::span<const DecodeEntry> mbarrierInstructions();
std::span<const DecodeEntry> fenceInstructions();
std::span<const DecodeEntry> asyncInstructions();
std::span<const DecodeEntry> matrixInstructions();
std::span<const DecodeEntry> mmaInstructions();
std::span<const DecodeEntry> wmmaInstructions();
std::span<const DecodeEntry> tensorInstructions();

std::optional<SpecialRegister> findSpecialRegister(std::string_view name);

} // namespace tlc::emulator
