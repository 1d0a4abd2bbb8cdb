// SPDX-License-Identifier: Apache-2.0
/// \file
/// What warps move between registers and tensor memory: tcgen05.ld, ld.red, st.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/tensor/Tcgen05.h"
#include "runtime/emulator/math/TensorReduction.h"

namespace tlc::emulator {

namespace {

/// What an instruction moves, and of ld.red what it makes of it.
struct Move : TensorMove {
  std::optional<TensorReduction> reduction;
};

/// Checks a warp's access and gives the address with the lane that it reaches.
std::optional<TensorAddress> checkMove(Warp &warp, const Instruction &instruction, const TensorMove &move,
                                       uint32_t bits) {
  TensorAddress address = TensorAddress::decode(bits);
  const uint32_t quarter = warp.index % warpsPerWarpgroup * quarterLanes,
                 within = address.lane % quarterLanes;
  const auto lanesText = [](uint32_t first) {
    return fmt::format("lanes {} to {}", first, first + quarterLanes - 1);
  };
  // The hardware reaches the warp's own quarter whatever these bits say; 0 says so as well.
  if (address.lane >= tensorLanes || (address.lane - within != 0 && address.lane - within != quarter)) {
    fault(warp, instruction,
          fmt::format("the address {:#x} has lane {}, but warp {} of the block reaches {} of tensor memory",
                      bits, address.lane, warp.index, lanesText(quarter)));
    return std::nullopt;
  }
  if (within % coveredLanes(move) != 0) {
    fault(warp, instruction,
          fmt::format("the address {:#x} has lane {}, which must be a multiple of {} for this shape", bits,
                      address.lane, coveredLanes(move)));
    return std::nullopt;
  }
  for (const TensorColumns &columns : columnsOf(move))
    if (!checkTensorColumns(warp, instruction, *warp.block, uint64_t(address.column) + columns.first,
                            columns.count))
      return std::nullopt;
  address.lane = quarter + within;
  return address;
}

/// The address operand of ld and st.
std::optional<TensorAddress> moveAddress(Warp &warp, uint32_t active, const Instruction &instruction) {
  const auto base = uniformValue(warp, instruction, instruction.slots[0], active, "address");
  return base ? checkMove(warp, instruction, instruction.payloadAs<Move>(),
                          *base + uint32_t(instruction.immediate))
              : std::nullopt;
}

/// Tells the observer of a warp's access.
void noteMove(Warp &warp, const Instruction &instruction, TensorEngine engine, TensorAddress address) {
  Observer *observer = clusterOf(warp).observer.get();
  if (!observer)
    return;
  const Move &move = instruction.payloadAs<Move>();
  std::vector<TensorTouch> touches;
  for (const TensorColumns &columns : columnsOf(move))
    touches.push_back({warp.block, address.lane, coveredLanes(move), address.column + columns.first,
                       columns.count, engine == TensorEngine::load ? AccessKind::read : AccessKind::write});
  observer->moveTensor(warp, instruction, engine, touches);
}

/// slots: address, registers..., with .red their extreme. A register that is used
/// before wait::ld waits for its value by itself, so a load may complete at once.
Step load(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const Move &move = instruction.payloadAs<Move>();
  const auto address = moveAddress(warp, active, instruction);
  if (!address)
    return Step::fault;
  noteMove(warp, instruction, TensorEngine::load, *address);
  const unsigned count = registersOf(move);
  uint32_t values[128 * warpSize];
  loadTensor(move, warp.block->tensorMemory.cells(), *address, values);
  for (unsigned r = 0; r < count; ++r)
    store(warp, instruction.slots[1 + r], active, values + r * warpSize);
  if (move.reduction) {
    uint32_t extremes[warpSize];
    reduceRegisters(*move.reduction, {values, count * warpSize}, extremes);
    store(warp, instruction.slots[1 + count], active, extremes);
  }
  return Step::next;
}

/// slots: address, registers...
Step storeRegisters(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const Move &move = instruction.payloadAs<Move>();
  const auto address = moveAddress(warp, active, instruction);
  if (!address)
    return Step::fault;
  noteMove(warp, instruction, TensorEngine::store, *address);
  std::vector<uint32_t> values(registersOf(move) * warpSize);
  for (unsigned r = 0; r < registersOf(move); ++r)
    std::memcpy(&values[r * warpSize], warp.read(instruction.slots[1 + r]), warpSize * 4);
  auto operation = std::make_shared<AsyncOperation>();
  operation->warp = &warp;
  operation->instruction = &instruction;
  operation->run = [&warp, &instruction, &move, address = *address, values = std::move(values)] {
    for (const TensorColumns &columns : columnsOf(move))
      if (!checkTensorColumns(warp, instruction, *warp.block, uint64_t(address.column) + columns.first,
                              columns.count))
        return false;
    storeTensor(move, warp.block->tensorMemory.cells(), address, values);
    return true;
  };
  clusterOf(warp).queue.push(operation);
  AsyncGroups &groups = warp.asyncGroups[size_t(AsyncEngine::tensorStore)];
  groups.add(std::move(operation), active);
  groups.commit(active);
  return Step::next;
}

/// What comes after .red.
std::optional<TensorReduction> takeReduction(Decoder &d) {
  using Element = TensorReduction::Element;
  const auto element =
      d.takeOneOf<Element>({{"f32", Element::f32}, {"u32", Element::u32}, {"s32", Element::s32}});
  const auto isMaximum = d.takeOneOf<bool>({{"min", false}, {"max", true}});
  if (!element || !isMaximum)
    return std::nullopt;
  TensorReduction reduction{.element = *element, .isMaximum = *isMaximum};
  if (*element == Element::f32) {
    reduction.isAbsolute = d.take("abs");
    reduction.propagatesNan = d.take("NaN");
  }
  return reduction;
}

void decodeMove(Decoder &d, bool isStore) {
  Move move;
  d.ignore({"sync", "aligned"});
  const auto shape = d.takeOneOf<TensorShape>({{"32x32b", TensorShape::lanes32x32b},
                                               {"16x64b", TensorShape::lanes16x64b},
                                               {"16x128b", TensorShape::lanes16x128b},
                                               {"16x256b", TensorShape::lanes16x256b},
                                               {"16x32bx2", TensorShape::lanes16x32bx2}});
  const auto repeat = d.takeOneOf<unsigned>(
      {{"x1", 1}, {"x2", 2}, {"x4", 4}, {"x8", 8}, {"x16", 16}, {"x32", 32}, {"x64", 64}, {"x128", 128}});
  const bool reduces = !isStore && d.take("red");
  if (reduces)
    move.reduction = takeReduction(d);
  else
    move.packed = d.take(isStore ? "unpack::16b" : "pack::16b");
  if (!shape || !repeat || !(reduces ? move.reduction.has_value() : d.take("b32")))
    return d.fail("'{}' is not a known form", d.at().fullName());
  move.shape = *shape, move.repeat = *repeat;
  if (registersOf(move) == 0)
    return d.fail("'{}' would need more than 128 registers of a thread", d.at().fullName());
  const bool split = *shape == TensorShape::lanes16x32bx2;
  if (reduces && ((!split && *shape != TensorShape::lanes32x32b) || *repeat == 1))
    return d.fail("'{}' reduces x2 to x128 of 32x32b or 16x32bx2 alone", d.at().fullName());
  d.expectOperands(2 + split + reduces);
  const AddressOperand address = d.address(isStore ? 0 : 1 + reduces);
  if (split) {
    const int64_t offset = d.immediate(isStore ? 1 : 2 + reduces);
    if (offset < 0 || offset >= int64_t(tensorColumns))
      return d.fail("the second half of '{}' lies 0 to {} columns on, but got {}", d.at().fullName(),
                    tensorColumns - 1, offset);
    move.splitOffset = uint32_t(offset);
  }
  if (d.failed())
    return;
  const auto registers = d.elements(d.operand(isStore ? d.operandCount() - 1 : 0));
  if (registers.size() != registersOf(move))
    return d.fail("'{}' moves {} registers, but got {}", d.at().fullName(), registersOf(move),
                  registers.size());
  std::vector<Slot> slots{address.base};
  for (const Operand &reg : registers)
    slots.push_back(isStore ? d.in(reg, Type::b32) : d.out(reg, Type::b32));
  if (reduces)
    slots.push_back(d.out(1, Type::b32));
  d.kernel.sharesRegisters |= !isStore;
  d.emitWith(isStore ? storeRegisters : load, slots, move).immediate = address.offset;
}

} // namespace

void decodeTensorLoad(Decoder &d) { decodeMove(d, false); }
void decodeTensorStore(Decoder &d) { decodeMove(d, true); }

} // namespace tlc::emulator
