// SPDX-License-Identifier: Apache-2.0
/// \file
/// clusterlaunchcontrol: a running cluster takes the place of one that has not started.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Decoder.h"

namespace tlc::emulator {

namespace {

struct TryCancel {
  Space space = Space::generic;
  bool multicast = false; ///< to all blocks of the cluster
  int64_t responseOffset = 0, barrierOffset = 0;
};

/// What a request leaves in shared memory. Its layout is the hardware's secret; `mark` tells whether it is a
/// response at all.
struct Response {
  static constexpr uint32_t canceled = 0x434C4331, failed = 0x434C4330;
  std::array<uint32_t, 3> firstBlock = {};
  uint32_t mark = failed;
};
constexpr uint64_t responseBytes = sizeof(Response);
static_assert(responseBytes == 16);

bool runTryCancel(Warp &warp, const Instruction &instruction, uint64_t address, uint64_t barrier) {
  const TryCancel &how = instruction.payloadAs<TryCancel>();
  Cluster &cluster = clusterOf(warp);
  Grid &grid = *cluster.grid;
  Response response;
  if (const std::optional<uint32_t> next = takeCluster(grid)) {
    ++grid.canceled;
    cluster.yields = true;
    response = {blockId(grid.blocks, grid.cluster, *next, 0), Response::canceled};
  }
  const SharedPlace own = sharedPlace(warp, address), ownBarrier = sharedPlace(warp, barrier);
  for (Block &block : cluster.blocks) {
    if (!how.multicast && &block != own.block)
      continue;
    if (Observer *observer = cluster.observer.get())
      observer->completesOn({&block, ownBarrier.address});
    const uint64_t window = sharedWindow(block.rank);
    std::byte *to = touch(warp, instruction,
                          {Space::sharedCluster, AccessKind::write, Proxy::async, noLane,
                           window | own.address, responseBytes, responseBytes});
    if (!to)
      return false;
    std::memcpy(to, &response, responseBytes);
    noteArrival(block, ownBarrier.address, warp, instruction);
    // By the generic proxy (libcu++, for_each_canceled.h): an initialised mbarrier needs no fence for it.
    if (!touch(warp, instruction,
               {Space::sharedCluster, AccessKind::mbarrier, Proxy::generic, noLane,
                window | ownBarrier.address, 8, 8}))
      return false;
    completeBytes(block, ownBarrier.address, uint32_t(responseBytes));
  }
  return true;
}

/// slots: response, barrier
Step issueTryCancel(Warp &warp, uint32_t active, const Instruction &instruction) {
  const TryCancel &how = instruction.payloadAs<TryCancel>();
  const LaneAddresses64 responses =
                            laneAddresses(warp, instruction, instruction.slots[0], how.responseOffset),
                        barriers = laneAddresses(warp, instruction, instruction.slots[1], how.barrierOffset);
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    if (warp.block->sawNoCluster)
      return fault(warp, instruction,
                   "the block has seen that a request failed, after which another one is undefined; expected "
                   "the loop to end where 'is_canceled' is false");
    const uint64_t response = responses.lane[l] & 0xFFFFFFFF, barrier = barriers.lane[l] & 0xFFFFFFFF;
    if (!findMbarrier(warp, instruction, how.space, l, barriers.lane[l], MbarrierState::initialised).block)
      return Step::fault;
    if (sharedPlace(warp, response).block != warp.block || sharedPlace(warp, barrier).block != warp.block)
      return fault(warp, instruction,
                   "the response and its mbarrier must be in the shared memory of the block that asks");
    auto operation = std::make_shared<AsyncOperation>();
    operation->warp = &warp;
    operation->instruction = &instruction;
    operation->run = [&warp, &instruction, response, barrier] {
      return runTryCancel(warp, instruction, response, barrier);
    };
    if (Observer *observer = clusterOf(warp).observer.get())
      operation->note = observer->issueOnMbarrier(warp, instruction, l, false);
    clusterOf(warp).queue.push(std::move(operation));
  }
  ++clusterOf(warp).progress;
  return Step::next;
}

void decodeTryCancel(Decoder &d) {
  TryCancel how;
  if (!d.take("async"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  how.space = d.space();
  how.multicast = d.take("multicast::cluster::all");
  if ((how.space != Space::generic && how.space != Space::shared) ||
      !d.take("mbarrier::complete_tx::bytes") || !d.take("b128"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.expectOperands(2);
  d.accesses(Space::shared, responseBytes);
  const AddressOperand response = d.address(0), barrier = d.address(1);
  how.responseOffset = response.offset, how.barrierOffset = barrier.offset;
  d.emitWith(issueTryCancel, {response.base, barrier.base}, how);
}

/// A lane's response; nothing after a fault.
std::optional<Response> responseOf(Warp &warp, const Instruction &instruction, Slot slot, unsigned lane) {
  Response response;
  const In<uint64_t> words = lanesOf<uint64_t>(warp, slot); // two runs of lanes
  const uint64_t halves[] = {words[lane], words[warpSize + lane]};
  std::memcpy(&response, halves, responseBytes);
  if (response.mark == Response::canceled || response.mark == Response::failed)
    return response;
  fault(warp, instruction,
        fmt::format("lane {} queries what is no response of clusterlaunchcontrol.try_cancel; expected a load "
                    "of its 16 bytes after a wait for the phase that they complete",
                    lane));
  return std::nullopt;
}

/// slots: predicate, response
Step queryCanceled(Warp &warp, uint32_t active, const Instruction &instruction) {
  uint32_t canceled = 0;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const std::optional<Response> response = responseOf(warp, instruction, instruction.slots[1], l);
    if (!response)
      return Step::fault;
    if (response->mark == Response::canceled)
      canceled |= 1u << l;
    else
      warp.block->sawNoCluster = true;
  }
  warp.setPredicate(instruction.slots[0], active, canceled);
  return Step::next;
}

/// slots: x, y, z, response; sinks where the program asks for less
Step queryFirstBlock(Warp &warp, uint32_t active, const Instruction &instruction) {
  std::array<std::array<uint32_t, warpSize>, 3> ids = {};
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const std::optional<Response> response = responseOf(warp, instruction, instruction.slots[3], l);
    if (!response)
      return Step::fault;
    if (response->mark != Response::canceled)
      return fault(
          warp, instruction,
          fmt::format("lane {} asks which cluster was canceled, but none was: the result is undefined "
                      "where 'is_canceled' is false",
                      l));
    for (unsigned axis = 0; axis < 3; ++axis)
      ids[axis][l] = response->firstBlock[axis];
  }
  for (unsigned axis = 0; axis < 3; ++axis)
    store(warp, instruction.slots[axis], active, ids[axis].data());
  return Step::next;
}

void decodeQuery(Decoder &d) {
  if (d.take("is_canceled")) {
    if (!d.take("pred") || !d.take("b128"))
      return d.fail("'{}' is not a known form", d.at().fullName());
    d.expectOperands(2);
    d.emit(queryCanceled, {d.out(0, Type::pred), d.in(1, Type::b128)});
    return;
  }
  const auto axis = d.takeOneOf<unsigned>(
      {{"get_first_ctaid::x", 0}, {"get_first_ctaid::y", 1}, {"get_first_ctaid::z", 2}});
  if ((!axis && (!d.take("get_first_ctaid") || !d.take("v4"))) || !d.take("b32") || !d.take("b128"))
    return d.fail("'{}' is not a known form", d.at().fullName());
  d.expectOperands(2);
  std::array<Slot, 3> ids;
  if (axis) {
    for (Slot &id : ids) {
      id = d.temporary(sizeof(uint32_t));
      id.written = true;
    }
    ids[*axis] = d.out(0, Type::b32);
  } else {
    const std::span<const Operand> elements = d.elements(d.operand(0));
    if (elements.size() != 4)
      return d.fail("'{}' takes 4 elements", d.at().fullName());
    for (unsigned i = 0; i < 3; ++i)
      ids[i] = d.out(elements[i], Type::b32);
  }
  d.emit(queryFirstBlock, {ids[0], ids[1], ids[2], d.in(1, Type::b128)});
}

void decodeLaunchControl(Decoder &d) {
  if (d.take("try_cancel"))
    return decodeTryCancel(d);
  if (d.take("query_cancel"))
    return decodeQuery(d);
  d.fail("unknown instruction '{}'", d.at().fullName());
}

constexpr DecodeEntry entries[] = {{"clusterlaunchcontrol", decodeLaunchControl}};

} // namespace

std::span<const DecodeEntry> launchControlInstructions() { return entries; }

} // namespace tlc::emulator
