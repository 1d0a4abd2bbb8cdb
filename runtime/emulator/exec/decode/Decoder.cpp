// SPDX-License-Identifier: Apache-2.0
/// \file
/// Statements and their operands.
#include "runtime/emulator/exec/decode/Decoder.h"

#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tlc::emulator {

namespace {

const Operand missingOperand;

/// Instructions of the ISA that are left out on purpose.
constexpr std::string_view notEmulated[] = {"tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"};

/// slots: d, frame. The address of a variable in the frame.
template <class T> Step frameAddress(Warp &warp, uint32_t active, const Instruction &instruction) {
  const In<uint64_t> base = lanesOf<uint64_t>(warp, instruction.slots[1]);
  T results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = T(base[l] + uint64_t(instruction.immediate));
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

} // namespace

Decoder::Decoder(Program &program, Kernel &kernel, KernelLayout &layout)
    : program(program), kernel(kernel), places(layout), constants(kernel),
      code(*parseCodeTarget(program.module.target)) { // the parser has checked it
  for (auto group :
       {integerInstructions(), bitInstructions(),          floatInstructions(),   floatChoiceInstructions(),
        compareInstructions(), moveInstructions(),         convertInstructions(), memoryInstructions(),
        atomicInstructions(),  multimemInstructions(),     controlInstructions(), warpInstructions(),
        barrierInstructions(), mbarrierInstructions(),     fenceInstructions(),   asyncInstructions(),
        matrixInstructions(),  videoInstructions(),        mmaInstructions(),     wmmaInstructions(),
        tensorInstructions(),  launchControlInstructions()})
    for (const DecodeEntry &item : group)
      table.emplace(item.name, item.decode);
}

void Decoder::begin(FunctionLayout &function) {
  current = &function;
  function.pc = uint32_t(kernel.code.size());
  jumps.clear();
  targetLists.clear();
}

Result<void> Decoder::decode(const Statement &next) {
  statement = &next;
  current->statementPcs.push_back(uint32_t(kernel.code.size()));
  decodeStatement();
  statement = nullptr;
  if (error)
    return *error;
  return {};
}

void Decoder::emitFor(const Statement &of, Eval eval, Slot slot, int64_t immediate) {
  statement = &of;
  emit(eval, {slot}, immediate);
  statement = nullptr;
}

void Decoder::resolveJumps() {
  for (const Jump &jump : jumps) {
    const uint32_t target = current->statementPcs[jump.statement], from = uint32_t(jump.instruction);
    kernel.code[from].immediate = target;
    if (target <= from)
      kernel.loops.push_back({target, from});
  }
  for (const TargetList &list : targetLists)
    for (const Operand &label : list.targets->labels)
      list.into->push_back(current->statementPcs[label.bits]);
}

void Decoder::resolveCalls() {
  for (const auto &call : calls)
    for (CallPlan &plan : call->plans)
      plan.pc = places.of(*plan.function).pc;
}

void Decoder::jumpTo(size_t target) { jumps.push_back({kernel.code.size() - 1, target}); }

void Decoder::branchTargets(std::string_view name, std::vector<uint32_t> &into) {
  for (const BranchTargets &targets : current->function->branchTargets)
    if (targets.name == name) {
      targetLists.push_back({&into, &targets});
      return;
    }
  fail("unknown list of branch targets '{}'", excerpt(name));
}

void Decoder::failText(std::string message) {
  if (!error)
    error = Error{ErrorKind::invalidArgument,
                  fmt::format("PTX line {}: {}", statement ? statement->line : 0, message)};
}

const Operand &Decoder::operand(size_t i) {
  if (i < statement->operands.size())
    return statement->operands[i];
  fail("'{}' has only {} operands", fullName, statement->operands.size());
  return missingOperand;
}

void Decoder::expectOperands(size_t least, size_t most) {
  const size_t count = statement->operands.size();
  if (count >= least && count <= most)
    return;
  if (least == most)
    fail("'{}' takes {} operands, but got {}", fullName, least, count);
  else
    fail("'{}' takes {} to {} operands, but got {}", fullName, least, most, count);
}

bool Decoder::take(std::string_view modifier) {
  auto found = std::find(left.begin(), left.end(), modifier);
  if (found == left.end())
    return false;
  left.erase(found);
  return true;
}

void Decoder::ignore(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers)
    while (take(modifier)) {
    }
}

std::optional<Type> Decoder::typeIfAny() {
  for (size_t i = 0; i < left.size(); ++i)
    if (auto type = parseType(left[i])) {
      left.erase(left.begin() + i);
      return type;
    }
  return std::nullopt;
}

Type Decoder::type() {
  if (auto type = typeIfAny())
    return *type;
  fail("'{}' lacks a type", fullName);
  return Type::b32;
}

Space Decoder::space() {
  ignore({"param::entry", "param::func"});
  return takeOneOf<Space>({{"global", Space::global},
                           {"shared", Space::shared},
                           {"shared::cta", Space::shared},
                           {"shared::cluster", Space::sharedCluster},
                           {"local", Space::local},
                           {"const", Space::constant},
                           {"param", Space::parameter}})
      .value_or(Space::generic);
}

Slot Decoder::carryFlag() {
  if (!carrySlot)
    carrySlot = temporary(0);
  return *carrySlot;
}

Slot Decoder::sink(unsigned bytes) {
  // Nobody reads it, so all sinks share the largest register.
  if (!sinkSlot)
    sinkSlot = temporary(16);
  return {sinkSlot->offset, uint8_t(bytes), false};
}

std::optional<unsigned> Decoder::registerBytes(const Operand &operand) const {
  if (operand.kind != Operand::Kind::reg)
    return std::nullopt;
  return registerSlot(operand.reg).bytes;
}

Slot Decoder::checkSize(Slot slot, unsigned bytes, const Operand &operand) {
  if (slot.bytes != bytes) {
    auto text = [](unsigned bytes) {
      return bytes == 0 ? std::string("a predicate") : fmt::format("{} bits", bytes * 8);
    };
    const Register &reg = current->function->registers[operand.reg];
    fail("'{}' needs {}, but register '{}' has {}", fullName, text(bytes), excerpt(reg.name),
         text(slot.bytes));
  }
  return slot;
}

uint64_t Decoder::constantBits(const Operand &operand, Type type) {
  const unsigned bytes = sizeInBytes(type);
  switch (operand.kind) {
  case Operand::Kind::integer:
    if (type == Type::f32)
      return std::bit_cast<uint32_t>(float(int64_t(operand.bits)));
    if (type == Type::f64)
      return std::bit_cast<uint64_t>(double(int64_t(operand.bits)));
    return bytes >= 8 ? operand.bits : operand.bits & ((uint64_t(1) << (bytes * 8)) - 1);
  case Operand::Kind::floatBits:
    if (bytes == 4)
      return operand.bits;
    if (bytes == 8)
      return std::bit_cast<uint64_t>(operand.value);
    break;
  case Operand::Kind::real:
    if (bytes == 4)
      return std::bit_cast<uint32_t>(float(operand.value));
    if (bytes == 8)
      return std::bit_cast<uint64_t>(operand.value);
    break;
  default:
    break;
  }
  fail("'{}' cannot take this constant as {}", fullName, toString(type));
  return 0;
}

Slot Decoder::in(const Operand &operand, Type type) {
  const unsigned bytes = sizeInBytes(type);
  if (operand.minus || !operand.selector.empty())
    fail("'{}' takes neither parts of registers nor a minus", fullName);
  switch (operand.kind) {
  case Operand::Kind::reg: {
    const Slot slot = checkSize(registerSlot(operand.reg), bytes, operand);
    if (!operand.negated)
      return slot;
    if (bytes != 0) {
      fail("'!' applies to predicates only");
      return slot;
    }
    const Slot inverse = temporary(0);
    emit(evalNotPredicate, {inverse, slot});
    return inverse;
  }
  case Operand::Kind::integer:
    if (bytes == 0)
      return constant(operand.bits != 0, 0);
    [[fallthrough]];
  case Operand::Kind::real:
  case Operand::Kind::floatBits:
    return constants.value(constantBits(operand, type), bytes);
  case Operand::Kind::symbol: {
    if (auto special = findSpecialRegister(operand.name)) {
      Slot value = temporary(special->bytes);
      emitSpecial(*special, value);
      if (value.bytes != bytes)
        fail("'{}' reads special register '{}', which has {} bits, as {}", fullName, excerpt(operand.name),
             special->bytes * 8, toString(type));
      return value;
    }
    auto variable = layout().find(*current, operand.name);
    if (!variable) {
      fail("unknown name '{}'", excerpt(operand.name));
      return constant(0, bytes);
    }
    if (bytes != 4 && bytes != 8)
      fail("the address of '{}' does not fit {}", excerpt(operand.name), toString(type));
    if (variable->inFrame) {
      const Slot address = temporary(bytes);
      emit(bytes == 8 ? frameAddress<uint64_t> : frameAddress<uint32_t>, {address, current->frame->base},
           int64_t(variable->value) + operand.offset);
      return address;
    }
    uint64_t value = variable->value + operand.offset;
    if (bytes == 4)
      value = uint32_t(value);
    return variable->space == StateSpace::shared ? constants.sharedAddress(value, bytes)
                                                 : constants.value(value, bytes);
  }
  default:
    fail("'{}' cannot take this operand as a source", fullName);
    return constant(0, bytes);
  }
}

void Decoder::emitSpecial(const SpecialRegister &special, Slot to) {
  kernel.readsGridWorkspace |= special.isGridWorkspace;
  kernel.readsTime |= special.isTime;
  if (special.isReservedShared)
    kernel.sharedStart = 0;
  emit(special.eval, {to});
}

Slot Decoder::out(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::sink)
    return sink(sizeInBytes(type));
  if (operand.kind != Operand::Kind::reg || operand.negated || operand.minus || !operand.selector.empty()) {
    fail("the destination of '{}' is not a register", fullName);
    return sink(sizeInBytes(type));
  }
  Slot slot = checkSize(registerSlot(operand.reg), sizeInBytes(type), operand);
  slot.written = true;
  return slot;
}

Slot Decoder::inWide(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::reg && registerSlot(operand.reg).bytes > sizeInBytes(type) &&
      !operand.negated && !operand.minus && operand.selector.empty())
    return registerSlot(operand.reg);
  return in(operand, type);
}

Slot Decoder::outWide(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::reg && registerSlot(operand.reg).bytes > sizeInBytes(type) &&
      operand.selector.empty()) {
    Slot slot = registerSlot(operand.reg);
    slot.written = true;
    return slot;
  }
  return out(operand, type);
}

Slot Decoder::second(const Operand &operand, Type type) {
  if (!operand.second)
    return sink(sizeInBytes(type));
  Operand other;
  other.kind = Operand::Kind::reg;
  other.reg = *operand.second;
  return out(other, type);
}

int64_t Decoder::immediate(const Operand &operand) {
  if (operand.kind != Operand::Kind::integer)
    fail("'{}' needs an integer constant here", fullName);
  return int64_t(operand.bits);
}

AddressOperand Decoder::address(const Operand &operand) {
  if (operand.kind != Operand::Kind::address) {
    fail("'{}' needs an address in brackets", fullName);
    return {constant(0, 8), 0};
  }
  const Operand &base = operand.elements[0];
  if (base.kind == Operand::Kind::reg) {
    const Slot slot = registerSlot(base.reg);
    if (slot.bytes != 4 && slot.bytes != 8)
      fail("an address needs a register of 32 or 64 bits");
    return {slot, base.offset};
  }
  if (base.kind == Operand::Kind::symbol)
    if (auto variable = layout().find(*current, base.name)) {
      if (variable->inFrame)
        return {current->frame->base, int64_t(variable->value) + base.offset};
      // Of the block itself, so it needs no rank.
      return {constant(variable->value + base.offset, 8), 0};
    }
  return {in(base, Type::u64), 0};
}

std::span<const Operand> Decoder::elements(const Operand &operand) const {
  if (operand.kind == Operand::Kind::vector)
    return operand.elements;
  return {&operand, 1};
}

Instruction &Decoder::emit(Eval eval, std::span<const Slot> slots, int64_t immediate) {
  auto pool = std::make_unique<Slot[]>(slots.size());
  std::copy(slots.begin(), slots.end(), pool.get());
  Instruction instruction;
  instruction.eval = eval;
  instruction.slots = pool.get();
  instruction.slotCount = uint16_t(slots.size());
  instruction.immediate = immediate;
  instruction.location = statement->location;
  instruction.line = statement->line;
  instruction.name = fullName;
  kernel.slotPool.push_back(std::move(pool));
  kernel.code.push_back(instruction);
  return kernel.code.back();
}

namespace {

Flow flowOf(const Statement &statement) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), statement.name) != names.end();
  };
  const auto has = [&](std::string_view modifier) {
    return std::find(statement.modifiers.begin(), statement.modifiers.end(), modifier) !=
           statement.modifiers.end();
  };
  if (is({"mov"}))
    return Flow::parts;
  if (is({"selp"}))
    return Flow::select;
  if (is({"and", "or", "xor", "lop3", "prmt", "bfi", "shf", "slct"}))
    return Flow::bits;
  const auto isInteger = [](std::string_view type) {
    return type.size() > 1 && std::string_view("usb").find(type[0]) != std::string_view::npos &&
           type[1] >= '0' && type[1] <= '9';
  };
  if (is({"shl", "shr", "not", "bfe"}) ||
      (is({"cvt"}) && std::ranges::all_of(statement.modifiers, isInteger)))
    return Flow::places;
  if (is({"shfl", "vote", "match", "redux", "elect"}))
    return Flow::lanes;
  // What matrices give to other lanes is not followed, and their own memory is by itself.
  if (is({"movmatrix", "ldmatrix", "stmatrix"}) ||
      (is({"st"}) && (has("local") || has("param") || has("param::func"))))
    return Flow::ends;
  // What a generic address leads to may be the lane's own memory, which compilers write whole words to,
  // with bytes between them that nobody needs.
  if (is({"st"}) && !has("global") && !has("shared") && !has("shared::cta") && !has("shared::cluster"))
    return Flow::address;
  if (is({"ld",
          "ldu",
          "st",
          "atom",
          "red",
          "cp",
          "bra",
          "brx",
          "call",
          "ret",
          "exit",
          "bar",
          "barrier",
          "mbarrier",
          "fence",
          "membar",
          "tensormap",
          "tcgen05",
          "wgmma",
          "prefetch",
          "prefetchu",
          "discard",
          "applypriority",
          "setmaxnreg",
          "nanosleep",
          "alloca",
          "stackrestore",
          "griddepcontrol",
          "clusterlaunchcontrol"}) ||
      (is({"wmma"}) && !has("mma")))
    return Flow::use;
  return Flow::any;
}

} // namespace

bool Decoder::checkTarget(std::string_view operand) {
  auto needed = missingInstruction(code, statement->name, statement->modifiers, operand);
  if (needed)
    fail("'{}'{} needs target {}, but the module is for {}", excerpt(statement->fullName()),
         operand.empty() ? "" : fmt::format(" with {}", operand), *needed, program.module.target);
  return !needed;
}

void Decoder::decodeStatement() {
  const auto found = table.find(statement->name);
  if (found == table.end() && std::ranges::find(notEmulated, statement->name) == std::end(notEmulated))
    return fail("unknown instruction '{}'", excerpt(statement->fullName()));
  if (!checkTarget())
    return;
  if (found == table.end())
    return fail("'{}' is not emulated", excerpt(statement->fullName()));
  left.assign(statement->modifiers.begin(), statement->modifiers.end());
  kernel.names.push_back(std::make_unique<std::string>(excerpt(statement->fullName())));
  fullName = *kernel.names.back();
  const size_t first = kernel.code.size();
  found->second(*this);
  if (!left.empty())
    fail("unknown modifier '.{}' in '{}'", excerpt(left.front()), fullName);
  const Flow flow = flowOf(*statement);
  for (size_t i = first; i < kernel.code.size(); ++i)
    kernel.code[i].flow = flow;
  if (!statement->guard)
    return;
  // All parts of a guarded statement: intermediate values too, which is harmless.
  for (size_t i = first; i < kernel.code.size(); ++i) {
    kernel.code[i].guard = registerSlot(*statement->guard).offset;
    kernel.code[i].guardNegated = statement->guardNegated;
  }
}

} // namespace tlc::emulator
