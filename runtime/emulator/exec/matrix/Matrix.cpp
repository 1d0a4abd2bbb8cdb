// SPDX-License-Identifier: Apache-2.0
/// \file
/// ldmatrix, stmatrix, movmatrix and wgmma: operands in, Mma.h, results out.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/matrix/MatrixForms.h"
#include "runtime/emulator/math/MatrixElements.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

// --- ldmatrix, stmatrix, movmatrix ----------------------------------------------------

struct MatrixMoveUse {
  MatrixMove move;
  Space space = Space::generic;
  bool isStore = false;
};

/// slots: address, registers...
Step moveMatrix(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const MatrixMoveUse &use = instruction.payloadAs<MatrixMoveUse>();
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  std::array<uint32_t, 32> rows = {};
  for (unsigned l = 0; l < use.move.addresses(); ++l) {
    if (!touch(warp, instruction,
               {.space = use.space,
                .kind = use.isStore ? AccessKind::write : AccessKind::read,
                .lane = l,
                .address = addresses.lane[l],
                .bytes = 16,
                .alignment = 16,
                .collective = true}))
      return Step::fault;
    const SharedPlace place = sharedPlace(warp, addresses.lane[l]);
    if (place.block != warp.block)
      return fault(warp, instruction, fmt::format("the row of lane {} lies in another block", l));
    rows[l] = place.address;
  }
  const std::span<const Slot> registers(instruction.slots + 1, use.move.registers());
  uint32_t values[4 * warpSize];
  if (use.isStore) {
    loadRegisters(warp, registers, values);
    if (auto done = stmatrix(use.move, warp.block->shared(), rows, values); !done)
      return fault(warp, instruction, done.error().message);
    ++clusterOf(warp).progress;
    return Step::next;
  }
  if (auto done = ldmatrix(use.move, warp.block->shared(), rows, values); !done)
    return fault(warp, instruction, done.error().message);
  storeRegisters(warp, registers, values);
  return Step::next;
}

/// The shape and the elements, or nothing where they do not go together.
bool takeMoveForm(Decoder &d, bool isStore, MatrixMove &move) {
  enum class Shape : uint8_t { m8n8, m8n16, m16n16, m16n8 };
  const auto shape = d.takeOneOf<Shape>(
      {{"m8n8", Shape::m8n8}, {"m8n16", Shape::m8n16}, {"m16n16", Shape::m16n16}, {"m16n8", Shape::m16n8}});
  const auto matrices = d.takeOneOf<unsigned>({{"x1", 1}, {"x2", 2}, {"x4", 4}});
  move.transpose = d.take("trans") ? Transpose::yes : Transpose::no;
  const bool spreads = d.take("b8x16");
  const auto element = d.takeOneOf<MoveElement>({{"b16", MoveElement::b16},
                                                 {"b8", MoveElement::b8},
                                                 {"b6x16_p32", MoveElement::b6},
                                                 {"b4x16_p64", MoveElement::b4}});
  if (!shape || !matrices || !element)
    return false;
  move.matrices = *matrices, move.element = *element;
  const bool packed = move.element == MoveElement::b6 || move.element == MoveElement::b4,
             transposed = move.transpose == Transpose::yes;
  if (packed != spreads)
    return false;
  switch (*shape) {
  case Shape::m8n8:
    return move.element == MoveElement::b16;
  case Shape::m8n16:
    return !isStore && packed && !transposed;
  case Shape::m16n16:
    move.rows = 16;
    return !isStore && move.element != MoveElement::b16 && transposed && move.matrices <= 2;
  case Shape::m16n8:
    return isStore && move.element == MoveElement::b8 && transposed;
  }
  return false;
}

void decodeMatrixMove(Decoder &d) {
  MatrixMoveUse use;
  use.isStore = d.at().name == "stmatrix";
  d.ignore({"sync", "aligned"});
  use.space = d.space();
  if (!takeMoveForm(d, use.isStore, use.move))
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.expectOperands(2);
  const AddressOperand address = d.address(use.isStore ? 0 : 1);
  const auto registers = d.elements(d.operand(use.isStore ? 1 : 0));
  if (registers.size() != use.move.registers())
    return d.fail("'{}' moves {} registers, but got {}", d.at().fullName(), use.move.registers(),
                  registers.size());
  std::vector<Slot> slots{address.base};
  for (const Operand &reg : registers)
    slots.push_back(use.isStore ? d.in(reg, Type::b32) : d.out(reg, Type::b32));
  d.emitWith(moveMatrix, slots, use).immediate = address.offset;
}

/// slots: d, a
Step transposeMatrix(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  uint32_t values[warpSize];
  std::memcpy(values, warp.read(instruction.slots[1]), sizeof(values));
  movmatrix(values, values);
  store(warp, instruction.slots[0], active, values);
  return Step::next;
}

void decodeMovmatrix(Decoder &d) {
  d.ignore({"sync", "aligned", "m8n8", "trans", "b16"});
  d.expectOperands(2);
  d.emit(transposeMatrix, {d.out(0, Type::b32), d.in(1, Type::b32)});
}

// --- wgmma -------------------------------------------------------------------------------

struct WgmmaUse {
  Wgmma wgmma;
  unsigned accumulators = 0;
  bool contiguous = false;    ///< the accumulators follow each other in the register file
  bool fromRegisters = false; ///< A in four registers
};

/// slots: a descriptor (or four registers), metadata, b descriptor, scale-d, accumulators...
enum WgmmaSlot { slotA = 0, slotMetadata = 4, slotB = 5, slotScale = 6, slotAccumulators = 7 };

/// A in registers and metadata.
std::span<const Slot> fragmentsOf(const WgmmaUse &use, const Instruction &instruction) {
  const size_t first = use.fromRegisters ? slotA : slotMetadata,
               end = use.wgmma.isSparse ? slotMetadata + 1 : slotMetadata;
  return {instruction.slots + first, end - first};
}

/// The operands' bytes pass the hook before they are read.
bool touchOperand(Warp &warp, const Instruction &instruction, const Wgmma &wgmma, WgmmaOperand operand,
                  uint64_t descriptor) {
  const Block &block = *warp.block;
  if (!block.cluster->observer && isSurelyWithin(wgmma, operand, descriptor, sharedBase, block.sharedEnd))
    return true;
  std::vector<ByteRange> ranges;
  wgmmaRanges(wgmma, operand, descriptor, ranges);
  return std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange &range) {
    return touch(warp, instruction,
                 {Space::shared, AccessKind::read, Proxy::async, noLane, range.address, range.bytes, 16}) !=
           nullptr;
  });
}

/// Runs the oldest wgmma of a warpgroup, which all four warps have issued.
bool completeWgmma(Block &block, unsigned index) {
  Warpgroup &group = block.warpgroups[index];
  const WgmmaIssue issue = group.pending.front();
  const Instruction &instruction = *issue.instruction;
  const WgmmaUse &use = instruction.payloadAs<WgmmaUse>();
  Warp &first = block.warps[4 * index];
  if (Observer *observer = block.cluster->observer.get())
    observer->run(issue.note.get());
  if (!use.fromRegisters && !touchOperand(first, instruction, use.wgmma, WgmmaOperand::a, issue.descriptorA))
    return false;
  if (!touchOperand(first, instruction, use.wgmma, WgmmaOperand::b, issue.descriptorB))
    return false;
  const size_t words = use.accumulators * warpSize;
  const std::span<const Slot> accumulators(instruction.slots + slotAccumulators, use.accumulators);
  // Registers side by side, as Mma.h wants them.
  std::array<std::unique_ptr<uint32_t[]>, 4> copies;
  std::array<std::array<uint32_t, 4 * warpSize>, 4> copiesA;
  std::array<std::array<uint32_t, warpSize>, 4> copiesOfMetadata;
  std::array<std::span<uint32_t>, 4> d;
  WarpgroupRegisters a, metadata;
  for (unsigned w = 0; w < 4; ++w) {
    Warp &warp = block.warps[4 * index + w];
    if (use.contiguous) {
      d[w] = {reinterpret_cast<uint32_t *>(warp.at(accumulators[0])), words};
    } else {
      copies[w] = std::make_unique_for_overwrite<uint32_t[]>(words);
      loadRegisters(warp, accumulators, copies[w].get());
      d[w] = {copies[w].get(), words};
    }
    if (use.fromRegisters) {
      loadRegisters(warp, {instruction.slots + slotA, 4}, copiesA[w].data());
      a[w] = copiesA[w];
    }
    if (use.wgmma.isSparse) {
      loadRegisters(warp, {instruction.slots + slotMetadata, 1}, copiesOfMetadata[w].data());
      metadata[w] = copiesOfMetadata[w];
    }
  }
  const WgmmaOperandA operandA = use.fromRegisters ? WgmmaOperandA(a) : WgmmaOperandA(issue.descriptorA);
  if (auto done = wgmma(use.wgmma, block.shared(), operandA, issue.descriptorB,
                        issue.accumulate ? ScaleD::one : ScaleD::zero, d, metadata);
      !done) {
    fault(first, instruction, done.error().message);
    return false;
  }
  if (!use.contiguous)
    for (unsigned w = 0; w < 4; ++w)
      storeRegisters(block.warps[4 * index + w], accumulators, copies[w].get());
  group.pending.pop_front();
  ++group.completed;
  ++block.cluster->progress;
  return true;
}

ProductRegisters registersOf(const WgmmaUse &use, const Instruction &instruction, bool accumulates) {
  return {.fragments = fragmentsOf(use, instruction),
          .accumulators = {instruction.slots + slotAccumulators, use.accumulators},
          .shape = use.wgmma.n << 8 | wgmmaDepth(use.wgmma),
          .accumulates = accumulates};
}

AsyncWork workOf(const WgmmaUse &use) {
  // A sparse A takes the time of a dense one with as many elements as it stores.
  constexpr unsigned rowBits = 256; // of A that are stored, whatever the type
  const unsigned rightBits = use.wgmma.isSparse ? 2 * rowBits : rowBits,
                 bits = rightBits / wgmmaDepth(use.wgmma);
  AsyncWork work;
  work.unit = AsyncWork::Unit::tensorCores;
  work.multiplyAdds = uint64_t(64) * use.wgmma.n * (rowBits / bits);
  work.operandBits = bits;
  work.bytes = (use.wgmma.n * rightBits + (use.fromRegisters ? 0 : 64) * rowBits) / 8;
  return work;
}

Step issueWgmma(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  Block &block = *warp.block;
  const unsigned index = warp.index / warpsPerWarpgroup, place = warp.index % warpsPerWarpgroup;
  if (4 * index + 4 > block.warps.size())
    return fault(warp, instruction, "wgmma needs a whole warpgroup of four warps");
  const WgmmaUse &use = instruction.payloadAs<WgmmaUse>();
  Warpgroup &group = block.warpgroups[index];
  WgmmaIssue issue;
  issue.instruction = &instruction;
  const unsigned lane = unsigned(std::countr_zero(active));
  if (!use.fromRegisters)
    issue.descriptorA = lanesOf<uint64_t>(warp, instruction.slots[slotA])[lane];
  issue.descriptorB = lanesOf<uint64_t>(warp, instruction.slots[slotB])[lane];
  issue.accumulate = warp.predicate(instruction.slots[slotScale]) >> lane & 1;
  const uint64_t number = group.issued[place]++;
  const size_t at = size_t(number - group.completed);
  if (at == group.pending.size()) {
    group.pending.push_back(issue);
    auto operation = std::make_shared<AsyncOperation>();
    operation->warp = &warp;
    operation->instruction = &instruction;
    operation->ready = [&group, number] {
      return group.completed == number && group.pending.front().issued == 0xF;
    };
    operation->run = [&block, index] { return completeWgmma(block, index); };
    operation->work = workOf(use);
    block.cluster->queue.push(std::move(operation));
  }
  WgmmaIssue &known = group.pending[at];
  if (Observer *observer = block.cluster->observer.get())
    observer->issueWgmma(warp, instruction, registersOf(use, instruction, issue.accumulate),
                         uint32_t(number + 1), known.note);
  if (known.instruction != &instruction || known.descriptorA != issue.descriptorA ||
      known.descriptorB != issue.descriptorB || known.accumulate != issue.accumulate)
    return fault(warp, instruction,
                 "the warps of the warpgroup issue different wgmma instructions or operands");
  known.issued |= 1u << place;
  ++block.cluster->progress;
  return Step::next;
}

Step commitWgmma(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  if (warp.index / warpsPerWarpgroup >= warp.block->warpgroups.size())
    return fault(warp, instruction, "wgmma needs a whole warpgroup of four warps");
  Warpgroup &group = warp.block->warpgroups[warp.index / warpsPerWarpgroup];
  group.commits[warp.index % warpsPerWarpgroup].push_back(group.issued[warp.index % warpsPerWarpgroup]);
  return Step::next;
}

Step waitWgmma(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  if (warp.index / warpsPerWarpgroup >= warp.block->warpgroups.size())
    return fault(warp, instruction, "wgmma needs a whole warpgroup of four warps");
  Warpgroup &group = warp.block->warpgroups[warp.index / warpsPerWarpgroup];
  auto &commits = group.commits[warp.index % warpsPerWarpgroup];
  const size_t pending = size_t(instruction.immediate);
  if (commits.size() <= pending)
    return Step::next;
  const uint64_t needed = commits[commits.size() - 1 - pending];
  if (group.completed < needed) {
    Wait wait;
    wait.kind = Wait::Kind::warpgroup;
    wait.count = needed;
    return suspend(warp, std::move(wait));
  }
  commits.erase(commits.begin(), commits.end() - ptrdiff_t(pending));
  if (Observer *observer = warp.block->cluster->observer.get())
    observer->waitWgmma(warp, needed);
  return Step::next;
}

Step fenceWgmma(Warp &warp, uint32_t active, const Instruction &) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->fenceWgmma(warp);
  return Step::next;
}

void decodeMmaAsync(Decoder &d) {
  WgmmaUse use;
  use.wgmma.isSparse = d.take("sp");
  if (d.take("b1"))
    return d.fail("'{}' is not emulated: products of bits", d.at().fullName());
  unsigned m, n, k;
  if (!takeShape(d, m, n, k))
    return;
  const Type types[] = {d.type(), d.type(), d.type()};
  const auto accumulator = matrixElement(types[0]), a = matrixElement(types[1]), b = matrixElement(types[2]);
  if (!accumulator || !a || !b)
    return d.fail("'{}' has a combination of types that does not exist", d.at().fullName());
  use.wgmma.n = n, use.wgmma.accumulator = *accumulator, use.wgmma.a = *a, use.wgmma.b = *b;
  use.wgmma.overflow = d.take("satfinite") ? IntegerOverflow::saturate : IntegerOverflow::wrap;
  auto registers = wgmmaAccumulatorRegisters(use.wgmma);
  if (!registers)
    return d.fail("{}", registers.error().message);
  if (const unsigned depth = wgmmaDepth(use.wgmma); m != 64 || k != depth)
    return d.fail("'{}' has shape m{}n{}k{}, but needs m64 and k{}", d.at().fullName(), m, n, k, depth);
  use.accumulators = *registers;
  // d, a, b {, metadata, selector}, scale-d {, scale-a, scale-b {, transpose-a}, transpose-b}
  const bool integer = *accumulator == MatrixElement::s32,
             sixteen = *a == MatrixElement::f16 || *a == MatrixElement::bf16;
  use.fromRegisters = d.operand(1).kind == Operand::Kind::vector;
  const unsigned scale = use.wgmma.isSparse ? 5 : 3;
  d.expectOperands(scale + 1 + (integer ? 0 : 2) + (sixteen ? (use.fromRegisters ? 1 : 2) : 0));
  if (d.failed())
    return;
  const auto results = d.elements(d.operand(0));
  if (results.size() != use.accumulators)
    return d.fail("'{}' has {} accumulator registers, but got {}", d.at().fullName(), use.accumulators,
                  results.size());
  if (!integer) {
    use.wgmma.scaleA = int(d.immediate(scale + 1)), use.wgmma.scaleB = int(d.immediate(scale + 2));
    if (std::abs(use.wgmma.scaleA) != 1 || std::abs(use.wgmma.scaleB) != 1)
      return d.fail("the scales of '{}' are 1 or -1", d.at().fullName());
  }
  if (sixteen) {
    const int64_t last = d.immediate(d.operandCount() - 1);
    const int64_t transposeA = use.fromRegisters ? 0 : d.immediate(scale + 3);
    if ((last | transposeA) & ~int64_t(1))
      return d.fail("the transposes of '{}' are 0 or 1", d.at().fullName());
    use.wgmma.majorA = transposeA ? Major::mn : Major::k;
    use.wgmma.majorB = last ? Major::mn : Major::k;
  }
  std::vector<Slot> slots(slotAccumulators);
  slots[slotMetadata] = d.in(use.wgmma.isSparse ? 3 : 2, use.wgmma.isSparse ? Type::b32 : Type::b64);
  if (use.wgmma.isSparse) {
    const int64_t selector = d.immediate(4), most = elementBits(*a) == 8 ? 0 : 1;
    if (selector < 0 || selector > most)
      return d.fail("the sparsity selector of '{}' is {}, but needs 0{}", d.at().fullName(), selector,
                    most == 0 ? "" : " or 1");
    use.wgmma.selector = unsigned(selector);
  }
  if (use.fromRegisters) {
    const auto elements = d.elements(d.operand(1));
    if (elements.size() != 4)
      return d.fail("'{}' takes A in 4 registers, but got {}", d.at().fullName(), elements.size());
    for (size_t i = 0; i < 4; ++i)
      slots[slotA + i] = d.in(elements[i], Type::b32);
  } else {
    for (size_t i = 0; i < 4; ++i)
      slots[slotA + i] = d.in(1, Type::b64);
  }
  slots[slotB] = d.in(2, Type::b64);
  slots[slotScale] = d.in(scale, Type::pred);
  use.contiguous = true;
  for (const Operand &result : results) {
    slots.push_back(d.out(result, Type::b32));
    use.contiguous &= slots.back().offset ==
                      slots[slotAccumulators].offset + (slots.size() - 1 - slotAccumulators) * 4 * warpSize;
  }
  d.kernel.sharesRegisters = true;
  // Products in flight may add to the same accumulators, one after the other.
  d.emitWith(issueWgmma, slots, use).slotCount = 0;
}

void decodeWgmma(Decoder &d) {
  d.ignore({"sync", "aligned"});
  if (d.take("fence"))
    d.emit(fenceWgmma, {});
  else if (d.take("commit_group"))
    d.emit(commitWgmma, {});
  else if (d.take("wait_group"))
    d.emit(waitWgmma, {}, d.immediate(0));
  else if (d.take("mma_async"))
    decodeMmaAsync(d);
  else
    d.fail("unknown instruction '{}'", d.at().fullName());
}

constexpr DecodeEntry entries[] = {
    {"ldmatrix", decodeMatrixMove},
    {"stmatrix", decodeMatrixMove},
    {"movmatrix", decodeMovmatrix},
    {"wgmma", decodeWgmma},
};

} // namespace

std::span<const DecodeEntry> matrixInstructions() { return entries; }

} // namespace tlc::emulator
