// SPDX-License-Identifier: Apache-2.0
/// \file
/// Other addresses of tensors in a plan that is made already.
#include "runtime/device/LaunchPlan.h"
#include "test/unit/device/SampleArguments.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

/// Fails the running test unless both launch the same with the same addresses.
void checkEqual(const LaunchPlan &plan, const LaunchPlan &expected) {
  CHECK(plan.variantIndex == expected.variantIndex);
  REQUIRE(plan.zeroFills.size() == expected.zeroFills.size());
  for (size_t i = 0; i < plan.zeroFills.size(); ++i) {
    CHECK(plan.zeroFills[i].address == expected.zeroFills[i].address);
    CHECK(plan.zeroFills[i].rowBytes == expected.zeroFills[i].rowBytes);
    CHECK(plan.zeroFills[i].rows == expected.zeroFills[i].rows);
  }
  REQUIRE(plan.launches.size() == expected.launches.size());
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const PlannedLaunch &launch = plan.launches[i], &other = expected.launches[i];
    CHECK(launch.launch == other.launch);
    CHECK(launch.grid == other.grid);
    CHECK(launch.parameters == other.parameters);
    REQUIRE(launch.tensorMaps.size() == other.tensorMaps.size());
    for (size_t map = 0; map < launch.tensorMaps.size(); ++map)
      CHECK(launch.tensorMaps[map].values == other.tensorMaps[map].values);
  }
}

struct Planned {
  Artifact artifact;
  LaunchArguments arguments;
  LaunchPlan plan;

  Planned(Artifact given, LaunchArguments of) : artifact(std::move(given)), arguments(std::move(of)) {
    plan = replanned();
  }
  LaunchPlan replanned() const {
    Result<LaunchPlan> made = planLaunch(artifact, arguments, sampleDevice());
    INFO((made ? "" : made.error().message));
    REQUIRE(made);
    return *made;
  }
  Result<PlanChange> move(size_t tensor, void *to) {
    return moveTensors(plan, artifact, arguments, sampleDevice(), tensor, {&to, 1});
  }
  PlanChange moved(size_t tensor, void *to) {
    Result<PlanChange> change = move(tensor, to);
    INFO((change ? "" : change.error().message));
    REQUIRE(change);
    CHECK(arguments.tensors[tensor].data == to);
    return *change;
  }
  std::string refusal(size_t tensor, void *to) {
    const std::vector<TensorView> before = arguments.tensors;
    Result<PlanChange> change = move(tensor, to);
    for (size_t i = 0; i < before.size(); ++i)
      CHECK(arguments.tensors[i].data == before[i].data);
    checkEqual(plan, replanned());
    return change ? "" : change.error().message;
  }
};

Artifact clearedArtifact() {
  Artifact artifact = sampleArtifact();
  artifact.tensors[2].zeroFill = artifact.tensors[3].zeroFill = true;
  return artifact;
}

} // namespace

TEST_CASE("a plan with a tensor at another address is the plan of that address", "[device][plan]") {
  LaunchArguments gaps = sampleArguments();
  gaps.tensors[2].strides[0] = 68; // rows that are cleared one by one
  Artifact limited = clearedArtifact();
  TensorMapRecipe &recipe = limited.variants[0].launches[0].tensorMaps[0];
  recipe.limitedAxis = 0;
  recipe.before = 128;
  Planned all[] = {{clearedArtifact(), sampleArguments()},
                   {clearedArtifact(), gaps},
                   {limited, sampleArguments()},
                   {clearedArtifact(), sampleArguments(200, 64, 0)},  // A and B are empty
                   {clearedArtifact(), sampleArguments(0, 64, 128)}}; // nothing is launched
  for (Planned &planned : all)
    for (uintptr_t base : {uintptr_t(0x50000000), uintptr_t(0x7f0000000000), uintptr_t(0x1000)})
      for (size_t tensor = 0; tensor < planned.artifact.tensors.size(); ++tensor) {
        CAPTURE(tensor, base);
        CHECK(planned.moved(tensor, address(base + 0x2000000 * tensor)) == PlanChange::addresses);
        checkEqual(planned.plan, planned.replanned());
      }
}

TEST_CASE("tensors that move together are checked where they are then", "[device][plan]") {
  Planned planned(clearedArtifact(), sampleArguments());
  std::vector<void *> to = {address(0x40000000), address(0x20000000), address(0x50000000),
                            address(0x10000000)}; // A and the workspace change places
  const LaunchArguments before = planned.arguments;
  const auto moveAll = [&] {
    return moveTensors(planned.plan, planned.artifact, planned.arguments, sampleDevice(), 0, to);
  };
  Result<PlanChange> change = moveAll();
  REQUIRE(change);
  CHECK(*change == PlanChange::addresses);
  checkEqual(planned.plan, planned.replanned());
  for (size_t i = 0; i < to.size(); ++i)
    CHECK(to[i] == before.tensors[i].data);
  change = moveAll(); // back
  REQUIRE(change);
  for (size_t i = 0; i < to.size(); ++i)
    CHECK(planned.arguments.tensors[i].data == before.tensors[i].data);
  checkEqual(planned.plan, planned.replanned());

  for (size_t i = 0; i < to.size(); ++i)
    to[i] = before.tensors[i].data;
  change = moveAll();
  REQUIRE(change);
  CHECK(*change == PlanChange::nothing);
}

TEST_CASE("an address for which another variant is launched makes another plan", "[device][plan]") {
  Planned planned(sampleArtifact(), sampleArguments());
  REQUIRE(planned.plan.variantIndex == 0);
  CHECK(planned.moved(0, address(0x50000002)) == PlanChange::all);
  CHECK(planned.plan.variantIndex == 1);
  checkEqual(planned.plan, planned.replanned());
  CHECK(planned.moved(0, address(0x50000010)) == PlanChange::all);
  CHECK(planned.plan.variantIndex == 0);
  checkEqual(planned.plan, planned.replanned());
}

TEST_CASE("an address that a tensor cannot have leaves the plan as it was", "[device][plan]") {
  Planned planned(sampleArtifact(), sampleArguments());
  CHECK(planned.refusal(4, address(0x50000000)) ==
        "'gemm' has 4 tensors, so there is no tensor 4; they count from 0, workspaces last");
  CHECK_THAT(planned.refusal(0, nullptr), Catch::Matchers::StartsWith("argument 'A': "));
  CHECK_THAT(planned.refusal(0, address(0x50000001)), Catch::Matchers::StartsWith("argument 'A': "));
  CHECK_THAT(
      planned.refusal(3, address(0x50000010)),
      Catch::Matchers::StartsWith("workspace 'partial': expected an address that is a multiple of 256"));
  CHECK_THAT(planned.refusal(3, address(0x10000000)),
             Catch::Matchers::StartsWith("workspace 'partial': expected memory of its own"));
  CHECK_THAT(planned.refusal(0, address(0x40000000)),
             Catch::Matchers::StartsWith("workspace 'partial': expected memory of its own"));

  planned.artifact.tensors[0].symmetric = true;
  Result<void> movable = checkMovable(planned.artifact, 0);
  REQUIRE_FALSE(movable);
  CHECK(movable.error().message == "argument 'A': expected a tensor that other ranks do not reach, but it is "
                                   "symmetric; prepare the launch again");
}
