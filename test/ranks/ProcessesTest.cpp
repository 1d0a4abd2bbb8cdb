// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are processes of their own, on a GPU each. This program starts itself once for each rank; they
/// exchange what they have to by files.
#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPeers.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/ChildProcess.h"
#include "test/Expect.h"
#include "test/ranks/RankRing.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <thread>
#include <unistd.h>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr const char *rankVariable = "TLC_TEST_RANK", *ranksVariable = "TLC_TEST_RANKS",
                     *folderVariable = "TLC_TEST_FOLDER", *modeVariable = "TLC_TEST_MODE";
constexpr const char *testOfRank = "a rank that is a process";

/// A folder in which ranks leave bytes for each other.
struct Exchange {
  fs::path folder;
  size_t rank = 0, ranks = 1;

  fs::path path(std::string_view name, size_t of) const { return folder / fmt::format("{}-{}", name, of); }
  /// All ranks' bytes, when all have come.
  std::vector<std::string> of(std::string_view name, const std::string &bytes) const {
    const fs::path unfinished = path(fmt::format("{}-unfinished", name), rank);
    std::ofstream(unfinished, std::ios::binary) << bytes;
    fs::rename(unfinished, path(name, rank));
    std::vector<std::string> all;
    for (size_t other = 0; other < ranks; ++other) {
      for (int tries = 0; !fs::exists(path(name, other)); ++tries) {
        REQUIRE(tries < 3000);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      std::ifstream file(path(name, other), std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
  }
};

/// Memory of that name that all ranks have.
using Share = std::function<SymmetricMemory(std::string_view name, size_t bytes)>;

/// A rank of the ring of `passOn`.
class RingRank {
public:
  RingRank(size_t rank, size_t ranks, int gpu, const PassOptions &options, const Share &share)
      : device(expectValue(createCudaDevice(gpu))),
        group(
            expectValue(RankGroup::create(int64_t(rank), int64_t(ranks), share("flags", RankGroup::flagBytes),
                                          expectValue(createCudaFlags(gpu))))),
        cuda(expectValue(CudaContext::create(gpu))),
        program(expectValue(device->load(compiledProgram([=](dsl::Scope &k) { passOn(k, options); })))) {
    CurrentContext scope(*cuda);
    REQUIRE(cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    const std::vector<float> numbers(ringRows * ringColumns, float(rank + 1));
    for (int i = 0; i < 2; ++i) {
      void *memory = expectValue(device->allocate(bytes));
      expectSuccess(device->copyToDevice(memory, numbers.data(), bytes));
      arguments.tensors.push_back(contiguousView(memory, ElementType::f32, {ringRows, ringColumns}));
    }
    const std::vector<int64_t> dimensions =
        expectValue(bindDimensions(program->artifact(), arguments.tensors, int64_t(rank), int64_t(ranks)));
    for (const WorkspaceRequest &request :
         expectValue(workspaceRequests(program->artifact(), dimensions, device->properties()))) {
      SymmetricMemory memory = share(request.name, request.bytes);
      arguments.tensors.push_back(request.view(memory.ofRanks[rank]));
      expectSuccess(group->add(std::move(memory)));
    }
  }

  Result<void> launch() { return group->launch(*device, program, arguments, {stream}); }
  Result<void> synchronize(double seconds = 10) {
    return group->synchronize({stream}, std::chrono::duration<double>(seconds));
  }
  void capture() {
    CurrentContext scope(*cuda);
    const Driver &driver = cuda->driver;
    REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    expectSuccess(launch());
    CHECK_THAT(synchronize().error().message,
               Contains("expected a stream that runs, but got one that is captured; end the capture first"));
    CUgraph graph = nullptr;
    REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    REQUIRE(driver.cuGraphInstantiateWithFlags(&captured, graph, 0) == CUDA_SUCCESS);
  }
  void replay() {
    CurrentContext scope(*cuda);
    REQUIRE(cuda->driver.cuGraphLaunch(captured, stream) == CUDA_SUCCESS);
  }
  /// Does not wait for a stream that may wait for ever.
  void release() { group.reset(); }
  /// What the rank before this one has passed on, and nothing else from now on.
  float takeResult() {
    std::vector<float> result(ringRows * ringColumns);
    expectSuccess(device->copyToHost(result.data(), arguments.tensors[1].data, bytes));
    const float first = result.front();
    CHECK(result == std::vector<float>(result.size(), first));
    std::ranges::fill(result, -1.0F);
    expectSuccess(device->copyToDevice(arguments.tensors[1].data, result.data(), bytes));
    return first;
  }

private:
  static constexpr size_t bytes = size_t(ringRows * ringColumns) * sizeof(float);
  const std::unique_ptr<Device> device;
  std::unique_ptr<RankGroup> group;
  const std::shared_ptr<const CudaContext> cuda;
  const std::shared_ptr<const LoadedProgram> program;
  CUstream stream = nullptr;
  CUgraphExec captured = nullptr;
  LaunchArguments arguments;
};

/// Flags begin as zeros, all else with any content.
void initialize(Device &device, std::string_view name, void *memory, size_t bytes) {
  const std::vector<std::byte> content(bytes, std::byte(name == "flags" ? 0 : 0xA5));
  expectSuccess(device.copyToDevice(memory, content.data(), bytes));
}

/// Handles of what each process has there.
std::vector<MemoryHandle> handlesOf(const Exchange &exchange, std::string_view name, int gpu,
                                    const void *own) {
  const MemoryHandle handle = expectValue(exportMemory(gpu, own));
  std::vector<MemoryHandle> handles;
  for (const std::string &bytes :
       exchange.of(name, std::string(reinterpret_cast<const char *>(&handle), sizeof(handle)))) {
    REQUIRE(bytes.size() == sizeof(handle));
    std::memcpy(&handles.emplace_back(), bytes.data(), sizeof(handle));
  }
  return handles;
}

/// Memory of GPU `rank` in each process.
SymmetricMemory shareBetweenProcesses(const Exchange &exchange, Device &device, std::string_view name,
                                      size_t bytes) {
  const int gpu = device.properties().ordinal;
  void *own = expectValue(device.allocate(bytes + 256 * exchange.ranks));
  own = static_cast<std::byte *>(own) + 256 * exchange.rank; // places in allocations need not be the same
  initialize(device, name, own, bytes);
  SymmetricMemory memory{{}, bytes};
  for (const MemoryHandle &handle : handlesOf(exchange, name, gpu, own)) {
    const bool isOwn = memory.ofRanks.size() == exchange.rank;
    memory.ofRanks.push_back(isOwn ? own : expectValue(importMemory(gpu, handle)));
  }
  return memory;
}

/// Reaches another rank's memory from that rank's GPU, which nothing else holds in this process.
std::string importWithoutDevice(const Exchange &exchange, Device &device) {
  auto numbersOf = [](int rank) { return std::vector<float>(64, float(rank)); };
  const int gpu = device.properties().ordinal, other = (gpu + 1) % int(exchange.ranks);
  std::vector<float> numbers = numbersOf(gpu);
  const size_t bytes = numbers.size() * sizeof(float);
  void *own = expectValue(device.allocate(bytes));
  expectSuccess(device.copyToDevice(own, numbers.data(), bytes));
  const MemoryHandle handle = handlesOf(exchange, "memory", gpu, own)[size_t(other)];
  void *address = expectValue(importMemory(other, handle));
  const std::unique_ptr<Device> reader = expectValue(createCudaDevice(other));
  expectSuccess(reader->copyToHost(numbers.data(), address, bytes));
  expectSuccess(closeMemory(other, handle, address));
  (void)exchange.of("end", ""); // others may use this rank's memory
  return numbers == numbersOf(other) ? "works" : "wrong numbers";
}

std::string valueOf(const char *variable) {
  const char *value = std::getenv(variable);
  REQUIRE(value);
  return value;
}

/// What each rank's process leaves as its outcome; "" where it leaves none.
std::vector<std::string> outcomesOf(const std::string &mode, size_t ranks) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("tlc-ranks-{}-{}", ::getpid(), mode);
  fs::create_directory(folder);
  std::vector<ChildProcess> processes;
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> variables = {
        fmt::format("{}={}", rankVariable, rank), fmt::format("{}={}", ranksVariable, ranks),
        fmt::format("{}={}", folderVariable, folder.string()), fmt::format("{}={}", modeVariable, mode)};
    for (char **variable = environ; *variable; ++variable)
      variables.emplace_back(*variable);
    std::vector<char *> environment;
    for (std::string &variable : variables)
      environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", test = testOfRank;
    char *const words[] = {program.data(), test.data(), nullptr};
    std::optional<ChildProcess> process = ChildProcess::start([&](int) {
      ::execve(words[0], words, environment.data()); // a fork alone could not use the driver
      return 127;
    });
    REQUIRE(process);
    processes.push_back(std::move(*process));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (ChildProcess &process : processes) {
    std::optional<ProcessEnd> ended = process.waitUntil(end);
    CHECK((ended ? ended->text() : "has not ended") == "exit status 0");
  }
  std::vector<std::string> outcomes;
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::ifstream file(Exchange{folder}.path("outcome", rank));
    outcomes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  fs::remove_all(folder);
  return outcomes;
}

bool lacksGpus() {
  if (mostRanks() > 1)
    return false;
  WARN("skipped, this test needs two GPUs that reach each other's memory");
  return true;
}

} // namespace

TEST_CASE(testOfRank, "[.][process]") {
  const std::string mode = valueOf(modeVariable);
  const Exchange exchange{valueOf(folderVariable), std::stoul(valueOf(rankVariable)),
                          std::stoul(valueOf(ranksVariable))};
  const bool isLast = exchange.rank + 1 == exchange.ranks;
  const auto gpu = int(exchange.rank);
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(gpu));
  auto end = [&](std::string_view outcome) {
    std::ofstream(exchange.path("outcome", exchange.rank)) << outcome;
    std::fflush(nullptr);
    ::_exit(0); // without waiting for a stream that waits for ever
  };
  if (mode == "imports")
    end(importWithoutDevice(exchange, *device));
  RingRank rank(exchange.rank, exchange.ranks, gpu, {.waits = mode != "disagrees" || !isLast},
                [&](std::string_view name, size_t bytes) {
                  return shareBetweenProcesses(exchange, *device, name, bytes);
                });
  std::string outcome = "wrong numbers";
  if (mode == "works") {
    const auto expected = float(exchange.rank == 0 ? exchange.ranks : exchange.rank);
    for (int i = 0; i < 100; ++i)
      expectSuccess(rank.launch());
    expectSuccess(rank.synchronize());
    if (rank.takeResult() == expected) {
      rank.capture();
      for (int i = 0; i < 100; ++i)
        rank.replay();
      expectSuccess(rank.synchronize());
      if (rank.takeResult() == expected)
        outcome = "works";
    }
    (void)exchange.of("end", ""); // others may use this rank's memory
  } else {
    expectSuccess(rank.launch());
    if (mode == "dies") {
      expectSuccess(rank.synchronize());
      (void)exchange.of("launched", "");
      if (isLast)
        ::_exit(0);
      expectSuccess(rank.launch());
    }
    Result<void> done = rank.synchronize(1);
    outcome = done ? "no error" : done.error().message;
    if (!done && rank.launch().error().message != outcome)
      outcome = "launches again";
    rank.release();
  }
  end(outcome);
}

TEST_CASE("ranks that are groups of one process pass tiles around on one GPU", "[ranks][groups]") {
  constexpr size_t count = 2;
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(0));
  std::map<std::string, SymmetricMemory, std::less<>> memories;
  auto share = [&](std::string_view name, size_t bytes) {
    auto [found, isNew] = memories.try_emplace(std::string(name));
    for (size_t rank = 0; isNew && rank < count; ++rank) {
      found->second.ofRanks.push_back(expectValue(device->allocate(bytes)));
      initialize(*device, name, found->second.ofRanks.back(), bytes);
    }
    found->second.bytes = bytes;
    return found->second;
  };
  std::vector<std::unique_ptr<RingRank>> ranks;
  for (size_t rank = 0; rank < count; ++rank)
    ranks.push_back(std::make_unique<RingRank>(rank, count, 0, PassOptions(), share));
  auto finish = [&] {
    for (size_t rank = 0; rank < count; ++rank) {
      expectSuccess(ranks[rank]->synchronize());
      CHECK(ranks[rank]->takeResult() == float(rank == 0 ? count : rank));
    }
  };
  for (int i = 0; i < 20; ++i)
    for (auto &rank : ranks)
      expectSuccess(rank->launch());
  finish();
  for (auto &rank : ranks)
    rank->capture();
  for (int i = 0; i < 20; ++i)
    for (auto &rank : ranks)
      rank->replay();
  finish();
}

TEST_CASE("ranks that are processes pass tiles around, also in graphs", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  CHECK(outcomesOf("works", ranks) == std::vector<std::string>(ranks, "works"));
}

TEST_CASE("memory of a process is reached by a GPU without a device here", "[ranks][processes]") {
  if (lacksGpus())
    return;
  CHECK(outcomesOf("imports", 2) == std::vector<std::string>(2, "works"));
}

TEST_CASE("a process that ends is named by the others", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  const std::vector<std::string> outcomes = outcomesOf("dies", ranks);
  for (size_t rank = 0; rank + 1 < ranks; ++rank)
    CHECK(outcomes[rank] ==
          fmt::format("rank {}: rank {} has not come to the launch of 'test' within 1 s; the "
                      "stream may wait for ever, so end the process without synchronizing",
                      rank, ranks - 1));
}

TEST_CASE("processes whose programs differ say so, and the next ones work", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto outcomes = outcomesOf("disagrees", 2);
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK_THAT(outcomes[rank],
               Contains(fmt::format("rank {}: rank {} launches another program, or one with other "
                                    "symmetric tensors or scalars: expected 0x",
                                    rank, 1 - rank)));
  CHECK(outcomesOf("works", 2) == std::vector<std::string>(2, "works"));
}
