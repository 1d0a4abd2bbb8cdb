// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tlc_launch takes beyond the driver's call, with a driver that only notes what it is asked for.
#include "test/unit/libtlc/Caller.h"

#include <deque>

using namespace tlc;
using namespace tlc::test;

TEST_CASE("tlc_launch with the shapes of an earlier one checks memory alone, and allocates nothing",
          "[libtlc][launch]") {
  const Caller caller;
  REQUIRE(caller.launch() == TLC_OK);
  noted = {};
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && caller.launch() == TLC_OK;
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.launches == 6);       // of two kernels
  CHECK(noted.pointerChecks == 12); // one for each tensor
  CHECK(noted.contexts == 3);
  CHECK(noted.encodedMaps == 0);
}

TEST_CASE("tlc_launch at other addresses changes the maps of the tensors that moved", "[libtlc][launch]") {
  Caller caller;
  REQUIRE(caller.launch() == TLC_OK);
  noted = {};
  caller.tensors[0].data = address(0x50000000);
  caller.tensors[2].data = address(0x60000000);
  caller.workspaces[0] = address(0x10000000);
  bool succeeded = true;
  {
    AllocationCount count;
    succeeded = caller.launch() == TLC_OK;
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.encodedMaps == 0);
  CHECK(noted.replacedMaps == 1);
  CHECK(noted.mapAddress == 0x50000000);
  CHECK(noted.output == 0x60000000);
}

TEST_CASE("tlc_launch with other shapes or scalars is another launch", "[libtlc][launch]") {
  Caller caller;
  REQUIRE(caller.launch() == TLC_OK);
  noted = {};
  caller.scalars[0].bits = 1;
  CHECK(caller.launch() == TLC_OK);
  CHECK(noted.encodedMaps == 2);
  caller.shapes[0][0] = caller.shapes[2][0] = 72;
  CHECK(caller.launch() == TLC_OK);
  CHECK(noted.encodedMaps == 4);
  caller.shapes[0][0] = caller.shapes[2][0] = 200;
  CHECK(caller.launch() == TLC_OK);
  CHECK(noted.encodedMaps == 4);
}

TEST_CASE("errors of tlc_launch are those of a first one", "[libtlc][launch]") {
  const Caller caller;
  REQUIRE(caller.launch() == TLC_OK);
  std::deque<Caller> wrong;
  const auto add = [&](auto change) { change(wrong.emplace_back()); };
  add([](Caller &one) { one.tensors[0].data = nullptr; });
  add([](Caller &one) { one.tensors[0].data = one.tensors[2].data = nullptr; });
  add([](Caller &one) { one.tensors[2].data = one.tensors[0].data; });
  add([](Caller &one) { one.tensors[1].shape = nullptr; });
  add([](Caller &one) { one.shapes[1][1] = 64; });
  add([](Caller &one) { one.tensors[1].element = 1000; });
  add([](Caller &one) { one.tensors.pop_back(); });
  add([](Caller &one) { one.scalars[0].element = TLC_I32; });
  add([](Caller &one) { one.scalars.clear(); });
  add([](Caller &one) { one.workspaces.clear(); });
  add([](Caller &one) { one.workspaces[0] = one.tensors[1].data; });
  for (size_t i = 0; i < wrong.size(); ++i) {
    CAPTURE(i);
    const Caller &one = wrong[i];
    const size_t launches = noted.launches;
    const int firstStatus = one.launch(); // by a program of its own, which has launched nothing
    const std::string first = tlc_last_error();
    CHECK(firstStatus == TLC_INVALID_ARGUMENT);
    CHECK(one.launch(caller.own) == firstStatus);
    CHECK(tlc_last_error() == first);
    CHECK(noted.launches == launches);
  }
  CHECK(caller.launch() == TLC_OK);
}
