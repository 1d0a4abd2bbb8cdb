// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks a launch and spreads its clusters over host threads. As many clusters
/// are under way as would fit on the machine, since kernels may make blocks
/// wait for each other through global memory.
#include "runtime/emulator/exec/launch/Grid.h"

#include "runtime/emulator/exec/launch/Cluster.h"
#include "runtime/emulator/report/SymbolName.h"
#include "runtime/support/Math.h"
#include "runtime/target/CodeTarget.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace tlc::emulator {

namespace {

Error wrong(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

std::string text(const std::array<uint32_t, 3> &v) { return fmt::format("({}, {}, {})", v[0], v[1], v[2]); }

/// At most 2^33, more than any limit.
uint64_t product(const std::array<uint32_t, 3> &v) {
  uint64_t result = 1;
  for (uint32_t extent : v)
    result = std::min(result * extent, uint64_t(1) << 33);
  return result;
}

Result<void> checkBlock(const Function &function, const std::array<uint32_t, 3> &block,
                        const Target &target) {
  const uint64_t threads = product(block);
  if (threads == 0 || threads > target.maxThreadsPerBlock || block[2] > target.maxBlockZ)
    return wrong(fmt::format("'{}' is launched with blocks of {} threads, the limits are {} and {} along z",
                             readableName(function.name), text(block), target.maxThreadsPerBlock,
                             target.maxBlockZ));
  if (function.requiredThreads && block != *function.requiredThreads)
    return wrong(fmt::format("'{}' requires blocks of {} threads, but got {}", readableName(function.name),
                             text(*function.requiredThreads), text(block)));
  if (function.maximumThreads && threads > product(*function.maximumThreads))
    return wrong(fmt::format("'{}' allows blocks of {} threads, but got {}", readableName(function.name),
                             product(*function.maximumThreads), threads));
  return {};
}

Result<std::array<uint32_t, 3>> chooseCluster(const Function &function, const LaunchConfiguration &launch,
                                              const Target &target) {
  std::array<uint32_t, 3> cluster = launch.cluster;
  if (function.requiredCluster) {
    if (product(cluster) != 1 && cluster != *function.requiredCluster)
      return wrong(fmt::format("'{}' requires clusters of {} blocks, but got {}", readableName(function.name),
                               text(*function.requiredCluster), text(cluster)));
    cluster = *function.requiredCluster;
  }
  if (product(cluster) > 1 && target.maxClusterSize == 1)
    return wrong(fmt::format("'{}' is launched with clusters of {} blocks, but {} has no clusters; expected "
                             "(1, 1, 1), or a device of sm_90a or later (--target)",
                             readableName(function.name), text(cluster), target.name));
  if (product(cluster) == 0 || product(cluster) > std::max(16u, target.maxClusterSize))
    return wrong(fmt::format("'{}' is launched with clusters of {} blocks, the limit is {}",
                             readableName(function.name), text(cluster),
                             std::max(16u, target.maxClusterSize)));
  for (unsigned axis = 0; axis < 3; ++axis)
    if (launch.grid[axis] % cluster[axis] != 0)
      return wrong(fmt::format("the grid {} of '{}' is not a multiple of its clusters {}", text(launch.grid),
                               readableName(function.name), text(cluster)));
  return cluster;
}

/// What a launch prints; CUDA's buffer has this size unless told otherwise.
constexpr uint64_t maximumPrintedBytes = 1 << 20;

/// Registers of a thread that ptxas gives an entry with setmaxnreg; 0 when it
/// would ignore the instruction.
uint32_t registersAtLaunch(const Function &function, const Target &target) {
  const auto round = [&](uint32_t count) {
    return count / target.registerGranularity * target.registerGranularity;
  };
  if (function.maximumRegisters)
    return round(*function.maximumRegisters);
  const auto &threads = function.requiredThreads ? function.requiredThreads : function.maximumThreads;
  if (!threads || !function.minimumBlocks || product(*threads) == 0 || *function.minimumBlocks == 0)
    return 0;
  const uint64_t share = target.registersPerMultiprocessor / (product(*threads) * *function.minimumBlocks);
  return round(uint32_t(std::min<uint64_t>(share, target.maxRegistersPerThread)));
}

/// What a cluster takes of the host's memory.
uint64_t clusterBytes(const Grid &grid) {
  const Kernel &kernel = *grid.kernel;
  const uint64_t warps = ceilDiv(product(grid.threads), warpSize);
  const uint64_t shared = kernel.dynamicSharedStart + grid.dynamicSharedBytes;
  return product(grid.cluster) *
         (warps * (kernel.registerBytes + uint64_t(kernel.localBytes) * warpSize) + shared);
}

uint64_t hostBytes() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)); }

uint64_t residentClusters(const Grid &grid, int multiprocessors) {
  const Target &target = *grid.target;
  const uint64_t shared = grid.kernel->dynamicSharedStart - sharedBase + grid.dynamicSharedBytes;
  const uint64_t blocks = std::min(
      {uint64_t(target.maxBlocksPerMultiprocessor),
       uint64_t(target.maxThreadsPerMultiprocessor) / product(grid.threads),
       uint64_t(target.sharedBytesPerMultiprocessor) / (shared + target.sharedReservedPerBlock + 1)});
  return std::max<uint64_t>(1, std::max<uint64_t>(1, blocks) * uint64_t(multiprocessors) /
                                   product(grid.cluster));
}

/// Blocks that wait for each other must all have room.
Result<void> checkCooperative(const Grid &grid, int multiprocessors, uint64_t room) {
  const uint64_t resident = residentClusters(grid, multiprocessors), blocks = product(grid.cluster);
  if (grid.clusters > resident)
    return wrong(
        fmt::format("'{}' is launched cooperatively with {} blocks, but the device holds {} of them at "
                    "the same time",
                    readableName(grid.kernel->name), grid.clusters * blocks, resident * blocks));
  if (grid.clusters > room)
    return Error{
        ErrorKind::environment,
        fmt::format("half of the host's {} MiB holds {} of the {} blocks of '{}' that a cooperative launch "
                    "runs at the same time",
                    hostBytes() >> 20, room * blocks, grid.clusters * blocks,
                    readableName(grid.kernel->name))};
  return {};
}

/// Kept apart until the end, so that their order is that of the clusters.
uint32_t clusterOfBlock(uint32_t block, const std::array<uint32_t, 3> &grid,
                        const std::array<uint32_t, 3> &cluster) {
  uint32_t index = 0, stride = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    index += block % grid[axis] / cluster[axis] * stride;
    stride *= grid[axis] / cluster[axis];
    block /= grid[axis];
  }
  return index;
}

struct FindingsByCluster {
  static constexpr size_t mostKept = 1024;
  std::mutex mutex;
  std::map<uint32_t, Findings> of;

  void take(Cluster &cluster) {
    if (cluster.findings.empty())
      return;
    const std::lock_guard lock(mutex);
    of[cluster.index] = std::move(cluster.findings);
    if (of.size() <= mostKept)
      return;
    // What many clusters found is mostly the same.
    Findings all;
    for (const auto &[index, findings] : of)
      all.add(findings);
    const uint32_t first = of.begin()->first;
    of.clear();
    of[first] = std::move(all);
  }
};

/// Instructions of all warps of a launch: those of an endless loop share the host's time, and each by itself
/// would take too long to get to its limit.
uint64_t mostInstructions(const Grid &grid) {
  constexpr uint64_t warps = 64;
  return grid.maximumSteps > ~uint64_t(0) / warps ? ~uint64_t(0) : grid.maximumSteps * warps;
}

/// Tells now and then how far the launch is; by one host thread at a time.
class ProgressReports {
public:
  ProgressReports(const Grid &grid, const OnProgress &tell) : grid(grid), tell(tell) {}

  void ended() {
    ++clusters;
    ran();
  }
  void ran() {
    if (!tell)
      return;
    const std::unique_lock lock(mutex, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    if (!lock || now < next)
      return;
    next = now + std::chrono::seconds(secondsBetween);
    tell({(clusters + grid.canceled) * product(grid.cluster), grid.clusters * product(grid.cluster),
          grid.warpInstructions, std::chrono::duration<double>(now - begin).count()});
  }

private:
  static constexpr int secondsBetween = 5;

  const Grid &grid;
  const OnProgress &tell;
  std::mutex mutex;
  std::atomic<uint64_t> clusters{0};
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next = begin + std::chrono::seconds(secondsBetween);
};

/// One host thread's share: its clusters take turns.
void work(Grid &grid, uint64_t resident, FindingsByCluster &findings, ProgressReports &reports) {
  std::vector<std::unique_ptr<Cluster>> running;
  std::unique_ptr<Cluster> ended;
  const uint32_t clusters = grid.clusters;
  Progress &progress = *grid.progress;
  const auto start = [&] {
    const std::optional<uint32_t> next = takeCluster(grid);
    if (next)
      running.push_back(createCluster(grid, *next, std::move(ended)));
    return next.has_value();
  };
  start();
  for (size_t turn = 0; !running.empty() && !grid.stop;) {
    turn = turn < running.size() ? turn : 0;
    Cluster &cluster = *running[turn];
    const uint64_t version = progress.version(), before = cluster.progress;
    if (cluster.repetition.proven(version)) {
      ++turn;
      const bool all = std::all_of(running.begin(), running.end(),
                                   [&](const auto &other) { return other->repetition.proven(version); });
      if (!all || (running.size() < resident && start()))
        continue;
      if (progress.isDeadlocked(version)) {
        const uint32_t started = std::min(grid.started.load(), clusters);
        for (const std::unique_ptr<Cluster> &stuck : running)
          stuck->findings.add(deadlockReport(*stuck, clusters - started));
        grid.stop = true;
      }
      continue;
    }
    const uint64_t ran = cluster.warpInstructions;
    ClusterOutcome outcome = runCluster(cluster);
    grid.warpInstructions += cluster.warpInstructions - ran;
    if (outcome == ClusterOutcome::yielded && grid.warpInstructions > mostInstructions(grid)) {
      faultLongLaunch(cluster, mostInstructions(grid));
      outcome = cluster.faulted ? ClusterOutcome::failed : outcome; // unless all its warps wait
    }
    if (outcome != ClusterOutcome::yielded || cluster.progress != before)
      progress.changed();
    switch (outcome) {
    case ClusterOutcome::failed:
      grid.stop = true;
      break;
    case ClusterOutcome::done:
      grid.threadInstructions += cluster.threadInstructions;
      if (cluster.observer)
        cluster.observer->clusterEnds();
      findings.take(cluster);
      reports.ended();
      ended = std::move(running[turn]);
      running.erase(running.begin() + ptrdiff_t(turn));
      if (running.empty())
        start();
      break;
    case ClusterOutcome::yielded:
      reports.ran();
      cluster.repetition.observe(cluster, version);
      if (cluster.repetition.proven(version) && expireWaits(cluster))
        cluster.repetition = {};
      if (running.size() < resident)
        start();
      ++turn;
      break;
    }
  }
  for (const std::unique_ptr<Cluster> &stopped : running)
    findings.take(*stopped);
  progress.leave(--grid.hostThreads);
}

} // namespace

Result<void> checkTarget(const Program &program, const Target &target) {
  const auto code = parseCodeTarget(program.module.target);
  if (code && code->runsOn(target.computeMajor, target.computeMinor))
    return {};
  return wrong(fmt::format("the module is PTX for {}, which a device of {} does not run; compile it for {}",
                           program.module.target, target.name, target.name));
}

Result<LaunchStatistics> runGrid(const Program &program, const LaunchConfiguration &launch,
                                 const MemoryMap &memory, const Machine &machine) {
  auto found = program.kernels.find(launch.entry);
  if (found == program.kernels.end())
    return wrong(fmt::format("the module has no entry '{}'", launch.entry));
  const Kernel &kernel = *found->second;
  const Target &target = *machine.target;
  if (auto ok = checkTarget(program, target); !ok)
    return ok.error();
  if (auto ok = checkBlock(*kernel.function, launch.block, target); !ok)
    return ok.error();
  if (launch.grid[0] > target.maxGridX || launch.grid[1] > target.maxGridYZ ||
      launch.grid[2] > target.maxGridYZ || product(launch.grid) > 0xFFFFFFFFull || product(launch.grid) == 0)
    return wrong(fmt::format(
        "'{}' is launched with a grid of {} blocks, the limits are ({}, {}, {}) and at least 1",
        readableName(kernel.name), text(launch.grid), target.maxGridX, target.maxGridYZ, target.maxGridYZ));
  auto cluster = chooseCluster(*kernel.function, launch, target);
  if (!cluster)
    return cluster.error();
  const uint64_t shared = uint64_t(kernel.dynamicSharedStart) - sharedBase + launch.dynamicSharedBytes;
  if (shared > target.sharedBytesPerBlock)
    return wrong(fmt::format("'{}' needs {} bytes of shared memory, the limit is {}",
                             readableName(kernel.name), shared, target.sharedBytesPerBlock));
  if (launch.parameters.size() != kernel.parameterBytes)
    return wrong(fmt::format("'{}' takes {} bytes of parameters, but got {}", readableName(kernel.name),
                             kernel.parameterBytes, launch.parameters.size()));
  Grid grid;
  grid.program = &program;
  grid.kernel = &kernel;
  grid.target = &target;
  grid.blocks = launch.grid;
  grid.threads = launch.block;
  grid.cluster = *cluster;
  grid.dynamicSharedBytes = launch.dynamicSharedBytes;
  grid.threadRegisters = kernel.usesSetmaxnreg ? registersAtLaunch(*kernel.function, target) : 0;
  const LaunchNames none;
  grid.names = launch.names ? launch.names : &none;
  grid.parameters = launch.parameters;
  grid.memory = &memory;
  grid.tensors = launch.tensors;
  grid.maximumSteps = machine.maximumSteps;
  std::mutex printing;
  uint64_t printed = 0;
  grid.print = [&](std::string_view text) {
    const std::lock_guard lock(printing);
    if (printed > maximumPrintedBytes)
      return;
    printed += text.size();
    std::string note;
    if (printed > maximumPrintedBytes)
      text = note = fmt::format("\n'{}' has printed {} MiB, as much as the emulator shows of a launch\n",
                                readableName(kernel.name), maximumPrintedBytes >> 20);
    if (machine.print)
      machine.print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stderr);
  };
  grid.ordered = launch.ordered;
  grid.makeSchedule = machine.makeSchedule;
  if (machine.scheduleSeed)
    grid.makeSchedule = [seed = *machine.scheduleSeed](Cluster &each) { return createSeeded(seed, each); };
  const uint64_t bytes = clusterBytes(grid), room = hostBytes() / 2 / bytes;
  if (room == 0)
    return Error{
        ErrorKind::environment,
        fmt::format("a cluster of '{}' needs {} MiB for its registers, local and shared memory, more than "
                    "half of the host's {} MiB",
                    readableName(kernel.name), bytes >> 20, hostBytes() >> 20)};
  Progress ofThisLaunch;
  grid.device = machine.device;
  grid.isAlone = machine.devices == 1;
  grid.progress = machine.progress ? machine.progress : &ofThisLaunch;
  grid.clusters = clusterCount(grid);
  if (launch.onlyBlock) {
    if (*launch.onlyBlock >= product(launch.grid))
      return wrong(fmt::format("'{}' is launched with {} blocks, so there is no block {}; the last is {}",
                               readableName(kernel.name), product(launch.grid), *launch.onlyBlock,
                               product(launch.grid) - 1));
    grid.firstCluster = clusterOfBlock(*launch.onlyBlock, launch.grid, *cluster);
    grid.clusters = 1;
  }
  grid.startOrder = machine.scheduleSeed ? StartOrder::seeded(*machine.scheduleSeed, grid.clusters)
                                         : StartOrder(grid.clusters);
  // The barrier's count is the second word; nobody but the kernel touches it.
  std::array<uint32_t, 4> workspace = {};
  std::optional<MemoryMap> withWorkspace;
  if (launch.cooperative) {
    if (auto ok = checkCooperative(grid, machine.multiprocessors, room); !ok)
      return ok.error();
    grid.workspace = reinterpret_cast<uint64_t>(workspace.data());
    const MemoryRange range = {grid.workspace, sizeof(workspace), machine.device};
    withWorkspace = memory.with({&range, 1});
    grid.memory = &*withWorkspace;
  }
  const unsigned threads = unsigned(std::clamp<uint64_t>(machine.scheduleSeed ? 1 : machine.hostThreads, 1,
                                                         std::min<uint64_t>(grid.clusters, room)));
  std::unique_ptr<LaunchObserver> observer;
  if (machine.makeObserver) {
    observer = machine.makeObserver();
    observer->begin(grid);
    grid.observer = observer.get();
  }
  grid.hostThreads = threads;
  grid.progress->beginLaunch(threads);
  const uint64_t perThread = std::min(residentClusters(grid, machine.multiprocessors), room) / threads;
  const uint64_t resident = launch.cooperative ? grid.clusters : std::max<uint64_t>(1, perThread);
  FindingsByCluster byCluster;
  ProgressReports reports(grid, machine.onProgress);
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back([&] { work(grid, resident, byCluster, reports); });
  work(grid, resident, byCluster, reports);
  for (std::thread &worker : workers)
    worker.join();
  if (observer)
    observer->end();
  Findings findings;
  for (const auto &[index, ofCluster] : byCluster.of)
    findings.add(ofCluster);
  if (machine.findings)
    machine.findings->add(findings);
  if (findings.count(FindingLevel::error) == 0 &&
      (machine.failsBy == FindingLevel::error || findings.empty()))
    return LaunchStatistics{grid.warpInstructions, grid.threadInstructions};
  return Error{ErrorKind::execution, findings.text()};
}

} // namespace tlc::emulator
