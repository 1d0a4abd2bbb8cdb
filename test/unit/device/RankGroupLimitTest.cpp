// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a group of ranks says where a stream does not end, and which errors end the group.
#include "test/unit/device/LoggedRank.h"

#include <cmath>

using namespace tlc;
using namespace tlc::test;

namespace {

constexpr std::string_view wayOut =
    "; the stream may wait for ever, so end the process without synchronizing";
constexpr std::string_view again = "; synchronize again, or end the process without waiting for its GPU";

} // namespace

TEST_CASE("after the limit a rank says which one has not come", "[device][ranks]") {
  LoggedRank rank(0, 4);
  const uint32_t launch = rank.numberOf(rank.arguments());
  rank.log.words[0] = launch;
  SECTION("one") {
    rank.log.words[1] = rank.log.words[3] = launch;
    CHECK(rank.late() ==
          fmt::format("rank 0: rank 2 has not come to the launch of 'share' within 0.02 s{}", wayOut));
  }
  SECTION("several") {
    rank.log.words[2] = launch;
    CHECK(rank.late() ==
          fmt::format("rank 0: ranks 1, 3 have not come to the launch of 'share' within 0.02 s{}", wayOut));
  }
  SECTION("to clear its counts") {
    rank.log.words[0] = 0;
    for (size_t from : {0, 1, 3})
      rank.log.words[maxRanks + from] = launch;
    CHECK(rank.late() == fmt::format("rank 0: rank 2 has come to the launch of 'share', but has not cleared "
                                     "its counts within 0.02 s{}",
                                     wayOut));
  }
  SECTION("and which one launches something else") {
    const uint32_t other = rank.numberOf(rank.arguments(5));
    rank.log.words[1] = other;
    rank.log.words[2] = 0xABC;
    const std::string differs = "launches another program, or one with other symmetric tensors or scalars: ";
    CHECK(rank.late() ==
          fmt::format("rank 0: rank 1 {3}expected {0:#010x} of 'share', but got {1:#010x} of 'share'; rank 2 "
                      "{3}expected {0:#010x} of 'share', but got 0x00000abc; rank 3 has not come to the "
                      "launch of 'share' within 0.02 s{2}",
                      launch, other, wayOut, differs));
  }
}

TEST_CASE("after the limit a rank says that the others have come, and can wait again", "[device][ranks]") {
  LoggedRank rank(1);
  const uint32_t launch = rank.numberOf(rank.arguments());
  SECTION("but the launch does not end") {
    rank.log.words[16] = launch;
    CHECK(rank.notYet() ==
          fmt::format("rank 1: all ranks have come to the launch of 'share', but it, or what "
                      "follows it on the stream, has not ended within 0.02 s{}",
                      again));
  }
  SECTION("to launches before the one to which one is on its way") {
    rank.log.words[1] = launch;
    rank.log.isMoving = true;
    CHECK(rank.notYet() == fmt::format("rank 1: the stream has not ended within 0.02 s, but ranks still come "
                                       "to launches{}",
                                       again));
  }
  SECTION("or that nothing was launched") {
    CHECK(rank.notYet() == fmt::format("rank 1: what is on the stream before the first launch of the group "
                                       "has not ended within 0.02 s{}",
                                       again));
  }
  SECTION("or that it does not know") {
    rank.log.unreadable = Error{ErrorKind::execution, "no copy"};
    CHECK(rank.notYet() ==
          fmt::format("rank 1: the stream has not ended within 0.02 s, and the flags cannot be "
                      "read: no copy{}",
                      again));
  }
}

TEST_CASE("one rank alone says that its stream has not ended", "[device][ranks]") {
  LoggedRank rank(0, 1);
  expectSuccess(rank.launch(rank.arguments()));
  CHECK(rank.notYet() == fmt::format("rank 0: the stream has not ended within 0.02 s{}", again));
}

TEST_CASE("a launch whose name is forgotten has its number", "[device][ranks]") {
  LoggedRank rank(0);
  const uint32_t launch = rank.numberOf(rank.arguments());
  LaunchArguments arguments = rank.arguments();
  for (arguments.scalars[0].bits = 2; arguments.scalars[0].bits < 10'010; ++arguments.scalars[0].bits)
    expectSuccess(rank.launch(arguments));
  rank.log.words[0] = launch;
  CHECK(rank.late() ==
        fmt::format("rank 0: rank 1 has not come to the launch of {:#010x} within 0.02 s{}", launch, wayOut));
}

TEST_CASE("a group whose launch was enqueued in part is of no use any more", "[device][ranks]") {
  LoggedRank rank(0);
  rank.log.refusal = Error{ErrorKind::environment, "no operations"};
  CHECK(rank.launch(rank.arguments()).error().message == "rank 0: no operations");
  CHECK(rank.log.isAbandoned);
  rank.log.refusal.reset();
  CHECK(rank.launch(rank.arguments()).error().message == "rank 0: no operations");
}

TEST_CASE("a group whose launch could not be captured launches again", "[device][ranks]") {
  LoggedRank rank(0);
  rank.log.isCaptured = true;
  rank.log.refusal = Error{ErrorKind::environment, "no operations"};
  CHECK(rank.launch(rank.arguments()).error().message == "rank 0: no operations");
  CHECK_FALSE(rank.log.isAbandoned);
  rank.log.refusal.reset();
  expectSuccess(rank.launch(rank.arguments()));
}

TEST_CASE("a group does not wait for a stream of which nobody can tell, and is of use further on",
          "[device][ranks]") {
  LoggedRank rank(0);
  SECTION("one that is captured") {
    rank.log.isCaptured = true;
    CHECK(rank.group->synchronize().error().message ==
          "rank 0: expected a stream that runs, but got one that is captured; end the capture first");
    rank.log.isCaptured = false;
  }
  SECTION("one that is none") {
    rank.log.unqueryable = Error{ErrorKind::execution, "no stream"};
    CHECK(rank.group->synchronize().error().message == "rank 0: no stream");
    rank.log.unqueryable.reset();
  }
  SECTION("for a time that is none") {
    CHECK(rank.group->synchronize({}, std::chrono::duration<double>(std::nan(""))).error().message ==
          "rank 0: expected a limit in seconds, but got nan");
  }
  expectSuccess(rank.launch(rank.arguments()));
}

TEST_CASE("a group whose stream ends in time waits no longer", "[device][ranks]") {
  LoggedRank rank(0);
  rank.log.isDone = true;
  expectSuccess(rank.group->synchronize());
  expectSuccess(rank.group->synchronize({}, std::nullopt));
}

TEST_CASE("a group tells what programs have reported when the stream is done", "[device][ranks]") {
  LoggedRank rank(1);
  LoggedDevice device(rank.log, 0);
  Artifact artifact = sampleProgram()->artifact();
  artifact.variants[0].reports.emplace_back();
  auto program = std::make_shared<HostProgram>(artifact);
  expectSuccess(rank.group->launch(device, program, rank.arguments()));
  rank.log.steps.clear();
  CHECK(rank.notYet() != "");
  CHECK(rank.log.steps.back() == "reports");
  rank.log.isDone = true;
  rank.log.reported = Error{ErrorKind::execution, "1 check failed"};
  Result<void> done = rank.group->synchronize();
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::execution);
  CHECK(done.error().message == "rank 1: 1 check failed");
  expectSuccess(rank.group->synchronize());
  rank.log.steps.clear();
  program.reset();
  expectSuccess(rank.group->synchronize());
  CHECK(rank.log.steps.empty());
}
