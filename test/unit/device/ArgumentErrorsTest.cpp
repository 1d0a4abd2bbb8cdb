// SPDX-License-Identifier: Apache-2.0
/// \file
/// What wrong arguments get, by message.
#include "runtime/artifact/Verify.h"
#include "runtime/device/LaunchPlan.h"
#include "test/unit/device/SampleArguments.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::test;
using Kind = KernelParameter::Kind;
using Catch::Matchers::StartsWith;

namespace {

std::string failureOf(const Artifact &artifact, const LaunchArguments &arguments) {
  Result<LaunchPlan> plan = planLaunch(artifact, arguments, sampleDevice());
  if (plan)
    return "";
  CHECK(plan.error().kind == ErrorKind::invalidArgument);
  return plan.error().message;
}

/// The message for the sample's arguments after `change`.
template <class Change> std::string failureAfter(Change change) {
  LaunchArguments arguments = sampleArguments();
  change(arguments);
  return failureOf(sampleArtifact(), arguments);
}

} // namespace

TEST_CASE("a wrong number of arguments names those expected", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors.resize(1); }) ==
        "'gemm' expects 4 tensors (A, B, C, workspace partial), but got 1");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors.resize(5); }) ==
        "'gemm' expects 4 tensors (A, B, C, workspace partial), but got 5");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors.resize(3); }) ==
        "'gemm' expects 4 tensors, its workspaces last, but got only the 3 inputs and outputs");
  CHECK(failureAfter([](LaunchArguments &a) { a.scalars.clear(); }) ==
        "'gemm' expects 1 scalars (alpha), but got 0");
}

TEST_CASE("wrong types and ranks name the argument", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].element = ElementType::f16; }) ==
        "argument 'A': expected element type bf16, but got f16");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[1].shape = {64}; }) ==
        "argument 'B': expected rank 2, but got 1");
  CHECK(failureAfter([](LaunchArguments &a) { a.scalars[0].element = ElementType::f64; }) ==
        "argument 'alpha': expected a scalar of type f32, but got f64");
}

TEST_CASE("conflicting extents name both tensors and axes", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[1].shape[1] = 64; }) ==
        "argument 'B' axis 1: expected extent 128 because dimension 'K' is 128 in argument 'A' axis 1, but "
        "got 64");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[2].shape[0] = 201; }) ==
        "argument 'C' axis 0: expected extent 200 because dimension 'M' is 200 in argument 'A' axis 0, but "
        "got 201");
}

TEST_CASE("extents outside the 32-bit range are refused", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].shape[0] = -3; }) ==
        "argument 'A' axis 0: expected an extent from 0 to 2147483647, but got -3");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].shape[1] = int64_t(1) << 31; }) ==
        "argument 'A' axis 1: expected an extent from 0 to 2147483647, but got 2147483648");
}

TEST_CASE("a kernel without strides takes tensors without gaps", "[device][errors]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[0].contiguous = true;
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[0].strides[0] = arguments.tensors[0].shape[1];
  CHECK(failureOf(artifact, arguments) == "");
  arguments.tensors[0].strides[0] += 8;
  CHECK(failureOf(artifact, arguments) ==
        "argument 'A' axis 0: expected stride 128 because the kernel gets no strides, but got 136; copy the "
        "tensor to one without gaps");
}

TEST_CASE("a stride of 32 bits has them", "[device][errors]") {
  Artifact artifact = sampleArtifact();
  artifact.variants.erase(artifact.variants.begin());
  artifact.variants[0].launches[0].parameters[1].bytes = 4;
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[0].strides[0] = int64_t(1) << 31;
  CHECK(failureOf(artifact, arguments) ==
        "argument 'A' axis 0: expected a stride of at most 2147483647 because 'gemm_general' takes it in 32 "
        "bits, but got 2147483648");
}

TEST_CASE("facts that the program relies on are checked", "[device][errors]") {
  CHECK(failureOf(sampleArtifact(), sampleArguments(200, 60)) ==
        "argument 'B' axis 0: expected a multiple of 8 because the program relies on it for dimension 'N', "
        "but got 60");
  Artifact artifact = sampleArtifact();
  artifact.dimensions[0].most = 199;
  CHECK(
      failureOf(artifact, sampleArguments(200, 64)) ==
      "argument 'A' axis 0: expected an extent of at most 199 because the program relies on it for dimension "
      "'M', but got 200");
  artifact.dimensions[0].least = 8;
  CHECK(
      failureOf(artifact, sampleArguments(200, 64)) ==
      "argument 'A' axis 0: expected an extent from 8 to 199 because the program relies on it for dimension "
      "'M', but got 200");
  artifact.dimensions[0].most = maxExtent;
  CHECK(
      failureOf(artifact, sampleArguments(7, 64)) ==
      "argument 'A' axis 0: expected an extent of at least 8 because the program relies on it for dimension "
      "'M', but got 7");
  artifact = sampleArtifact();
  artifact.dimensions[2].fixed = 4096;
  CHECK(failureOf(artifact, sampleArguments()) ==
        "argument 'A' axis 1: expected extent 4096 because the program is specialised for 'K' = 4096, but "
        "got 128");
  artifact = sampleArtifact();
  artifact.tensors[0].shape[1] = {.constant = 64};
  CHECK(failureOf(artifact, sampleArguments()) == "argument 'A' axis 1: expected extent 64, but got 128");
}

TEST_CASE("the alignment that a program declares is checked", "[device][errors]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[0].alignment = 16;
  LaunchArguments arguments = sampleArguments();
  CHECK(failureOf(artifact, arguments) == "");
  arguments.tensors[0].strides[0] = 129;
  CHECK(failureOf(artifact, arguments) == "argument 'A': expected an address and outer strides that are "
                                          "multiples of 16 bytes because the program "
                                          "declares it, but got 0x10000000 and strides [129, 1] of bf16");
}

TEST_CASE("strides that the kernels cannot use are refused", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].strides = {1}; }) ==
        "argument 'A': expected 2 strides, but got 1");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].strides = {1, 200}; }) ==
        "argument 'A' axis 1: expected stride 1 because the innermost axis is contiguous, but got 200");
  Artifact strided = sampleArtifact();
  LaunchArguments apart = sampleArguments();
  strided.tensors[0].strided = true;
  apart.tensors[0].strides = {1, 200};
  CHECK(failureOf(strided, apart) == "");
  apart.tensors[0].strides = {1, -1};
  CHECK(failureOf(strided, apart) == "argument 'A' axis 1: expected a stride of at least 0, but got -1");
  auto failureOfPacked = [](auto change) {
    Artifact artifact = sampleArtifact();
    LaunchArguments arguments = sampleArguments();
    artifact.tensors[0].element = arguments.tensors[0].element = ElementType::i4;
    change(arguments.tensors[0]);
    return failureOf(artifact, arguments);
  };
  CHECK(
      failureOfPacked([](TensorView &tensor) { tensor.strides[0] = 129; }) ==
      "argument 'A' axis 0: expected a stride that is a multiple of 2 because as many elements of i4 share a "
      "byte, but got 129");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].strides[0] = -128; }) ==
        "argument 'A' axis 0: expected a stride of at least 0, but got -128");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[2].strides[0] = 63; }) ==
        "argument 'C' axis 0: expected a stride of at least 64 because elements that are written must not "
        "overlap, but got 63");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[2].strides[0] = 0; }) ==
        "argument 'C' axis 0: expected a stride of at least 1 because elements that are written must not "
        "overlap, but got 0");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].strides[0] = int64_t(1) << 60; }) ==
        "argument 'A': its extents and strides span more than 2^63 bytes");
  CHECK(
      failureAfter([](LaunchArguments &a) { a.tensors[0].strides[0] = int64_t(1) << 40; }) ==
      "argument 'A' axis 0: expected a stride of less than 1099511627776 bytes because it is copied by TMA, "
      "but got 2199023255552");
}

TEST_CASE("addresses that cannot be right are refused", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].data = nullptr; }) ==
        "argument 'A': expected the address of 51200 bytes, but got null");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[2].data = address(0x30000002); }) ==
        "argument 'C': expected an address that is a multiple of 4 because its elements are f32, but got "
        "0x30000002");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].data = address(UINTPTR_MAX - 0xfff); }) ==
        "argument 'A': 51200 bytes from address 0xfffffffffffff000 exceed the address space");
}

TEST_CASE("workspaces must be as requested", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[3].element = ElementType::f16; }) ==
        "workspace 'partial': expected element type f32, but got f16");
  CHECK(failureAfter([](LaunchArguments &a) {
          a.tensors[3] = contiguousView(address(0x40000000), ElementType::f32, {3, 16});
        }) == "workspace 'partial': expected shape [4, 16], but got [3, 16]");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[3].strides[0] = 32; }) ==
        "workspace 'partial': expected strides [16, 1], but got [32, 1]; WorkspaceRequest::view has them");
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[3].data = nullptr; }) ==
        "argument 'partial': expected the address of 256 bytes, but got null");
  CHECK(
      failureAfter([](LaunchArguments &a) { a.tensors[3].data = address(0x40000010); }) ==
      "workspace 'partial': expected an address that is a multiple of 256, as Device::allocate gives it, but "
      "got 0x40000010");
}

TEST_CASE("workspaces that overlap anything are refused", "[device][errors]") {
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[3].data = a.tensors[0].data; }) ==
        "workspace 'partial': expected memory of its own because kernels write it, but its 256 bytes at "
        "0x10000000 overlap the 51200 bytes of argument 'A' at 0x10000000");
  // The first and the last bytes.
  CHECK_THAT(failureAfter([](LaunchArguments &a) { a.tensors[3].data = address(0x1000c700); }),
             StartsWith("workspace 'partial': expected memory of its own"));
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[3].data = address(0x1000c800); }).empty());
  CHECK_THAT(failureAfter([](LaunchArguments &a) { a.tensors[0].data = address(0x400000f0); }),
             StartsWith("workspace 'partial': expected memory of its own"));
  CHECK(failureAfter([](LaunchArguments &a) { a.tensors[0].data = address(0x40000100); }).empty());

  Artifact artifact = sampleArtifact();
  artifact.tensors.push_back(artifact.tensors[3]);
  artifact.tensors.back().name = "counters";
  LaunchArguments arguments = sampleArguments();
  arguments.tensors.push_back(arguments.tensors[3]);
  CHECK(failureOf(artifact, arguments) ==
        "workspace 'counters': expected memory of its own because kernels write it, but its 256 bytes at "
        "0x40000000 overlap the 256 bytes of workspace 'partial' at 0x40000000");
  arguments.tensors.back().data = address(0x40000100);
  CHECK(failureOf(artifact, arguments).empty());
}

TEST_CASE("workspaces and grids that these sizes make too large are refused", "[device][errors]") {
  Artifact artifact = sampleArtifact();
  const HostExpr large = HostExpr::constant(int64_t(1) << 40);
  artifact.tensors[3].workspaceShape[1] = HostExpr::apply(HostExpr::Op::multiply, large, large);
  CHECK(failureOf(artifact, sampleArguments()) ==
        "workspace 'partial' axis 1: expected sizes from which the extent can be computed, but an "
        "intermediate number has more than 32 bits, or a divisor is 0");
  artifact.tensors[3].workspaceShape[1] = large;
  CHECK(failureOf(artifact, sampleArguments()) == "workspace 'partial' axis 1: these sizes need an extent of "
                                                  "1099511627776, but expected 0 to 2147483647");
  artifact = sampleArtifact();
  artifact.variants[0].launches[0].grid[1] = HostExpr::constant(70000);
  CHECK(failureOf(artifact, sampleArguments()) ==
        "'gemm_aligned' needs 70000 blocks in y for M = 200, N = 64, K = 128, but expected 0 to 65535; pass "
        "smaller extents, or make this axis of k.grid a factor of x, which has no such limit");
  artifact.variants[0].launches[0].grid[0] = HostExpr::constant(int64_t(1) << 32);
  CHECK(failureOf(artifact, sampleArguments()) ==
        "'gemm_aligned' needs 4294967296 blocks in x for M = 200, N = 64, K = 128, but expected 0 to "
        "2147483647; pass smaller extents");
  artifact.dimensions.push_back({.name = "C.1", .computed = HostExpr::constant(64)});
  CHECK(failureOf(artifact, sampleArguments()) ==
        "'gemm_aligned' needs 4294967296 blocks in x for M = 200, N = 64, K = 128, 'C' axis 1 = 64, but "
        "expected 0 to 2147483647; pass smaller extents");
  artifact = sampleArtifact();
  artifact.variants[0].launches[0].cluster = {4, 1, 1};
  CHECK(failureOf(artifact, sampleArguments()) ==
        "'gemm_aligned' needs 2 blocks in x for M = 200, N = 64, K = 128, but expected a multiple of its "
        "clusters' 4");
}

TEST_CASE("an output in too many pieces to clear is refused", "[device][errors]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[2].shape = {{.dimension = 0}, {.constant = 2}, {.dimension = 1}};
  LaunchArguments arguments = sampleArguments(2000);
  arguments.tensors[2] = {address(0x30000000), ElementType::f32, {2000, 2, 64}, {200, 80, 1}};
  CHECK(failureOf(artifact, arguments) ==
        "argument 'C': its shape [2000, 2, 64] with strides [200, 80, 1] takes more than 1024 separate fills "
        "to clear; pass a tensor with fewer gaps");
}

TEST_CASE("no artifact that verifies crashes the planner", "[device][errors]") {
  std::mt19937_64 random(Catch::rngSeed());
  Artifact sample = sampleArtifact();
  for (int i = 0; i < 20000; ++i) {
    Artifact artifact = sample;
    auto pick = [&](auto &list) -> auto & { return list[random() % list.size()]; };
    auto value = [&] { return int64_t(random() % 6) - 1; };
    for (size_t changes = random() % 4 + 1; changes > 0; --changes) {
      Launch &launch = pick(pick(artifact.variants).launches);
      switch (random() % 8) {
      case 0:
        pick(artifact.tensors[random() % 3].shape) = {.dimension = value(), .constant = value()};
        break;
      case 1:
        pick(launch.parameters) = {.kind = Kind(random() % 5), .index = value(), .axis = value()};
        break;
      case 2:
        pick(launch.grid) = {{{HostExpr::Op(random() % 11), value()}}};
        break;
      case 3:
        pick(artifact.tensors).element = pick(allElementTypes);
        break;
      case 4:
        pick(artifact.dimensions) = {.name = "D", .multipleOf = value(), .fixed = value()};
        break;
      case 5:
        pick(artifact.variants[0].conditions) = {.tensor = value(), .bytes = value()};
        break;
      case 6:
        artifact.tensors[3].workspaceShape.push_back(HostExpr::dimension(value()));
        break;
      default:
        pick(artifact.variants[0].launches[0].tensorMaps) = {
            .tensor = value(), .box = {8, 8 * value()}, .limitedAxis = random() % 3 == 0 ? 0 : -1};
      }
    }
    if (!verify(artifact))
      continue;
    LaunchArguments arguments = sampleArguments(8 * (random() % 3), 8 * (random() % 3), 8 * (random() % 3));
    for (size_t j = 0; j < artifact.tensors.size(); ++j)
      arguments.tensors[j].element = artifact.tensors[j].element;
    pick(arguments.tensors).strides[0] = value();
    Result<LaunchPlan> plan = planLaunch(artifact, arguments, sampleDevice());
    if (plan)
      CHECK(plan->variant == &artifact.variants[plan->variantIndex]);
  }
}
