// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/trace/TimedSchedule.h"

#include "runtime/emulator/trace/CostModel.h"
#include "runtime/emulator/trace/Recorder.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <limits>

namespace tlc::emulator {

namespace {

/// Shorter waits for operands are what running an instruction means.
constexpr uint64_t shortestStall = 16;

class TimedSchedule : public Schedule {
public:
  TimedSchedule(Cluster &cluster, std::span<const NamedTensor> tensors, Trace &trace)
      : cluster(cluster), facts(timingOf(*cluster.grid->target)), trace(trace),
        recorder(cluster, tensors, trace) {
    const Kernel &kernel = *cluster.grid->kernel;
    for (const Instruction &instruction : kernel.code)
      costs.push_back(costOf(instruction.name, facts));
    for (Block &block : cluster.blocks) {
      units.emplace_back(facts.schedulers);
      for (Warp &warp : block.warps) {
        Clock clock;
        clock.warp = &warp;
        warp.clock = &now;
        clock.operands.resize(kernel.registerBytes / operandGranule + 1);
        clock.next = nextInstruction(warp);
        clocks.push_back(std::move(clock));
      }
    }
  }

  Turn next(Cluster &) override {
    wake();
    start();
    while (true) {
      const size_t operation = firstOperation();
      const uint64_t completion = operation < flights.size() ? flights[operation].end : never;
      chosen = nullptr;
      uint64_t earliest = never;
      for (Clock &clock : clocks) {
        if (!clock.next)
          continue;
        if (const uint64_t time = issueTime(clock); time < earliest) {
          earliest = time;
          chosen = &clock;
        }
      }
      if (completion == never && !chosen) {
        // Waits may give up, and the warps go on without anybody's doing.
        seenProgress = never;
        actor.reset();
        if (!std::exchange(finished, true))
          recorder.finish(now);
        return Turn::nothing();
      }
      finished = false;
      if (completion <= earliest) {
        now = std::max(now, completion);
        completing = operation;
        return Turn::complete(operation);
      }
      // Another group of the warp may have become ready since.
      if (const Instruction *current = nextInstruction(*chosen->warp); current != chosen->next) {
        chosen->next = current;
        continue;
      }
      now = std::max(now, earliest);
      steps = chosen->warp->steps;
      threadInstructions = cluster.threadInstructions;
      return Turn::run(*chosen->warp, 1);
    }
  }

  void ran(Warp &warp, RunState) override {
    Clock &clock = *chosen;
    const Instruction &instruction = *clock.next;
    const bool executed = warp.steps != steps;
    const uint64_t lanes = cluster.threadInstructions - threadInstructions;
    const uint64_t begin = clock.time;
    const uint64_t operands = operandTime(clock, instruction);
    if (operands >= begin + shortestStall)
      recorder.stalled(warp, instruction, begin, operands);
    charge(clock, instruction, executed, lanes);
    const uint64_t ran = operands >= begin + shortestStall ? operands : begin;
    if (clock.time > ran)
      recorder.ran(warp, instruction, ran, clock.time);
    for (size_t i = flights.size(); i < cluster.queue.size(); ++i)
      flights.push_back({cluster.queue.at(i), {recorder.warpTrack(warp), now}, never});
    actor = TracePoint{recorder.warpTrack(warp), now};
    clock.next = nextInstruction(warp);
    if (!clock.next && !warp.done())
      block(clock, instruction);
  }

  void completed(Cluster &) override {
    const Flight flight = std::move(flights[completing]);
    flights.erase(flights.begin() + ptrdiff_t(completing));
    for (size_t i = flights.size(); i < cluster.queue.size(); ++i)
      flights.push_back({cluster.queue.at(i), flight.issued, never});
    const AsyncOperation &operation = *flight.operation;
    actor = operation.work.unit == AsyncWork::Unit::none
                ? flight.issued
                : TracePoint{recorder.engineTrack(*operation.warp->block, operation.work.unit), now};
  }

private:
  static constexpr uint64_t never = std::numeric_limits<uint64_t>::max();
  static constexpr uint32_t operandGranule = 4; ///< bytes: a predicate

  struct Clock {
    Warp *warp = nullptr;
    uint64_t time = 0;                    ///< when it may issue its next instruction
    const Instruction *next = nullptr;    ///< null: it waits or is done
    Wait::Kind reason = Wait::Kind::none; ///< of waiting
    std::vector<uint64_t> operands;       ///< when each register can be used
  };
  /// When each unit of a multiprocessor is free.
  struct Units {
    explicit Units(unsigned schedulers) : issue(schedulers), unit(schedulers) {}
    std::vector<uint64_t> issue;
    std::vector<std::array<uint64_t, executionUnits>>
        unit; ///< of each scheduler; the first holds shared ones
    uint64_t loads = 0, stores = 0, tensorCores = 0;
  };
  struct Flight {
    std::shared_ptr<AsyncOperation> operation;
    TracePoint issued;
    uint64_t end = never; ///< unless it has started
  };

  const InstructionCost &costOfInstruction(const Instruction &instruction) const {
    return costs[size_t(&instruction - cluster.grid->kernel->code.data())];
  }

  uint64_t &freeUnit(const Warp &warp, ExecutionUnit unit) {
    Units &all = units[warp.block->rank];
    const unsigned scheduler = unit == ExecutionUnit::loadStore ? 0 : warp.index % facts.schedulers;
    return all.unit[scheduler][size_t(unit)];
  }

  uint64_t operandTime(const Clock &clock, const Instruction &instruction) const {
    uint64_t time = clock.time;
    for (unsigned i = 0; i < instruction.slotCount; ++i)
      if (const Slot slot = instruction.slots[i]; !slot.constant)
        time = std::max(time, clock.operands[slot.offset / operandGranule]);
    if (instruction.guard != noGuard)
      time = std::max(time, clock.operands[instruction.guard / operandGranule]);
    return time;
  }

  uint64_t issueTime(const Clock &clock) {
    const Warp &warp = *clock.warp;
    const ExecutionUnit unit = costOfInstruction(*clock.next).unit;
    const uint64_t time = operandTime(clock, *clock.next);
    if (unit == ExecutionUnit::none)
      return time;
    return std::max(
        {time, units[warp.block->rank].issue[warp.index % facts.schedulers], freeUnit(warp, unit)});
  }

  /// Moves the clocks on over an instruction issued now.
  void charge(Clock &clock, const Instruction &instruction, bool executed, uint64_t lanes) {
    const InstructionCost &cost = costOfInstruction(instruction);
    const Warp &warp = *clock.warp;
    Units &multiprocessor = units[warp.block->rank];
    uint64_t result = now;
    if (cost.unit == ExecutionUnit::none) {
      clock.time = std::max(clock.time, now);
    } else {
      multiprocessor.issue[warp.index % facts.schedulers] = now + 1;
      clock.time = now + 1;
      if (executed) {
        freeUnit(warp, cost.unit) = now + cost.cycles;
        result = now + cost.latency;
        trace.threadBytesIn += cost.loadBytes * lanes;
        trace.threadBytesOut += cost.storeBytes * lanes;
        if (cost.loadBytes != 0) {
          multiprocessor.loads =
              std::max(multiprocessor.loads, now) + ceilDiv(cost.loadBytes * lanes, facts.loadBytesPerCycle);
          result = multiprocessor.loads + cost.latency;
        }
        if (cost.storeBytes != 0)
          multiprocessor.stores = std::max(multiprocessor.stores, now) +
                                  ceilDiv(cost.storeBytes * lanes, facts.storeBytesPerCycle);
      }
    }
    if (executed)
      for (unsigned i = 0; i < instruction.slotCount; ++i)
        if (const Slot slot = instruction.slots[i]; slot.written)
          clock.operands[slot.offset / operandGranule] = result;
  }

  void block(Clock &clock, const Instruction &instruction) {
    const Warp &warp = *clock.warp;
    const auto waits = [](const Group &group) {
      return group.wait.kind != Wait::Kind::none && group.wait.kind != Wait::Kind::lanes;
    };
    auto group = std::find_if(warp.groups.begin(), warp.groups.end(), waits);
    if (group == warp.groups.end())
      group = warp.groups.begin();
    clock.reason = group->wait.kind;
    const Instruction &at = group->wait.kind == Wait::Kind::none ? instruction : warp.code[group->pc];
    recorder.waits(warp, *group, at, clock.time);
  }

  /// Lets go on who has been waiting for what the last turn did.
  void wake() {
    if (seenProgress == cluster.progress)
      return;
    seenProgress = cluster.progress;
    for (Clock &clock : clocks) {
      if (clock.next || clock.warp->done())
        continue;
      clock.next = nextInstruction(*clock.warp);
      if (!clock.next)
        continue;
      const unsigned latency =
          clock.reason == Wait::Kind::warpgroup ? facts.matrixLatency : facts.barrierLatency;
      clock.time = std::max(clock.time, now + latency);
      recorder.goesOn(*clock.warp, clock.time, actor);
    }
    recorder.lookAtRings(now);
  }

  /// Hands operations that are ready to their engines.
  void start() {
    for (size_t i = 0; i < flights.size(); ++i)
      if (flights[i].end == never && cluster.queue.isReady(i))
        flights[i].end = run(flights[i]);
  }

  /// When an operation that starts now is complete.
  uint64_t run(const Flight &flight) {
    const AsyncOperation &operation = *flight.operation;
    const AsyncWork &work = operation.work;
    Block &own = *operation.warp->block;
    Units &multiprocessor = units[own.rank];
    switch (work.unit) {
    case AsyncWork::Unit::none:
      break;
    case AsyncWork::Unit::load: {
      const bool bulk = operation.instruction->name.starts_with("cp.async.bulk");
      const uint64_t cycles = ceilDiv(work.bytes, facts.loadBytesPerCycle),
                     latency = bulk ? facts.copyLatency : facts.globalLatency;
      uint64_t end = now;
      for (Block &block : cluster.blocks) {
        if (work.blocks == 0 ? &block != &own : !(work.blocks >> block.rank & 1))
          continue;
        uint64_t &free = units[block.rank].loads;
        free = std::max(free, now) + cycles;
        recorder.operation(operation, block, flight.issued, free - cycles + latency, free + latency);
        end = std::max(end, free + latency);
      }
      return end;
    }
    case AsyncWork::Unit::store:
    case AsyncWork::Unit::remote: {
      const bool remote = work.unit == AsyncWork::Unit::remote;
      const uint64_t cycles = ceilDiv(work.bytes, facts.storeBytesPerCycle);
      multiprocessor.stores = std::max(multiprocessor.stores, now) + cycles;
      recorder.operation(operation, own, flight.issued, multiprocessor.stores - cycles,
                         multiprocessor.stores);
      return multiprocessor.stores + (remote ? facts.remoteLatency : facts.copyLatency);
    }
    case AsyncWork::Unit::tensorCores: {
      const uint64_t cycles = matrixCycles(work.multiplyAdds, work.operandBits, work.bytes, facts);
      multiprocessor.tensorCores = std::max(multiprocessor.tensorCores, now) + cycles;
      recorder.operation(operation, own, flight.issued, multiprocessor.tensorCores - cycles,
                         multiprocessor.tensorCores);
      return multiprocessor.tensorCores;
    }
    }
    return now;
  }

  /// The first to complete of those that have started.
  size_t firstOperation() const {
    size_t first = flights.size();
    for (size_t i = 0; i < flights.size(); ++i)
      if (flights[i].end != never && (first == flights.size() || flights[i].end < flights[first].end))
        first = i;
    return first;
  }

  Cluster &cluster;
  const TimingFacts &facts;
  Trace &trace;
  Recorder recorder;
  std::vector<InstructionCost> costs; ///< of each instruction of the kernel
  std::vector<Clock> clocks;
  std::vector<Units> units;    ///< of each block
  std::vector<Flight> flights; ///< as in the cluster's queue
  uint64_t now = 0;
  uint64_t seenProgress = never;
  std::optional<TracePoint> actor; ///< of the last turn
  bool finished = false;
  // The turn under way.
  Clock *chosen = nullptr;
  size_t completing = 0;
  uint64_t steps = 0, threadInstructions = 0;
};

} // namespace

std::unique_ptr<Schedule> createTimedSchedule(Cluster &cluster, std::span<const NamedTensor> tensors,
                                              Trace &trace) {
  return std::make_unique<TimedSchedule>(cluster, tensors, trace);
}

} // namespace tlc::emulator
