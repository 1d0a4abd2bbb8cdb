// SPDX-License-Identifier: Apache-2.0
/// \file
/// What warps do with tensor memory besides moving it: tcgen05.alloc, dealloc,
/// relinquish_alloc_permit, wait, fence.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/tensor/Tcgen05.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tlc::emulator {

namespace {

constexpr uint32_t minimumColumns = TensorMemoryFacts().minAllocation;

// --- alloc, dealloc, relinquish_alloc_permit ---------------------------------------------

/// slots: where the address goes, number of columns
struct Allocate {
  unsigned ctaGroup = 1;
  Space space = Space::generic;
};

/// The lowest columns that are free in all blocks of the pair.
std::optional<uint32_t> findFree(const TensorPair &pair, uint32_t columns) {
  for (uint32_t column = 0; column + columns <= tensorColumns; column += minimumColumns)
    if (std::all_of(pair.blocks, pair.blocks + pair.count,
                    [&](Block *block) { return block->tensorMemory.isFree(column, columns); }))
      return column;
  return std::nullopt;
}

/// Gives the columns to the requests of all blocks of the pair, once all are there.
void grant(const TensorPair &pair) {
  const auto requestOf = [&](unsigned i) -> std::optional<TensorRequest> & {
    return pair.blocks[i]->tensorMemory.request;
  };
  for (unsigned i = 0; i < pair.count; ++i)
    if (!requestOf(i) || requestOf(i)->granted || requestOf(i)->columns != requestOf(0)->columns)
      return;
  const std::optional<uint32_t> column = findFree(pair, requestOf(0)->columns);
  if (!column)
    return;
  for (unsigned i = 0; i < pair.count; ++i) {
    requestOf(i)->granted = column;
    pair.blocks[i]->tensorMemory.allocate({*column, requestOf(i)->columns, requestOf(i)->pc});
    if (Observer *observer = pair.blocks[i]->cluster->observer.get())
      observer->allocateTensor(*pair.blocks[i], *column, requestOf(i)->columns);
  }
  ++pair.blocks[0]->cluster->progress;
}

Step allocate(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const Allocate &how = instruction.payloadAs<Allocate>();
  const auto columns = uniformValue(warp, instruction, instruction.slots[1], active, "number of columns");
  if (!columns)
    return Step::fault;
  const TensorPair pair = tensorPair(warp, instruction, how.ctaGroup);
  if (pair.count == 0)
    return Step::fault;
  TensorMemory &memory = warp.block->tensorMemory;
  const uint32_t pc = uint32_t(&instruction - warp.code);
  if (!memory.request) {
    if (!std::has_single_bit(*columns) || *columns < minimumColumns || *columns > tensorColumns)
      return fault(warp, instruction,
                   fmt::format("{} columns of tensor memory are asked for, but allocations are powers of two "
                               "from {} to {}",
                               *columns, minimumColumns, tensorColumns));
    if (memory.relinquishedAt)
      return fault(
          warp, instruction,
          fmt::format("the block allocates tensor memory after it gave up the right to, at PTX line {}",
                      warp.code[*memory.relinquishedAt].line));
    for (unsigned i = 0; i < pair.count; ++i)
      if (const auto &other = pair.blocks[i]->tensorMemory.request;
          other && !other->granted && other->columns != *columns)
        return fault(
            warp, instruction,
            fmt::format("block rank {} allocates {} columns of tensor memory, but rank {} of its pair {}",
                        warp.block->rank, *columns, pair.blocks[i]->rank, other->columns));
    memory.request = TensorRequest{*columns, pc, std::nullopt};
    ++clusterOf(warp).progress;
  }
  if (memory.allocator.value_or(warp.index) != warp.index)
    return fault(warp, instruction,
                 fmt::format("warp {} allocates tensor memory of which warp {} has allocated some; one warp "
                             "makes all allocations of a block",
                             warp.index, *memory.allocator));
  memory.allocator = warp.index;
  grant(pair);
  if (!memory.request->granted) {
    Wait wait;
    wait.kind = Wait::Kind::tensorMemory;
    wait.count = how.ctaGroup;
    return suspend(warp, std::move(wait));
  }
  const unsigned lane = unsigned(std::countr_zero(active));
  const uint64_t to =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate).lane[lane];
  std::byte *host = touch(warp, instruction, {how.space, AccessKind::write, Proxy::generic, lane, to, 4, 4});
  if (!host)
    return Step::fault;
  const uint32_t address = TensorAddress{0, *memory.request->granted}.encode();
  std::memcpy(host, &address, sizeof(address));
  memory.request.reset();
  return Step::next;
}

/// slots: address, number of columns
Step deallocate(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const auto bits = uniformValue(warp, instruction, instruction.slots[0], active, "address"),
             columns = uniformValue(warp, instruction, instruction.slots[1], active, "number of columns");
  if (!bits || !columns || tensorPair(warp, instruction, unsigned(instruction.immediate)).count == 0)
    return Step::fault;
  const TensorAddress address = TensorAddress::decode(*bits);
  TensorMemory &memory = warp.block->tensorMemory;
  if (address.lane != 0 || !memory.free(address.column, *columns))
    return fault(warp, instruction,
                 fmt::format("{} columns at address {:#x} of tensor memory are freed, but the block has "
                             "allocated {}",
                             *columns, *bits, allocationsText(memory)));
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->freeTensor(warp, instruction, address.column, *columns);
  ++clusterOf(warp).progress;
  return Step::next;
}

Step relinquish(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  warp.block->tensorMemory.relinquishedAt = uint32_t(&instruction - warp.code);
  return Step::next;
}

// --- wait, fence ----------------------------------------------------------------------------

Step waitForLoads(Warp &warp, uint32_t active, const Instruction &) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->waitTensor(warp, TensorEngine::load);
  return Step::next;
}

Step waitForStores(Warp &warp, uint32_t active, const Instruction &) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  if (warp.asyncGroups[size_t(AsyncEngine::tensorStore)].atMost(active, 0)) {
    if (Observer *observer = clusterOf(warp).observer.get())
      observer->waitTensor(warp, TensorEngine::store);
    return Step::next;
  }
  Wait wait;
  wait.kind = Wait::Kind::asyncGroups;
  wait.engine = AsyncEngine::tensorStore;
  return suspend(warp, std::move(wait));
}

Step fenceBefore(Warp &warp, uint32_t, const Instruction &) {
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->fenceTensorBefore(warp);
  return Step::next;
}

Step fenceAfter(Warp &warp, uint32_t, const Instruction &) {
  if (Observer *observer = clusterOf(warp).observer.get())
    observer->fenceTensorAfter(warp);
  return Step::next;
}

} // namespace

void decodeTensorAllocation(Decoder &d) {
  Allocate how;
  how.ctaGroup = takeCtaGroup(d);
  d.ignore({"sync", "aligned", "b32"});
  how.space = d.space();
  d.expectOperands(2);
  const AddressOperand to = d.address(0);
  d.accesses(Space::shared, 4);
  d.emitWith(allocate, {to.base, d.in(1, Type::b32)}, how).immediate = to.offset;
}

void decodeTensorFree(Decoder &d) {
  const unsigned ctaGroup = takeCtaGroup(d);
  d.ignore({"sync", "aligned", "b32"});
  d.expectOperands(2);
  d.emit(deallocate, {d.in(0, Type::b32), d.in(1, Type::b32)}, ctaGroup);
}

void decodeTensorRelinquish(Decoder &d) {
  takeCtaGroup(d);
  d.ignore({"sync", "aligned"});
  d.expectOperands(0);
  d.emit(relinquish, {});
}

namespace {

void decodeTcgen05(Decoder &d) {
  constexpr std::pair<std::string_view, void (*)(Decoder &)> forms[] = {
      {"alloc", decodeTensorAllocation},
      {"dealloc", decodeTensorFree},
      {"relinquish_alloc_permit", decodeTensorRelinquish},
      {"ld", decodeTensorLoad},
      {"st", decodeTensorStore},
      {"wait::ld",
       [](Decoder &d) {
         d.ignore({"sync", "aligned"});
         d.emit(waitForLoads, {});
       }},
      {"wait::st",
       [](Decoder &d) {
         d.ignore({"sync", "aligned"});
         d.emit(waitForStores, {});
       }},
      {"fence::before_thread_sync", [](Decoder &d) { d.emit(fenceBefore, {}); }},
      {"fence::after_thread_sync", [](Decoder &d) { d.emit(fenceAfter, {}); }},
      {"mma", decodeTensorMma},
      {"cp", decodeTensorCopy},
      {"shift", decodeTensorShift},
      {"commit", decodeTensorCommit},
  };
  for (const auto &[word, decode] : forms)
    if (!d.remaining().empty() && d.remaining().front() == word) {
      d.take(word);
      return decode(d);
    }
  d.fail("unknown instruction '{}'", d.at().fullName());
}

constexpr DecodeEntry entries[] = {{"tcgen05", decodeTcgen05}};

} // namespace

std::span<const DecodeEntry> tensorInstructions() { return entries; }

unsigned takeCtaGroup(Decoder &d) {
  const auto group = d.takeOneOf<unsigned>({{"cta_group::1", 1}, {"cta_group::2", 2}});
  if (!group) {
    d.fail("'{}' needs .cta_group::1 or .cta_group::2", d.at().fullName());
    return 1;
  }
  Kernel &kernel = d.kernel;
  if (kernel.ctaGroup == 0) {
    kernel.ctaGroup = *group;
    kernel.ctaGroupLine = d.at().line;
  } else if (kernel.ctaGroup != *group) {
    d.fail(
        "'{}' has .cta_group::{}, but line {} has .cta_group::{}; all tcgen05 instructions of a kernel have "
        "the same",
        d.at().fullName(), *group, kernel.ctaGroupLine, kernel.ctaGroup);
  }
  return *group;
}

TensorPair tensorPair(Warp &warp, const Instruction &instruction, unsigned ctaGroup) {
  if (ctaGroup == 1)
    return {{warp.block, nullptr}, 1};
  std::vector<Block> &blocks = clusterOf(warp).blocks;
  const uint32_t even = warp.block->rank & ~1u;
  if (even + 1 >= blocks.size()) {
    fault(warp, instruction,
          fmt::format(".cta_group::2 needs a second block beside rank {}, but the cluster has {}",
                      warp.block->rank, blocks.size()));
    return {};
  }
  return {{&blocks[even], &blocks[even + 1]}, 2};
}

std::optional<uint32_t> uniformValue(Warp &warp, const Instruction &instruction, Slot slot, uint32_t active,
                                     std::string_view what) {
  const In<uint32_t> values = lanesOf<uint32_t>(warp, slot);
  const unsigned first = unsigned(std::countr_zero(active));
  for (unsigned l = first; l < warpSize; ++l)
    if (active >> l & 1 && values[l] != values[first]) {
      fault(warp, instruction,
            fmt::format("the lanes of the warp differ in the {}: {:#x} in lane {}, {:#x} in lane {}", what,
                        values[first], first, values[l], l));
      return std::nullopt;
    }
  return values[first];
}

std::string allocationsText(const TensorMemory &memory) {
  if (memory.allocations().empty())
    return "none";
  std::vector<std::string> parts;
  for (const TensorAllocation &allocation : memory.allocations())
    parts.push_back(fmt::format("{} at {:#x}", allocation.columns, allocation.column));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool checkTensorColumns(Warp &warp, const Instruction &instruction, Block &block, uint64_t column,
                        uint64_t columns) {
  if (column + columns > tensorColumns) {
    fault(warp, instruction,
          fmt::format("columns {} to {} of tensor memory are accessed, but it has {}", column,
                      column + columns - 1, tensorColumns));
    return false;
  }
  if (block.tensorMemory.isAllocated(uint32_t(column), uint32_t(columns)))
    return true;
  fault(warp, instruction,
        fmt::format("columns {} to {} of tensor memory are accessed, but the block{} has allocated {}",
                    column, column + columns - 1,
                    &block == warp.block ? "" : fmt::format(" of rank {}", block.rank),
                    allocationsText(block.tensorMemory)));
  return false;
}

bool mayAllocate(Warp &warp, uint64_t ctaGroup) {
  const TensorMemory &memory = warp.block->tensorMemory;
  if (memory.request->granted)
    return true;
  TensorPair pair{{warp.block, nullptr}, 1};
  if (ctaGroup == 2) {
    std::vector<Block> &blocks = clusterOf(warp).blocks;
    Block &other = blocks[warp.block->rank ^ 1];
    const std::optional<TensorRequest> &theirs = other.tensorMemory.request;
    if (!theirs || theirs->granted || theirs->columns != memory.request->columns)
      return false;
    pair = {{warp.block, &other}, 2};
  }
  return findFree(pair, memory.request->columns).has_value();
}

Step checkTensorFreed(Warp &warp, const Instruction &instruction) {
  Block &block = *warp.block;
  const auto &left = block.tensorMemory.allocations();
  if (left.empty() ||
      std::any_of(block.warps.begin(), block.warps.end(), [](const Warp &other) { return other.live != 0; }))
    return Step::moved;
  return fault(
      warp, instruction,
      fmt::format("the block exits without freeing {} columns of tensor memory at {:#x}, allocated at "
                  "PTX line {}; missing: tcgen05.dealloc",
                  left[0].columns, left[0].column, warp.code[left[0].pc].line));
}

} // namespace tlc::emulator
