// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are processes of their own, which NCCL connects: they exchange its id by a file, and all else
/// by NCCL. The environment variable TLC_NCCL names the library.
#include "runtime/cuda/ConnectedGroup.h"
#include "runtime/cuda/NcclCommunicator.h"
#include "test/ranks/RankProcess.h"
#include "test/ranks/RingRank.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains, Catch::Matchers::EndsWith;

namespace {

constexpr const char *testOfRank = "a rank that NCCL connects";
constexpr std::chrono::seconds limit(2);

/// Nothing where the library cannot be used, which is told.
std::optional<Nccl> findNccl() {
  const char *path = std::getenv("TLC_NCCL");
  Result<Nccl> nccl = Nccl::open(path ? path : "");
  if (nccl)
    return *nccl;
  WARN("skipped: " << nccl.error().message);
  return {};
}

/// What a call says.
std::string textOf(const Result<void> &result) { return result ? "no error" : result.error().message; }

std::unique_ptr<Communicator> connect(const RankProcess &process, const Nccl &nccl,
                                      std::chrono::seconds limit) {
  const auto &[mode, exchange] = process;
  std::string id;
  if (exchange.rank == 0) {
    const NcclUniqueId made = expectValue(nccl.createUniqueId());
    id.assign(made.bytes.data(), made.bytes.size());
  }
  id = exchange.of("id", id)[0];
  NcclUniqueId given;
  REQUIRE(id.size() == given.bytes.size());
  std::memcpy(given.bytes.data(), id.data(), id.size());
  if (mode == "never comes" && process.isLast()) {
    (void)exchange.of("end", "");
    process.end("did not come");
  }
  Result<std::unique_ptr<Communicator>> communicator =
      createCommunicator(nccl, process.gpu(), int64_t(exchange.rank), int64_t(exchange.ranks), given, limit);
  if (mode == "never comes") {
    (void)exchange.of("end", "");
    process.end(communicator ? "no error" : communicator.error().message);
  }
  return expectValue(std::move(communicator));
}

/// In what rank 1 says, one text stands for another of the same length.
class Disguise final : public Communicator {
public:
  Disguise(std::shared_ptr<Communicator> real, std::string from, std::string to)
      : real(std::move(real)), from(std::move(from)), to(std::move(to)) {}
  int ordinal() const override { return real->ordinal(); }
  int64_t rank() const override { return real->rank(); }
  int64_t ranks() const override { return real->ranks(); }
  const std::string &version() const override { return real->version(); }
  Result<std::vector<std::byte>> exchange(std::span<const std::byte> own) override {
    Result<std::vector<std::byte>> all = real->exchange(own);
    if (all)
      if (auto found = std::ranges::search(all->begin() + long(own.size()), all->end(), from.begin(),
                                           from.end(), [](std::byte a, char b) { return char(a) == b; });
          !found.empty())
        std::memcpy(&*found.begin(), to.data(), to.size());
    return all;
  }
  Result<void> allGather(const void *, void *, size_t, Stream) override { return none(); }
  Result<void> reduceScatter(const void *, void *, size_t, ElementType, Stream) override { return none(); }
  Result<void> allReduce(const void *, void *, size_t, ElementType, Stream) override { return none(); }
  Result<void> synchronize(Stream) override { return none(); }
  void abandon() override { real->abandon(); }

private:
  static Error none() { return {ErrorKind::environment, "no group calls this"}; }
  const std::shared_ptr<Communicator> real;
  const std::string from, to;
};

/// What ranks say that are not all where they must be.
std::string meetElsewhere(const std::string &mode, std::shared_ptr<Communicator> communicator) {
  std::string boot, host(64, '\0');
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  REQUIRE(::gethostname(host.data(), host.size()) == 0);
  host.resize(std::strlen(host.c_str()));
  if (mode == "lonely")
    return textOf(checkPeers(*communicator));
  if (mode == "unseen")
    return textOf(checkPeers(*std::make_unique<Disguise>(communicator, "0000:02", "0000:09")));
  auto elsewhere = std::make_shared<Disguise>(communicator, boot, std::string(boot.size(), '0'));
  auto group =
      ConnectedGroup::create(std::make_shared<Disguise>(elsewhere, host, std::string(host.size(), 'b')));
  return group ? "no error" : group.error().message;
}

/// All collectives on numbers that tell ranks and places apart; "works", or what is wrong.
std::string runCollectives(Communicator &communicator, Device &device) {
  constexpr size_t count = 37;
  const auto ranks = size_t(communicator.ranks()), rank = size_t(communicator.rank());
  auto numberOf = [](size_t of, size_t place) { return float(100 * of + place); };
  std::vector<float> own, sums, gathered;
  for (size_t place = 0; place < ranks * count; ++place) {
    own.push_back(numberOf(rank, place));
    sums.push_back(0);
    for (size_t of = 0; of < ranks; ++of)
      sums.back() += numberOf(of, place);
    gathered.push_back(numberOf(place / count, place % count));
  }
  const size_t bytes = own.size() * sizeof(float);
  void *send = expectValue(device.allocate(bytes)), *receive = expectValue(device.allocate(bytes));
  expectSuccess(device.copyToDevice(send, own.data(), bytes));
  auto received = [&](size_t elements) {
    expectSuccess(communicator.synchronize({}));
    std::vector<float> numbers(elements);
    expectSuccess(device.copyToHost(numbers.data(), receive, elements * sizeof(float)));
    return numbers;
  };
  for (int i = 0; i < 10; ++i)
    expectSuccess(communicator.allReduce(send, receive, own.size(), ElementType::f32, {}));
  if (received(own.size()) != sums)
    return "wrong sums";
  expectSuccess(communicator.reduceScatter(send, receive, count, ElementType::f32, {}));
  const auto first = sums.begin() + long(rank * count);
  if (received(count) != std::vector<float>(first, first + long(count)))
    return "wrong sums of this rank";
  expectSuccess(communicator.allGather(send, receive, count * sizeof(float), {}));
  if (received(own.size()) != gathered)
    return "wrong numbers of all ranks";
  const std::shared_ptr<const CudaContext> cuda = expectValue(CudaContext::create(communicator.ordinal()));
  CurrentContext scope(*cuda);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  REQUIRE(cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuda->driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  const std::string captured = textOf(communicator.allGather(send, receive, 1, {stream})),
                    synchronized = textOf(communicator.synchronize({stream}));
  REQUIRE(cuda->driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  expectSuccess(communicator.synchronize({stream}));
  if (captured != synchronized ||
      captured != fmt::format("rank {}: expected a stream that is not captured, because a communicator waits "
                              "until NCCL has enqueued its work; end the capture first",
                              rank))
    return captured + "; " + synchronized;
  const std::string refused = communicator.allReduce(send, receive, 1, ElementType::e4m3, {}).error().message;
  return refused == fmt::format("rank {}: expected elements that NCCL sums, f16, bf16, f32, f64 or integers "
                                "of 8, 32 or 64 bits, but got e4m3",
                                rank)
             ? "works"
             : refused;
}

/// Whether the driver is that of HostDriver.cpp.
bool needsHostDriver() {
  if (lacksGpus() || !findNccl())
    return true;
  return expectValue(createCudaDevice(0))->properties().name != "host";
}
} // namespace

TEST_CASE(testOfRank, "[.][process]") {
  const RankProcess process = RankProcess::current();
  const auto &[mode, exchange] = process;
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(process.gpu()));
  std::shared_ptr<Communicator> communicator = connect(
      process, *findNccl(),
      mode == "never comes" || mode == "leaves" || mode == "busy" ? limit : std::chrono::seconds(600));
  if (mode == "leaves") {
    if (process.isLast()) {
      (void)exchange.of("end", "");
      process.end("left");
    }
    const std::string first = textOf(checkPeers(*communicator)), again = textOf(checkPeers(*communicator));
    (void)exchange.of("end", "");
    process.end(first == again ? first : "another error the second time");
  }
  if (mode == "busy") {
    auto *flag = static_cast<uint32_t *>(expectValue(createFlagMemory(process.gpu())));
    const std::array waits = {FlagOperation{FlagOperation::Kind::wait, flag, 1}};
    const std::unique_ptr<StreamFlags> flags = expectValue(createCudaFlags(process.gpu()));
    expectSuccess(flags->enqueue(waits, {}));
    const std::string said = textOf(communicator->synchronize({}));
    communicator.reset();
    process.end(said);
  }
  if (mode == "lonely" || mode == "unseen" || mode == "other host")
    process.end(meetElsewhere(mode, communicator));
  if (mode == "collectives") {
    const std::string outcome = runCollectives(*communicator, *device);
    (void)exchange.of("end", "");
    communicator.reset();
    process.end(outcome);
  }
  std::shared_ptr<ConnectedGroup> connected = expectValue(ConnectedGroup::create(communicator));
  communicator.reset();
  void *memory = expectValue(device->allocate(8192));
  std::vector<std::string> said;
  if (mode == "mistakes") {
    void *more = expectValue(device->allocate(8192));
    said.push_back(textOf(connected->share(memory, process.isLast() ? 4096 : 8192)));
    said.push_back(textOf(connected->share(process.isLast() ? nullptr : memory, 8192)));
    said.push_back(textOf(connected->share(memory, size_t(1) << 40)));
    expectSuccess(connected->share(memory, 8192));
    said.push_back(textOf(connected->share(process.isLast() ? memory : more, 8192)));
    expectSuccess(connected->share(more, 8192));
    said.push_back(textOf(connected->unshare(process.isLast() ? nullptr : memory)));
    said.push_back(textOf(connected->unshare(process.isLast() ? memory : more)));
    expectSuccess(connected->unshare(more));
    expectSuccess(connected->unshare(memory));
  }
  RingRank rank(exchange.rank, exchange.ranks, process.gpu(), {connected, &connected->group()},
                [&](std::string_view name, size_t bytes) {
                  void *own = expectValue(device->allocate(bytes));
                  initialize(*device, name, own, bytes);
                  expectSuccess(connected->share(own, bytes));
                  return own;
                });
  std::string outcome;
  if (mode == "dies") {
    expectSuccess(rank.launch());
    expectSuccess(rank.synchronize());
    (void)exchange.of("launched", "");
    if (process.isLast())
      ::_exit(0);
    expectSuccess(rank.launch());
    outcome = rank.synchronize(1).error().message;
    for (const Result<void> &again :
         {connected->share(memory, 8192), connected->unshare(memory), rank.launch()})
      if (textOf(again) != outcome)
        outcome = "goes on with: " + textOf(again);
    rank.release();
    connected.reset();
    process.end(outcome);
  }
  said.push_back(rank.passAround());
  outcome = fmt::format("{}", fmt::join(said, "\n"));
  expectSuccess(connected->share(memory, 8192));
  expectSuccess(connected->unshare(memory));
  expectSuccess(device->free(memory));
  (void)exchange.of("end", ""); // others may use this rank's memory
  rank.release();
  connected.reset();
  process.end(outcome);
}

TEST_CASE("a rank that cannot be, and a limit that is none, make no communicator", "[ranks][nccl]") {
  auto errorOf = [](int64_t rank, int64_t ranks, double seconds) {
    Result<std::unique_ptr<Communicator>> made =
        createCommunicator({}, 0, rank, ranks, {}, Communicator::Limit(seconds));
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::invalidArgument);
    return made.error().message;
  };
  CHECK(errorOf(2, 2, 1) == "expected a number of ranks and the number of one of them, but got rank 2 of 2");
  CHECK(errorOf(-1, 2, 1) ==
        "expected a number of ranks and the number of one of them, but got rank -1 of 2");
  CHECK(errorOf(0, 2, 0) == "rank 0: expected a limit above 0 s, but got 0 s");
  CHECK(errorOf(0, 2, std::nan("")) == "rank 0: expected a limit above 0 s, but got nan s");
}

TEST_CASE("ranks that NCCL connects share memory and pass tiles around", "[ranks][nccl]") {
  if (lacksGpus() || !findNccl())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  CHECK(outcomesOf(testOfRank, "works", ranks) == std::vector<std::string>(ranks, "works"));
}

TEST_CASE("ranks that NCCL connects sum and gather", "[ranks][nccl]") {
  if (lacksGpus() || !findNccl())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  CHECK(outcomesOf(testOfRank, "collectives", ranks) == std::vector<std::string>(ranks, "works"));
}

TEST_CASE("a rank that never comes to the communicator is an error after the limit", "[ranks][nccl]") {
  const std::optional<Nccl> nccl = findNccl();
  if (lacksGpus() || !nccl)
    return;
  CHECK(outcomesOf(testOfRank, "never comes", 2) ==
        std::vector<std::string>{
            fmt::format("rank 0: NCCL {} cannot make a communicator: not all of 2 ranks have come within 2 s",
                        nccl->version),
            "did not come"});
}

TEST_CASE("a rank that does not come to an exchange is an error after the limit", "[ranks][nccl]") {
  const std::optional<Nccl> nccl = findNccl();
  if (lacksGpus() || !nccl)
    return;
  const auto outcomes = outcomesOf(testOfRank, "leaves", 2);
  CHECK_THAT(outcomes[0],
             Contains(fmt::format("rank 0: NCCL {} cannot exchange 512 bytes: not all of 2 ranks have "
                                  "come within 2 s",
                                  nccl->version)));
  CHECK(outcomes[1] == "left");
}

TEST_CASE("a stream that does not end is an error of a communicator after its limit", "[ranks][nccl]") {
  if (needsHostDriver()) // on a GPU NCCL ends its own work only
    return;
  const auto outcomes = outcomesOf(testOfRank, "busy", 2);
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK(outcomes[rank] ==
          fmt::format("rank {}: NCCL 2.19.3 cannot end what is on the stream: not all of 2 ranks have come "
                      "within 2 s, or the stream has more to do than that",
                      rank));
}

TEST_CASE("a process of a connected group that ends is named by the others, which end, too",
          "[ranks][nccl]") {
  if (lacksGpus() || !findNccl())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  const auto outcomes = outcomesOf(testOfRank, "dies", ranks);
  for (size_t rank = 0; rank + 1 < ranks; ++rank)
    CHECK(
        outcomes[rank] ==
        fmt::format(
            "rank {}: rank {} has not come to the launch of 'test' within 1 s; the stream may wait for ever, "
            "so end the process without synchronizing",
            rank, ranks - 1));
}

TEST_CASE("memory that not all ranks share alike is refused on all of them, which go on", "[ranks][nccl]") {
  if (lacksGpus() || !findNccl())
    return;
  const auto outcomes = outcomesOf(testOfRank, "mistakes", 2);
  CHECK(outcomes[0] == outcomes[1]);
  CHECK_THAT(outcomes[0],
             Contains("rank 1: expected to share 8192 bytes, as rank 0 does, but got 4096\n"
                      "rank 1: expected memory of GPU 1 that cuMemAlloc or cudaMalloc has allocated"));
  CHECK_THAT(outcomes[0], Contains("\nrank 0: expected at most 8192 bytes of memory of GPU 0 from 0x"));
  CHECK_THAT(outcomes[0], Contains(" on, where its allocation ends, but got 1099511627776\n"));
  CHECK_THAT(outcomes[0], Contains("\nrank 1: expected memory that the group does not have yet"));
  CHECK_THAT(outcomes[0], EndsWith("\nrank 1: expected the address of memory that is shared, but got 0x0\n"
                                   "rank 1: expected the address of the memory that was shared as number 1, "
                                   "as rank 0 gives, but got that of number 0\nworks"));
}

TEST_CASE("ranks that do not reach each other's memory say which ones, all of them", "[ranks][nccl]") {
  if (needsHostDriver())
    return;
  std::string host(64, '\0');
  REQUIRE(::gethostname(host.data(), host.size()) == 0);
  host.resize(std::strlen(host.c_str()));
  auto check = [](const std::string &mode, const std::string &expected) {
    CHECK(outcomesOf(testOfRank, mode, 2) == std::vector<std::string>(2, expected));
  };
  check("other host",
        fmt::format(
            "expected ranks of one host, whose GPUs reach each other's memory, but rank 0 is on '{}' and "
            "rank 1 on '{}'",
            host, std::string(host.size(), 'b')));
  check("unseen", "rank 0: cannot reach the memory of rank 1: this process does not see GPU 0000:09:00.0; "
                  "CUDA_VISIBLE_DEVICES must show the GPUs of all ranks");
  ::setenv("HOST_DRIVER_LONELY_GPU", "1", 1);
  check("lonely", "rank 1: cannot reach the memory of rank 0: GPU 1 has no peer access to GPU 0000:01:00.0");
  ::unsetenv("HOST_DRIVER_LONELY_GPU");
}
