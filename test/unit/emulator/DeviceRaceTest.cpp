// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker between devices: what kernels of several devices do to memory
/// that they share, and how far synchronisation reaches.
#include "runtime/emulator/report/Finding.h"
#include "test/unit/emulator/Devices.h"

#include <fmt/format.h>
#include <mutex>

using namespace tlc;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// Devices that reach each other's memory, and what is found on any of them.
struct Machines {
  explicit Machines(unsigned count) {
    EmulatorOptions options{.hostThreads = 1};
    options.onFindings = [this](const Findings &findings) {
      const std::lock_guard lock(mutex);
      found.add(findings);
    };
    devices = createEmulatorDevices(count, options);
    for (const auto &device : devices)
      for (const auto &peer : devices)
        if (device != peer)
          REQUIRE(device->enablePeerAccess(*peer));
  }
  /// Until all is done; what was found since the machines were made.
  const Findings &finish() {
    for (const auto &device : devices)
      CHECK((errorOf(device->synchronize()).empty() || !found.empty()));
    INFO(found.text());
    return found;
  }
  Device &operator[](size_t device) { return *devices[device]; }

  std::mutex mutex;
  Findings found;
  std::vector<std::unique_ptr<Device>> devices;
};

/// Device 0 writes word 1 of device 1 and sets word 0; device 1 waits for that and reads. Lines of the
/// source are 10 for the write, 11 for the flag, 20 for the poll and 21 for the read.
std::string passing(std::string_view set, std::string_view get, std::string_view after = "") {
  Machines machines(2);
  Words a(machines[0], {0, 0}), b(machines[1], {0, 0});
  REQUIRE(launch(machines[0],
                 kernel(fmt::format("@!%first ret; mov.b32 %r1, 1;\n.loc 1 10 3\n"
                                    "st.global.b32 [%theirs+4], 7;\n.loc 1 11 3\n{}\n",
                                    set),
                        1, 0, "produce"),
                 a, b));
  REQUIRE(launch(machines[1],
                 kernel(fmt::format("@!%first ret;\n$poll:\n.loc 1 20 3\n{}\nsetp.ne.u32 %p1, %r2, 1; @%p1 "
                                    "bra $poll;\n{}\n.loc 1 21 3\nld.global.b32 %r3, [%mine+4];\n",
                                    get, after),
                        1, 0, "consume"),
                 b, a));
  return machines.finish().text();
}

const std::string release = "st.release.sys.global.b32 [%theirs], %r1;",
                  acquire = "ld.acquire.sys.global.b32 %r2, [%mine];",
                  relaxed = "st.relaxed.sys.global.b32 [%theirs], %r1;",
                  poll = "ld.relaxed.sys.global.b32 %r2, [%mine];";

} // namespace

TEST_CASE("devices pass data by a release and an acquire of the system's scope", "[devices]") {
  CHECK(passing(release, acquire) == "");
  CHECK(passing("red.release.sys.global.add.u32 [%theirs], %r1;", acquire) == "");
  CHECK(passing("atom.acq_rel.sys.global.exch.b32 %r9, [%theirs], %r1;",
                "atom.acquire.sys.global.add.u32 %r2, [%mine], 0;") == "");
  CHECK(passing("fence.acq_rel.sys;" + relaxed, poll, "fence.acq_rel.sys;") == "");
  CHECK(passing("membar.sys; st.volatile.global.b32 [%theirs], %r1;", "ld.volatile.global.b32 %r2, [%mine];",
                "membar.sys;") == "");
}

TEST_CASE("a race between devices names both, their kernels and lines", "[devices]") {
  for (const auto &[set, get] : {std::pair(relaxed, acquire), {release, poll}}) {
    const std::string found = passing(set, get);
    CHECK_THAT(found, Contains("kernel.cpp:21:3: race between the read of tensor 'mine' at element [1] "
                               "(byte offset 4) of device 1 and the write by 'st.global.b32' at PTX line") &&
                          Contains("(kernel.cpp:10:3, 'produce' on device 0, block (0, 0, 0), warp 0, lane "
                                   "0); missing: a release and an acquire of scope .sys between these "
                                   "devices, or a wait of the host for the first launch before the second "
                                   "('ld.global.b32' at PTX line") &&
                          Contains("of 'consume', device 1, block (0, 0, 0), warp 0, lane 0)"));
  }
  // Word 0 is no flag at all.
  CHECK_THAT(passing("st.global.b32 [%theirs], %r1;", acquire), Contains("kernel.cpp:11:3"));
}

TEST_CASE("a scope that ends with the device is said to", "[devices]") {
  const std::string ends = "missing: scope .sys at both ends of the synchronisation between these devices, "
                           "fences included; .gpu does not reach another device",
                    flag = "missing: scope .sys of both; .gpu does not reach another device";
  for (const std::string scope : {"gpu", "cta"}) {
    const std::string found = passing("st.release." + scope + ".global.b32 [%theirs], %r1;", acquire);
    CHECK_THAT(found, Contains(ends) && Contains("kernel.cpp:10:3") && Contains(flag) &&
                          Contains("kernel.cpp:11:3"));
    const std::string other = passing(release, "ld.acquire." + scope + ".global.b32 %r2, [%mine];");
    CHECK_THAT(other, Contains(ends) && Contains(flag));
  }
  // The flag itself is of the system, the fence is not: __threadfence for __threadfence_system.
  const std::string first = passing("fence.acq_rel.gpu;" + relaxed, poll, "fence.acq_rel.sys;"),
                    second = passing("membar.sys;" + relaxed, poll, "membar.gl;");
  CHECK_THAT(first, Contains(ends) && !Contains(flag));
  CHECK_THAT(second, Contains(ends) && !Contains(flag));
}

TEST_CASE("atomics of two devices on a word need the system's scope", "[devices]") {
  const auto count = [](std::string_view scope) {
    Machines machines(2);
    Words a(machines[0], {0}), b(machines[1], {0});
    const Artifact adds = kernel(fmt::format("red.relaxed.{}.global.add.u32 [%mine], 1;", scope), 2);
    REQUIRE(launch(machines[0], adds, a, a));
    REQUIRE(launch(machines[1], adds, a, b));
    return machines.finish().text();
  };
  CHECK(count("sys") == "");
  CHECK_THAT(count("gpu"),
             Contains("race between the atomic access of tensor 'mine' at element [0] (byte offset 0)") &&
                 Contains("missing: scope .sys of both"));
}

TEST_CASE("blocks of two devices count each other in by one word", "[devices]") {
  // Each of two blocks of device 0 writes its words; two of device 1 wait for both and read all.
  const auto run = [](std::string_view semantics) {
    Machines machines(2);
    Words a(machines[0], std::vector<uint32_t>(128)), b(machines[1], std::vector<uint32_t>(128));
    const std::string at = "mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 32, %t; add.u32 %r6, %r6, 32;\n";
    REQUIRE(launch(machines[0],
                   kernel(at + fmt::format("mad.wide.u32 %d1, %r6, 4, %theirs; st.global.b32 [%d1], %r6;\n"
                                           "bar.sync 0; @%first red.{}.global.add.u32 [%theirs], 1;\n",
                                           semantics),
                          2),
                   a, b));
    REQUIRE(launch(machines[1],
                   kernel(at + "@!%first bra $all;\n$poll: ld.acquire.sys.global.u32 %r2, [%mine];\n"
                               "setp.ne.u32 %p1, %r2, 2; @%p1 bra $poll;\n$all:\nbar.sync 0;\n"
                               "mad.wide.u32 %d1, %t, 4, %mine; ld.global.b32 %r3, [%d1+128];\n"
                               "ld.global.b32 %r4, [%d1+256];\n",
                          2),
                   b, a));
    return machines.finish().text();
  };
  CHECK(run("release.sys") == "");
  CHECK_THAT(run("relaxed.sys"), Contains("missing: a release and an acquire of scope .sys"));
  CHECK_THAT(run("release.gpu"), Contains("missing: scope .sys at both ends"));
}

TEST_CASE("a third device learns what the second one has acquired", "[devices]") {
  const auto run = [](std::string_view scope) {
    Machines machines(3);
    Words a(machines[0], {0, 0}), b(machines[1], {0, 0}), c(machines[2], {0, 0});
    const auto wait = [](std::string_view of) {
      return fmt::format("$poll: ld.acquire.sys.global.u32 %r2, [{}]; setp.ne.u32 %p1, %r2, 1; @%p1 bra "
                         "$poll;\n",
                         of);
    };
    const std::string once = "@!%first ret; mov.b32 %r1, 1;\n";
    REQUIRE(launch(machines[0], kernel(once + "st.global.b32 [%mine+4], 7;\n" + release), a, b));
    REQUIRE(launch(
        machines[1],
        kernel(once + wait("%mine") + fmt::format("st.release.{}.global.b32 [%theirs], %r1;", scope)), b, c));
    REQUIRE(launch(machines[2], kernel(once + wait("%mine") + "ld.global.b32 %r3, [%theirs+4];"), c, a));
    return machines.finish().text();
  };
  CHECK(run("sys") == "");
  // Found by whoever of the devices comes later.
  CHECK_THAT(run("gpu"), Contains("'k', device 2") || Contains("'k' on device 2"));
}

TEST_CASE("launches come after those that the host has waited for, and those of their device", "[devices]") {
  const Artifact writes = kernel("@%first st.global.b32 [%mine], 7;"),
                 reads = kernel("@%first ld.global.b32 %r1, [%theirs];");
  for (const bool waits : {true, false}) {
    Machines machines(2);
    Words a(machines[0], {0}), b(machines[1], {0});
    REQUIRE(launch(machines[0], writes, a, b));
    if (waits)
      REQUIRE(machines[0].synchronize());
    REQUIRE(launch(machines[1], reads, b, a));
    const std::string found = machines.finish().text();
    CHECK(found.empty() == waits);
    CHECK((waits || found.find("a wait of the host for the first launch") != std::string::npos));
  }
  // Two launches before the flag, two after it, by the order of their devices.
  Machines machines(2);
  Words a(machines[0], {0}), b(machines[1], {0});
  const Artifact sets = kernel("@!%first ret; mov.b32 %r1, 1;\n" + release),
                 waits =
                     kernel("@!%first ret;\n$poll:" + acquire + "setp.ne.u32 %p1, %r2, 1; @%p1 bra $poll;");
  REQUIRE(launch(machines[0], writes, a, b));
  REQUIRE(launch(machines[0], sets, a, b));
  REQUIRE(launch(machines[1], waits, b, a));
  REQUIRE(launch(machines[1], reads, b, a));
  CHECK(machines.finish().text() == "");
}

TEST_CASE("devices that access bytes and words of the same memory are compared by bytes", "[devices]") {
  const auto run = [](unsigned offset) {
    Machines machines(2);
    Words a(machines[0], {0}), b(machines[1], {0});
    // The pieces of words that device 0 has made are taken apart by device 1, when its turn comes.
    REQUIRE(launch(machines[0], kernel("@!%first ret; mov.b32 %r1, 1; st.global.b16 [%mine], 7;\n" + relaxed),
                   a, b));
    REQUIRE(launch(machines[1],
                   kernel(fmt::format("@!%first ret;\n$poll:{} setp.ne.u32 %p1, %r2, 1; @%p1 bra $poll;\n"
                                      "ld.global.b8 %r3, [%theirs+{}];\n",
                                      poll, offset)),
                   b, a));
    return machines.finish().text();
  };
  CHECK(run(2) == "");
  CHECK_THAT(run(1), Contains("race between the read of tensor 'theirs' at element [0] (byte offset 1)"));
}

TEST_CASE("memory that is allocated again has no past on other devices", "[devices]") {
  Machines machines(2);
  for (int round = 0; round < 8; ++round) {
    // Device 0 has written when its flag is seen, which orders nothing; nobody waits for it.
    Words flag(machines[1], {0}), b(machines[1], {0});
    REQUIRE(launch(machines[0], kernel("@!%first ret; mov.b32 %r1, 1; st.global.b32 [%mine], 7;\n" + relaxed),
                   b, flag));
    REQUIRE(launch(machines[1],
                   kernel("@!%first ret;\n$poll:" + poll + "setp.ne.u32 %p1, %r2, 1; @%p1 bra $poll;"), flag,
                   flag));
    REQUIRE(machines[1].free(b.address));
    Words again(machines[1], {0});
    REQUIRE(launch(machines[1], kernel("@%first st.global.b32 [%mine], 7;"), again, again));
    CHECK(errorOf(machines[1].synchronize()) == "");
  }
  CHECK(machines.finish().text() == "");
}
