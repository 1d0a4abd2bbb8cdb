// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/CopyEngine.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/core/PollingDeadlock.h"
#include "runtime/emulator/report/DeviceNumber.h"
#include "runtime/support/Math.h"

#include <cassert>
#include <fmt/format.h>
#include <numeric>
#include <thread>

namespace tlc::emulator {

namespace {

constexpr unsigned threadsOfBlock = 128;
constexpr uint64_t mostBlocks = 64;

/// Parameters of the kernel, each of 64 bits.
enum Parameter : size_t {
  fromAddress,
  toAddress,
  unitsOfRow, ///< what a thread copies at once
  rows,
  allUnits,
  fromPitch,
  toPitch,
  fromSlice, ///< bytes
  toSlice,
  unitBytes,
  countAddress, ///< set instead, if there are no units
  countValue,
  parameterCount
};

constexpr std::string_view copyLoop = R"(
COPY:
  setp.ge.u64 %p, %n, %all;
  @%p bra DONE;
  div.u64 %q, %n, %units;
  mul.lo.u64 %t, %q, %units;
  sub.u64 %u, %n, %t;
  div.u64 %s, %q, %rows;
  mul.lo.u64 %t, %s, %rows;
  sub.u64 %r, %q, %t;
  mul.lo.u64 %u, %u, %unit;
  mad.lo.u64 %a, %r, %fromPitch, %from;
  mad.lo.u64 %a, %s, %fromSlice, %a;
  add.u64 %a, %a, %u;
  mad.lo.u64 %b, %r, %toPitch, %to;
  mad.lo.u64 %b, %s, %toSlice, %b;
  add.u64 %b, %b, %u;
  add.u64 %n, %n, %step;
  setp.eq.u64 %p, %unit, 16;
  @%p bra BYTES16;
  setp.eq.u64 %p, %unit, 8;
  @%p bra BYTES8;
  setp.eq.u64 %p, %unit, 4;
  @%p bra BYTES4;
  setp.eq.u64 %p, %unit, 2;
  @%p bra BYTES2;
  ld.global.u8 %w0, [%a];
  st.global.u8 [%b], %w0;
  bra COPY;
BYTES2:
  ld.global.u16 %h, [%a];
  st.global.u16 [%b], %h;
  bra COPY;
BYTES4:
  ld.global.u32 %w0, [%a];
  st.global.u32 [%b], %w0;
  bra COPY;
BYTES8:
  ld.global.u64 %t, [%a];
  st.global.u64 [%b], %t;
  bra COPY;
BYTES16:
  ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%a];
  st.global.v4.u32 [%b], {%w0, %w1, %w2, %w3};
  bra COPY;
)";

/// Loads the parameters, copies in a loop over all units, and sets the count. Waits for it are of the scope
/// of the system.
std::string kernelText(std::string_view name) {
  constexpr std::string_view registers[] = {"from",    "to",        "units",   "rows", "all",   "fromPitch",
                                            "toPitch", "fromSlice", "toSlice", "unit", "count", "value"};
  static_assert(std::size(registers) == parameterCount);
  std::string declared, loaded;
  for (size_t i = 0; i < parameterCount; ++i) {
    declared += fmt::format("{}.param .u64 parameter{}", i ? ", " : "", i);
    loaded += fmt::format("  .reg .u64 %{0};\n  ld.param.u64 %{0}, [parameter{1}];\n", registers[i], i);
  }
  return fmt::format(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {}({})\n{{\n"
                     "  .reg .u64 %n, %step, %q, %t, %u, %s, %r, %a, %b;\n"
                     "  .reg .u32 %w0, %w1, %w2, %w3, %block, %blocks, %thread, %threads;\n"
                     "  .reg .u16 %h;\n  .reg .pred %p;\n{}"
                     "  mov.u32 %block, %ctaid.x;\n  mov.u32 %blocks, %nctaid.x;\n"
                     "  mov.u32 %thread, %tid.x;\n  mov.u32 %threads, %ntid.x;\n"
                     "  mul.wide.u32 %step, %blocks, %threads;\n  mul.wide.u32 %n, %block, %threads;\n"
                     "  cvt.u64.u32 %t, %thread;\n  add.u64 %n, %n, %t;\n{}"
                     "DONE:\n  setp.eq.u64 %p, %count, 0;\n  @%p bra END;\n"
                     "  setp.ne.u32 %p, %thread, 0;\n  @%p bra END;\n"
                     "  cvt.u32.u64 %w0, %value;\n  st.release.sys.global.u32 [%count], %w0;\n"
                     "END:\n  ret;\n}}\n",
                     name, declared, loaded, copyLoop);
}

} // namespace

std::shared_ptr<const Program> loadCopies(std::string_view transfer) {
  std::string name(transfer);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  auto program = loadProgram(kernelText(name));
  assert(program && "the kernel of a transfer is valid PTX");
  return *program;
}

Result<void> CopyEngine::launch(const Program &program, std::span<const uint64_t> parameters, uint64_t units,
                                Machine &machine) const {
  static const LaunchNames none;
  LaunchConfiguration configuration;
  configuration.entry = program.kernels.begin()->first;
  configuration.block = {units == 0 ? 1 : threadsOfBlock, 1, 1};
  configuration.grid = {uint32_t(std::clamp<uint64_t>(ceilDiv(units, threadsOfBlock), 1, mostBlocks)), 1, 1};
  configuration.parameters = std::as_bytes(parameters);
  configuration.tensors = given.tensors;
  configuration.names = &none;
  const auto done = runGrid(program, configuration, given.memory, machine);
  return done ? Result<void>() : Result<void>(done.error());
}

Result<void> CopyEngine::copy(const Program &program, const PlannedCopy &copy, Machine &machine) const {
  std::array<uint64_t, parameterCount> parameters = {};
  parameters[fromAddress] = reinterpret_cast<uint64_t>(copy.from);
  parameters[toAddress] = reinterpret_cast<uint64_t>(copy.to);
  parameters[rows] = copy.rows;
  parameters[fromPitch] = copy.fromPitch;
  parameters[toPitch] = copy.toPitch;
  parameters[fromSlice] = copy.fromRows * copy.fromPitch;
  parameters[toSlice] = copy.toRows * copy.toPitch;
  uint64_t unit = 16;
  for (uint64_t number : {parameters[fromAddress], parameters[toAddress], uint64_t(copy.bytes),
                          uint64_t(copy.fromPitch), uint64_t(copy.toPitch)})
    unit = std::gcd(unit, number);
  parameters[unitBytes] = unit;
  parameters[unitsOfRow] = copy.bytes / unit;
  parameters[allUnits] = copy.bytes / unit * copy.rows * copy.slices;
  return launch(program, parameters, parameters[allUnits], machine);
}

Result<void> CopyEngine::run(Round round) {
  const Program &program = *given.programs[round.transfer];
  Findings findings;
  Machine machine = given.machine;
  machine.findings = &findings;
  machine.makeObserver = observeRaces(given.raceCheck, round.beside ? &*round.beside : &order);
  if (round.beside)
    machine.device = round.device;
  Result<void> done;
  for (const PlannedCopy &each : round.planned->copies)
    if (done)
      done = copy(program, each, machine);
  if (done && round.planned->count) {
    std::array<uint64_t, parameterCount> parameters = {};
    parameters[countAddress] = reinterpret_cast<uint64_t>(round.planned->count);
    parameters[countValue] = uint64_t(round.planned->value);
    done = launch(program, parameters, 0, machine);
  }
  if (given.onFindings && !findings.empty())
    given.onFindings(findings);
  if (round.beside) {
    auto over = std::make_shared<Foreign>();
    over->end(size_t(round.device), order.shadow->next());
    joinForeign(ended, round.beside->known);
    joinForeign(ended, std::move(over));
  }
  return done;
}

Result<void> CopyEngine::begin(size_t number) {
  const PlannedTransfer &transfer = given.plan.transfers[number];
  const bool isBeside = transfer.until > transfer.after;
  if (!isBeside)
    if (auto joined = join(); !joined)
      return joined;
  std::optional<LaunchOrder> fork; // after all launches before
  for (const PlannedRound &round : transfer.rounds) {
    if (!isBeside || round.isInOrder) {
      if (auto done = run({number, &round}); !done)
        return done;
      continue;
    }
    if (!fork) {
      auto known = std::make_shared<Foreign>();
      known->end(size_t(given.machine.device), order.shadow->next());
      fork = order;
      joinForeign(fork->known, std::move(known));
      until = std::exchange(isUnderWay, true) ? std::min(until, transfer.until) : transfer.until;
    }
    const Round beside = {number, &round, fork, copyEngineOf(given.machine.device, roundsBeside++)};
    if (given.time == TransferTime::late)
      pending.push_back(beside);
    else if (auto done = run(beside); !done)
      return done;
  }
  return {};
}

Result<void> CopyEngine::reach(size_t launch) {
  if (isUnderWay && launch >= until)
    if (auto joined = join(); !joined)
      return joined;
  const std::vector<PlannedTransfer> &transfers = given.plan.transfers;
  for (; nextTransfer < transfers.size() && transfers[nextTransfer].after == launch; ++nextTransfer)
    if (auto begun = begin(nextTransfer); !begun)
      return begun;
  return launch == given.plan.launches.size() ? join() : Result<void>();
}

Result<void> CopyEngine::join() {
  if (!std::exchange(isUnderWay, false))
    return {};
  for (; !pending.empty(); pending.pop_front())
    if (auto done = run(pending.front()); !done)
      return done;
  joinForeign(order.known, ended);
  return {};
}

Result<LaunchStatistics> CopyEngine::beside(const std::function<Result<LaunchStatistics>()> &launch) {
  if (pending.empty())
    return launch();
  Progress &progress = *given.machine.progress;
  bool stopped = false;
  Result<void> copied;
  progress.addLate();
  std::thread late([&] {
    for (bool isLate = true; isLate && progress.waitUntilStill(stopped);) {
      copied = run(pending.front());
      pending.pop_front();
      isLate = copied && !pending.empty();
      progress.hasDone(isLate);
    }
  });
  Result<LaunchStatistics> done = launch();
  progress.stopWaiting(stopped);
  late.join();
  return copied ? std::move(done) : Result<LaunchStatistics>(copied.error());
}

} // namespace tlc::emulator
