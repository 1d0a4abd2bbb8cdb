// SPDX-License-Identifier: Apache-2.0
/// \file
/// Branches, calls, exits, special registers.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/emulator/exec/decode/CallDecode.h"
#include "runtime/emulator/exec/decode/Decoder.h"

namespace tlc::emulator {

namespace {

Step jump(Warp &warp, uint32_t active, const Instruction &instruction) {
  return branch(warp, active, uint32_t(instruction.immediate));
}

void decodeBra(Decoder &d) {
  d.take("uni");
  d.expectOperands(1);
  if (d.operand(0).kind != Operand::Kind::label)
    return d.fail("'bra' needs a label");
  d.emit(jump, {});
  d.jumpTo(d.operand(0).bits);
}

Step jumpIndexed(Warp &warp, uint32_t active, const Instruction &instruction) {
  const auto &targets = instruction.payloadAs<std::vector<uint32_t>>();
  const In<uint32_t> index = lanesOf<uint32_t>(warp, instruction.slots[0]);
  uint32_t pcs[warpSize] = {};
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    if (index[l] >= targets.size())
      return fault(
          warp, instruction,
          fmt::format("index {} in lane {} is beyond the {} branch targets", index[l], l, targets.size()));
    pcs[l] = targets[index[l]];
  }
  return jumpLanes(warp, active, pcs);
}

void decodeBrx(Decoder &d) {
  d.take("idx");
  d.take("uni");
  d.expectOperands(2);
  auto targets = std::make_shared<std::vector<uint32_t>>();
  d.emit(jumpIndexed, {d.in(0, Type::u32)}).payload = targets.get();
  d.kernel.payloads.push_back(targets);
  d.branchTargets(d.operand(1).name, *targets);
}

Step exitThreads(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->exit(warp, instruction, active);
  exitLanes(warp, active);
  return checkTensorFreed(warp, instruction);
}

void decodeRet(Decoder &d) {
  d.take("uni");
  if (d.function().function->isEntry)
    d.emit(exitThreads, {});
  else
    decodeReturn(d);
}

Step trap(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Grid &grid = gridOf(warp);
  const bool lacksWorkspace = grid.kernel->readsGridWorkspace && grid.workspace == 0;
  return fault(warp, instruction,
               fmt::format("trap in lanes {:#010x}{}", active,
                           lacksWorkspace
                               ? "; the kernel waits for its whole grid, as this_grid().sync() does, "
                                 "which needs a cooperative launch (--cooperative)"
                               : ""));
}

Step nothing(Warp &, uint32_t, const Instruction &) { return Step::next; }

/// Who sleeps gives way, to other lanes of the warp too.
Step sleep(Warp &warp, uint32_t, const Instruction &) { return giveWay(warp); }

void decodeNanosleep(Decoder &d) {
  d.take("u32");
  d.expectOperands(1);
  d.emit(sleep, {});
}

/// Launches of a stream run one after the other, so the one before is over.
Step waitGrid(Warp &warp, uint32_t active, const Instruction &) {
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->waitGrid(warp, active);
  return Step::next;
}

void decodeGriddepcontrol(Decoder &d) {
  const bool waits = d.take("wait");
  d.take("launch_dependents");
  d.emit(waits ? waitGrid : nothing, {});
}

// --- setmaxnreg -------------------------------------------------------------------------

/// Registers of a thread that the warp gets; the block has a pool.
template <bool increase> Step setRegisters(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const uint32_t wanted = uint32_t(instruction.immediate), have = warp.threadRegisters;
  if (have == 0)
    return fault(warp, instruction,
                 "setmaxnreg needs an entry with .maxnreg, or with .maxntid or .reqntid and "
                 ".minnctapersm; ptxas ignores it otherwise");
  if (increase ? wanted < have : wanted > have)
    return fault(warp, instruction,
                 fmt::format("setmaxnreg.{} to {} registers, but the warp has {}", increase ? "inc" : "dec",
                             wanted, have));
  Block &block = *warp.block;
  if (increase && block.freeRegisters < wanted - have) {
    Wait wait;
    wait.kind = Wait::Kind::registers;
    wait.count = wanted - have;
    return suspend(warp, std::move(wait));
  }
  block.freeRegisters += have - wanted;
  warp.threadRegisters = wanted;
  ++clusterOf(warp).progress;
  return Step::next;
}

void decodeSetmaxnreg(Decoder &d) {
  const bool increase = d.take("inc");
  if (!increase && !d.take("dec"))
    d.fail("'{}' needs .inc or .dec", d.at().fullName());
  d.ignore({"sync", "aligned", "u32"});
  d.expectOperands(1);
  const int64_t count = d.immediate(0);
  if (count < 24 || count > 256 || count % 8 != 0)
    d.fail("setmaxnreg takes a multiple of 8 from 24 to 256, but got {}", count);
  d.kernel.usesSetmaxnreg = true;
  d.emit(increase ? setRegisters<true> : setRegisters<false>, {}, count);
}

// --- the thread's stack -----------------------------------------------------------------

struct Copy {
  uint64_t operator()(uint64_t a) const { return a; }
};

void decodeAlloca(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(2, 3);
  const int64_t alignment = d.operandCount() == 3 ? d.immediate(2) : 8;
  if (type != Type::u64)
    return d.fail("'{}' needs 64-bit addresses", d.at().fullName());
  if (alignment < 1 || alignment > (1 << 20) || (alignment & (alignment - 1)) != 0)
    return d.fail("'{}' needs an alignment that is a power of two, but got {}", d.at().fullName(), alignment);
  d.emit(allocateOnStack, {d.out(0, type), d.in(1, type), d.layout().stackPointer()}, alignment);
}

void decodeStackPointer(Decoder &d) {
  const Type type = d.type();
  d.expectOperands(1);
  if (type != Type::u64)
    return d.fail("'{}' needs 64-bit addresses", d.at().fullName());
  if (d.at().name == "stacksave")
    d.emit(mapLanes<Copy, uint64_t, uint64_t>, {d.out(0, type), d.layout().stackPointer()});
  else
    d.emit(mapLanes<Copy, uint64_t, uint64_t>, {d.layout().stackPointer(), d.in(0, type)});
}

constexpr DecodeEntry entries[] = {
    {"bra", decodeBra},
    {"brx", decodeBrx},
    {"call", decodeCall},
    {"ret", decodeRet},
    {"exit", [](Decoder &d) { d.emit(exitThreads, {}); }},
    {"trap", [](Decoder &d) { d.emit(trap, {}); }},
    {"brkpt", [](Decoder &d) { d.emit(nothing, {}); }},
    {"pmevent",
     [](Decoder &d) {
       d.take("mask");
       d.emit(nothing, {});
     }},
    {"nanosleep", decodeNanosleep},
    {"griddepcontrol", decodeGriddepcontrol},
    {"setmaxnreg", decodeSetmaxnreg},
    {"alloca", decodeAlloca},
    {"stacksave", decodeStackPointer},
    {"stackrestore", decodeStackPointer},
};

// --- special registers --------------------------------------------------------------------

template <auto f> Step special(Warp &warp, uint32_t active, const Instruction &instruction) {
  using T = decltype(f(warp, 0u));
  T values[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    values[l] = f(warp, l);
  store(warp, instruction.slots[0], active, values);
  return Step::next;
}

template <unsigned axis> uint32_t threadId(const Warp &warp, unsigned lane) {
  const auto &size = gridOf(warp).threads;
  const uint32_t linear = warp.index * warpSize + lane;
  return axis == 0 ? linear % size[0] : axis == 1 ? linear / size[0] % size[1] : linear / size[0] / size[1];
}
template <unsigned axis> uint32_t blockSize(const Warp &warp, unsigned) { return gridOf(warp).threads[axis]; }
template <unsigned axis> uint32_t blockId(const Warp &warp, unsigned) { return warp.block->id[axis]; }
template <unsigned axis> uint32_t gridSize(const Warp &warp, unsigned) { return gridOf(warp).blocks[axis]; }
template <unsigned axis> uint32_t clusterId(const Warp &warp, unsigned) {
  return warp.block->id[axis] / gridOf(warp).cluster[axis];
}
template <unsigned axis> uint32_t clusterCount(const Warp &warp, unsigned) {
  return gridOf(warp).blocks[axis] / gridOf(warp).cluster[axis];
}
template <unsigned axis> uint32_t blockInCluster(const Warp &warp, unsigned) {
  return warp.block->id[axis] % gridOf(warp).cluster[axis];
}
template <unsigned axis> uint32_t clusterSize(const Warp &warp, unsigned) {
  return gridOf(warp).cluster[axis];
}
uint32_t rank(const Warp &warp, unsigned) { return warp.block->rank; }
uint32_t rankCount(const Warp &warp, unsigned) { return uint32_t(clusterOf(warp).blocks.size()); }
uint32_t laneId(const Warp &, unsigned lane) { return lane; }
uint32_t warpId(const Warp &warp, unsigned) { return warp.index; }
uint32_t warpCount(const Warp &warp, unsigned) { return uint32_t(warp.block->warps.size()); }
uint32_t lanesEqual(const Warp &, unsigned lane) { return 1u << lane; }
uint32_t lanesBelow(const Warp &, unsigned lane) { return (1u << lane) - 1; }
uint32_t lanesUpTo(const Warp &, unsigned lane) { return (2u << lane) - 1; }
uint32_t lanesFrom(const Warp &, unsigned lane) { return ~((1u << lane) - 1); }
uint32_t lanesAbove(const Warp &, unsigned lane) { return ~((2u << lane) - 1); }
uint32_t multiprocessor(const Warp &warp, unsigned) {
  const auto &grid = gridOf(warp);
  const uint64_t linear =
      warp.block->id[0] +
      uint64_t(grid.blocks[0]) * (warp.block->id[1] + uint64_t(grid.blocks[1]) * warp.block->id[2]);
  return uint32_t(linear % uint64_t(grid.target->multiprocessors));
}
uint32_t multiprocessorCount(const Warp &warp, unsigned) {
  return uint32_t(gridOf(warp).target->multiprocessors);
}
uint32_t dynamicShared(const Warp &warp, unsigned) { return gridOf(warp).dynamicSharedBytes; }
/// Shared memory below `sharedBase` is the system's, and that of programs that ask where it lies.
uint32_t reservedEnd(const Warp &, unsigned) { return sharedBase; }
uint32_t reservedSecond(const Warp &, unsigned) { return sharedBase / 4; }
uint32_t totalShared(const Warp &warp, unsigned) { return warp.block->sharedEnd; }
uint64_t clock64(const Warp &warp, unsigned) { return warp.clock ? *warp.clock : warp.steps; }
uint32_t clockLow(const Warp &warp, unsigned lane) { return uint32_t(clock64(warp, lane)); }
uint32_t clockHigh(const Warp &warp, unsigned lane) { return uint32_t(clock64(warp, lane) >> 32); }
uint64_t globalTimer(const Warp &warp, unsigned) { return gridOf(warp).progress->time(); }
uint32_t globalTimerLow(const Warp &warp, unsigned lane) { return uint32_t(globalTimer(warp, lane)); }
uint32_t globalTimerHigh(const Warp &warp, unsigned lane) { return uint32_t(globalTimer(warp, lane) >> 32); }
/// Where barriers of the grid count, as CUDA's cooperative groups find it: the driver puts the address there.
uint32_t workspaceHigh(const Warp &warp, unsigned) { return uint32_t(gridOf(warp).workspace >> 32); }
uint32_t workspaceLow(const Warp &warp, unsigned) { return uint32_t(gridOf(warp).workspace); }
uint32_t zero(const Warp &, unsigned) { return 0; }
uint64_t zero64(const Warp &, unsigned) { return 0; }
Step explicitCluster(Warp &warp, uint32_t active, const Instruction &instruction) {
  warp.setPredicate(instruction.slots[0], active, clusterOf(warp).blocks.size() > 1 ? ~0u : 0);
  return Step::next;
}

struct SpecialEntry {
  std::string_view name;
  SpecialRegister reg;
};
constexpr SpecialEntry specialRegisters[] = {
    {"%tid.x", {special<threadId<0>>, 4}},
    {"%tid.y", {special<threadId<1>>, 4}},
    {"%tid.z", {special<threadId<2>>, 4}},
    {"%ntid.x", {special<blockSize<0>>, 4}},
    {"%ntid.y", {special<blockSize<1>>, 4}},
    {"%ntid.z", {special<blockSize<2>>, 4}},
    {"%ctaid.x", {special<blockId<0>>, 4}},
    {"%ctaid.y", {special<blockId<1>>, 4}},
    {"%ctaid.z", {special<blockId<2>>, 4}},
    {"%nctaid.x", {special<gridSize<0>>, 4}},
    {"%nctaid.y", {special<gridSize<1>>, 4}},
    {"%nctaid.z", {special<gridSize<2>>, 4}},
    {"%clusterid.x", {special<clusterId<0>>, 4}},
    {"%clusterid.y", {special<clusterId<1>>, 4}},
    {"%clusterid.z", {special<clusterId<2>>, 4}},
    {"%nclusterid.x", {special<clusterCount<0>>, 4}},
    {"%nclusterid.y", {special<clusterCount<1>>, 4}},
    {"%nclusterid.z", {special<clusterCount<2>>, 4}},
    {"%cluster_ctaid.x", {special<blockInCluster<0>>, 4}},
    {"%cluster_ctaid.y", {special<blockInCluster<1>>, 4}},
    {"%cluster_ctaid.z", {special<blockInCluster<2>>, 4}},
    {"%cluster_nctaid.x", {special<clusterSize<0>>, 4}},
    {"%cluster_nctaid.y", {special<clusterSize<1>>, 4}},
    {"%cluster_nctaid.z", {special<clusterSize<2>>, 4}},
    {"%cluster_ctarank", {special<rank>, 4}},
    {"%cluster_nctarank", {special<rankCount>, 4}},
    {"%is_explicit_cluster", {explicitCluster, 0}},
    {"%laneid", {special<laneId>, 4}},
    {"%warpid", {special<warpId>, 4}},
    {"%nwarpid", {special<warpCount>, 4}},
    {"%smid", {special<multiprocessor>, 4}},
    {"%nsmid", {special<multiprocessorCount>, 4}},
    {"%gridid", {special<zero64>, 8}},
    {"%lanemask_eq", {special<lanesEqual>, 4}},
    {"%lanemask_lt", {special<lanesBelow>, 4}},
    {"%lanemask_le", {special<lanesUpTo>, 4}},
    {"%lanemask_ge", {special<lanesFrom>, 4}},
    {"%lanemask_gt", {special<lanesAbove>, 4}},
    {"%clock", {special<clockLow>, 4}},
    {"%clock_hi", {special<clockHigh>, 4}},
    {"%clock64", {special<clock64>, 8}},
    {"%globaltimer", {special<globalTimer>, 8, false, false, true}},
    {"%globaltimer_lo", {special<globalTimerLow>, 4, false, false, true}},
    {"%globaltimer_hi", {special<globalTimerHigh>, 4, false, false, true}},
    {"%dynamic_smem_size", {special<dynamicShared>, 4}},
    {"%total_smem_size", {special<totalShared>, 4}},
    {"%aggr_smem_size", {special<totalShared>, 4}},
    {"%reserved_smem_offset_begin", {special<zero>, 4, false, true}},
    {"%reserved_smem_offset_end", {special<reservedEnd>, 4, false, true}},
    {"%reserved_smem_offset_cap", {special<reservedEnd>, 4, false, true}},
    {"%reserved_smem_offset_0", {special<zero>, 4, false, true}},
    {"%reserved_smem_offset_1", {special<reservedSecond>, 4, false, true}},
    {"%current_graph_exec", {special<zero64>, 8}},
    {"%envreg1", {special<workspaceHigh>, 4, true}},
    {"%envreg2", {special<workspaceLow>, 4, true}},
};

} // namespace

std::optional<SpecialRegister> findSpecialRegister(std::string_view name) {
  if (!name.starts_with('%'))
    return std::nullopt;
  for (const SpecialEntry &entry : specialRegisters)
    if (entry.name == name)
      return entry.reg;
  if (name.starts_with("%pm"))
    return name.ends_with("_64") ? SpecialRegister{special<zero64>, 8} : SpecialRegister{special<zero>, 4};
  if (name.starts_with("%envreg"))
    return SpecialRegister{special<zero>, 4};
  return std::nullopt;
}

std::span<const DecodeEntry> controlInstructions() { return entries; }

} // namespace tlc::emulator
