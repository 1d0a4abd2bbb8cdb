// SPDX-License-Identifier: Apache-2.0
/// \file
/// Several emulated devices: peer memory, copies between them, kernels that
/// wait for each other.
#include "test/unit/emulator/Devices.h"

#include <random>

using namespace tlc;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// Waits for word 0 of %mine to be %r1.
constexpr std::string_view waitText = R"(
$wait:
  ld.acquire.sys.global.u32 %r2, [%mine];
  setp.ne.u32 %p1, %r2, %r1;
  @%p1 bra $wait;
)";

} // namespace

TEST_CASE("devices that are emulated together have ordinals", "[devices]") {
  const auto devices = createEmulatorDevices(3, {.multiprocessors = 2});
  REQUIRE(devices.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(devices[size_t(i)]->properties().ordinal == i);
    CHECK(devices[size_t(i)]->properties().multiprocessors == 2);
  }
  CHECK(createEmulatorDevice()->properties().ordinal == 0);
}

TEST_CASE("kernels of two devices pass a word back and forth", "[devices]") {
  const auto devices = createEmulatorDevices(2, {.hostThreads = 1});
  REQUIRE(devices[0]->enablePeerAccess(*devices[1]));
  REQUIRE(devices[1]->enablePeerAccess(*devices[0]));
  Words a(*devices[0], {0, 0}), b(*devices[1], {0, 0});
  // Device 0 begins each round; each side adds 1 to what comes in word 1.
  const std::string play = std::string("@!%first ret;\n  mov.u32 %r1, 1;\n$round:\n");
  const std::string send = R"(
  st.global.u32 [%theirs+4], %r4;
  st.release.sys.global.u32 [%theirs], %r1;
)";
  const std::string next = R"(
  add.u32 %r1, %r1, 1;
  setp.le.u32 %p2, %r1, 50;
  @%p2 bra $round;
)";
  const std::string take =
      std::string(waitText) + "  ld.global.u32 %r4, [%mine+4];\n  add.u32 %r4, %r4, 1;\n";
  REQUIRE(launch(*devices[0], kernel("  mov.u32 %r4, 0;\n" + play + send + take + next), a, b));
  REQUIRE(launch(*devices[1], kernel(play + take + send + next), b, a));
  CHECK(errorOf(devices[0]->synchronize()) == "");
  CHECK(errorOf(devices[1]->synchronize()) == "");
  CHECK(a.read() == std::vector<uint32_t>{50, 99});
  CHECK(b.read() == std::vector<uint32_t>{50, 98});
}

TEST_CASE("atomics of several devices on the same words lose nothing", "[devices]") {
  const auto devices = createEmulatorDevices(3);
  Words counter(*devices[0], std::vector<uint32_t>(32));
  std::vector<std::unique_ptr<Words>> own;
  for (const auto &device : devices) {
    if (device != devices[0])
      REQUIRE(device->enablePeerAccess(*devices[0]));
    own.push_back(std::make_unique<Words>(*device, std::vector<uint32_t>(32)));
    REQUIRE(launch(*device,
                   kernel(R"(
  mad.wide.u32 %d1, %t, 4, %theirs;
  mov.u32 %r1, 0;
$loop:
  atom.add.relaxed.sys.global.u32 %r2, [%d1], 1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100;
  @%p1 bra $loop;
)",
                          4),
                   *own.back(), counter));
  }
  for (const auto &device : devices)
    CHECK(errorOf(device->synchronize()) == "");
  CHECK(counter.read() == std::vector<uint32_t>(32, 3 * 4 * 100));
}

TEST_CASE("memory of another device needs peer access, in its direction", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words a(*devices[0], {1, 2}), b(*devices[1], {3, 4});
  const Artifact reads =
      kernel("  @%first ld.global.u32 %r1, [%theirs+4]; @%first st.global.u32 [%mine], %r1;");
  CHECK_THAT(errorOf(launch(*devices[0], reads, a, b)),
             Contains("argument 'theirs'")
                 .operator&&(Contains(
                     "is memory of device 1, which device 0 cannot access before it enables peer access")));
  REQUIRE(devices[0]->enablePeerAccess(*devices[1]));
  REQUIRE(launch(*devices[0], reads, a, b));
  CHECK(a.read() == std::vector<uint32_t>{4, 2});
  CHECK_THAT(errorOf(launch(*devices[1], reads, b, a)),
             Contains("is memory of device 0, which device 1 cannot"));
}

TEST_CASE("a pointer to another device's memory that a kernel finds is checked when it is used",
          "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words b(*devices[1], {3, 4});
  const uint64_t address = reinterpret_cast<uint64_t>(b.address);
  Words a(*devices[0], {uint32_t(address), uint32_t(address >> 32)});
  const Artifact follows = kernel("  ld.global.u64 %d1, [%mine]; ld.global.u32 %r1, [%d1];");
  REQUIRE(launch(*devices[0], follows, a, a));
  CHECK_THAT(errorOf(devices[0]->synchronize()),
             Contains("illegal read of 4 bytes by lane 0 at global address 0x")
                 .operator&&(Contains("memory of device 1, which kernels of device 0 cannot access before it "
                                      "enables peer access")));
  // The error is told once.
  CHECK(errorOf(devices[0]->synchronize()) == "");
}

TEST_CASE("copies between devices check both sides", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  std::mt19937 random(Catch::rngSeed());
  std::vector<uint32_t> values(100);
  for (uint32_t &value : values)
    value = uint32_t(random());
  Words from(*devices[0], values), to(*devices[1], std::vector<uint32_t>(100));
  CHECK(errorOf(devices[1]->copyFromPeer(to.address, *devices[0], from.address, from.bytes())) == "");
  CHECK(to.read() == values);
  CHECK_THAT(errorOf(devices[1]->copyFromPeer(to.address, *devices[0], from.address, 404)),
             Contains("404 bytes at").operator&&(Contains("not inside one allocation of this device")));
  CHECK_THAT(errorOf(devices[1]->copyFromPeer(from.address, *devices[0], from.address, 4)),
             Contains("is not memory of this device"));
  CHECK_THAT(errorOf(devices[1]->copyFromPeer(to.address, *devices[1], to.address, 4)),
             Contains("device 1 is its own peer"));
  const auto stranger = createEmulatorDevice();
  CHECK_THAT(errorOf(devices[1]->copyFromPeer(to.address, *stranger, from.address, 4)),
             Contains("were not created together"));
  CHECK_THAT(errorOf(devices[1]->enablePeerAccess(*stranger)), Contains("were not created together"));
}

TEST_CASE("memory is cleared after what was launched before", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words a(*devices[0], {1, 2});
  REQUIRE(launch(*devices[0], kernel("  mov.u32 %r1, 3; @%first st.global.u32 [%mine+4], %r1;"), a, a));
  CHECK(errorOf(devices[0]->clear(a.address, 4)) == "");
  CHECK(a.read() == std::vector<uint32_t>{0, 3});
  CHECK_THAT(errorOf(devices[0]->clear(a.address, 12)),
             Contains("12 bytes at").operator&&(Contains("not inside one allocation of this device")));
}

TEST_CASE("a device waits for the events of others", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words a(*devices[0], {0});
  REQUIRE(launch(*devices[0], kernel("  mov.u32 %r1, 3; @%first st.global.u32 [%mine], %r1;"), a, a));
  Result<std::unique_ptr<const Event>> event = devices[0]->record();
  REQUIRE(event);
  CHECK(errorOf(devices[1]->wait(**event)) == "");
  REQUIRE(launch(*devices[0], kernel("  trap;"), a, a));
  const Result<std::unique_ptr<const Event>> failed = devices[0]->record();
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().message, Contains("trap"));
  struct Stranger final : Event {
    Stranger() : Event(EventTime::ignored) {}
  };
  CHECK_THAT(errorOf(devices[1]->wait(Stranger())), Contains("expected an event of an emulated device"));
}

TEST_CASE("devices that wait for each other for ever are told so", "[devices]") {
  const auto devices = createEmulatorDevices(2, {.hostThreads = 1});
  REQUIRE(devices[0]->enablePeerAccess(*devices[1]));
  Words a(*devices[0], {0}), b(*devices[1], {0});
  const std::string waits = "  mov.u32 %r1, 1;\n" + std::string(waitText);
  // Each waits before it would release the other; device 0 at the memory of device 1.
  REQUIRE(launch(*devices[0], kernel(waits), b, b));
  REQUIRE(launch(*devices[1], kernel(waits), b, b));
  const std::string first = errorOf(devices[0]->synchronize()), second = errorOf(devices[1]->synchronize());
  CHECK_THAT(first,
             Contains("deadlock in 'k'")
                 .operator&&(Contains("reads 0x"))
                 .operator&&(Contains("again and again, memory of device 1, and no running warp writes "
                                      "there")));
  CHECK_THAT(second, Contains("deadlock in 'k'").operator&&(!Contains("memory of device")));
}

TEST_CASE("what stands after a launch that fails does not run", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words a(*devices[0], {0});
  REQUIRE(launch(*devices[0], kernel("  trap;"), a, a));
  REQUIRE(launch(*devices[0], kernel("  mov.u32 %r1, 1; st.global.u32 [%mine], %r1;"), a, a));
  CHECK_THAT(errorOf(devices[0]->synchronize()), Contains("trap"));
  CHECK(a.read() == std::vector<uint32_t>{0});
  REQUIRE(launch(*devices[0], kernel("  mov.u32 %r1, 2; st.global.u32 [%mine], %r1;"), a, a));
  CHECK(a.read() == std::vector<uint32_t>{2});
}

TEST_CASE("an error that comes later says which launch it is of", "[devices]") {
  const auto devices = createEmulatorDevices(2);
  Words a(*devices[0], {0});
  const Stream stream = {.handle = &a};
  REQUIRE(launch(*devices[0], kernel("  trap;"), a, a, stream));
  CHECK_THAT(errorOf(devices[0]->synchronize()),
             Catch::Matchers::EndsWith(
                 fmt::format("; launched as 'kernel' with n = 1 on stream {}", stream.handle)));
}

TEST_CASE("blocks that wait for blocks for which there is no room are told so", "[devices][polling]") {
  // A barrier of the whole grid, of blocks so large that two of the four fit.
  const auto device = createEmulatorDevice({.multiprocessors = 2, .hostThreads = 1});
  Words a(*device, {0});
  const std::string barrier = R"(
  @!%first ret;
  atom.add.acq_rel.gpu.global.u32 %r2, [%mine], 1;
$wait:
  ld.acquire.gpu.global.u32 %r2, [%mine];
  setp.lt.u32 %p1, %r2, 4;
  @%p1 bra $wait;
)";
  const std::string message = errorOf(launch(*device, kernel(barrier, 4, 200 * 1024), a, a));
  CHECK_THAT(message,
             Contains("deadlock in 'k'")
                 .operator&&(Contains("2 of 4 clusters of the grid have not started: the device holds "
                                      "no more at the same time")));
  CHECK(a.read() == std::vector<uint32_t>{2});
}

TEST_CASE("a stream of another device leaves a capture that it joined when that ends", "[devices][graph]") {
  const auto devices = createEmulatorDevices(2, {.hostThreads = 1});
  Device &first = *devices[0], &second = *devices[1];
  const auto begunStream = first.createStream(), joinedStream = second.createStream();
  const Stream begun = **begunStream, joined = **joinedStream;
  Words words(second, {1});
  const Result<std::unique_ptr<Graph>> graph = first.capture(begun, [&]() -> Result<void> {
    const auto forked = first.record(begun);
    if (Result<void> done = second.wait(**forked, joined); !done)
      return done;
    CHECK(*second.isCaptured(joined));
    CHECK_THAT(errorOf(second.enablePeerAccess(first)),
               Contains("cannot enable peer access while this thread captures a stream"));
    CHECK_THAT(errorOf(first.copyFromPeer(nullptr, second, words.address, 4)),
               Contains("cannot copy from a peer while this thread captures a stream"));
    if (Result<void> done = second.clear(words.address, 4, joined); !done)
      return done;
    return first.wait(**second.record(joined), begun);
  });
  REQUIRE(graph);
  CHECK_FALSE(*second.isCaptured(joined));
  CHECK(second.allocate(16));
  CHECK(words.read() == std::vector<uint32_t>{1});
  REQUIRE((*graph)->launch(begun));
  CHECK(words.read() == std::vector<uint32_t>{0});
  CHECK(second.capture(joined, [] { return Result<void>(); }));
}
