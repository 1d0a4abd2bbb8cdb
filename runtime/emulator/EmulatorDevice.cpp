// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorDevice.h"

#include "runtime/device/DeliverReports.h"
#include "runtime/device/LaunchLog.h"
#include "runtime/device/StreamChecks.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/emulator/CopyEngine.h"
#include "runtime/emulator/EmulatedMemory.h"
#include "runtime/emulator/EmulatorLaunch.h"
#include "runtime/emulator/EmulatorStreams.h"
#include "runtime/emulator/LaunchQueue.h"
#include "runtime/emulator/LaunchTensors.h"
#include "runtime/emulator/ReadyLaunch.h"
#include "runtime/emulator/check/DeviceOrder.h"
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/origin/OriginSearch.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/emulator/trace/TimedSchedule.h"
#include "runtime/emulator/trace/TraceRequest.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <thread>

namespace tlc {

namespace {

constexpr std::string_view defaultTarget = "sm_90a";

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

/// Of a launch that they do not make fail; the text of an error has the others.
void printWarnings(const Findings &findings) {
  if (findings.count(FindingLevel::error) == 0)
    fmt::print(stderr, "{}\n", findings.text());
}

/// What devices that are emulated together have in common.
struct Machines {
  explicit Machines(unsigned devices) : progress(devices), order(devices) {}
  EmulatedMemory memory;
  emulator::Progress progress;
  emulator::DeviceOrder order;
};

class EmulatorDevice : public Device, private LaunchingDevice {
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

  Result<void *> allocate(size_t bytes, std::optional<Stream> on) override {
    if (auto ok = checkNoCapture("allocate memory", on); !ok)
      return ok.error();
    auto memory = machines->memory.allocate(ordinal(), bytes, raceCheck);
    if (memory)
      machines->order.allocated(*memory, bytes);
    return memory;
  }

  Result<void> free(void *address, std::optional<Stream> on) override {
    if (auto ok = checkNoCapture("free memory", on); !ok)
      return ok;
    if (queue)
      queue->drain();
    machines->order.wait(ordinal());
    return machines->memory.free(ordinal(), address);
  }

  Result<void *> allocateHost(size_t bytes) override {
    if (auto ok = checkNoCapture("allocate pinned memory"); !ok)
      return ok.error();
    return hostMemory.allocate(bytes);
  }
  Result<void> freeHost(void *address) override {
    if (auto ok = checkNoCapture("free pinned memory"); !ok)
      return ok;
    return hostMemory.free(address);
  }

  Result<void> copyToDevice(void *device, const void *host, size_t bytes, std::optional<Stream> on) override {
    return enqueueCopy(on, [=, this] { return copyIn(device, host, bytes); });
  }

  Result<void> copyToHost(void *host, const void *device, size_t bytes, std::optional<Stream> on) override {
    return enqueueCopy(on, [=, this] { return copyOut(host, device, bytes); });
  }

  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override {
    if (captures.isOfThisThread())
      return errorOfLoadInCapture(artifact.name);
    Result<std::shared_ptr<const EmulatedProgram>> program =
        EmulatedProgram::load(std::move(artifact), *machine.target);
    if (!program)
      return program.error();
    return std::shared_ptr<const LoadedProgram>(std::move(*program));
  }

  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &loaded,
                                                  const LaunchArguments &arguments) override {
    Result<std::shared_ptr<const ReadyLaunch>> ready = makeReady(loaded, arguments);
    if (!ready)
      return ready.error();
    return createEmulatorLaunch(*this, std::move(*ready));
  }

  Result<void> synchronize(Stream) override {
    if (auto ok = checkNoCapture("synchronize"); !ok)
      return ok;
    return finish();
  }

  Result<void> clear(void *address, size_t bytes, Stream stream) override {
    return enqueueHere(stream, [=, this]() -> Result<void> {
      if (auto ok = finish(); !ok)
        return ok;
      return clearNow(ordinal(), static_cast<std::byte *>(address), bytes);
    });
  }

  Result<std::unique_ptr<OwnedStream>> createStream() override {
    if (auto ok = checkNoCapture("create a stream"); !ok)
      return ok.error();
    return std::unique_ptr<OwnedStream>(std::make_unique<EmulatorStream>());
  }

  Result<std::unique_ptr<const Event>> record(Stream stream, EventTime time) override {
    std::shared_ptr<EmulatorCapture> capture = captures.find(stream);
    if (!capture)
      if (auto ok = finish(); !ok)
        return ok.error();
    return std::unique_ptr<const Event>(std::make_unique<EmulatorEvent>(time, this, std::move(capture)));
  }

  Result<double> elapsed(const Event &from, const Event &to) override {
    if (auto ok = checkNoCapture("measure a time"); !ok)
      return ok.error();
    return EmulatorEvent::elapsed(from, to, this, deviceProperties.name);
  }

  Result<void> wait(const Event &event, Stream stream) override {
    const auto *recorded = dynamic_cast<const EmulatorEvent *>(&event);
    if (!recorded)
      return invalid(fmt::format("expected an event of an emulated device for {} to wait for, but got one "
                                 "of a GPU",
                                 deviceProperties.name));
    return captures.wait(stream, recorded->capture);
  }

  Result<std::unique_ptr<Graph>> capture(Stream stream,
                                         const std::function<Result<void>()> &enqueue) override {
    return captures.capture(stream, enqueue);
  }
  Result<bool> isCaptured(Stream stream) override { return captures.find(stream) != nullptr; }

  Result<void> enablePeerAccess(Device &peer) override {
    auto other = neighbour(peer);
    if (!other)
      return other.error();
    if (auto ok = checkNoCapture("enable peer access"); !ok)
      return ok;
    const std::lock_guard lock(mutex);
    peers.insert((*other)->ordinal());
    return {};
  }

  Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) override {
    auto other = neighbour(source);
    if (!other)
      return other.error();
    if (auto ok = checkNoCapture("copy from a peer"); !ok)
      return ok;
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
  Result<std::shared_ptr<const ReadyLaunch>> makeReady(const LoadedProgram &loaded,
                                                       LaunchArguments arguments) const override {
    emulator::giveMulticastAddresses(arguments);
    Result<LaunchPlan> plan = planChecked(loaded, arguments);
    if (!plan)
      return plan.error();
    const auto &program = static_cast<const EmulatedProgram &>(loaded);
    if (request) {
      const size_t count = plan->launches.size();
      if (count == 0)
        return invalid(fmt::format("'{}' makes no launches with these sizes, so there is nothing to trace",
                                   program.artifact().name));
      if (request->launch >= count)
        return invalid(fmt::format("'{}' makes {} launch{}, so there is no launch {}; they count from 0",
                                   program.artifact().name, count, count == 1 ? "" : "es", request->launch));
    }
    return ReadyLaunch::create(program, std::move(*plan), std::move(arguments));
  }

  /// Errors of queued launches come later, so they say which launch it was.
  Result<void> enqueue(const std::shared_ptr<const ReadyLaunch> &launch, Stream stream) override {
    emulator::LaunchOrder order = machines->order.issue(ordinal());
    order.owner = launch->program.shared_from_this();
    if (!queue) {
      Result<void> done = run(*launch, order);
      machines->order.wait(ordinal());
      return done;
    }
    queue->push([this, order, launch, stream]() -> Result<void> {
      Result<void> done = run(*launch, order);
      if (done)
        return done;
      Error error = done.error();
      const auto label = std::make_shared<const LaunchLabel>(launch->program.artifact());
      error.message += fmt::format("; launched as {}", LaunchRecord(label, launch->plan, stream).text());
      return error;
    });
    return {};
  }

  std::shared_ptr<EmulatorCapture> captureOf(Stream stream) override { return captures.find(stream); }

  int ordinal() const { return machine.device; }

  /// An error while this thread captures a stream, or on a stream that is captured.
  Result<void> checkNoCapture(std::string_view attempt, std::optional<Stream> on = {}) {
    if (on ? captures.find(*on) != nullptr : captures.isOfThisThread())
      return errorInCapture(attempt);
    return {};
  }

  /// Does the work, or captures it where the stream is captured.
  Result<void> enqueueHere(Stream stream, std::function<Result<void>()> work) {
    std::shared_ptr<EmulatorCapture> capture = captures.find(stream);
    if (!capture)
      return work();
    capture->add(std::move(work));
    return {};
  }

  Result<void> enqueueCopy(std::optional<Stream> on, std::function<Result<void>()> copy) {
    if (on)
      return enqueueHere(*on, std::move(copy));
    if (auto ok = checkNoCapture("copy without a stream"); !ok)
      return ok;
    return copy();
  }

  Result<void> copyIn(void *device, const void *host, size_t bytes) {
    if (auto ok = finish(); !ok)
      return ok;
    if (auto ok = machines->memory.check(ordinal(), device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(device, host, bytes);
    machines->memory.markWritten(device, bytes);
    return {};
  }

  Result<void> copyOut(void *host, const void *device, size_t bytes) {
    if (auto ok = finish(); !ok)
      return ok;
    if (auto ok = machines->memory.check(ordinal(), device, bytes); !ok)
      return ok;
    if (bytes != 0)
      std::memcpy(host, device, bytes);
    return {};
  }

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
    const Reports reports = program.takeReports(variant);
    reporting.unlock();
    return deliver(reports, machine.print, std::move(done));
  }

  Result<void> runLaunches(const ReadyLaunch &launch, emulator::LaunchOrder &order) {
    const EmulatedProgram &program = launch.program;
    const LaunchPlan &plan = launch.plan;
    std::vector<emulator::NamedTensor> tensors = launch.tensors;
    EmulatedMemory::View view = [&] {
      const std::lock_guard lock(mutex);
      return machines->memory.viewOf(ordinal(), peers);
    }();
    const emulator::Program &code = *program.programs[plan.variantIndex];
    for (const emulator::MemoryRange &range : code.ranges)
      view.ranges.push_back({range.address, range.bytes, ordinal()});
    const emulator::MemoryMap allocations(std::move(view.ranges), launch.multicast);
    const emulator::TensorRanges ofTensors(program.artifact(), launch.arguments, tensors, allocations);
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
      configuration.block = planned.launch->block();
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
      if (request && request->origins)
        machineOfLaunch.makeObserver = [this] { return request->origins->observe(); };
      const bool traced = request && !request->origins && &planned == &plan.launches[request->launch];
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
  EmulatorCaptures captures;
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
