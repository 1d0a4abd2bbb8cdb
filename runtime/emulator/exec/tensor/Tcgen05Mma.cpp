// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05.mma: what a thread hands over is checked when it is issued, and
/// multiplied when the pipe comes to it.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/tensor/Tcgen05.h"

#include <algorithm>

namespace tlc::emulator {

namespace {

bool failWith(Warp &warp, const Instruction &instruction, const Error &error) {
  fault(warp, instruction, error.message);
  return false;
}

enum class Collector : uint8_t { discard, fill, use, lastUse };

struct MmaUse {
  TensorMmaForm form;
  Collector collector = Collector::discard;
  unsigned buffer = 0; ///< of .ws
  bool shift = false;  ///< .ashift
  unsigned scale = 0;
  unsigned maskWords = 0;
  int64_t offsetD = 0, offsetA = 0, offsetScalesA = 0, offsetScalesB = 0;
};

/// slots: d, a (descriptor or address), b, instruction descriptor, enable-input-d,
/// zero-column mask, factors of A and of B, disabled lanes...
enum MmaSlot {
  slotD,
  slotA,
  slotB,
  slotDescriptor,
  slotEnable,
  slotZeroColumns,
  slotScalesA,
  slotScalesB,
  slotDisabled,
};

struct MmaRequest {
  TensorMma mma;
  TensorMmaCall call;
};

/// The columns of tensor memory that the product needs, in each of its blocks.
std::vector<TensorColumns> columnsOf(const MmaRequest &request) {
  const TensorMma &mma = request.mma;
  const TensorMmaCall &call = request.call;
  std::vector<TensorColumns> all = {{call.d.column, mma.columnsD()}};
  if (mma.form.a == TensorOperandA::tensorMemory)
    all.push_back({call.tensorA.column, mma.columnsA()});
  if (isScaled(mma.form.kind)) {
    all.push_back({call.scalesA, mma.columnsOfScales(WgmmaOperand::a)});
    all.push_back({call.scalesB, mma.columnsOfScales(WgmmaOperand::b)});
  }
  return all;
}

bool checkMmaColumns(Warp &warp, const Instruction &instruction, const TensorPair &pair,
                     const MmaRequest &request) {
  for (const TensorColumns &columns : columnsOf(request))
    for (unsigned p = 0; p < pair.count; ++p)
      if (!checkTensorColumns(warp, instruction, *pair.blocks[p], columns.first, columns.count))
        return false;
  return true;
}

/// The cells of tensor memory that the product reads and writes, 16 lanes a piece.
std::vector<TensorTouch> touchesOf(const TensorPair &pair, const MmaRequest &request, const MmaUse &use) {
  constexpr unsigned step = 16;
  const TensorMma &mma = request.mma;
  const TensorMmaCall &call = request.call;
  std::vector<TensorTouch> touches;
  for (unsigned p = 0; p < pair.count; ++p)
    for (unsigned lane = 0; lane < tensorLanes; lane += step) {
      if (!tensorRow(mma, lane, call.d.lane).used)
        continue;
      const Block *block = pair.blocks[p];
      if (mma.form.a == TensorOperandA::tensorMemory)
        touches.push_back({block, lane, step, call.tensorA.column, mma.columnsA(), AccessKind::read});
      if (isScaled(mma.form.kind)) {
        touches.push_back(
            {block, lane, step, call.scalesA, mma.columnsOfScales(WgmmaOperand::a), AccessKind::read});
        touches.push_back(
            {block, lane, step, call.scalesB, mma.columnsOfScales(WgmmaOperand::b), AccessKind::read});
      }
      const uint32_t disabled = call.disabledLanes[4 * p + lane / 32] >> lane % 32 & 0xFFFF;
      if (disabled != 0xFFFF) {
        if (call.accumulate)
          touches.push_back({block, lane, step, call.d.column, mma.columnsD(), AccessKind::read});
        touches.push_back({block, lane, step, call.d.column, mma.columnsD(), AccessKind::write});
      }
      if (use.shift)
        touches.push_back({block, lane, step, call.tensorA.column, shiftColumns, AccessKind::write});
    }
  return touches;
}

bool runMma(Warp &warp, const Instruction &instruction, const TensorPair &pair, const MmaRequest &request) {
  const MmaUse &use = instruction.payloadAs<MmaUse>();
  const TensorMma &mma = request.mma;
  for (const TensorColumns &columns : columnsOf(request))
    for (unsigned p = 0; p < pair.count; ++p)
      if (!checkNotFreed(warp, instruction, *pair.blocks[p], columns.first, columns.count))
        return false;
  std::vector<ByteRange> rangesA, rangesB;
  if (mma.form.a == TensorOperandA::shared)
    operandRanges(mma, WgmmaOperand::a, request.call.a, rangesA);
  operandRanges(mma, WgmmaOperand::b, request.call.b, rangesB);
  std::array<TensorBlock, 2> blocks;
  for (unsigned p = 0; p < pair.count; ++p) {
    if (!touchShared(warp, instruction, *pair.blocks[p], rangesA) ||
        !touchShared(warp, instruction, *pair.blocks[p], rangesB))
      return false;
    blocks[p] = tensorBlock(*pair.blocks[p]);
    if (!isScaled(mma.form.kind))
      continue;
    for (const auto &[operand, column] :
         {std::pair(WgmmaOperand::a, request.call.scalesA), std::pair(WgmmaOperand::b, request.call.scalesB)})
      if (auto same = checkScales(mma, operand, column, blocks[p].cells); !same)
        return failWith(warp, instruction, same.error());
  }
  tensorMma(mma, request.call, std::span(blocks.data(), pair.count));
  if (use.shift)
    for (unsigned p = 0; p < pair.count; ++p)
      for (unsigned lane = 0; lane < tensorLanes; lane += quarterLanes)
        shiftDown(blocks[p].cells, {lane, request.call.tensorA.column});
  return true;
}

/// A collector buffer may be read when it was filled with the same operand.
bool checkCollector(Warp &warp, const Instruction &instruction, const TensorPair &pair, uint64_t operand) {
  const MmaUse &use = instruction.payloadAs<MmaUse>();
  const bool stationary = use.form.form == TensorForm::weightStationary;
  std::optional<uint64_t> &kept = pair.blocks[0]->tensorPipe.collectors[stationary ? 1 + use.buffer : 0];
  const bool reads = use.collector == Collector::use || use.collector == Collector::lastUse;
  if (reads && kept != operand) {
    fault(
        warp, instruction,
        fmt::format("the collector buffer is used, but {}; missing: .fill in an mma with the same {} before",
                    kept ? fmt::format("was filled with another operand ({:#x}, now {:#x})", *kept, operand)
                         : "nothing has filled it",
                    stationary ? "B" : "A"));
    return false;
  }
  if (use.collector == Collector::discard || use.collector == Collector::lastUse)
    kept.reset();
  else
    kept = operand;
  return true;
}

/// Reads and checks what a thread hands over.
bool readMma(Warp &warp, const Instruction &instruction, const TensorPair &pair, unsigned lane,
             MmaRequest &request) {
  const MmaUse &use = instruction.payloadAs<MmaUse>();
  const Slot *slots = instruction.slots;
  const auto word = [&](unsigned slot) { return lanesOf<uint32_t>(warp, slots[slot])[lane]; };
  auto mma = TensorMma::decode(use.form, word(slotDescriptor));
  if (!mma)
    return failWith(warp, instruction, mma.error());
  request.mma = *mma;
  TensorMmaCall &call = request.call;
  const auto operand = [&](WgmmaOperand which, uint64_t bits, TensorDescriptor &to) {
    auto descriptor = TensorDescriptor::decode(bits);
    if (!descriptor)
      return failWith(
          warp, instruction,
          {ErrorKind::execution,
           fmt::format("operand {}: {}", which == WgmmaOperand::a ? "A" : "B", descriptor.error().message)});
    if (auto fits = checkOperand(request.mma, which, *descriptor); !fits)
      return failWith(warp, instruction, fits.error());
    to = *descriptor;
    return true;
  };
  const uint64_t b = lanesOf<uint64_t>(warp, slots[slotB])[lane];
  uint64_t a = 0;
  if (!operand(WgmmaOperand::b, b, call.b))
    return false;
  call.d = TensorAddress::decode(word(slotD) + uint32_t(use.offsetD));
  // Half of the lanes of each quarter are free with 64 rows in a block.
  const bool halves = use.form.form == TensorForm::dense && use.form.ctaGroup == 1 && mma->m == 64;
  const auto lanesFit = [&](std::string_view what, TensorAddress address) {
    return halves ? checkLane(warp, instruction, what, address, {0, 16})
                  : checkLane(warp, instruction, what, address, {0});
  };
  if (!lanesFit("D", call.d))
    return false;
  if (use.form.a == TensorOperandA::tensorMemory) {
    call.tensorA = TensorAddress::decode(word(slotA) + uint32_t(use.offsetA));
    a = call.tensorA.encode();
    if (!lanesFit("A", call.tensorA))
      return false;
    if (call.tensorA.lane != call.d.lane) {
      fault(warp, instruction,
            fmt::format("A starts at lane {} of tensor memory and D at lane {}, but they must agree",
                        call.tensorA.lane, call.d.lane));
      return false;
    }
  } else {
    a = lanesOf<uint64_t>(warp, slots[slotA])[lane];
    if (!operand(WgmmaOperand::a, a, call.a))
      return false;
  }
  if (isScaled(use.form.kind)) {
    // Two bits above the lane repeat the byte that the instruction descriptor names.
    const auto scales = [&](std::string_view what, unsigned slot, int64_t offset, uint32_t &to) {
      TensorAddress address = TensorAddress::decode(word(slot) + uint32_t(offset));
      address.lane &= 0x3FFF;
      to = address.column;
      return checkLane(warp, instruction, what, address, {0});
    };
    if (!scales("the factors of A", slotScalesA, use.offsetScalesA, call.scalesA) ||
        !scales("the factors of B", slotScalesB, use.offsetScalesB, call.scalesB))
      return false;
  }
  if (lanesOf<uint64_t>(warp, slots[slotZeroColumns])[lane] >> 39 & 1) {
    fault(warp, instruction, "a zero-column mask is enabled, which is not emulated");
    return false;
  }
  if (use.shift && mma->rowsA() != tensorLanes) {
    fault(warp, instruction,
          fmt::format(".ashift needs 128 rows of A in a block, but the instruction descriptor has M = {}",
                      mma->m));
    return false;
  }
  call.accumulate = warp.predicate(slots[slotEnable]) >> lane & 1;
  call.scale = use.scale;
  for (unsigned i = 0; i < use.maskWords; ++i)
    call.disabledLanes[i] = word(slotDisabled + i);
  return checkMmaColumns(warp, instruction, pair, request) &&
         checkCollector(warp, instruction, pair, use.form.form == TensorForm::weightStationary ? b : a);
}

/// Of one block: each of a pair computes its part.
AsyncWork workOf(const TensorMma &mma) {
  AsyncWork work;
  work.unit = AsyncWork::Unit::tensorCores;
  work.multiplyAdds = uint64_t(mma.m) * mma.n * mma.depth() / mma.form.ctaGroup;
  work.operandBits = 256 / mma.depth(); // every kind takes 32 bytes of k
  unsigned rows = mma.rowsB() + (mma.form.a == TensorOperandA::shared ? mma.rowsA() : 0);
  work.bytes = rows * 32;
  return work;
}

Step issueMma(Warp &warp, uint32_t active, const Instruction &instruction) {
  const TensorPair pair = tensorPair(warp, instruction, instruction.payloadAs<MmaUse>().form.ctaGroup);
  if (pair.count == 0)
    return Step::fault;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    auto request = std::make_shared<MmaRequest>();
    if (!readMma(warp, instruction, pair, l, *request))
      return Step::fault;
    pushOnPipe(
        warp, instruction, pair,
        noteOf(warp, instruction, touchesOf(pair, *request, instruction.payloadAs<MmaUse>())),
        [&warp, &instruction, pair, request] { return runMma(warp, instruction, pair, *request); },
        workOf(request->mma));
  }
  return Step::next;
}

bool takeCollector(Decoder &d, MmaUse &use) {
  const bool stationary = use.form.form == TensorForm::weightStationary;
  constexpr std::pair<std::string_view, Collector> operations[] = {{"fill", Collector::fill},
                                                                   {"use", Collector::use},
                                                                   {"lastuse", Collector::lastUse},
                                                                   {"discard", Collector::discard}};
  for (std::string_view word : d.remaining())
    for (const auto &[name, collector] : operations)
      for (unsigned buffer = 0; buffer < (stationary ? 4u : 1u); ++buffer)
        if (word == (stationary ? fmt::format("collector::b{}::{}", buffer, name)
                                : fmt::format("collector::a::{}", name))) {
          use.collector = collector;
          use.buffer = buffer;
          return d.take(word);
        }
  return false;
}

/// How many factors a row has: .scale_vec, or the elements of k that share one.
bool takeScales(Decoder &d, MmaUse &use) {
  if (!isScaled(use.form.kind))
    return true;
  const TensorKind kind = use.form.kind;
  const auto named = d.takeOneOf<unsigned>({{"scale_vec::1X", 1},
                                            {"scale_vec::2X", 2},
                                            {"scale_vec::4X", 4},
                                            {"block16", 4},
                                            {"block32", kind == TensorKind::mxf8f6f4 ? 1u : 2u}});
  use.form.scales = named.value_or(kind == TensorKind::mxf8f6f4 ? 1 : kind == TensorKind::mxf4 ? 2 : 0);
  const bool fits = kind == TensorKind::mxf8f6f4 ? use.form.scales == 1
                    : kind == TensorKind::mxf4   ? use.form.scales == 2
                                                 : use.form.scales == 2 || use.form.scales == 4;
  if (!d.take("block_scale") || !fits) {
    d.fail("'{}' is not a known form", d.at().fullName());
    return false;
  }
  if (use.form.form == TensorForm::dense)
    return true;
  d.fail("'{}': .ws has no block-scaled kinds", d.at().fullName());
  return false;
}

} // namespace

void decodeTensorMma(Decoder &d) {
  MmaUse use;
  if (d.take("sp"))
    return d.fail("'{}' is not emulated: sparse operands", d.at().fullName());
  if (d.take("ws"))
    use.form.form = TensorForm::weightStationary;
  use.form.ctaGroup = takeCtaGroup(d);
  const auto kind = d.takeOneOf<TensorKind>({{"kind::f16", TensorKind::f16},
                                             {"kind::tf32", TensorKind::tf32},
                                             {"kind::f8f6f4", TensorKind::f8f6f4},
                                             {"kind::i8", TensorKind::i8},
                                             {"kind::mxf8f6f4", TensorKind::mxf8f6f4},
                                             {"kind::mxf4", TensorKind::mxf4},
                                             {"kind::mxf4nvf4", TensorKind::mxf4nvf4}});
  if (!kind)
    return d.fail("'{}' needs a .kind", d.at().fullName());
  use.form.kind = *kind;
  if (!takeScales(d, use))
    return;
  use.shift = d.take("ashift");
  takeCollector(d, use);
  const bool stationary = use.form.form == TensorForm::weightStationary;
  if (stationary && use.form.ctaGroup != 1)
    return d.fail("'{}' exists with .cta_group::1 only", d.at().fullName());
  const bool scaled = isScaled(use.form.kind);
  if (scaled)
    d.expectOperands(7);
  else
    d.expectOperands(5, stationary ? 6 : 7);
  if (d.failed())
    return;
  const bool tensorA = d.operand(1).kind == Operand::Kind::address;
  use.form.a = tensorA ? TensorOperandA::tensorMemory : TensorOperandA::shared;
  if (use.shift &&
      (!tensorA || stationary || use.collector == Collector::fill || use.collector == Collector::use))
    return d.fail("'{}': .ashift needs A in tensor memory, and neither .ws nor a collector that keeps A",
                  d.at().fullName());
  const AddressOperand to = d.address(0);
  use.offsetD = to.offset;
  Slot a;
  if (tensorA) {
    const AddressOperand from = d.address(1);
    a = from.base;
    use.offsetA = from.offset;
  } else {
    a = d.in(1, Type::b64);
  }
  std::vector<Slot> slots{to.base, a, d.in(2, Type::b64), d.in(3, Type::b32)};
  size_t next = 4;
  Slot scalesA = d.constant(0, 4), scalesB = scalesA;
  if (scaled) {
    const AddressOperand forA = d.address(next++), forB = d.address(next++);
    scalesA = forA.base, scalesB = forB.base;
    use.offsetScalesA = forA.offset, use.offsetScalesB = forB.offset;
  }
  std::vector<Slot> disabled;
  if (!stationary && !scaled && d.operand(next).kind == Operand::Kind::vector) {
    for (const Operand &word : d.elements(d.operand(next++)))
      disabled.push_back(d.in(word, Type::b32));
    use.maskWords = unsigned(disabled.size());
    if (use.maskWords != 4 * use.form.ctaGroup)
      return d.fail("'{}' takes {} words of disabled lanes, but got {}", d.at().fullName(),
                    4 * use.form.ctaGroup, use.maskWords);
  }
  slots.push_back(d.in(next++, Type::pred));
  Slot zeroColumns = d.constant(0, 8);
  if (next < d.operandCount()) {
    if (stationary) {
      zeroColumns = d.in(next++, Type::b64);
    } else {
      const int64_t scale = d.immediate(next++);
      if (use.form.kind != TensorKind::f16 && use.form.kind != TensorKind::tf32)
        return d.fail("'{}' cannot scale D; kind::f16 and kind::tf32 can", d.at().fullName());
      if (!d.checkTarget("scale-input-d"))
        return;
      if (scale < 0 || scale > 15)
        return d.fail("'{}' scales D by 2 to the minus 0 to 15, but got {}", d.at().fullName(), scale);
      use.scale = unsigned(scale);
    }
  }
  d.expectOperands(next);
  slots.insert(slots.end(), {zeroColumns, scalesA, scalesB});
  slots.insert(slots.end(), disabled.begin(), disabled.end());
  d.emitWith(issueMma, slots, use);
}

} // namespace tlc::emulator
