// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/origin/OriginSearch.h"

#include "runtime/emulator/exec/async/BulkOperands.h"
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/math/TensorPlaces.h"
#include "runtime/emulator/origin/QuietObserver.h"
#include "runtime/emulator/origin/SearchState.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// Of one lane's log.
constexpr size_t mostValues = size_t(1) << 23;
constexpr uint64_t sharedMask = (uint64_t(1) << sharedRankShift) - 1;

/// An asynchronous copy.
struct CopyNote final : OperationNote {
  FindingSite site;
  ThreadPlace thread;
  std::optional<BulkOperands> bulk;
};

/// Whether `bytes` bytes from `first` on have the place's first byte; the bytes before it.
template <class Address> std::optional<uint64_t> offsetIn(Address place, Address first, uint64_t bytes) {
  const uint64_t offset = uint64_t(place) - uint64_t(first);
  return offset < bytes ? std::optional(offset) : std::nullopt;
}

std::optional<OperandPlace> storedOperand(const ThreadPlace &thread, uint64_t moment, uint32_t pc,
                                          std::string_view name, uint64_t offset) {
  if (name.starts_with("st.") && !name.starts_with("st.async") && !name.starts_with("st.bulk")) {
    const unsigned bytes = elementBytesOf(name);
    OperandPlace place{thread, moment, pc, 1 + unsigned(offset / bytes)};
    if (bytes == 4)
      place.half = unsigned(offset % bytes / 2);
    return place;
  }
  if (!name.starts_with("stmatrix") || !hasPart(name, "m8n8") || !name.ends_with("b16"))
    return std::nullopt;
  // Lane 8 m + r has the address of row r of matrix m.
  const unsigned row = thread.lane % 8, matrix = thread.lane / 8, column = unsigned(offset / 2);
  OperandPlace place{thread, moment, pc, 1 + matrix};
  place.thread.lane = hasPart(name, ".trans") ? 4 * column + row / 2 : 4 * row + column / 2;
  place.half = hasPart(name, ".trans") ? row % 2 : column % 2;
  return place;
}

} // namespace

/// Answers the questions of a run in one cluster.
class OriginObserver final : public QuietObserver {
public:
  OriginObserver(OriginState &state, Cluster &cluster, size_t launch)
      : state(state), cluster(cluster), launch(launch) {}

  void clusterEnds() override {
    for (const OperandQuestion &question : state.operands)
      if (question.place.thread.launch == launch && question.place.thread.cluster == cluster.index)
        explain(state, question, cluster.blocks[question.place.thread.rank]);
  }

  void execute(Warp &warp, const Instruction &instruction, uint32_t lanes) override {
    ++state.now;
    for (OperandQuestion &question : state.operands) {
      const ThreadPlace &thread = question.place.thread;
      if (thread.launch == launch && thread.cluster == cluster.index && thread.rank == warp.block->rank &&
          thread.warp == warp.index && lanes >> thread.lane & 1 && state.now <= question.place.moment)
        log(question, warp, instruction);
    }
  }

  void issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used, uint32_t number,
                  Note &note) override {
    for (OperandQuestion &question : state.operands)
      if (!question.log.empty() && question.log.back().moment == state.now)
        for (const Slot &slot : used.accumulators)
          question.log.back().results.push_back(slot.offset);
    QuietObserver::issueWgmma(warp, instruction, used, number, note);
  }
  std::shared_ptr<OperationNote> issueCopy(const Warp &warp, const Instruction &instruction, AsyncEngine,
                                           uint32_t lanes, bool) override {
    return note(warp, instruction, unsigned(std::countr_zero(lanes)));
  }
  std::shared_ptr<OperationNote> issueOnMbarrier(const Warp &warp, const Instruction &instruction,
                                                 unsigned lane, bool) override {
    return note(warp, instruction, lane);
  }
  void run(OperationNote *operation) override {
    if (operation)
      ++state.now;
    running = dynamic_cast<CopyNote *>(operation);
    lastRead.reset();
  }

  void access(Warp &warp, const Instruction &instruction, const Touch &access, Block &block,
              uint32_t address) override {
    if (access.kind == AccessKind::read)
      return read(access, sharedPlaceAt(block, address));
    if (isWrite(access.kind))
      write(warp, instruction, access.lane, access, [&](const WriterQuestion &question) {
        return isHere(question.place, block) ? offsetIn(question.place.address, address, access.bytes)
                                             : std::nullopt;
      });
  }
  void accessLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                   const LaneAddresses64 &addresses, Block &block) override {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      Touch one = each;
      one.lane = unsigned(std::countr_zero(left));
      access(warp, instruction, one, block, uint32_t(addresses.lane[one.lane] & sharedMask));
    }
  }
  void accessGlobal(Warp &warp, const Instruction &instruction, const Touch &access) override {
    const uint64_t address = inMemory(*cluster.grid, access.address);
    if (access.kind == AccessKind::read) {
      if (running)
        if (auto tensor = tensorAt(*cluster.grid, address, 1))
          read(access, {.global = std::move(*tensor)});
    } else if (isWrite(access.kind)) {
      write(warp, instruction, access.lane, access, [&](const WriterQuestion &question) {
        return question.address ? offsetIn(*question.address, address, access.bytes) : std::nullopt;
      });
    }
  }
  void accessGlobalLanes(Warp &warp, const Instruction &instruction, uint32_t lanes, const Touch &each,
                         const LaneAddresses64 &addresses) override {
    if (!isWrite(each.kind))
      return;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      Touch one = each;
      one.lane = unsigned(std::countr_zero(left));
      one.address = addresses.lane[one.lane];
      accessGlobal(warp, instruction, one);
    }
  }

private:
  struct Read {
    unsigned lane;
    uint64_t bytes;
    MemoryPlace place;
  };

  static bool isWrite(AccessKind kind) { return kind == AccessKind::write || kind == AccessKind::atomic; }
  bool isHere(const MemoryPlace &place, const Block &block) const {
    return !place.global && place.launch == launch && place.cluster == cluster.index &&
           place.rank == block.rank;
  }
  MemoryPlace sharedPlaceAt(const Block &block, uint32_t address) const {
    return {.launch = launch, .cluster = cluster.index, .rank = block.rank, .address = address};
  }
  ThreadPlace threadOf(const Warp &warp, unsigned lane) const {
    return {launch, cluster.index, warp.block->rank, warp.index, lane < warpSize ? lane : 0};
  }
  std::shared_ptr<OperationNote> note(const Warp &warp, const Instruction &instruction, unsigned lane) {
    auto note = std::make_shared<CopyNote>();
    note->site = siteOf(warp, instruction);
    note->thread = threadOf(warp, lane);
    note->bulk = bulkOperandsOf(const_cast<Warp &>(warp), instruction, lane); // registers are read alone
    if (note->bulk)
      note->site.lane = lane;
    return note;
  }
  void read(const Touch &access, MemoryPlace place) {
    if (running)
      lastRead = {access.lane, access.bytes, std::move(place)};
  }

  /// `offsetOf` gives the offset of a question's place in what is written.
  template <class F>
  void write(Warp &warp, const Instruction &instruction, unsigned lane, const Touch &access, F offsetOf) {
    for (WriterQuestion &question : state.writers) {
      if (state.now >= question.place.before)
        continue;
      const std::optional<uint64_t> offset = offsetOf(question);
      if (!offset)
        continue;
      LastWrite last;
      if (running) {
        copied(last, access, question.place, *offset, lane);
      } else {
        last.site = siteOf(warp, instruction);
        if (lane < warpSize)
          last.site.lane = lane;
        last.text = access.kind == AccessKind::atomic ? "combines a value with" : "writes";
        if (access.kind == AccessKind::write)
          last.operand = storedOperand(threadOf(warp, lane), state.now, uint32_t(&instruction - warp.code),
                                       instruction.name, *offset);
        if (last.operand) {
          const Slot &slot = instruction.slots[last.operand->slot];
          last.site.lane = last.operand->thread.lane;
          const unsigned size = elementBytesOf(instruction.name);
          uint64_t bits = valueOf(warp, slot, last.operand->thread.lane);
          bits >>= instruction.name.starts_with("stmatrix") ? 16 * last.operand->half.value_or(0)
                                                            : 8 * (*offset % size);
          if (!question.place.global)
            last.text += " " + valueText(instruction.name, bits);
          if (question.place.bytes != 2)
            last.operand->half.reset();
          last.bits =
              question.place.bytes >= 8 ? bits : bits & ((uint64_t(1) << 8 * question.place.bytes) - 1);
        }
      }
      question.last = std::move(last);
    }
  }

  /// What the running copy writes to the place.
  void copied(LastWrite &last, const Touch &access, const MemoryPlace &to, uint64_t offset, unsigned lane) {
    last.site = running->site;
    last.text = access.kind == AccessKind::atomic ? "combines what it copies with" : "copies to";
    if (access.kind == AccessKind::atomic)
      return;
    std::optional<MemoryPlace> from;
    const std::optional<BulkOperands> &bulk = running->bulk;
    if (bulk && bulk->map) {
      from = placeInBox(*bulk, to, access.address + offset);
      if (!from)
        last.text = "fills with what is outside of the tensor";
    } else if (lastRead && lastRead->bytes > offset && (lastRead->lane == lane || lane >= warpSize)) {
      from = lastRead->place;
      if (from->global)
        from->global->offset += offset;
      else
        from->address += uint32_t(offset);
    }
    if (!from)
      return;
    from->bytes = to.global ? to.global->bytes : to.bytes;
    if (from->global)
      from->global->bytes = from->bytes;
    from->before = state.now;
    last.copied = std::move(from);
  }

  /// The other side of a tensor copy.
  std::optional<MemoryPlace> placeInBox(const BulkOperands &bulk, const MemoryPlace &to, uint64_t address) {
    if (bulk.toGlobal) {
      const auto shared = sharedPlaceOf(*bulk.map, bulk.coordinates, BoxUse::store,
                                        uint32_t(bulk.from & sharedMask), address);
      if (!shared)
        return std::nullopt;
      return sharedPlaceAt(cluster.blocks[running->thread.rank], *shared);
    }
    const auto global =
        globalPlaceOf(*bulk.map, bulk.coordinates, BoxUse::load, uint32_t(bulk.to & sharedMask), to.address);
    if (!global)
      return std::nullopt;
    std::optional<TensorBytes> tensor = tensorAt(*cluster.grid, inMemory(*cluster.grid, *global), to.bytes);
    return tensor ? std::optional(MemoryPlace{.global = std::move(tensor)}) : std::nullopt;
  }

  static uint64_t valueOf(const Warp &warp, const Slot &slot, unsigned lane) {
    if (slot.bytes == 0)
      return warp.predicate(slot) >> lane & 1;
    const unsigned bytes = std::min<unsigned>(slot.bytes, 8);
    uint64_t bits = 0;
    std::memcpy(&bits, warp.read(slot) + size_t(lane) * bytes, bytes);
    return bits;
  }

  void log(OperandQuestion &question, const Warp &warp, const Instruction &instruction) {
    if (question.values.size() > mostValues) {
      question.isWhole = false;
      question.log.clear();
      question.values.clear();
    }
    question.log.push_back({state.now, uint32_t(&instruction - warp.code), question.values.size()});
    for (const Slot &slot : std::span(instruction.slots, instruction.slotCount))
      question.values.push_back(valueOf(warp, slot, question.place.thread.lane));
  }

  OriginState &state;
  Cluster &cluster;
  size_t launch;
  CopyNote *running = nullptr;
  std::optional<Read> lastRead; ///< of the running copy
};

class OriginLaunch final : public LaunchObserver {
public:
  explicit OriginLaunch(OriginState &state) : state(state), launch(state.launches++) {}

  void begin(const Grid &grid) override {
    for (WriterQuestion &question : state.writers) {
      question.address.reset();
      if (!question.place.global)
        continue;
      const auto tensor = std::ranges::find(grid.tensors, question.place.global->tensor, &NamedTensor::name);
      if (tensor != grid.tensors.end())
        question.address = tensor->address + question.place.global->offset;
    }
  }
  std::unique_ptr<Observer> observe(Cluster &cluster) override {
    return std::make_unique<OriginObserver>(state, cluster, launch);
  }
  void end() override {}

private:
  OriginState &state;
  size_t launch;
};

OriginSearch::OriginSearch(TensorBytes element, size_t mostSteps)
    : state(std::make_unique<OriginState>(element, mostSteps)) {
  const unsigned bytes = element.bytes;
  state->nextWriters.push_back(
      {.place = {.global = std::move(element), .bytes = bytes, .before = ~uint64_t(0)}});
}
OriginSearch::~OriginSearch() = default;

bool OriginSearch::needsRun() const {
  return !state->isFull() && !(state->nextWriters.empty() && state->nextOperands.empty());
}

void OriginSearch::beginRun() {
  state->writers = std::exchange(state->nextWriters, {});
  state->operands = std::exchange(state->nextOperands, {});
  state->now = 0;
  state->launches = 0;
}

std::unique_ptr<LaunchObserver> OriginSearch::observe() { return std::make_unique<OriginLaunch>(*state); }

void OriginSearch::endRun() {
  for (WriterQuestion &question : state->writers) {
    const std::optional<TensorBytes> &global = question.place.global;
    if (!question.last) {
      if (!global || state->steps.empty()) // of what is read, the value before the launch
        state->add({.text = "nothing has written it", .element = global, .reader = question.reader});
      continue;
    }
    LastWrite &last = *question.last;
    const std::optional<size_t> step = state->add({.site = last.site,
                                                   .text = std::move(last.text),
                                                   .element = global,
                                                   .bits = last.bits,
                                                   .reader = question.reader});
    if (!step)
      return;
    if (last.operand)
      state->nextOperands.push_back({.place = *last.operand, .reader = *step});
    if (last.copied && last.copied->global)
      state->askAfterRead(std::move(*last.copied), last.site, *step);
    else if (last.copied)
      state->nextWriters.push_back({.place = std::move(*last.copied), .reader = *step});
  }
}

std::span<const OriginStep> OriginSearch::steps() const { return state->steps; }

} // namespace tlc::emulator
