// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorDevice.h"

#include "runtime/artifact/Verify.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/emulator/CopyEngine.h"
#include "runtime/emulator/EmulatedMemory.h"
#include "runtime/emulator/EmulatorStreams.h"
#include "runtime/emulator/LaunchQueue.h"
#include "runtime/emulator/LaunchTensors.h"
#include "runtime/emulator/check/DeviceOrder.h"
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/TensorMap.h"
#include "runtime/emulator/trace/TimedSchedule.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

namespace tlc {

namespace {

constexpr std::string_view defaultTarget = "sm_90a";

class EmulatedProgram : public LoadedProgram, public std::enable_shared_from_this<EmulatedProgram> {
public:
  using Programs = std::vector<std::shared_ptr<const emulator::Program>>;
  EmulatedProgram(Artifact artifact, Programs programs, std::vector<Programs> transfers)
      : programs(std::move(programs)), transfers(std::move(transfers)), source(std::move(artifact)) {}
  const Artifact &artifact() const override { return source; }

  const Programs programs;               ///< one per variant
  const std::vector<Programs> transfers; ///< of each variant one per transfer
  mutable std::mutex reporting;          ///< launches that share a buffer of reports run one after the other

private:
  Artifact source;
};

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

Result<void> placeTensorMap(const PlannedTensorMap &planned, std::vector<std::byte> &parameters) {
  const emulator::EmulatedTensorMap map = emulator::tensorMapOf(planned.values);
  if (auto ok = emulator::checkTensorMap(map); !ok)
    return ok;
  const auto bytes = emulator::encodeTensorMap(map);
  std::copy(bytes.begin(), bytes.end(), parameters.begin() + ptrdiff_t(planned.offset));
  return {};
}

/// Of a launch that they do not make fail; the text of an error has the others.
void printWarnings(const Findings &findings) {
  if (findings.count(FindingLevel::error) == 0)
    fmt::print(stderr, "{}\n", findings.text());
}

std::optional<size_t> bytesOfReportBuffer(const emulator::Program &program) {
  const auto found = program.storage.find(reportBufferName);
  return found == program.storage.end() ? std::nullopt : std::optional(found->second.variable->bytes);
}

/// What devices that are emulated together have in common.
struct Machines {
  explicit Machines(unsigned devices) : progress(devices), order(devices) {}
  EmulatedMemory memory;
  emulator::Progress progress;
  emulator::DeviceOrder order;
};

class EmulatorDevice : public Device {
public:
  enum class Launches : uint8_t { complete, queued };

  EmulatorDevice(EmulatorOptions options, int ordinal, std::shared_ptr<Machines> machines, Launches launches)
      : machines(std::move(machines)) {
    machine.target = options.target ? options.target : findTarget(defaultTarget);
    machine.multiprocessors = std::max(1, options.multiprocessors);
    machine.hostThreads =
        options.hostThreads != 0 ? options.hostThreads : std::max(1u, std::thread::hardware_concurrency());
    machine.maximumSteps = options.maximumSteps;
    raceCheck = options.raceCheck;
    transferTime = options.scheduleSeed.value_or(0) % 2 == 1 ? TransferTime::late : options.transfers;
    machine.scheduleSeed = options.scheduleSeed;
    machine.device = ordinal;
    machine.devices = this->machines->order.size();
    machine.progress = &this->machines->progress;
    machine.print = options.print;
    machine.failsBy = emulator::failsBy(raceCheck);
    onFindings = std::move(options.onFindings);
    if (!onFindings && raceCheck == RaceCheck::on)
      onFindings = printWarnings;
    request = options.trace;
    const std::string_view name = machine.target->name;
    deviceProperties = {fmt::format("emulator ({})", name), std::string(name), machine.multiprocessors,
                        ordinal};
    if (launches == Launches::queued)
      queue.emplace();
  }
  ~EmulatorDevice() override {
    queue.reset();
    machines->order.wait(ordinal());
    machines->memory.freeAll(ordinal());
  }

  const DeviceProperties &properties() const override { return deviceProperties; }

  Result<void *> allocate(size_t bytes, std::optional<Stream>) override {
    auto memory = machines->memory.allocate(ordinal(), bytes, raceCheck);
    if (memory)
      machines->order.allocated(*memory, bytes);
    return memory;
  }

  Result<void> free(void *address, std::optional<Stream>) override {
    if (queue)
      queue->drain();
    machines->order.wait(ordinal());
    return machines->memory.free(ordinal(), address);
  }

  Result<void *> allocateHost(size_t bytes) override { return hostMemory.allocate(bytes); }
  Result<void> freeHost(void *address) override { return hostMemory.free(address); }

  Result<void> copyToDevice(void *device, const void *host, size_t bytes, std::optional<Stream>) override {
    if (auto ok = finish(); !ok)
      return ok;
    if (auto ok = machines->memory.check(ordinal(), device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(device, host, bytes);
    machines->memory.markWritten(device, bytes);
    return {};
  }

  Result<void> copyToHost(void *host, const void *device, size_t bytes, std::optional<Stream>) override {
    if (auto ok = finish(); !ok)
      return ok;
    if (auto ok = machines->memory.check(ordinal(), device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(host, device, bytes);
    return {};
  }

  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override {
    if (Result<void> valid = verify(artifact); !valid)
      return valid.error();
    if (!findTarget(artifact.target)->runsOn(machine.target->computeMajor, machine.target->computeMinor))
      return invalid(fmt::format("'{}' is compiled for {}, which the emulator of {} does not run",
                                 artifact.name, artifact.target, machine.target->name));
    EmulatedProgram::Programs programs;
    std::vector<EmulatedProgram::Programs> transfers;
    for (const Variant &variant : artifact.variants) {
      auto program = emulator::loadProgram(variant.ptx);
      if (!program)
        return program.error();
      if (auto ok = emulator::checkTarget(**program, *machine.target); !ok)
        return ok.error();
      if (!variant.reports.empty())
        if (auto ok = checkReportBuffer(artifact.name, bytesOfReportBuffer(**program)); !ok)
          return ok.error();
      programs.push_back(std::move(*program));
      transfers.emplace_back();
      for (const Transfer &transfer : variant.transfers)
        transfers.back().push_back(emulator::loadCopies(transfer.name));
    }
    return std::shared_ptr<const LoadedProgram>(
        std::make_shared<EmulatedProgram>(std::move(artifact), std::move(programs), std::move(transfers)));
  }

  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &loaded,
                                                  const LaunchArguments &arguments) override {
    Result<std::shared_ptr<const ReadyLaunch>> ready = makeReady(loaded, arguments);
    if (!ready)
      return ready.error();
    return std::unique_ptr<PreparedLaunch>(std::make_unique<Prepared>(*this, std::move(*ready)));
  }

  Result<void> synchronize(Stream) override { return finish(); }

  Result<void> clear(void *address, size_t bytes, Stream) override {
    if (auto ok = finish(); !ok)
      return ok;
    return clearNow(ordinal(), static_cast<std::byte *>(address), bytes);
  }

  Result<std::unique_ptr<OwnedStream>> createStream() override {
    return std::unique_ptr<OwnedStream>(std::make_unique<EmulatorStream>());
  }

  Result<std::unique_ptr<const Event>> record(Stream, EventTime time) override {
    if (auto ok = finish(); !ok)
      return ok.error();
    return std::unique_ptr<const Event>(std::make_unique<EmulatorEvent>(time, this));
  }

  Result<double> elapsed(const Event &from, const Event &to) override {
    return EmulatorEvent::elapsed(from, to, this, deviceProperties.name);
  }

  Result<void> wait(const Event &event, Stream) override {
    if (!dynamic_cast<const EmulatorEvent *>(&event))
      return invalid(fmt::format("expected an event of an emulated device for {} to wait for, but got one "
                                 "of a GPU",
                                 deviceProperties.name));
    return {};
  }

  Result<void> enablePeerAccess(Device &peer) override {
    auto other = neighbour(peer);
    if (!other)
      return other.error();
    const std::lock_guard lock(mutex);
    peers.insert((*other)->ordinal());
    return {};
  }

  Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) override {
    auto other = neighbour(source);
    if (!other)
      return other.error();
    if (auto ok = (*other)->finish(); !ok)
      return ok;
    if (auto ok = finish(); !ok)
      return ok;
    if (auto ok = machines->memory.check((*other)->ordinal(), address, bytes); !ok)
      return ok;
    if (auto ok = machines->memory.check(ordinal(), destination, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(destination, address, bytes);
    machines->memory.copyWritten(destination, address, bytes);
    return {};
  }

  EmulatorStatistics statistics() const {
    const std::lock_guard lock(mutex);
    return executed;
  }

private:
  /// What the arguments of a launch say of memory.
  struct LaunchMemory {
    LaunchArguments arguments;
    std::vector<emulator::NamedTensor> tensors;
    std::vector<emulator::MulticastRange> multicast;
  };

  /// A launch that is checked; queued ones keep theirs when an address changes.
  struct ReadyLaunch {
    const EmulatedProgram &program;
    LaunchPlan plan;
    LaunchMemory memory;
  };

  struct Prepared final : PreparedLaunch {
    Prepared(EmulatorDevice &device, std::shared_ptr<const ReadyLaunch> ready)
        : device(device), ready(std::move(ready)) {}
    Result<void> enqueue(Stream) override { return device.enqueue(ready); }
    Result<void> setAddress(size_t tensor, void *address) override {
      if (Result<void> movable = checkMovable(ready->program.artifact(), tensor); !movable)
        return movable;
      LaunchArguments moved = ready->memory.arguments;
      moved.tensors[tensor].data = address;
      Result<std::shared_ptr<const ReadyLaunch>> other = device.makeReady(ready->program, moved);
      if (!other)
        return other.error();
      ready = std::move(*other);
      return {};
    }
    EmulatorDevice &device;
    std::shared_ptr<const ReadyLaunch> ready;
  };

  Result<std::shared_ptr<const ReadyLaunch>> makeReady(const LoadedProgram &loaded,
                                                       LaunchArguments arguments) const {
    emulator::giveMulticastAddresses(arguments);
    Result<LaunchPlan> plan = planChecked(loaded, arguments);
    if (!plan)
      return plan.error();
    const auto &program = static_cast<const EmulatedProgram &>(loaded);
    for (PlannedLaunch &planned : plan->launches)
      for (const PlannedTensorMap &map : planned.tensorMaps)
        if (auto placed = placeTensorMap(map, planned.parameters); !placed)
          return placed.error();
    if (request) {
      const size_t count = plan->launches.size();
      if (count == 0)
        return invalid(fmt::format("'{}' makes no launches with these sizes, so there is nothing to trace",
                                   program.artifact().name));
      if (request->launch >= count)
        return invalid(fmt::format("'{}' makes {} launch{}, so there is no launch {}; they count from 0",
                                   program.artifact().name, count, count == 1 ? "" : "es", request->launch));
    }
    std::vector<emulator::NamedTensor> tensors = emulator::namedTensors(program.artifact(), arguments);
    std::vector<emulator::MulticastRange> multicast = emulator::multicastRanges(arguments);
    return std::make_shared<const ReadyLaunch>(
        program, std::move(*plan),
        LaunchMemory{std::move(arguments), std::move(tensors), std::move(multicast)});
  }

  Result<void> enqueue(const std::shared_ptr<const ReadyLaunch> &launch) {
    emulator::LaunchOrder order = machines->order.issue(ordinal());
    order.owner = launch->program.shared_from_this();
    if (!queue) {
      Result<void> done = run(*launch, order);
      machines->order.wait(ordinal());
      return done;
    }
    queue->push([this, order, launch] { return run(*launch, order); });
    return {};
  }

  int ordinal() const { return machine.device; }

  /// All launches are done; what they found.
  Result<void> finish() {
    if (!queue)
      return {};
    Result<void> done = queue->wait();
    machines->order.wait(ordinal());
    return done;
  }

  Result<void> clearNow(int owner, std::byte *address, size_t bytes) {
    if (auto ok = machines->memory.check(owner, address, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memset(address, 0, bytes);
    machines->memory.markWritten(address, bytes);
    return {};
  }

  Result<EmulatorDevice *> neighbour(Device &device) const {
    auto *other = dynamic_cast<EmulatorDevice *>(&device);
    if (!other || other->machines != machines)
      return invalid(fmt::format("{} and {} were not created together, so neither reaches the other's memory",
                                 deviceProperties.name, device.properties().name));
    if (other == this)
      return invalid(fmt::format("device {} is its own peer", ordinal()));
    return other;
  }

  Result<LaunchPlan> planChecked(const LoadedProgram &loaded, const LaunchArguments &arguments) const {
    if (!dynamic_cast<const EmulatedProgram *>(&loaded))
      return invalid("the program was loaded by another kind of device");
    Result<LaunchPlan> plan =
        planLaunch(loaded.artifact(), arguments, deviceProperties, emulator::tensorsInKernels(arguments));
    if (!plan)
      return plan;
    for (size_t i = 0; i < arguments.tensors.size(); ++i)
      if (const TensorView &tensor = arguments.tensors[i]; !isEmpty(tensor))
        for (const void *address : addressesOf(tensor))
          if (auto ok = checkReachable(loaded.artifact().tensors[i].name, address); !ok)
            return ok.error();
    return plan;
  }

  /// An argument's memory, of this device or of a peer.
  Result<void> checkReachable(std::string_view argument, const void *address) const {
    const std::optional<int> owner = machines->memory.ownerOf(address);
    if (!owner)
      return invalid(
          fmt::format("argument '{}': expected memory of the emulator, but {} is not", argument, address));
    const std::lock_guard lock(mutex);
    if (*owner != ordinal() && !peers.contains(*owner))
      return invalid(
          fmt::format("argument '{}': {} is memory of device {}, which device {} cannot access before "
                      "it enables peer access",
                      argument, address, *owner, ordinal()));
    return {};
  }

  Result<void> run(const ReadyLaunch &launch, emulator::LaunchOrder order) {
    const EmulatedProgram &program = launch.program;
    const size_t variant = launch.plan.variantIndex;
    const bool hasReports = !program.artifact().variants[variant].reports.empty();
    std::unique_lock<std::mutex> reporting(program.reporting, std::defer_lock);
    if (hasReports)
      reporting.lock();
    machines->order.begin(ordinal(), order);
    Result<void> done = runLaunches(launch, order);
    machines->order.end(ordinal(), order);
    if (!hasReports)
      return done;
    const Reports reports = takeReports(program, variant);
    reporting.unlock();
    return deliver(reports, machine.print, std::move(done));
  }

  /// What the launches of a variant that reports have reported, those included that failed.
  static Reports takeReports(const EmulatedProgram &program, size_t variant) {
    auto *buffer = reinterpret_cast<std::byte *>(
        program.programs[variant]->storage.find(reportBufferName)->second.address);
    Reports reports = readReports(program.artifact().variants[variant].reports,
                                  std::span<const std::byte>(buffer, reportBufferBytes));
    std::memset(buffer, 0, sizeof(ReportBufferHeader));
    return reports;
  }

  Result<void> runLaunches(const ReadyLaunch &launch, emulator::LaunchOrder &order) {
    const EmulatedProgram &program = launch.program;
    const LaunchPlan &plan = launch.plan;
    std::vector<emulator::NamedTensor> tensors = launch.memory.tensors;
    EmulatedMemory::View view = [&] {
      const std::lock_guard lock(mutex);
      return machines->memory.viewOf(ordinal(), peers);
    }();
    const emulator::Program &code = *program.programs[plan.variantIndex];
    for (const emulator::MemoryRange &range : code.ranges)
      view.ranges.push_back({range.address, range.bytes, ordinal()});
    const emulator::MemoryMap allocations(std::move(view.ranges), launch.memory.multicast);
    const emulator::TensorRanges ofTensors(program.artifact(), launch.memory.arguments, tensors, allocations);
    const emulator::MemoryMap memory = allocations.with(ofTensors.all());
    emulator::nameMembers(tensors, program.artifact(), memory);
    for (const ZeroFill &fill : plan.zeroFills)
      for (size_t row = 0; row < fill.rows; ++row) {
        std::byte *at = static_cast<std::byte *>(fill.address) + row * fill.pitchBytes;
        const int owner = machines->memory.ownerOf(at).value_or(ordinal());
        if (auto ok = clearNow(owner, at, fill.rowBytes); !ok)
          return ok;
      }
    emulator::CopyEngine copies({.plan = plan,
                                 .programs = program.transfers[plan.variantIndex],
                                 .machine = machine,
                                 .memory = memory,
                                 .tensors = tensors,
                                 .raceCheck = raceCheck,
                                 .time = transferTime,
                                 .onFindings = onFindings},
                                order);
    for (const PlannedLaunch &planned : plan.launches) {
      if (auto ok = copies.reach(size_t(&planned - plan.launches.data())); !ok)
        return ok;
      emulator::LaunchConfiguration configuration;
      configuration.entry = planned.launch->entry;
      configuration.grid = planned.grid;
      configuration.block = {planned.launch->threads, 1, 1};
      std::copy(planned.launch->cluster.begin(), planned.launch->cluster.end(),
                configuration.cluster.begin());
      configuration.dynamicSharedBytes = planned.launch->sharedBytes;
      configuration.ordered = planned.launch->ordered;
      configuration.parameters = planned.parameters;
      configuration.tensors = tensors;
      configuration.names = &planned.launch->names;
      Findings findings;
      emulator::Machine machineOfLaunch = machine;
      machineOfLaunch.findings = &findings;
      machineOfLaunch.makeObserver = emulator::observeRaces(raceCheck, &order);
      const bool traced = request && &planned == &plan.launches[request->launch];
      if (traced) {
        configuration.onlyBlock = request->block;
        request->trace = {};
        machineOfLaunch.makeSchedule = [&](emulator::Cluster &cluster) {
          return emulator::createTimedSchedule(cluster, tensors, request->trace);
        };
      }
      const auto done =
          copies.beside([&] { return emulator::runGrid(code, configuration, memory, machineOfLaunch); });
      if (onFindings && !findings.empty())
        onFindings(findings);
      if (!done)
        return done.error();
      const std::lock_guard lock(mutex);
      executed.warpInstructions += done->warpInstructions;
      executed.threadInstructions += done->threadInstructions;
      if (traced)
        break;
    }
    return copies.reach(plan.launches.size());
  }

  emulator::Machine machine;
  RaceCheck raceCheck = RaceCheck::on;
  TransferTime transferTime = TransferTime::early;
  TraceRequest *request = nullptr;
  std::function<void(const Findings &)> onFindings;
  DeviceProperties deviceProperties;
  std::shared_ptr<Machines> machines;
  mutable std::mutex mutex;
  std::set<int> peers; ///< whose memory kernels of this device reach
  EmulatorStatistics executed;
  HostMemory hostMemory;
  std::optional<LaunchQueue>
      queue; ///< where launches do not run to completion at once; uses all of the above
};

} // namespace

std::unique_ptr<Device> createEmulatorDevice(EmulatorOptions options) {
  return std::make_unique<EmulatorDevice>(std::move(options), 0, std::make_shared<Machines>(1),
                                          EmulatorDevice::Launches::complete);
}

std::vector<std::unique_ptr<Device>> createEmulatorDevices(unsigned count, EmulatorOptions options) {
  std::vector<std::unique_ptr<Device>> devices;
  if (count == 1) {
    devices.push_back(createEmulatorDevice(std::move(options)));
    return devices;
  }
  if (options.onFindings)
    options.onFindings = [tell = std::move(options.onFindings),
                          mutex = std::make_shared<std::mutex>()](const Findings &findings) {
      const std::lock_guard lock(*mutex);
      tell(findings);
    };
  if (options.hostThreads == 0)
    options.hostThreads = std::max(1u, std::thread::hardware_concurrency() / std::max(1u, count));
  const auto machines = std::make_shared<Machines>(count);
  for (unsigned ordinal = 0; ordinal < count; ++ordinal)
    devices.push_back(
        std::make_unique<EmulatorDevice>(options, int(ordinal), machines, EmulatorDevice::Launches::queued));
  return devices;
}

std::optional<EmulatorStatistics> emulatorStatisticsOf(const Device &device) {
  if (const auto *emulated = dynamic_cast<const EmulatorDevice *>(&device))
    return emulated->statistics();
  return std::nullopt;
}

} // namespace tlc
